// Windows two cells apart, in the order of memory: see HalvedRows.
#include "kernels/halved_rows.h"

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/halved_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/divide.h"
#include "kernels/in_order.h"
#include "kernels/numbers.h"
#include "kernels/tap_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using DN = Numbers<D>::DN;
using N = hn::Vec<DN>;
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// Two vectors of neighbouring cells.
struct Run {
  HWY_INLINE Run() : low(hn::Zero(D())), high(low) {}
  HWY_INLINE Run(V a, V b) : low(a), high(b) {}
  V low, high;
};
template <class Op>
HWY_INLINE Run joined(const Run& a, const Run& b) {
  return {Op::many(a.low, b.low), Op::many(a.high, b.high)};
}

// The cells of windows of a row: the first of each pair and the second, and, before them, the
// second of the pair before.
class Taps {
 public:
  HWY_INLINE Taps()
      : even_(hn::Add(lane_numbers(D(), 0), lane_numbers(D(), 0))),
        odd_(hn::Add(even_, hn::Set(DU(), 1U))),
        before_(lane_numbers(D(), kLanes - 1)),
        first_(hn::IfThenElse(hn::FirstN(DU(), 1), hn::Set(DU(), uint32_t{kLanes}),
                              hn::Sub(lane_numbers(D(), 0), hn::Set(DU(), 1U)))) {}
  HWY_INLINE V even(const Run& r) const { return lanes_of_two(D(), r.low, r.high, even_); }
  HWY_INLINE V odd(const Run& r) const { return lanes_of_two(D(), r.low, r.high, odd_); }
  HWY_INLINE V before(V odd_before, V odd) const {
    return lanes_of_two(D(), odd_before, odd, before_);
  }
  // Of the first vector: the first cell stands for the one before it, or (`zero`) 0.
  template <bool zero>
  HWY_INLINE V first(V even, V odd) const {
    return zero ? before(hn::Zero(D()), odd) : lanes_of_two(D(), odd, even, first_);
  }

 private:
  using DU = hn::RebindToUnsigned<D>;
  LaneNumbers<D> even_, odd_, before_, first_;
};

// Rows of `runs` runs, of which the last may be a part.
template <class Op, int runs>
class Rows {
 public:
  HWY_INLINE explicit Rows(const HalvedRows& s)
      : low_(hn::FirstN(D(), part(present(s) - 2 * kLast * kLanes))),
        high_(hn::FirstN(D(), part(present(s) - (2 * kLast + 1) * kLanes))),
        whole_(hn::FirstN(D(), static_cast<size_t>(present(s) / 2 - kLast * kLanes))),
        lacks_(s.cells < 2 * s.outputs),
        outputs_(static_cast<size_t>(s.outputs - kLast * kLanes)),
        seen_(hn::Zero(D())) {}
  static constexpr int kLast = runs - 1;
  size_t last_outputs() const { return outputs_; }  // in the last vector

  HWY_INLINE Run load(const float* row, int p) {
    const D d;
    const float* at = row + 2 * p * kLanes;
    Run run;
    if (p < kLast) {
      run = {hn::LoadU(d, at), hn::LoadU(d, at + kLanes)};
    } else {
      run = {hn::MaskedLoad(low_, d, at), hn::MaskedLoad(high_, d, at + kLanes)};
    }
    if constexpr (kNumbers<Op>) seen_ = hn::Add(seen_, hn::Add(run.low, run.high));
    return run;
  }
  // The second cells of pairs: where there is none, the first stands for it. (A sum has 0 there.)
  HWY_INLINE V completed(V even, V odd, int p) const {
    if (kSums<Op> || p < kLast || !lacks_) return odd;
    return hn::IfThenElse(whole_, odd, even);
  }
  HWY_INLINE bool fine() const { return !kNumbers<Op> || hn::AllFalse(D(), hn::IsNaN(seen_)); }

 private:
  static int64_t present(const HalvedRows& s) {
    return s.cells < 2 * s.outputs ? s.cells : 2 * s.outputs;
  }
  static size_t part(int64_t cells) {
    return static_cast<size_t>(cells < 0 ? 0 : cells < kLanes ? cells : kLanes);
  }
  hn::Mask<D> low_, high_, whole_;
  bool lacks_;  // the last window a cell
  size_t outputs_;
  V seen_;  // NaN stays in a sum
};

// Loops over the vectors of a row are unrolled: else compilers ask each time which one it is.

// Values: rows are joined down, then along.
template <class Op, int taps, int runs>
class Values {
 public:
  HWY_INLINE explicit Values(const HalvedRows& s)
      : to_(static_cast<float*>(s.y)), rows_(s), cells_(s.cells), divide_(s.divisor) {}

  HWY_INLINE void plane(const float* x, int64_t rows, int64_t output_rows) {
    Run held[runs];  // the last row of the windows before
    for (int64_t o = 0; o < output_rows; ++o, x += 2 * cells_) {
      const bool whole = 2 * o + 1 < rows;
      V odd_before = hn::Zero(D());
      HWY_UNROLL(4)
      for (int p = 0; p < runs; ++p) {
        Run run = rows_.load(x, p);
        if (taps == 3 && o > 0) run = joined<Op>(held[p], run);
        if (whole) {
          const Run second = rows_.load(x + cells_, p);
          run = joined<Op>(run, second);
          held[p] = second;
        }
        const V even = taps_.even(run), odd = rows_.completed(even, taps_.odd(run), p);
        V y = even;
        if constexpr (taps == 3) {
          y = Op::many(
              p > 0 ? taps_.before(odd_before, odd) : taps_.template first<kSums<Op>>(even, odd),
              even);
          odd_before = odd;
        }
        put(Op::many(y, odd), p);
      }
    }
  }
  HWY_INLINE bool finish() {
    to_.finish();
    return rows_.fine();
  }

 private:
  HWY_INLINE void put(V y, int p) {
    const D d;
    if constexpr (kSums<Op>) {
      y = divide_.exact ? hn::Mul(y, hn::Set(d, divide_.factor))
                        : hn::Div(y, hn::Set(d, divide_.divisor));
    }
    p < runs - 1 ? to_.put(y) : to_.put_some(y, rows_.last_outputs());
  }

  InOrder<Way::kMovedInCache> to_;
  Rows<Op, runs> rows_;
  Taps taps_;
  int64_t cells_;
  Divide<float> divide_;
};

// Winners: along each row, then down. Their numbers are bytes.
template <class Op, int taps, int runs>
class Winners {
 public:
  HWY_INLINE explicit Winners(const HalvedRows& s)
      : to_(static_cast<float*>(s.y)),
        rows_(s),
        winners_(s.winners),
        cells_(s.cells),
        outputs_(s.outputs),
        first_(hn::IfThenElseZero(hn::FirstN(DN(), 1), hn::Set(DN(), uint8_t{1}))),
        last_(hn::FirstN(DN(), rows_.last_outputs())) {}

  HWY_INLINE void plane(const float* x, int64_t rows, int64_t output_rows) {
    Found held[runs];
    for (int64_t o = 0; o < output_rows; ++o, x += 2 * cells_, winners_ += outputs_) {
      const bool whole = 2 * o + 1 < rows;
      V odd_before[2] = {hn::Zero(D()), hn::Zero(D())};
      HWY_UNROLL(4)
      for (int p = 0; p < runs; ++p) {
        constexpr uint8_t kRow = taps == 3 ? 3 : 0;  // the number of this row's first tap
        Found best = along<kRow>(rows_.load(x, p), p, &odd_before[0]);
        if (taps == 3 && o > 0) best = better(held[p], best.best, best.number);
        if (whole) {
          held[p] = along<0>(rows_.load(x + cells_, p), p, &odd_before[1]);
          const N number = hn::Add(held[p].number, hn::Set(DN(), uint8_t{kRow + taps}));
          best = better(best, held[p].best, number);
        }
        put(best, p);
      }
    }
  }
  HWY_INLINE bool finish() {
    to_.finish();
    return rows_.fine();
  }

 private:
  struct Found {
    HWY_INLINE Found() : best(hn::Zero(D())), number(hn::Zero(DN())) {}
    HWY_INLINE Found(V v, N n) : best(v), number(n) {}
    V best;
    N number;
  };
  static HWY_INLINE Found better(const Found& best, V v, N number) {
    const auto take = Op::replaces(v, best.best);
    return {kNumbers<Op> ? Op::many(v, best.best) : hn::IfThenElse(take, v, best.best),
            hn::IfThenElse(Numbers<D>::mask_of(take), number, best.number)};
  }
  // `first`: the number of the first tap.
  template <uint8_t first>
  HWY_INLINE Found along(const Run& run, int p, V* odd_before) const {
    const auto number = [](int tap)
                            HWY_ATTR { return hn::Set(DN(), static_cast<uint8_t>(first + tap)); };
    const V even = taps_.even(run), odd = rows_.completed(even, taps_.odd(run), p);
    Found best(even, number(0));
    if constexpr (taps == 3) {
      // The first cell has none before it, stands there itself, and keeps its number.
      const V before =
          p > 0 ? taps_.before(*odd_before, odd) : taps_.template first<false>(even, odd);
      const N of_before = p > 0 ? number(0) : hn::Add(first_, number(0));
      best = better(Found(before, of_before), even, number(1));
      *odd_before = odd;
    }
    return better(best, odd, number(taps - 1));
  }
  HWY_INLINE void put(const Found& found, int p) {
    uint8_t* winners = winners_ + p * kLanes;
    if (p < runs - 1) {
      to_.put(found.best);
      Numbers<D>::store(found.number, winners);
    } else {
      to_.put_some(found.best, rows_.last_outputs());
      hn::BlendedStore(found.number, last_, DN(), winners);
    }
  }

  InOrder<Way::kMovedInCache> to_;
  Rows<Op, runs> rows_;
  Taps taps_;
  uint8_t* winners_;
  int64_t cells_, outputs_;
  N first_;
  hn::Mask<DN> last_;
};

template <class Pool>
bool pool_planes(const HalvedRows& s) {
  Pool pool(s);
  const auto* x = static_cast<const float*>(s.x);
  const int64_t rows = s.rows, output_rows = s.output_rows, plane = rows * s.cells;
  for (int64_t p = s.planes; p > 0; --p, x += plane) pool.plane(x, rows, output_rows);
  return pool.finish();
}
template <template <class, int, int> class Pool, class Op, int taps>
bool pool_runs(const HalvedRows& s) {
  const int64_t runs = (s.outputs - 1) / kLanes + 1;
  if (runs <= 2) {
    return runs == 1 ? pool_planes<Pool<Op, taps, 1>>(s) : pool_planes<Pool<Op, taps, 2>>(s);
  }
  return runs == 3 ? pool_planes<Pool<Op, taps, 3>>(s) : pool_planes<Pool<Op, taps, 4>>(s);
}
template <template <class, int, int> class Pool, class Op>
bool pool(const HalvedRows& s) {
  return s.taps == 2 ? pool_runs<Pool, Op, 2>(s) : pool_runs<Pool, Op, 3>(s);
}

template <template <class, int, int> class Pool, class E>
constexpr HalvedRowKernels::Kinds kKinds = {pool<Pool, OfNumbers<E>>, pool<Pool, OfAnything<E>>};

constexpr HalvedRowKernels kTable = {{kKinds<Values, Max>, kKinds<Values, Min>},
                                     {kKinds<Winners, Max>, kKinds<Winners, Min>},
                                     pool<Values, Sum>};

#else

constexpr HalvedRowKernels kTable;

#endif

}  // namespace

const HalvedRowKernels* halved_row_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(HalvedRowKernels, halved_row_kernels)
}  // namespace ndpool
#endif
