// Rows of f32 that are held in a few vectors, and the neighbours of their cells. Included once per
// SIMD target.
#if defined(NDPOOL_SRC_KERNELS_SHORT_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_SHORT_ROWS_H_
#undef NDPOOL_SRC_KERNELS_SHORT_ROWS_H_
#else
#define NDPOOL_SRC_KERNELS_SHORT_ROWS_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/lanes_of_two.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3

template <int vectors>
class ShortRows {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  static constexpr int kLast = vectors - 1;

  HWY_INLINE explicit ShortRows(int64_t cells)
      : end_(static_cast<size_t>(cells - kLast * kLanes)),
        last_(hn::FirstN(D(), end_)),
        before_(lane_numbers(D(), kLanes - 1)),
        behind_(lane_numbers(D(), 1)) {
    const DU du;
    const auto one = hn::Set(du, 1U);
    first_itself_ = hn::Sub(hn::Max(lane_numbers(D(), 0), one), one);
    last_itself_ = hn::Min(behind_, hn::Set(du, static_cast<uint32_t>(end_ - 1)));
  }
  size_t last_cells() const { return end_; }  // in the last vector
  hn::Mask<D> last() const { return last_; }

  // Lanes behind the last cell are 0. What lies some way behind the row is fetched.
  HWY_INLINE void load(const float* from, V* row) const {
    const D d;
    for (int j = 0; j < kLast; ++j) row[j] = hn::LoadU(d, from + j * kLanes);
    row[kLast] = hn::MaskedLoad(last_, d, from + kLast * kLanes);
    for (int j = 0; j < vectors; ++j) fetch_far(from + j * kLanes);
  }
  // The cells before, and behind, those of vector j. `zero`: 0 where there is none, else the cell
  // itself.
  template <bool zero>
  HWY_INLINE V before(const V* row, int j) const {
    const D d;
    if (j > 0) return lanes_of_two(d, row[j - 1], row[j], before_);
    return zero ? lanes_of_two(d, hn::Zero(d), row[j], before_)
                : lanes_of_two(d, row[j], row[j], first_itself_);
  }
  template <bool zero>
  HWY_INLINE V behind(const V* row, int j) const {
    const D d;
    if (j < kLast) return lanes_of_two(d, row[j], row[j + 1], behind_);
    return zero ? lanes_of_two(d, row[j], hn::Zero(d), behind_)
                : lanes_of_two(d, row[j], row[j], last_itself_);
  }

 private:
  using DU = hn::RebindToUnsigned<D>;
  size_t end_;
  hn::Mask<D> last_;
  LaneNumbers<D> before_, behind_, first_itself_, last_itself_;
};

// f.template operator()<vectors>() for rows of so many cells, from 17 to 64.
template <class F>
HWY_INLINE auto with_vectors(int64_t cells, F f) {
  constexpr int64_t kLanes = ShortRows<2>::kLanes;
  if (cells <= 2 * kLanes) return f.template operator()<2>();
  return cells <= 3 * kLanes ? f.template operator()<3>() : f.template operator()<4>();
}

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_SHORT_ROWS_H_
