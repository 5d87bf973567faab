// As many rows as a vector has lanes, each of them to one lane. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_TURNED_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_TURNED_ROWS_H_
#undef NDPOOL_SRC_KERNELS_TURNED_ROWS_H_
#else
#define NDPOOL_SRC_KERNELS_TURNED_ROWS_H_
#endif

#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/kernels.h"
#include "kernels/numbers.h"
#include "kernels/turn.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// As many rows as lanes: rows are turned, some columns at a time, and columns joined, sums as the
// tree joins them.
template <class Op, class D, class T>
HWY_INLINE hn::Vec<D> joined_columns(D d, int64_t n, const T* rows, int64_t pitch) {
  using V = hn::Vec<D>;
  constexpr int kWide = 16 / sizeof(T);
  const auto join = [](const V* column) HWY_ATTR {
    V v = Op::many(column[0], column[1]);
    if constexpr (kWide == 4) v = Op::many(v, Op::many(column[2], column[3]));
    return v;
  };
  V column[kWide], waiting[WholeKernels::kDepth];
  int depth = 0;
  int64_t number = 0, at = 0;
  for (; at + kWide <= n; at += kWide, ++number) {
    load_columns(d, rows + at, pitch, column);
    V v = join(column);
    for (int joins = std::countr_one(static_cast<uint64_t>(number)); joins > 0; --joins) {
      v = Op::many(waiting[--depth], v);
    }
    waiting[depth++] = v;
  }
  if (at < n) {
    // The last columns, with some before them, which are left out.
    load_columns(d, rows + n - kWide, pitch, column);
    const V* rest = column + kWide - (n - at);
    V v = rest[0];
    if (n - at > 1) v = Op::many(v, rest[1]);
    if (n - at > 2) v = Op::many(v, rest[2]);
    waiting[depth++] = v;
  }
  V v = waiting[--depth];
  while (depth > 0) v = Op::many(waiting[--depth], v);
  return v;
}

// What the lanes of as many vectors of f32 as they have lanes (8 at most) join to, side by side.
template <class Op, class D>
HWY_INLINE hn::Vec<D> folded_all(D d, const hn::Vec<D>* v) {
  using V = hn::Vec<D>;
  constexpr int kSide = hn::MaxLanes(D());
  const hn::Repartition<uint64_t, D> pairs;
  const auto two = [d](V a, V b) HWY_ATTR {
    return Op::many(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  };
  const auto four = [&](const V* of) HWY_ATTR {
    const auto a = hn::BitCast(pairs, two(of[0], of[1])), b = hn::BitCast(pairs, two(of[2], of[3]));
    return Op::many(hn::BitCast(d, hn::InterleaveLower(pairs, a, b)),
                    hn::BitCast(d, hn::InterleaveUpper(pairs, a, b)));
  };
  const V low = four(v);
  if constexpr (kSide == 8) {
    const V high = four(v + 4);
    return Op::many(hn::ConcatLowerLower(d, high, low), hn::ConcatUpperUpper(d, high, low));
  } else {
    return low;
  }
}

// As many rows of f32 as lanes, of at least a vector each. False, if there may be NaN among them.
template <class E, class D>
HWY_INLINE bool extremes_of_rows(D d, int64_t n, const float* rows, int64_t pitch, hn::Vec<D>* to) {
  using V = hn::Vec<D>;
  using Op = OfNumbers<E>;
  constexpr int kSide = hn::MaxLanes(D());
  V best[kSide], seen = hn::Zero(d);
  for (int r = 0; r < kSide; ++r, rows += pitch) {
    const auto take = [&](int64_t i, V old) HWY_ATTR {
      const V v = hn::LoadU(d, rows + i);
      seen = hn::Add(seen, v);
      return Op::many(old, v);
    };
    V a = hn::LoadU(d, rows), b = hn::LoadU(d, rows + n - kSide);
    seen = hn::Add(seen, hn::Add(a, b));
    int64_t i = kSide;
    for (; i + 2 * kSide < n; i += 2 * kSide) {
      a = take(i, a);
      b = take(i + kSide, b);
    }
    if (i + kSide < n) a = take(i, a);
    best[r] = Op::many(a, b);
  }
  *to = folded_all<Op>(d, best);
  return hn::AllFalse(d, hn::IsNaN(seen));
}
#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_TURNED_ROWS_H_
