// Windows two cells apart, in the order of memory, of halves and of integers of one and two bytes:
// see HalvedRows.
#include <cstdint>
#include <type_traits>

#include "kernels/halved_rows.h"
#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow_halved_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/narrow_cells.h"
#include "kernels/order.h"
#include "kernels/overlapping.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

constexpr size_t kBytes = Overlapping::kBytes;  // of a vector
using Words = hn::ScalableTag<float>;

// The last lane of `before`, and behind it the lanes of v but its last.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V moved_behind(D d, V before, V v) {
  constexpr int kSize = sizeof(hn::TFromD<D>);
  const auto low = hn::BitCast(Bytes(), before).raw, high = hn::BitCast(Bytes(), v).raw;
  if constexpr (kSize == 4) {
    return hn::BitCast(d, hn::Vec<Bytes>{_mm512_alignr_epi32(high, low, 15)});
  } else {
    const auto blocks = _mm512_alignr_epi64(high, low, 6);  // a block of 16 bytes before each
    return hn::BitCast(d, hn::Vec<Bytes>{_mm512_alignr_epi8(high, blocks, 16 - kSize)});
  }
}

// Lanes of two vectors as T, which saturates.
template <class T, class V>
HWY_INLINE auto narrowed(V low, V high) {
  using D = hn::ScalableTag<T>;
  const hn::ScalableTag<uint64_t> blocks;
  __m512i mixed;  // eight bytes of one, eight of the other
  if constexpr (sizeof(T) == 1) {
    mixed = std::is_signed_v<T> ? _mm512_packs_epi16(low.raw, high.raw)
                                : _mm512_packus_epi16(low.raw, high.raw);
  } else {
    mixed = std::is_signed_v<T> ? _mm512_packs_epi32(low.raw, high.raw)
                                : _mm512_packus_epi32(low.raw, high.raw);
  }
  alignas(64) static constexpr uint64_t kOrder[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  const auto order = hn::Load(blocks, kOrder);
  return hn::Vec<D>{_mm512_permutexvar_epi64(order.raw, mixed)};
}

// Extrema of lanes that are compared as integers: what is kept of a row, and what becomes of it.
//   row(v), row(x)        of a vector of cells; of one in memory
//   down(a, b)            of two rows
//   begin()               a row of outputs begins
//   results(low, high)    of two such that lie side by side: a vector of them
//   fine()                whether there was no NaN, where that matters
template <class Type, class E, int taps>
class WholeExtremes {
 public:
  using D = hn::ScalableTag<Type>;
  using V = hn::Vec<D>;
  using Op = Extremum<E>;
  using Row = V;
  HWY_INLINE explicit WholeExtremes(int64_t) {}
  HWY_INLINE Row row(V v) { return v; }
  HWY_INLINE Row row(const Type* x) { return hn::LoadU(D(), x); }
  static HWY_INLINE Row down(Row a, Row b) { return Op::many(a, b); }
  HWY_INLINE void begin() { inner_ = hn::Not(hn::FirstN(D(), 1)); }
  HWY_INLINE V results(Row low, Row high) {
    const D d;
    const V odd = hn::ConcatOdd(d, high, low), y = Op::many(hn::ConcatEven(d, high, low), odd);
    if constexpr (taps == 2) return y;
    // The first cell of a row has none before it; that behind it stands there.
    const V before = hn::IfThenElse(inner_, moved_behind(d, odd_before_, odd), odd);
    inner_ = hn::FirstN(d, hn::Lanes(d));
    odd_before_ = odd;
    return Op::many(y, before);
  }
  HWY_INLINE bool fine() const { return true; }

 private:
  V odd_before_ = hn::Zero(D());
  hn::Mask<D> inner_ = hn::FirstN(D(), 0);
};

// Halves as integers of the same order. NaN of the better sign win; others are looked for.
template <class Half, class E, int taps>
class HalfNumbers {
 public:
  using D = hn::ScalableTag<int16_t>;
  using V = hn::Vec<D>;
  using Row = V;
  HWY_INLINE explicit HalfNumbers(int64_t) : keys_(1) {}
  HWY_INLINE Row row(V v) {
    const V key = turned(v);
    worst_ = Extremum<typename E::Opposite>::many(worst_, key);
    return key;
  }
  HWY_INLINE Row row(const int16_t* x) { return row(hn::LoadU(D(), x)); }
  static HWY_INLINE Row down(Row a, Row b) { return Keys::down(a, b); }
  HWY_INLINE void begin() { keys_.begin(); }
  HWY_INLINE V results(Row low, Row high) { return turned(keys_.results(low, high)); }
  HWY_INLINE bool fine() const {
    constexpr int16_t kInfinity = std::is_same_v<Half, Float16> ? 0x7C00 : 0x7F80;
    constexpr bool kMax = std::is_same_v<E, Max>;
    const V worst = hn::Set(D(), kMax ? static_cast<int16_t>(-kInfinity - 1) : kInfinity);
    return hn::AllFalse(D(), kMax ? hn::Lt(worst_, worst) : hn::Gt(worst_, worst));
  }

 private:
  using Keys = WholeExtremes<int16_t, E, taps>;
  // Of those with a sign, the larger are the smaller: all other bits are turned, and back again.
  static HWY_INLINE V turned(V v) {
    const V sizes = hn::Set(D(), int16_t{0x7FFF});
    return hn::Xor(v, hn::And(hn::ShiftRight<15>(v), sizes));
  }
  Keys keys_;
  V worst_ = hn::Zero(D());
};

// Pairs are added at once, and what the next window has of them is kept beside their sum.
template <class Type, int taps>
class WholeAverages {
 public:
  using Lanes = Integers<Type, kBytes>;
  using D = typename Lanes::Cells;
  using V = hn::Vec<D>;
  using Sums = typename Lanes::V;
  struct Row {
    HWY_INLINE Row(Sums a, Sums b) : sum(a), odd(b) {}
    Sums sum, odd;
  };
  HWY_INLINE explicit WholeAverages(int64_t divisor) : quotient_(divisor) {}
  HWY_INLINE Row row(V v) {
    return {Lanes::pair_sums(v), Lanes::odd(hn::BitCast(typename Lanes::D(), v))};
  }
  HWY_INLINE Row row(const Type* x) { return row(hn::LoadU(D(), x)); }
  static HWY_INLINE Row down(const Row& a, const Row& b) {
    return {hn::Add(a.sum, b.sum), hn::Add(a.odd, b.odd)};
  }
  HWY_INLINE void begin() { odd_before_ = hn::Zero(typename Lanes::D()); }
  HWY_INLINE V results(const Row& low, const Row& high) {
    const Sums first = quotient_.of(along(low));
    return narrowed<Type>(first, quotient_.of(along(high)));
  }
  HWY_INLINE bool fine() const { return true; }

 private:
  HWY_INLINE Sums along(const Row& row) {
    if constexpr (taps == 2) return row.sum;
    const Sums before = moved_behind(typename Lanes::D(), odd_before_, row.odd);
    odd_before_ = row.odd;
    return hn::Add(row.sum, before);
  }

  WholeQuotient<Type, kBytes> quotient_;
  Sums odd_before_ = hn::Zero(typename Lanes::D());
};

// Down first, as sums of floats must.
template <class Half, int taps>
class HalfAverages {
 public:
  using D = hn::ScalableTag<uint16_t>;
  using V = hn::Vec<D>;
  using F = hn::Vec<Words>;
  struct Row {  // BFloat16: the first of pairs, and the second; Float16: neighbours in two vectors
    HWY_INLINE Row(F a, F b) : low(a), high(b) {}
    F low, high;
  };
  HWY_INLINE explicit HalfAverages(int64_t divisor)
      : quotient_(divisor), one_(loaded_once(hn::Set(Words(), 1.0f))) {}
  HWY_INLINE Row row(V v) {
    const Words d;
    if constexpr (kFloat16) {
      return {promoted(hn::LowerHalf(v)), promoted(hn::UpperHalf(hn::Half<D>(), v))};
    } else {
      const F pairs = hn::BitCast(d, v);
      return {BFloat16s<kBytes>::even(pairs), BFloat16s<kBytes>::odd(pairs)};
    }
  }
  HWY_INLINE Row row(const uint16_t* x) {
    const hn::Half<D> d;
    if constexpr (!kFloat16) return row(hn::LoadU(D(), x));
    return {promoted(hn::LoadU(d, x)), promoted(hn::LoadU(d, x + hn::Lanes(d)))};
  }
  // Adding a product with 1 is adding, where other units are than those that convert.
  HWY_INLINE Row down(const Row& a, const Row& b) const {
    return {hn::MulAdd(a.low, one_, b.low), hn::MulAdd(a.high, one_, b.high)};
  }
  HWY_INLINE void begin() { odd_before_ = hn::Zero(Words()); }
  HWY_INLINE V results(const Row& low, const Row& high) {
    const Words d;
    const F first = quotient_.of(along(low)), second = quotient_.of(along(high));
    if constexpr (kFloat16) {
      return hn::Combine(D(), plain_half_bits<Half>(d, second), plain_half_bits<Half>(d, first));
    } else {
      return hn::ConcatOdd(D(), hn::BitCast(D(), rounded_to_upper_half(d, second)),
                           hn::BitCast(D(), rounded_to_upper_half(d, first)));
    }
  }
  HWY_INLINE bool fine() const { return true; }

 private:
  static constexpr bool kFloat16 = std::is_same_v<Half, Float16>;
  static HWY_INLINE F promoted(hn::Vec<hn::Half<D>> v) {
    return hn::PromoteTo(Words(), hn::BitCast(hn::Rebind<hwy::float16_t, Words>(), v));
  }
  HWY_INLINE F along(const Row& row) {
    const Words d;
    const F even = kFloat16 ? hn::ConcatEven(d, row.high, row.low) : row.low;
    const F odd = kFloat16 ? hn::ConcatOdd(d, row.high, row.low) : row.high;
    if constexpr (taps == 2) return hn::Add(even, odd);
    const F before = moved_behind(d, odd_before_, odd);
    odd_before_ = odd;
    return hn::Add(hn::Add(before, even), odd);
  }

  HalfQuotient<Half, kBytes> quotient_;
  F one_;
  F odd_before_ = hn::Zero(Words());
};

template <class Cells, int taps, class Out>
class Rows {
 public:
  using D = typename Cells::D;
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  using Row = typename Cells::Row;
  static constexpr int64_t kLanes = kBytes / sizeof(T);

  HWY_INLINE Rows(const HalvedRows& s, uint8_t* room)
      : cells_(s.divisor),
        count_(s.cells),
        rest_(s.cells % (2 * kLanes)),
        low_(hn::FirstN(D(), static_cast<size_t>(rest_ < kLanes ? rest_ : kLanes))),
        high_(hn::FirstN(D(), static_cast<size_t>(rest_ < kLanes ? 0 : rest_ - kLanes))),
        to_(s.y, s.planes * s.output_rows * (s.cells / 2) * int64_t{sizeof(T)}, room) {}

  HWY_INLINE void plane(const T* x, int64_t rows, int64_t output_rows) {
    for (int64_t o = 0; o < output_rows; ++o, x += 2 * count_) {
      const bool above = taps == 3 && o > 0, below = 2 * o + 1 < rows;
      cells_.begin();
      int64_t at = 0;
      for (; at + 2 * kLanes <= count_; at += 2 * kLanes) {
        put(windows<false>(x + at, low_, above, below),
            windows<false>(x + at + kLanes, low_, above, below), kBytes);
      }
      if (rest_ > 0) {
        put(windows<true>(x + at, low_, above, below),
            windows<true>(x + at + kLanes, high_, above, below),
            static_cast<size_t>(rest_ / 2) * sizeof(T));
      }
    }
  }
  HWY_INLINE bool finish() {
    to_.finish();
    return cells_.fine();
  }

 private:
  HWY_INLINE void put(const Row& low, const Row& high, size_t bytes) {
    to_.put(hn::BitCast(Bytes(), cells_.results(low, high)), bytes);
  }
  // What the rows of windows are, down: a vector of cells of each, or `some` of it. (The row that
  // two windows share is read twice: to keep it, where rows are short, takes longer.)
  template <bool some>
  HWY_INLINE Row windows(const T* x, hn::Mask<D> present, bool above, bool below) {
    Row best = row<some>(x, present);
    if (above) best = cells_.down(row<some>(x - count_, present), best);
    if (below) best = cells_.down(best, row<some>(x + count_, present));
    return best;
  }
  template <bool some>
  HWY_INLINE Row row(const T* x, hn::Mask<D> present) {
    if constexpr (some) return cells_.row(hn::MaskedLoad(present, D(), x));
    return cells_.row(x);
  }

  Cells cells_;
  int64_t count_, rest_;  // cells in a row; behind its last two whole vectors
  hn::Mask<D> low_, high_;
  Out to_;
};

template <class Cells, int taps, class Out>
bool pool_planes(const HalvedRows& s) {
  alignas(64) uint8_t room[OverlappingStreamed::kRoom];
  Rows<Cells, taps, Out> rows(s, room);
  const auto* x = static_cast<const hn::TFromD<typename Cells::D>*>(s.x);
  const int64_t cell_rows = s.rows, output_rows = s.output_rows, plane = cell_rows * s.cells;
  for (int64_t p = s.planes; p > 0; --p, x += plane) rows.plane(x, cell_rows, output_rows);
  return rows.finish();
}
template <class OfTwo, class OfThree>
bool pool(const HalvedRows& s) {
  if (s.streamed) {
    return s.taps == 2 ? pool_planes<OfTwo, 2, OverlappingStreamed>(s)
                       : pool_planes<OfThree, 3, OverlappingStreamed>(s);
  }
  return s.taps == 2 ? pool_planes<OfTwo, 2, Overlapping>(s)
                     : pool_planes<OfThree, 3, Overlapping>(s);
}

template <class T>
constexpr HalvedRowKernels whole_kernels_of() {
  HalvedRowKernels k;
  k.extremes[kMax].anything = pool<WholeExtremes<T, Max, 2>, WholeExtremes<T, Max, 3>>;
  k.extremes[kMin].anything = pool<WholeExtremes<T, Min, 2>, WholeExtremes<T, Min, 3>>;
  k.average = pool<WholeAverages<T, 2>, WholeAverages<T, 3>>;
  return k;
}
template <class Half>
constexpr HalvedRowKernels half_kernels_of() {
  HalvedRowKernels k;
  k.extremes[kMax].numbers = pool<HalfNumbers<Half, Max, 2>, HalfNumbers<Half, Max, 3>>;
  k.extremes[kMin].numbers = pool<HalfNumbers<Half, Min, 2>, HalfNumbers<Half, Min, 3>>;
  k.average = pool<HalfAverages<Half, 2>, HalfAverages<Half, 3>>;
  return k;
}
constexpr NarrowHalvedRowKernels make_table() {
  NarrowHalvedRowKernels t;
  t.of[NDPOOL_F16] = half_kernels_of<Float16>();
  t.of[NDPOOL_BF16] = half_kernels_of<BFloat16>();
  t.of[NDPOOL_I8] = whole_kernels_of<int8_t>();
  t.of[NDPOOL_U8] = whole_kernels_of<uint8_t>();
  t.of[NDPOOL_I16] = whole_kernels_of<int16_t>();
  t.of[NDPOOL_U16] = whole_kernels_of<uint16_t>();
  return t;
}

#else

constexpr NarrowHalvedRowKernels make_table() { return {}; }

#endif

constexpr NarrowHalvedRowKernels kTable = make_table();

}  // namespace

const NarrowHalvedRowKernels* narrow_halved_row_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(NarrowHalvedRowKernels, narrow_halved_row_kernels)
}  // namespace ndpool
#endif
