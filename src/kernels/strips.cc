// Planes whose rows fit a vector: see Strip.
#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/strips.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

// The first `count` of `most` vectors, as the tree joins them.
template <class Op, class V, int most>
HWY_INLINE V joined(const V (&v)[most], int count) {
  if (count == 1) return v[0];
  const V two = Op::many(v[0], v[1]);
  if constexpr (most > 2) {
    if (count == 3) return Op::many(two, v[2]);
  }
  if constexpr (most > 3) {
    if (count == 4) return Op::many(two, Op::many(v[2], v[3]));
  }
  return two;
}

// `fixed`: windows have so many taps on both axes (0: as many as the strip says).
template <class Op, int fixed, class D>
bool pool_planes(D d, const Strip& s, int64_t planes, const float* x, float* y) {
  using V = hn::Vec<D>;
  constexpr int kMost = fixed > 0 ? fixed : Strip::kMostTaps;
  const int down = fixed > 0 ? fixed : s.down, along = fixed > 0 ? fixed : s.along;
  decltype(hn::SetTableIndices(d, s.cell[0])) cell[kMost];
  V present[kMost];
  for (int t = 0; t < along; ++t) {
    cell[t] = hn::SetTableIndices(d, s.cell[t]);
    present[t] = hn::BitCast(d, hn::LoadU(hn::RebindToUnsigned<D>(), s.present[t]));
  }
  const Divide<float> divide(s.divisor);
  const V factor = hn::Set(d, divide.factor), divisor = hn::Set(d, divide.divisor);
  V seen[kMost];
  for (int t = 0; t < down; ++t) seen[t] = hn::Zero(d);
  for (int64_t p = 0; p < planes; ++p, x += s.plane) {
    for (int64_t r = 0; r < s.rows; ++r, y += s.outputs) {
      const Strip::Window& w = s.windows[r];
      V row[kMost];
      if constexpr (fixed == 0) row[1] = row[2] = row[3] = hn::Zero(d);
      for (int t = 0; t < down; ++t) {
        row[t] = hn::LoadU(d, x + w.at[t]);
        if (kSums<Op> && !w.present[t]) row[t] = hn::Zero(d);
        if constexpr (kNumbers<Op>) seen[t] = hn::Add(seen[t], row[t]);  // NaN stays in a sum
      }
      const V column = joined<Op>(row, down);
      V tap[kMost];
      if constexpr (fixed == 0) tap[1] = tap[2] = tap[3] = hn::Zero(d);
      for (int t = 0; t < along; ++t) {
        tap[t] = hn::TableLookupLanes(column, cell[t]);
        if constexpr (kSums<Op>) tap[t] = hn::And(tap[t], present[t]);
      }
      V result = joined<Op>(tap, along);
      if constexpr (kSums<Op>) {
        result = divide.exact ? hn::Mul(result, factor) : hn::Div(result, divisor);
      }
      hn::StoreU(result, d, y);
    }
  }
  for (int t = 1; t < down; ++t) seen[0] = hn::Add(seen[0], seen[t]);
  return !kNumbers<Op> || hn::AllFalse(d, hn::IsNaN(seen[0]));
}

template <class Op, class D>
bool pool_rows(D d, const Strip& s, int64_t planes, const float* x, float* y) {
  if (s.down == 2 && s.along == 2) return pool_planes<Op, 2>(d, s, planes, x, y);
  if (s.down == 3 && s.along == 3) return pool_planes<Op, 3>(d, s, planes, x, y);
  if (s.down == 4 && s.along == 4) return pool_planes<Op, 4>(d, s, planes, x, y);
  return pool_planes<Op, 0>(d, s, planes, x, y);
}

using Widest = hn::CappedTag<float, Strip::kMostLanes>;

template <class Op>
bool pool(const Strip& s, int64_t planes, const float* x, float* y) {
  const Widest d;
  const hn::Half<Widest> half;
  if constexpr (hn::MaxLanes(half) >= 8) {
    if (Strip::lanes_for(s.width, static_cast<int64_t>(hn::Lanes(d))) <
        static_cast<int64_t>(hn::Lanes(d))) {
      return pool_rows<Op>(half, s, planes, x, y);
    }
  }
  return pool_rows<Op>(d, s, planes, x, y);
}

StripKernels make_table() {
  return {static_cast<int64_t>(hn::Lanes(Widest())),
          {pool<OfNumbers<Max>>, pool<OfNumbers<Min>>},
          {pool<OfAnything<Max>>, pool<OfAnything<Min>>},
          pool<Sum>};
}

#else

StripKernels make_table() { return {}; }

#endif

}  // namespace

const StripKernels* strip_kernels() {
  static const StripKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(StripKernels, strip_kernels)
}  // namespace ndpool
#endif
