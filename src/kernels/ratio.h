// Exact integer sums over a divisor: rounded to an integer type (to nearest, halves away from zero,
// saturating) or to a float type (correctly rounded once).
#ifndef NDPOOL_SRC_KERNELS_RATIO_H_
#define NDPOOL_SRC_KERNELS_RATIO_H_

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "lane.h"

namespace ndpool {

__extension__ typedef unsigned __int128 UInt128;

// The size of a signed number as an unsigned one: right for the lowest number, too.
inline uint64_t magnitude(int64_t v) {
  return v < 0 ? uint64_t{0} - static_cast<uint64_t>(v) : static_cast<uint64_t>(v);
}
inline UInt128 magnitude(Int128 v) {
  return v < 0 ? UInt128{0} - static_cast<UInt128>(v) : static_cast<UInt128>(v);
}

template <class T, class L>
inline T rounded_quotient(L sum, int64_t divisor) {
  using Signed = std::conditional_t<sizeof(L) == 16, Int128, int64_t>;
  using Unsigned = decltype(magnitude(Signed{}));
  const Unsigned n = magnitude(static_cast<Signed>(sum)), d = magnitude(divisor);
  Unsigned quotient = n / d;
  const Unsigned rest = n % d;
  if (rest >= d - rest) ++quotient;
  const bool negative = (sum < 0) != (divisor < 0);
  const Unsigned limit = negative
                             ? Unsigned{0} - static_cast<Unsigned>(std::numeric_limits<T>::min())
                             : static_cast<Unsigned>(std::numeric_limits<T>::max());
  if (quotient > limit) quotient = limit;
  return static_cast<T>(negative ? Unsigned{0} - quotient : quotient);
}

// n/d as 64 significant bits times 2^exponent, the last bit set if anything is lost below it:
// rounding that to any float type is rounding n/d once. For n, d > 0.
struct OddRatio {
  uint64_t bits;
  int exponent;
};
inline OddRatio odd_ratio(UInt128 n, uint64_t d) {
  UInt128 whole = n / d, rest = n % d;
  int exponent = 0;
  bool lost = false;
  for (; whole >> 64 != 0; whole >>= 1, ++exponent) lost = lost || (whole & 1) != 0;
  for (; whole >> 63 == 0; --exponent) {
    rest *= 2;
    const bool bit = rest >= d;
    if (bit) rest -= d;
    whole = whole * 2 + bit;
  }
  return {static_cast<uint64_t>(whole) | (lost || rest != 0), exponent};
}

// n/d in double, rounded so that a further rounding to a narrower type is the only one. For n and d
// of at most 53 bits.
inline double odd_quotient(double n, double d) {
  const double quotient = n / d;
  const double excess = std::fma(quotient, d, -n);
  const uint64_t bits = std::bit_cast<uint64_t>(quotient);
  if (excess == 0 || (bits & 1)) return quotient;
  return std::bit_cast<double>(excess > 0 ? bits - 1 : bits + 1);
}

template <class T, class L>
inline T nearest_ratio(L sum, int64_t divisor) {
  // Nothing was counted: the average of an empty window.
  if (divisor == 0) return RoundTo<T>::from(std::numeric_limits<double>::quiet_NaN());
  if (sum == 0) return RoundTo<T>::from(0.0);
  const UInt128 n = magnitude(static_cast<Int128>(sum));
  const uint64_t d = magnitude(divisor);
  const double sign = (sum < 0) != (divisor < 0) ? -1 : 1;
  constexpr uint64_t kExact = uint64_t{1} << 53;
  if (n <= kExact && d <= kExact) {
    const double dn = static_cast<double>(static_cast<uint64_t>(n)), dd = static_cast<double>(d);
    if constexpr (std::is_same_v<T, double>) return sign * (dn / dd);
    return RoundTo<T>::from(sign * odd_quotient(dn, dd));
  }
  const OddRatio ratio = odd_ratio(n, d);
  if constexpr (std::is_same_v<T, double>) {
    return sign * std::ldexp(static_cast<double>(ratio.bits), ratio.exponent);
  } else {
    const uint64_t high = ratio.bits >> 32 | ((ratio.bits & 0xFFFFFFFFu) != 0);
    return RoundTo<T>::from(sign * std::ldexp(static_cast<double>(high), ratio.exponent + 32));
  }
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_RATIO_H_
