// f16 and bf16 as bits: conversion to float (exact) and from float or double (to nearest, halves to
// even, rounded once). Branch-light integer code, so that loops over it vectorise.
#ifndef NDPOOL_SRC_HALF_H_
#define NDPOOL_SRC_HALF_H_

#include <bit>
#include <cstdint>

namespace ndpool {

struct Float16 {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

inline float to_float(Float16 half) {
  const uint32_t magnitude = half.bits & 0x7FFFu;
  // The exponent is rebased by a multiplication, which gets subnormals right.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
  const uint32_t sign = (half.bits & 0x8000u) << 16;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

inline float to_float(BFloat16 half) {
  return std::bit_cast<float>(static_cast<uint32_t>(half.bits) << 16);
}

inline Float16 to_float16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return {static_cast<uint16_t>(sign | 0x7E00u)};
  if (magnitude >= 0x47800000u) return {static_cast<uint16_t>(sign | 0x7C00u)};
  if (magnitude < 0x38800000u) {
    // Subnormal: adding 0.5 leaves the rounded result in the low bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3F000000u))};
  }
  const uint32_t odd = magnitude >> 13 & 1u;
  const uint32_t rounded = (magnitude - (112u << 23) + 0xFFFu + odd) >> 13;
  return {static_cast<uint16_t>(sign | rounded)};
}

inline BFloat16 to_bfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}

// The float next to `value` that is exact, or has its last bit set: rounding that to a narrower
// type is the same as rounding `value` once.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || value != value) return nearest;
  uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const double magnitude = value < 0 ? -value : value;
  const float nearest_magnitude = nearest < 0 ? -nearest : nearest;
  if (static_cast<double>(nearest_magnitude) > magnitude) --bits;
  return std::bit_cast<float>(bits | 1u);
}

// Rounds a float or double to any float type, once.
template <class To>
struct RoundTo;
template <>
struct RoundTo<float> {
  static float from(float v) { return v; }
  static float from(double v) { return static_cast<float>(v); }
};
template <>
struct RoundTo<double> {
  static double from(float v) { return v; }
  static double from(double v) { return v; }
};
template <>
struct RoundTo<Float16> {
  static Float16 from(float v) { return to_float16(v); }
  static Float16 from(double v) { return to_float16(round_to_odd(v)); }
};
template <>
struct RoundTo<BFloat16> {
  static BFloat16 from(float v) { return to_bfloat16(v); }
  static BFloat16 from(double v) { return to_bfloat16(round_to_odd(v)); }
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_HALF_H_
