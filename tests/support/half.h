// f16 and bf16 to and from float, with integer arithmetic only, so that the tests share nothing
// with the conversions they check.
#ifndef NDPOOL_TESTS_SUPPORT_HALF_H_
#define NDPOOL_TESTS_SUPPORT_HALF_H_

#include <bit>
#include <cstdint>

namespace ndpool::test {

// The float that a small float of `exponent_bits` and `mantissa_bits` stands for. Exact.
inline float small_to_float(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const uint32_t sign = static_cast<uint32_t>(bits >> 15) << 31;
  const uint32_t exponent = (bits >> mantissa_bits) & ((1u << exponent_bits) - 1);
  const uint32_t mantissa = bits & ((1u << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int shift = 23 - mantissa_bits;
  if (exponent == (1u << exponent_bits) - 1) {
    return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << shift));
  }
  if (exponent == 0 && exponent_bits < 8) {
    // mantissa * 2^(1 - bias - mantissa_bits): both factors and the product are normal floats.
    const int power = 1 - bias - mantissa_bits;
    const float magnitude = static_cast<float>(mantissa) *
                            std::bit_cast<float>(static_cast<uint32_t>(power + 127) << 23);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t rebased = exponent + static_cast<uint32_t>(127 - bias);
  return std::bit_cast<float>(sign | (rebased << 23) | (mantissa << shift));
}

// The nearest small float, ties to even; beyond the largest one, infinity. NaN stays NaN.
inline uint16_t float_to_small(float value, int exponent_bits, int mantissa_bits) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 31) << 15;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  if (magnitude > 0x7F800000u) {
    return static_cast<uint16_t>(sign | infinity | (1u << (mantissa_bits - 1)));
  }
  const int bias = (1 << (exponent_bits - 1)) - 1;
  // As an integer in units of the result's last place: significand >> shift.
  const int exponent = static_cast<int>(magnitude >> 23);
  uint64_t significand = magnitude & 0x7FFFFFu;
  if (exponent > 0) significand |= 0x800000u;
  int rebased = (exponent > 0 ? exponent : 1) - 127 + bias;
  int shift = 23 - mantissa_bits;
  if (rebased < 1) {
    shift += 1 - rebased;
    rebased = 1;
  }
  if (shift > 40) return static_cast<uint16_t>(sign);
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  const uint64_t half = uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // A carry out of the mantissa moves into the exponent by itself.
  const uint64_t result = (static_cast<uint64_t>(rebased - 1) << mantissa_bits) + kept;
  return static_cast<uint16_t>(sign | (result > infinity ? infinity : result));
}

inline float f16_to_float(uint16_t bits) { return small_to_float(bits, 5, 10); }
inline float bf16_to_float(uint16_t bits) { return small_to_float(bits, 8, 7); }
inline uint16_t float_to_f16(float value) { return float_to_small(value, 5, 10); }
inline uint16_t float_to_bf16(float value) { return float_to_small(value, 8, 7); }

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_HALF_H_
