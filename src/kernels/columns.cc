// Small windows of f32, column by column.
#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/columns.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/columns.h"
#include "kernels/divide.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

template <size_t bytes>
struct Floats {
  static constexpr bool kAllSquares = true, kRuns = true, kPairs = false, kWhole = false,
                        kPairSums = false;
  using T = float;
  using D = hn::CappedTag<float, bytes / sizeof(float)>;
  using V = hn::Vec<D>;
  static HWY_INLINE V load(const T* at) { return hn::LoadU(D(), at); }
  static HWY_INLINE V one(const T* at) { return hn::Set(D(), *at); }
  struct Pairs {
    HWY_INLINE Pairs(V a, V b) : low(a), high(b) {}
    V low, high;
  };
  static HWY_INLINE Pairs pairs(const T* at) {
    return {loaded_once(load(at)), loaded_once(load(at + hn::Lanes(D())))};
  }
  static HWY_INLINE V even(const Pairs& p) { return hn::ConcatEven(D(), p.high, p.low); }
  static HWY_INLINE V odd(const Pairs& p) { return hn::ConcatOdd(D(), p.high, p.low); }
  static HWY_INLINE V ordered(V v) { return v; }
  static HWY_INLINE V up(V v) { return moved_up(D(), v, v); }
  static HWY_INLINE V down(V v) { return moved_down(D(), v, v); }
  static HWY_INLINE void store(V v, T* to) { hn::StoreU(v, D(), to); }

  struct Quotient {
    HWY_INLINE explicit Quotient(int64_t divisor) : divide(divisor) {}
    HWY_INLINE void store(V sum, T* to) const {
      const D d;
      hn::StoreU(divide.exact ? hn::Mul(sum, hn::Set(d, divide.factor))
                              : hn::Div(sum, hn::Set(d, divide.divisor)),
                 d, to);
    }
    Divide<float> divide;
  };
};

// Halves of vectors change places slowly. Pairs of two vectors are taken in turn instead: 0 4 1 5
// 2 6 3 7. (Not for values alone: results that go past the caches then take a third longer, which
// is not understood.)
template <size_t bytes>
struct FloatsInTurn : Floats<bytes> {
  using typename Floats<bytes>::T;
  using typename Floats<bytes>::D;
  using typename Floats<bytes>::V;
  using typename Floats<bytes>::Pairs;
  static constexpr bool kInTurn = hn::MaxLanes(D()) == 8;
  using Order = int32_t[8];
  static constexpr Order kOrder = {0, 2, 4, 6, 1, 3, 5, 7}, kUp = {0, 6, 0, 1, 2, 3, 4, 5},
                         kDown = {2, 3, 4, 5, 6, 7, 1, 7};
  static HWY_INLINE V even(const Pairs& p) {
    return kInTurn ? hn::OddEven(hn::DupEven(p.high), p.low) : hn::ConcatEven(D(), p.high, p.low);
  }
  static HWY_INLINE V odd(const Pairs& p) {
    return kInTurn ? hn::OddEven(p.high, hn::DupOdd(p.low)) : hn::ConcatOdd(D(), p.high, p.low);
  }
  static HWY_INLINE V put(V v, const Order& order) {
    return hn::TableLookupLanes(v, hn::SetTableIndices(D(), order));
  }
  static HWY_INLINE V ordered(V v) { return kInTurn ? put(v, kOrder) : v; }
  static HWY_INLINE V up(V v) { return kInTurn ? put(v, kUp) : moved_up(D(), v, v); }
  static HWY_INLINE V down(V v) { return kInTurn ? put(v, kDown) : moved_down(D(), v, v); }
  template <class Bytes>
  static HWY_INLINE Bytes ordered_bytes(Bytes v) {
    if constexpr (!kInTurn) return v;
    alignas(16) static constexpr int8_t kBytes[16] = {0, 2, 4, 6, 1, 3, 5, 7};
    return hn::TableLookupBytes(v, hn::Load(hn::DFromV<Bytes>(), kBytes));
  }
};

void quotients(int64_t n, const void* from, int64_t divisor, void* to) {
  using Cells = Floats<32>;
  const Cells::Quotient quotient(divisor);
  const auto* sums = static_cast<const float*>(from);
  auto* values = static_cast<float*>(to);
  const int64_t step = static_cast<int64_t>(hn::Lanes(Cells::D()));
  int64_t i = 0;
  for (; i + step <= n; i += step) quotient.store(Cells::load(sums + i), values + i);
  for (; i < n; ++i) values[i] = quotient.divide(sums[i]);
}

template <template <class, class, int, int> class Pool, template <size_t> class Cells, class Op>
bool any_columns(const ColumnRows& c) {
  return of_any_width<columns<Pool, Cells<32>, Op>, columns<Pool, Cells<kWideBytes>, Op>,
                      kWideBytes / sizeof(float)>(c);
}

ColumnKernels make_table() {
  ColumnKernels t;
  t.lanes = static_cast<int64_t>(hn::Lanes(Floats<32>::D()));
  t.extremes[kMax] = {any_columns<Values, Floats, OfNumbers<Max>>,
                      any_columns<Values, Floats, OfAnything<Max>>};
  t.extremes[kMin] = {any_columns<Values, Floats, OfNumbers<Min>>,
                      any_columns<Values, Floats, OfAnything<Min>>};
  t.winners[kMax] = {any_columns<Winners, FloatsInTurn, OfNumbers<Max>>,
                     any_columns<Winners, FloatsInTurn, OfAnything<Max>>};
  t.winners[kMin] = {any_columns<Winners, FloatsInTurn, OfNumbers<Min>>,
                     any_columns<Winners, FloatsInTurn, OfAnything<Min>>};
  t.average = any_columns<Values, Floats, Sum>;
  t.quotients = quotients;
  return t;
}

#else

ColumnKernels make_table() { return {}; }

#endif

}  // namespace

const ColumnKernels* column_kernels() {
  static const ColumnKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(ColumnKernels, column_kernels)
}  // namespace ndpool
#endif
