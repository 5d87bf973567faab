// Averages of integers: exact sums over divisors, lane by lane, rounded once. Included once per
// SIMD target.
#if defined(NDPOOL_SRC_KERNELS_QUOTIENTS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_QUOTIENTS_H_
#undef NDPOOL_SRC_KERNELS_QUOTIENTS_H_
#else
#define NDPOOL_SRC_KERNELS_QUOTIENTS_H_
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/order.h"
#include "kernels/ratio.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// sum/divisor to nearest, halves away from zero, in the float type F: exact where both have far
// fewer bits than F, since n/d is a half or at least 1/(2d) away from one.
template <class F, class T, class L>
T quotient_by_float(L sum, F divisor) {
  const F quotient = static_cast<F>(sum) / divisor;
  const F rounded = quotient + std::copysign(F{0.5}, quotient);
  constexpr F kLow = static_cast<F>(std::numeric_limits<T>::min());
  constexpr F kHigh = static_cast<F>(std::numeric_limits<T>::max());
  const F inside = rounded < kLow ? kLow : rounded > kHigh ? kHigh : rounded;
  return static_cast<T>(static_cast<int32_t>(inside));
}

#if HWY_TARGET != HWY_SCALAR
// The same for a vector; conversions to narrower integers saturate.
template <class T, class D, class L>
HWY_INLINE auto vector_quotient(D d, const L* sums, const hwy::HWY_NAMESPACE::TFromD<D>* divisors) {
  namespace hn = hwy::HWY_NAMESPACE;
  using F = hn::TFromD<D>;
  const hn::Rebind<int32_t, D> d32;
  const auto sum = hn::LoadU(hn::Rebind<L, D>(), sums);
  hn::Vec<D> value;
  if constexpr (sizeof(F) == 4) {
    value = hn::ConvertTo(d, hn::PromoteTo(d32, sum));
  } else {
    value = hn::PromoteTo(d, sum);
  }
  const auto quotient = hn::Div(value, hn::LoadU(d, divisors));
  const auto rounded = hn::Add(quotient, hn::CopySign(hn::Set(d, F{0.5}), quotient));
  if constexpr (sizeof(F) == 4) {
    return hn::DemoteTo(hn::Rebind<T, D>(), hn::ConvertTo(d32, rounded));
  } else {
    return hn::DemoteTo(hn::Rebind<T, D>(), hn::DemoteTo(d32, rounded));
  }
}
#endif

// Lanes of a block.
constexpr int64_t kTogether = 64;

// Whether all of n numbers lie between -limit and limit, a power of two.
template <class L>
bool all_within(const L* numbers, int64_t n, int64_t limit) {
  L bits = 0;
  for (int64_t i = 0; i < n; ++i) {
    bits |= static_cast<L>(numbers[i] ^ (numbers[i] >> (8 * sizeof(L) - 1)));
  }
  return bits < limit;
}

// Integers of one or two bytes from sums of up to four.
template <class L, class T>
struct NarrowQuotients {
  using F = std::conditional_t<sizeof(L) == 2, float, double>;
  static constexpr int64_t kMostDivisor = 1 << 20;
  static bool run(const L* sums, const F* by, int64_t n, T* to) {
    int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<F> d;
    const int64_t step = static_cast<int64_t>(hn::Lanes(d));
    for (; i + step <= n; i += step) {
      hn::StoreU(vector_quotient<T>(d, sums + i, by + i), hn::Rebind<T, decltype(d)>(), to + i);
    }
#endif
    for (; i < n; ++i) to[i] = quotient_by_float<F, T>(sums[i], by[i]);
    return true;
  }
};

// Other integers, in f64. A quotient that is not a half is at least 1/(2*divisor) away from one; of
// sums below 2^50 that is more than is lost by dividing and by adding 1/2.
template <class L, class T>
struct WideQuotients {
  using F = double;
  static constexpr int64_t kMostDivisor = int64_t{1} << 50;
  static bool run(const L* sums, const F* by, int64_t n, T* to) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<double> d;
    const hn::RebindToSigned<decltype(d)> d64;
    const int64_t step = static_cast<int64_t>(hn::Lanes(d));
    if (!all_within(sums, n, kMostDivisor)) return false;
    int64_t wide[kTogether]{};
    for (int64_t i = 0; i < n; ++i) wide[i] = static_cast<int64_t>(sums[i]);
    // In this range of doubles the last bit is worth 1: an integer is added to the bits, and taken
    // out of them.
    const auto magic = hn::Set(d, 0x1.8p52);
    const auto low = hn::Set(d, lowest()), high = hn::Set(d, highest());
    for (int64_t begin = 0; begin < n; begin += step) {
      const auto bits = hn::Add(hn::LoadU(d64, wide + begin), hn::BitCast(d64, magic));
      const auto sum = hn::Sub(hn::BitCast(d, bits), magic);
      const auto quotient = hn::Div(sum, hn::LoadU(d, by + begin));
      const auto rounded = hn::Trunc(hn::Add(quotient, hn::CopySign(hn::Set(d, 0.5), quotient)));
      const auto inside = hn::Min(hn::Max(rounded, low), high);
      const auto result = hn::BitCast(d64, hn::Add(inside, magic));
      hn::StoreU(hn::Sub(result, hn::BitCast(d64, magic)), d64, wide + begin);
    }
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(wide[i]);
    return true;
  }

 private:
  // As far as quotients reach.
  static constexpr double lowest() {
    if (std::is_unsigned_v<T>) return 0;
    return sizeof(T) == 8 ? -0x1p50 : static_cast<double>(std::numeric_limits<T>::min());
  }
  static constexpr double highest() {
    return sizeof(T) == 8 ? 0x1p50 : static_cast<double>(std::numeric_limits<T>::max());
  }
};

// f32 and f64, where both numbers are exact in them.
template <class L, class T>
struct FloatQuotients {
  using F = T;
  static constexpr int64_t kMostDivisor = int64_t{1} << std::numeric_limits<T>::digits;
  static bool run(const L* sums, const F* by, int64_t n, T* to) {
    if constexpr (sizeof(L) > 2) {
      if (!all_within(sums, n, kMostDivisor)) return false;
    }
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(sums[i]) / by[i];
    return true;
  }
};

// Over a power of two, if all divisors are the same one: its logarithm, else -1.
constexpr int64_t kMostShifted = 1024;
inline int common_shift(const int64_t* by, int64_t n) {
  const int64_t first = by[0];
  if (first < 1 || first > kMostShifted || (first & (first - 1)) != 0) return -1;
  int64_t other = 0;
  for (int64_t i = 0; i < n; ++i) other |= by[i] ^ first;
  return other == 0 ? std::countr_zero(static_cast<uint64_t>(first)) : -1;
}
// Sizes and a half of the divisor, without sign, have room in a lane: sums leave a bit and more.
template <class L, class T>
void shifted_quotients(const L* sums, int shift, int64_t n, T* to) {
  using U = std::make_unsigned_t<L>;
  const U half = static_cast<U>((U{1} << shift) >> 1);
  constexpr int kSign = 8 * sizeof(L) - 1;
  // Limits of narrower types; others hold every quotient but those below zero.
  constexpr bool kNarrow = sizeof(T) < sizeof(L);
  constexpr L kLow = kNarrow                 ? static_cast<L>(std::numeric_limits<T>::min())
                     : std::is_unsigned_v<T> ? L{0}
                                             : std::numeric_limits<L>::min();
  constexpr L kHigh =
      kNarrow ? static_cast<L>(std::numeric_limits<T>::max()) : std::numeric_limits<L>::max();
  for (int64_t i = 0; i < n; ++i) {
    const U sign = static_cast<U>(sums[i] >> kSign);  // all bits or none
    const U size = static_cast<U>((static_cast<U>(sums[i]) ^ sign) - sign);
    const U quotient = static_cast<U>(static_cast<U>(size + half) >> shift);
    const L value = static_cast<L>(static_cast<U>((quotient ^ sign) - sign));
    to[i] = static_cast<T>(value < kLow ? kLow : value > kHigh ? kHigh : value);
  }
}

// One by one, whatever the numbers.
template <class L, class T>
void exact_quotients(const L* sums, const int64_t* by, int64_t n, T* to) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (std::is_integral_v<T>) {
      to[i] = rounded_quotient<T>(sums[i], by[i]);
    } else {
      to[i] = nearest_ratio<T>(sums[i], by[i]);
    }
  }
}

template <class L, class T>
using Quotients =
    std::conditional_t<std::is_floating_point_v<T>, FloatQuotients<L, T>,
                       std::conditional_t<sizeof(T) <= 2 && sizeof(L) <= 4, NarrowQuotients<L, T>,
                                          WideQuotients<L, T>>>;

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_QUOTIENTS_H_
