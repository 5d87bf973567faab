// Types by their enum: rounding to them, their limits, and the unit in the last place.
#ifndef NDPOOL_TESTS_SUPPORT_ULP_H_
#define NDPOOL_TESTS_SUPPORT_ULP_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ndpool/ndpool.h"
#include "tests/support/half.h"

namespace ndpool::test {

inline bool is_float(int32_t type) { return type >= NDPOOL_F16 && type <= NDPOOL_F64; }
inline bool is_small_float(int32_t type) { return type == NDPOOL_F16 || type == NDPOOL_BF16; }

struct FloatFormat {
  int mantissa_bits;  // without the leading one
  int min_exponent;   // of the smallest normal number
  int max_exponent;   // of the largest finite number
};

inline FloatFormat format_of(int32_t type) {
  switch (type) {
    case NDPOOL_F16:
      return {10, -14, 15};
    case NDPOOL_BF16:
      return {7, -126, 127};
    case NDPOOL_F32:
      return {23, -126, 127};
    default:
      return {52, -1022, 1023};
  }
}

// The spacing of the type's numbers at a magnitude, at least its smallest subnormal.
inline long double ulp(int32_t type, long double magnitude) {
  const FloatFormat format = format_of(type);
  int exponent = format.min_exponent;
  if (magnitude > 0) exponent = std::max(exponent, std::ilogb(magnitude));
  return std::ldexp(1.0L, exponent - format.mantissa_bits);
}

// The largest finite number of the type.
inline long double largest(int32_t type) {
  const FloatFormat format = format_of(type);
  return std::ldexp(2.0L - std::ldexp(1.0L, -format.mantissa_bits), format.max_exponent);
}

// The largest finite number of the type that sums are kept in: f32, or f64 for f64.
inline long double largest_sum(int32_t type) {
  return largest(type == NDPOOL_F64 ? NDPOOL_F64 : NDPOOL_F32);
}

// Whether a number rounds to infinity in the type.
inline bool overflows(int32_t type, long double value) {
  return std::fabs(value) >= largest(type) + ulp(type, largest(type)) / 2;
}

// The float nearest to `value` among the numbers of the type (f16, bf16, f32).
inline float round_to(int32_t type, float value) {
  if (type == NDPOOL_F16) return f16_to_float(float_to_f16(value));
  if (type == NDPOOL_BF16) return bf16_to_float(float_to_bf16(value));
  return value;
}

inline int ceil_log2(int64_t n) {
  int bits = 0;
  while (bits < 62 && (int64_t{1} << bits) < n) ++bits;
  return bits;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_ULP_H_
