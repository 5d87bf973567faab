// What flows back to cells from windows of 3x3 cells around each: see SameRows.
#include "kernels/kernels.h"
#include "kernels/same_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/same_gradients.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/in_order.h"
#include "kernels/short_rows.h"
#include "kernels/tap_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DN = Numbers<D>::DN;
using N = hn::Vec<DN>;

// Rows of outputs come one after another; each gives to the rows of cells before it, beside it and
// behind it, the sums of which stay in registers.
template <int vectors>
class Gradients {
 public:
  HWY_INLINE explicit Gradients(const SameRows& s)
      : to_(s.y), winners_(s.winners), short_(s.cells), cells_(s.cells) {
    for (uint32_t t = 0; t < 9; ++t) own_[t] = Numbers<D>::set(s.number + t);
  }

  HWY_INLINE void plane(const float* g, int64_t rows) {
    V before[vectors], beside[vectors], behind[vectors];  // rows of cells
    HWY_UNROLL(4)
    for (int j = 0; j < vectors; ++j) before[j] = beside[j] = hn::Zero(D());
    for (int64_t r = 0; r < rows; ++r, g += cells_, winners_ += cells_) {
      V row[vectors];
      short_.load(g, row);
      HWY_UNROLL(4)
      for (int j = 0; j < vectors; ++j) {
        // Where there is no output there is no gradient, whatever its number.
        const V left = short_.template before<true>(row, j);
        const V right = short_.template behind<true>(row, j);
        const uint8_t* at = winners_ + j * kLanes;
        // Of the last vector, as far as there are outputs: behind them may be nothing to read.
        const auto load = [&](const uint8_t* from) HWY_ATTR {
          return j < kLast ? hn::LoadU(DN(), from)
                           : hn::MaskedLoad(Numbers<D>::mask_of(short_.last()), DN(), from);
        };
        const N number = load(at);
        const N number_left = j > 0 ? load(at - 1) : hn::ShiftLeftBytes<1>(number);
        const N number_right =
            j < kLast ? hn::LoadU(DN(), at + 1) : hn::ShiftRightBytes<1>(DN(), number);
        behind[j] = hn::Zero(D());  // so that none is -0
        V* const sums[3] = {before, beside, behind};
        for (int t = 0; t < 3; ++t) {
          V sum = sums[t][j];
          sum = add(sum, number_left, 3 * t + 2, left);
          sum = add(sum, number, 3 * t + 1, row[j]);
          sums[t][j] = add(sum, number_right, 3 * t, right);
        }
      }
      if (r > 0) put(before);
      HWY_UNROLL(4)
      for (int j = 0; j < vectors; ++j) {
        before[j] = beside[j];
        beside[j] = behind[j];
      }
    }
    put(before);
  }
  HWY_INLINE void finish() { to_.finish(); }

 private:
  static constexpr int kLast = vectors - 1;
  static constexpr int64_t kLanes = ShortRows<vectors>::kLanes;

  HWY_INLINE V add(V sum, N number, int tap, V g) const {
    return added_where(D(), Numbers<D>::equal(number, own_[tap]), sum, g);
  }
  HWY_INLINE void put(const V* row) {
    for (int j = 0; j < kLast; ++j) to_.put(row[j]);
    to_.put_some(row[kLast], short_.last_cells());
  }

  InOrder<Way::kMoved> to_;
  const uint8_t* winners_;
  ShortRows<vectors> short_;
  int64_t cells_;
  N own_[9];
};

template <int vectors>
bool collect_planes(const SameRows& s) {
  Gradients<vectors> gradients(s);
  const float* g = s.x;
  const int64_t rows = s.rows, plane = rows * s.cells;
  for (int64_t p = s.planes; p > 0; --p, g += plane) gradients.plane(g, rows);
  gradients.finish();
  return true;
}
bool collect(const SameRows& s) {
  return with_vectors(s.cells, [&s]<int vectors>() { return collect_planes<vectors>(s); });
}

constexpr SameGradientKernels kTable = {collect};

#else

constexpr SameGradientKernels kTable;

#endif

}  // namespace

const SameGradientKernels* same_gradient_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(SameGradientKernels, same_gradient_kernels)
}  // namespace ndpool
#endif
