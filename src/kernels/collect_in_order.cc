// What flows back to rows of cells, in the order of memory: see CollectRows. Windows lie two cells
// apart.
#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/collect_in_order.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/in_order.h"
#include "kernels/tap_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using N = hn::Vec<Numbers<D>::DN>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// A row of outputs that holds the cells.
struct OutputRow {
  const float* g;
  const uint8_t* winners;
  int64_t tap;  // that the row of cells is
};

// Cells 2*i and 2*i + 1 are the phases 0 and 1 of pair i. Each lies in windows i + first(phase) to
// i + last(phase).
template <int taps, int pad>
class Pairs {
 public:
  explicit Pairs(const CollectRows& c) : outputs_(c.outputs), cells_(c.cells) {
    const D d;
    for (int r = 0; r < taps; ++r) {
      for (int t = 0; t < taps; ++t) {
        own_[r][t] = Numbers<D>::set(c.number + static_cast<uint32_t>(r * taps + t));
      }
    }
    for (int read = 0; read < kReads; ++read) {
      begin_[read] = hn::Not(hn::FirstN(d, static_cast<size_t>(read < -kFirst ? 1 : 0)));
      end_[read] = present(last_pair(), read);
      before_end_[read] = present(last_pair() - kLanes, read);
    }
    if (last_pair() == 0) {
      for (int read = 0; read < kReads; ++read) end_[read] = hn::And(end_[read], begin_[read]);
    }
  }

  // The cells of a row, from `rows` rows of outputs.
  template <int rows>
  HWY_INLINE void put_row(const OutputRow* row, InOrder<Way::kMoved>* to) const {
    const int64_t last = last_pair();
    int64_t i = 0;
    if (kFirst < 0 && last > 0) {
      put<rows>(row, i, begin_, 2 * kLanes, to);
      i = kLanes;
    }
    const bool ends_early = kFirst == 0 && last > 0 && outputs_ < last + kReads - 1;
    const int64_t whole = ends_early ? last - kLanes : last;
    for (; i < whole; i += kLanes) put<rows>(row, i, nullptr, 2 * kLanes, to);
    if (ends_early) put<rows>(row, whole, before_end_, 2 * kLanes, to);
    put<rows>(row, last, end_, cells_ - 2 * last, to);
  }

 private:
  static constexpr int first(int phase) {
    return phase + pad >= taps ? (phase + pad - taps) / 2 + 1 : (phase + pad + 1 - taps) / 2;
  }
  static constexpr int last(int phase) { return (phase + pad) / 2; }
  static constexpr int kFirst = first(0) < first(1) ? first(0) : first(1);
  static constexpr int kReads = last(1) - kFirst + 1;

  // The first pair of the last vector of them.
  int64_t last_pair() const { return (cells_ - 1) / (2 * kLanes) * kLanes; }

  // Which of the windows of a vector of pairs there are.
  hn::Mask<D> present(int64_t pair, int read) const {
    const int64_t left = outputs_ - pair - kFirst - read;
    return hn::FirstN(D(), static_cast<size_t>(left < 0 ? 0 : left < kLanes ? left : kLanes));
  }

  // A vector of pairs, of which `left` cells are in the row. Windows that are not in it have no
  // gradient; `some` are, or all.
  template <int rows>
  HWY_INLINE void put(const OutputRow* row, int64_t i, const hn::Mask<D>* some, int64_t left,
                      InOrder<Way::kMoved>* to) const {
    const D d;
    V sum[2] = {hn::Zero(d), hn::Zero(d)};  // so that none is -0
    for (int r = 0; r < rows; ++r) {
      N number[kReads];
      V g[kReads];
      for (int read = 0; read < kReads; ++read) {
        const int64_t at = i + kFirst + read;
        number[read] = some ? Numbers<D>::load_some(some[read], row[r].winners + at)
                            : Numbers<D>::load(row[r].winners + at);
        g[read] = some ? hn::MaskedLoad(some[read], d, row[r].g + at) : hn::LoadU(d, row[r].g + at);
      }
      for (int phase = 0; phase < 2; ++phase) {
        for (int window = first(phase); window <= last(phase); ++window) {
          const int read = window - kFirst;
          const N own = own_[row[r].tap][phase + pad - 2 * window];
          const auto won = Numbers<D>::equal(number[read], own);
          sum[phase] = added_where(d, won, sum[phase], g[read]);
        }
      }
    }
    alignas(64) static constexpr uint32_t kLow[16] = {0, 16, 1, 17, 2, 18, 3, 19,
                                                      4, 20, 5, 21, 6, 22, 7, 23};
    const hn::RebindToUnsigned<D> du;
    const auto low = hn::Load(du, kLow);
    const V one = lanes_of_two(d, sum[0], sum[1], low);
    if (left < kLanes) return to->put_some(one, static_cast<size_t>(left));
    to->put(one);
    if (left == kLanes) return;
    const V two = lanes_of_two(d, sum[0], sum[1], hn::Add(low, hn::Set(du, 8U)));
    if (left == 2 * kLanes) return to->put(two);
    to->put_some(two, static_cast<size_t>(left - kLanes));
  }

  int64_t outputs_, cells_;
  N own_[taps][taps];
  hn::Mask<D> begin_[kReads], before_end_[kReads], end_[kReads];
};

template <int taps, int pad>
void collect_rows(const CollectRows& c) {
  const Pairs<taps, pad> pairs(c);
  InOrder<Way::kMoved> to(static_cast<float*>(c.dst));
  Fetch fetch_g(c.next_g, c.later), fetch_winners(c.next_winners, c.later);
  const auto* const g = static_cast<const float*>(c.g);
  const uint8_t* const winners = c.winners;
  const int64_t outputs = c.outputs, end = c.output_rows - c.first, all = c.rows;
  const auto pace = static_cast<size_t>(c.next_winners.bytes / all);
  for (int64_t r = 0; r < all; ++r) {
    // Of the rows of outputs from c.first on, those that hold the cells.
    const int64_t place = r + c.ahead;
    OutputRow row[2];
    int rows = 0;
    for (int64_t o = place < taps ? 0 : (place - taps) / 2 + 1; 2 * o <= place && o < end; ++o) {
      const int64_t at = (c.first + o) * outputs;
      row[rows++] = {g + at, winners + at, place - 2 * o};
    }
    if (rows == 1) {
      pairs.template put_row<1>(row, &to);
    } else if (rows == 2) {
      pairs.template put_row<2>(row, &to);
    } else {
      pairs.template put_row<0>(row, &to);
    }
    fetch_g.advance(sizeof(float) * pace);
    fetch_winners.advance(pace);
  }
  fetch_g.finish();
  fetch_winners.finish();
  to.finish();
}

void collect(const CollectRows& c) {
  if (c.taps == 2) return c.pad == 0 ? collect_rows<2, 0>(c) : collect_rows<2, 1>(c);
  if (c.pad == 0) return collect_rows<3, 0>(c);
  c.pad == 1 ? collect_rows<3, 1>(c) : collect_rows<3, 2>(c);
}

constexpr CollectInOrderKernels kTable = {collect};

#else

constexpr CollectInOrderKernels kTable;

#endif

}  // namespace

const CollectInOrderKernels* collect_in_order_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(CollectInOrderKernels, collect_in_order_kernels)
}  // namespace ndpool
#endif
