// Windows of 3x3 cells, one around each cell: see SameRows.
#include "kernels/same_rows.h"

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/same_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/in_order.h"
#include "kernels/numbers.h"
#include "kernels/short_rows.h"
#include "kernels/tap_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Values: rows are joined down, then along.
template <class Op, int vectors>
class Values {
 public:
  HWY_INLINE explicit Values(const SameRows& s)
      : to_(s.y),
        short_(s.cells),
        cells_(s.cells),
        divide_(s.divisor),
        divide_first_(s.divide_first),
        seen_(hn::Zero(D())) {}

  HWY_INLINE void plane(const float* x, int64_t rows) {
    V one[vectors], two[vectors];  // the last row, and the last two joined
    load(x, one);
    HWY_UNROLL(4)
    for (int j = 0; j < vectors; ++j) two[j] = one[j];
    for (int64_t r = 1; r < rows; ++r) {
      x += cells_;
      V row[vectors], three[vectors];
      load(x, row);
      HWY_UNROLL(4)
      for (int j = 0; j < vectors; ++j) {
        three[j] = Op::many(two[j], row[j]);
        two[j] = Op::many(one[j], row[j]);
        one[j] = row[j];
      }
      put(three);
    }
    put(two);
  }
  HWY_INLINE bool finish() {
    to_.finish();
    return !kNumbers<Op> || hn::AllFalse(D(), hn::IsNaN(seen_));
  }

 private:
  HWY_INLINE void load(const float* from, V* row) {
    short_.load(from, row);
    HWY_UNROLL(4)
    for (int j = 0; j < vectors; ++j) {
      if constexpr (kNumbers<Op>) seen_ = hn::Add(seen_, row[j]);  // NaN stays in a sum
      if constexpr (kSums<Op>) {
        if (divide_first_) row[j] = quotient(row[j]);
      }
    }
  }
  HWY_INLINE V quotient(V v) const {
    const D d;
    return divide_.exact ? hn::Mul(v, hn::Set(d, divide_.factor))
                         : hn::Div(v, hn::Set(d, divide_.divisor));
  }
  HWY_INLINE void put(const V* row) {
    HWY_UNROLL(4)
    for (int j = 0; j < vectors; ++j) {
      const V before = short_.template before<kSums<Op>>(row, j);
      const V behind = short_.template behind<kSums<Op>>(row, j);
      V y = Op::many(Op::many(before, row[j]), behind);
      if constexpr (kSums<Op>) {
        if (!divide_first_) y = quotient(y);
      }
      j < vectors - 1 ? to_.put(y) : to_.put_some(y, short_.last_cells());
    }
  }

  InOrder<Way::kMoved> to_;
  ShortRows<vectors> short_;
  int64_t cells_;
  Divide<float> divide_;
  bool divide_first_;
  V seen_;
};

// Winners: along each row, then down. Their numbers are bytes.
template <class Op, int vectors>
class Winners {
 public:
  HWY_INLINE explicit Winners(const SameRows& s)
      : to_(s.y),
        winners_(s.winners),
        short_(s.cells),
        cells_(s.cells),
        first_(hn::IfThenElseZero(hn::FirstN(DN(), 1), hn::Set(DN(), uint8_t{1}))),
        seen_(hn::Zero(D())) {}

  HWY_INLINE void plane(const float* x, int64_t rows) {
    Found one[vectors], two[vectors];
    along(x, one);
    HWY_UNROLL(4)
    for (int j = 0; j < vectors; ++j) {
      two[j] = one[j];
      two[j].number = hn::Add(one[j].number, hn::Set(DN(), uint8_t{3}));
    }
    for (int64_t r = 1; r < rows; ++r) {
      x += cells_;
      Found row[vectors], three[vectors];
      along(x, row);
      HWY_UNROLL(4)
      for (int j = 0; j < vectors; ++j) {
        three[j] = joined(two[j], row[j], 6);
        two[j] = joined(one[j], row[j], 3);
        one[j] = row[j];
      }
      put(three);
    }
    put(two);
  }
  HWY_INLINE bool finish() {
    to_.finish();
    return !kNumbers<Op> || hn::AllFalse(D(), hn::IsNaN(seen_));
  }

 private:
  using DN = Numbers<D>::DN;
  using N = hn::Vec<DN>;
  struct Found {
    HWY_INLINE Found() : best(hn::Zero(D())), number(hn::Zero(DN())) {}
    HWY_INLINE Found(V v, N n) : best(v), number(n) {}
    V best;
    N number;
  };

  static HWY_INLINE Found better(Found best, V v, N number) {
    const auto take = Op::replaces(v, best.best);
    return {kNumbers<Op> ? Op::many(v, best.best) : hn::IfThenElse(take, v, best.best),
            hn::IfThenElse(Numbers<D>::mask_of(take), number, best.number)};
  }
  static HWY_INLINE Found joined(const Found& rows, const Found& row, uint8_t add) {
    return better(rows, row.best, hn::Add(row.number, hn::Set(DN(), add)));
  }
  HWY_INLINE void along(const float* from, Found* found) {
    V row[vectors];
    short_.load(from, row);
    HWY_UNROLL(4)
    for (int j = 0; j < vectors; ++j) {
      if constexpr (kNumbers<Op>) seen_ = hn::Add(seen_, row[j]);
      // The first cell has none before it, stands there itself, and keeps its number.
      Found best(short_.template before<false>(row, j), j == 0 ? first_ : hn::Zero(DN()));
      best = better(best, row[j], hn::Set(DN(), uint8_t{1}));
      found[j] = better(best, short_.template behind<false>(row, j), hn::Set(DN(), uint8_t{2}));
    }
  }
  HWY_INLINE void put(const Found* row) {
    constexpr int kLast = vectors - 1;
    constexpr int64_t kLanes = ShortRows<vectors>::kLanes;
    HWY_UNROLL(4)
    for (int j = 0; j < kLast; ++j) {
      to_.put(row[j].best);
      Numbers<D>::store(row[j].number, winners_ + j * kLanes);
    }
    to_.put_some(row[kLast].best, short_.last_cells());
    hn::BlendedStore(row[kLast].number, Numbers<D>::mask_of(short_.last()), DN(),
                     winners_ + kLast * kLanes);
    winners_ += cells_;
  }

  InOrder<Way::kMoved> to_;
  uint8_t* winners_;
  ShortRows<vectors> short_;
  int64_t cells_;
  N first_;
  V seen_;
};

// `Pool` as a copy, of which nothing that is written can be part.
template <class Pool>
bool pool_planes(const SameRows& s) {
  Pool pool(s);
  const float* x = s.x;
  const int64_t rows = s.rows, plane = rows * s.cells;
  for (int64_t p = s.planes; p > 0; --p, x += plane) pool.plane(x, rows);
  return pool.finish();
}
template <template <class, int> class Pool, class Op>
bool pool(const SameRows& s) {
  return with_vectors(s.cells, [&s]<int vectors>() { return pool_planes<Pool<Op, vectors>>(s); });
}

template <template <class, int> class Pool, class E>
constexpr SameRowKernels::Kinds kKinds = {pool<Pool, OfNumbers<E>>, pool<Pool, OfAnything<E>>};

constexpr SameRowKernels kTable = {{kKinds<Values, Max>, kKinds<Values, Min>},
                                   {kKinds<Winners, Max>, kKinds<Winners, Min>},
                                   pool<Values, Sum>};

#else

constexpr SameRowKernels kTable;

#endif

}  // namespace

const SameRowKernels* same_row_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(SameRowKernels, same_row_kernels)
}  // namespace ndpool
#endif
