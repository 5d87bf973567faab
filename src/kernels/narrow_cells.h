// Halves, and integers of one and two bytes, as lanes: see columns.h, pair_columns.h. Included once
// per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_NARROW_CELLS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_NARROW_CELLS_H_
#undef NDPOOL_SRC_KERNELS_NARROW_CELLS_H_
#else
#define NDPOOL_SRC_KERNELS_NARROW_CELLS_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/halves.h"
#include "kernels/loaded_once.h"
#include "kernels/moved.h"
#include "kernels/order.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if NDPOOL_VECTOR_HALVES

// What all have: lanes of L.
template <class Type, class L, size_t bytes>
struct Narrow {
  static constexpr bool kAllSquares = false, kRuns = false, kPairs = false, kWhole = false,
                        kPairSums = false;
  using T = Type;
  using D = hn::CappedTag<L, bytes / sizeof(L)>;
  using V = hn::Vec<D>;
  static HWY_INLINE V pairs(const T* at) {
    const hn::Repartition<uint8_t, D> bits;
    return hn::BitCast(D(), loaded_once(hn::LoadU(bits, reinterpret_cast<const uint8_t*>(at))));
  }
  static HWY_INLINE V ordered(V v) { return v; }
  static HWY_INLINE V up(V v) { return moved_up(D(), v, v); }
  static HWY_INLINE V down(V v) { return moved_down(D(), v, v); }
};

constexpr bool kBytePairSums = HWY_TARGET == HWY_AVX2 || HWY_TARGET <= HWY_AVX3;

// Lanes of as many bits as two cells.
template <class T>
using Wider = std::conditional_t<sizeof(T) == 1, int16_t, int32_t>;

// sum/divisor to nearest, halves away from zero; T saturates. Sums are those of up to nine cells,
// divisors those that ColumnKernels::is_divisor says.
template <class T, size_t bytes>
class WholeQuotient {
 public:
  using D = typename Narrow<T, Wider<T>, bytes>::D;
  using V = hn::Vec<D>;
  HWY_INLINE explicit WholeQuotient(int64_t divisor)
      : halves_(std::is_signed_v<T> && divisor % 2 == 0),
        factor_(static_cast<int16_t>(divisor == 1 ? 0x7FFF : (0x8000 + divisor - 1) / divisor)),
        reciprocal_(1.0f / static_cast<float>(divisor)),
        half_(0.5f + 0.25f / static_cast<float>(divisor)) {}

  HWY_INLINE void store(V sum, T* to) const {
    const hn::Rebind<T, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, of(sum)), narrow, to);
  }
  // Still in lanes of sums.
  HWY_INLINE V of(V sum) const {
    if constexpr (sizeof(T) == 2) {
      return of_words(sum);
    } else {
      // sum*factor/2^15 to nearest, halves up. There are halves only if the divisor is a power of
      // two, of which the factor is exact: negative sums go down by one, which moves halves alone.
      // Of odd divisors no quotient is closer to a half than 1/(2*divisor), and 9*255 times the
      // error of the factor is less.
      if (halves_) sum = hn::Add(sum, hn::ShiftRight<15>(sum));
      return hn::MulFixedPoint15(sum, hn::Set(D(), factor_));
    }
  }

 private:
  HWY_INLINE V of_words(V sum) const {
    // The quotient is a half or a multiple of 1/divisor away from it; a quarter of that lies
    // between what is added and a half, and is far more than f32 can err by.
    const D d;
    const hn::RebindToFloat<D> df;
    const auto dividend = hn::ConvertTo(df, sum);
    auto half = hn::Set(df, half_);
    if constexpr (std::is_signed_v<T>) half = hn::CopySignToAbs(half, dividend);
    return hn::ConvertTo(d, hn::MulAdd(dividend, hn::Set(df, reciprocal_), half));
  }

  bool halves_;
  int16_t factor_;
  float reciprocal_, half_;
};

template <class T, size_t bytes>
struct Integers : Narrow<T, Wider<T>, bytes> {
  using Base = Narrow<T, Wider<T>, bytes>;
  using typename Base::D;
  using typename Base::V;
  using Quotient = WholeQuotient<T, bytes>;
  static constexpr bool kWhole = true,
                        kPairSums = std::is_same_v<T, int16_t> || (kBytePairSums && sizeof(T) == 1);
  static constexpr int kBits = 8 * sizeof(T);
  static HWY_INLINE V load(const T* at) {
    const D d;
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<T, D>(), at));
  }
  static HWY_INLINE V even(V pairs) {
    if constexpr (std::is_signed_v<T>) {
      return hn::ShiftRight<kBits>(hn::ShiftLeft<kBits>(pairs));
    } else {
      return hn::And(pairs, hn::Set(D(), (Wider<T>{1} << kBits) - 1));
    }
  }
  static HWY_INLINE V odd(V pairs) {
    if constexpr (std::is_signed_v<T>) {
      return hn::ShiftRight<kBits>(pairs);
    } else {
      const hn::RebindToUnsigned<D> du;
      return hn::BitCast(D(), hn::ShiftRight<kBits>(hn::BitCast(du, pairs)));
    }
  }
  // The taps of windows of two or three cells; the first window may lack its first (`left`), the
  // last one its last (`right`).
  template <int taps, bool left, bool right>
  static HWY_INLINE V sum_along(const T* at) {
    if constexpr (taps == 2) return pair_sums(load_cells<left, right>(at));
    return hn::Add(firsts(load_cells<left, false>(at)),
                   pair_sums(load_cells<false, right>(at + 1)));
  }
  // Of the pairs of a vector of cells: both added, and the first.
  using Cells = hn::Repartition<T, D>;
  static HWY_INLINE V pair_sums(hn::Vec<Cells> v) {
    if constexpr (kPairSums) {
      return products(v, kBoth);
    } else {
      const V pairs = hn::BitCast(D(), v);
      return hn::Add(even(pairs), odd(pairs));
    }
  }
  static HWY_INLINE V firsts(hn::Vec<Cells> v) {
    return kPairSums && std::is_signed_v<T> ? products(v, Wider<T>{1}) : even(hn::BitCast(D(), v));
  }
  static HWY_INLINE void store(V v, T* to) {
    const hn::Rebind<T, D> narrow;
    hn::StoreU(hn::DemoteTo(narrow, v), narrow, to);
  }

 private:
  static constexpr Wider<T> kBoth = (Wider<T>{1} << kBits) + 1;
  // Cells without the first, or the last, which is 0 and whose memory is not touched.
  template <bool left, bool right>
  static HWY_INLINE auto load_cells(const T* at) {
    const Cells cells;
    if constexpr (left) {
      return hn::MaskedLoad(hn::Not(hn::FirstN(cells, 1)), cells, at);
    } else if constexpr (right) {
      return hn::MaskedLoad(hn::FirstN(cells, hn::Lanes(cells) - 1), cells, at);
    } else {
      return hn::LoadU(cells, at);
    }
  }
  // Of the cells of pairs and the halves of a word, two of which are added.
  static HWY_INLINE V products(hn::Vec<Cells> v, Wider<T> word) {
    const D d;
    const auto factors = hn::BitCast(Cells(), hn::Set(d, word));
    if constexpr (sizeof(T) == 1) {
      return byte_products(v, factors);
    } else if constexpr (std::is_signed_v<T>) {
      V other = hn::Zero(d);
      const V sums = hn::ReorderWidenMulAccumulate(d, v, factors, other, other);
      return hn::RearrangeToOddPlusEven(sums, other);
    }
  }
  // One instruction, which takes bytes without a sign and such with one.
  static HWY_INLINE V byte_products([[maybe_unused]] hn::Vec<Cells> v,
                                    [[maybe_unused]] hn::Vec<Cells> factors) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET <= HWY_AVX3
    constexpr bool kSigned = std::is_signed_v<T>;
    const auto unsigned_bytes = kSigned ? factors.raw : v.raw;
    const auto signed_bytes = kSigned ? v.raw : factors.raw;
    if constexpr (sizeof(v.raw) == 32) {
      return V{_mm256_maddubs_epi16(unsigned_bytes, signed_bytes)};
    } else {
#if HWY_TARGET <= HWY_AVX3
      return V{_mm512_maddubs_epi16(unsigned_bytes, signed_bytes)};
#endif
    }
#else
    return hn::Zero(D());
#endif
  }
};

// Halves of either kind as floats, divided by up to kMostHalfDivisor and rounded twice, which is
// the same as once: the middle between two halves, times the divisor, has no more bits than a float
// and so lies on the grid of the sums. A sum beside it is a whole step of that grid away, and its
// quotient is more than half a step of its own: it is rounded to another float than the middle.
template <class Half, size_t bytes>
class HalfQuotient {
 public:
  using D = typename Narrow<uint16_t, float, bytes>::D;
  using V = hn::Vec<D>;
  HWY_INLINE explicit HalfQuotient(int64_t divisor) : divide_(divisor) {}

  HWY_INLINE void store(V sum, uint16_t* to) const {
    hn::StoreU(plain_half_bits<Half>(D(), of(sum)), hn::Rebind<uint16_t, D>(), to);
  }
  // Still as floats.
  HWY_INLINE V of(V sum) const {
    return divide_.exact ? hn::Mul(sum, hn::Set(D(), divide_.factor)) : divided(sum);
  }

 private:
  // sum/divisor to nearest, sooner than by a division: the rest is exact, and what it adds errs by
  // less than quotients of such divisors can be close to the middle between two floats.
  HWY_INLINE V divided(V sum) const {
    const D d;
    const V factor = hn::Set(d, divide_.factor);
    const V near = hn::Mul(sum, factor);
    const V rest = hn::NegMulAdd(near, hn::Set(d, divide_.divisor), sum);
    const V quotient = hn::MulAdd(rest, factor, near);
    return hn::IfThenElse(hn::IsFinite(near), quotient, near);
  }

  Divide<float> divide_;
};

template <size_t bytes>
struct Float16s : Narrow<uint16_t, float, bytes> {
  using Base = Narrow<uint16_t, float, bytes>;
  using typename Base::D;
  using typename Base::T;
  using typename Base::V;
  static constexpr bool kRuns = true;
  using Quotient = HalfQuotient<Float16, bytes>;
  static HWY_INLINE V load(const T* at) {
    const D d;
    const hn::Rebind<hwy::float16_t, D> narrow;
    return hn::PromoteTo(d, hn::LoadU(narrow, reinterpret_cast<const hwy::float16_t*>(at)));
  }
  static HWY_INLINE V one(const T* at) {
    const D d;
    const hn::Rebind<uint16_t, D> bits;
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), hn::Set(bits, *at)));
  }
  static HWY_INLINE void store(V v, T* to) {
    const D d;
    hn::StoreU(half_bits<Float16>(d, v), hn::Rebind<uint16_t, D>(), to);
  }
};

// The upper halves of floats.
template <size_t bytes>
struct BFloat16s : Narrow<uint16_t, float, bytes> {
  using Base = Narrow<uint16_t, float, bytes>;
  using typename Base::D;
  using typename Base::T;
  using typename Base::V;
  using Quotient = HalfQuotient<BFloat16, bytes>;
  using Bits = hn::RebindToUnsigned<D>;
  static HWY_INLINE V load(const T* at) {
    const Bits bits;
    const auto words = hn::PromoteTo(bits, hn::LoadU(hn::Rebind<uint16_t, D>(), at));
    return hn::BitCast(D(), hn::ShiftLeft<16>(words));
  }
  static HWY_INLINE V even(V pairs) {
    return hn::BitCast(D(), hn::ShiftLeft<16>(hn::BitCast(Bits(), pairs)));
  }
  static HWY_INLINE V odd(V pairs) {
    const Bits bits;
    return hn::BitCast(D(), hn::And(hn::BitCast(bits, pairs), hn::Set(bits, 0xFFFF0000u)));
  }
  static HWY_INLINE void store(V v, T* to) {
    const hn::Rebind<uint16_t, D> narrow;
    const hn::RebindToSigned<D> di;
    const auto words = hn::ShiftRight<16>(hn::BitCast(Bits(), v));
    hn::StoreU(hn::DemoteTo(narrow, hn::BitCast(di, words)), narrow, to);
  }
};

// Cells as lanes, for extrema at spacing 2.
template <class Type, class Lane, size_t bytes>
struct Pairs {
  static constexpr bool kAllSquares = false, kRuns = false, kPairs = true;
  using T = Type;
  using D = hn::CappedTag<Lane, bytes / sizeof(Lane)>;
  using V = hn::Vec<D>;
  static HWY_INLINE const Lane* lanes(const T* at) { return reinterpret_cast<const Lane*>(at); }
  template <class Wide>
  static HWY_INLINE void store(Wide v, T* to) {
    const hn::Rebind<hwy::MakeUnsigned<T>, hn::DFromV<Wide>> narrow;
    hn::StoreU(hn::TruncateTo(narrow, v), narrow, reinterpret_cast<hwy::MakeUnsigned<T>*>(to));
  }
};
// Halves as integers. NaN wins if its sign is the better one: it is larger than infinity.
template <class E, class Half, size_t bytes>
struct HalfPairs : Pairs<uint16_t, int16_t, bytes> {
  static constexpr bool kMax = std::is_same_v<E, Max>;
  using typename Pairs<uint16_t, int16_t, bytes>::D;
  using typename Pairs<uint16_t, int16_t, bytes>::V;
  static HWY_INLINE V best(V a, V b) { return kMax ? hn::Max(a, b) : unsigned_max(a, b); }
  static HWY_INLINE V worst(V a, V b) { return kMax ? unsigned_max(a, b) : hn::Max(a, b); }
  static HWY_INLINE bool is_suspect(V v) {
    constexpr uint16_t kInfinity = std::is_same_v<Half, Float16> ? 0x7C00 : 0x7F80;
    const D d;
    const hn::RebindToUnsigned<D> du;
    if constexpr (kMax) {
      const auto most = hn::Set(du, static_cast<uint16_t>(kInfinity | 0x8000));
      return !hn::AllFalse(du, hn::Gt(hn::BitCast(du, v), most));
    } else {
      return !hn::AllFalse(d, hn::Gt(v, hn::Set(d, static_cast<int16_t>(kInfinity))));
    }
  }

 private:
  static HWY_INLINE V unsigned_max(V a, V b) {
    const hn::RebindToUnsigned<D> du;
    return hn::BitCast(D(), hn::Max(hn::BitCast(du, a), hn::BitCast(du, b)));
  }
};

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_NARROW_CELLS_H_
