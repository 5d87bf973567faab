// The words of the C++ interface: enumerations that mirror the C ones, and the element types.
#ifndef NDPOOL_CPP_TYPES_HPP_
#define NDPOOL_CPP_TYPES_HPP_

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "ndpool/ndpool.h"

namespace ndpool::inline front {

using Ints = std::vector<std::int64_t>;

enum class Op : std::int32_t {
  max = NDPOOL_MAX,
  min = NDPOOL_MIN,
  avg = NDPOOL_AVG,
  smooth_max = NDPOOL_SMOOTH_MAX,
  lp = NDPOOL_LP
};

enum class Type : std::int32_t {
  f16 = NDPOOL_F16,
  bf16 = NDPOOL_BF16,
  f32 = NDPOOL_F32,
  f64 = NDPOOL_F64,
  i8 = NDPOOL_I8,
  u8 = NDPOOL_U8,
  i16 = NDPOOL_I16,
  u16 = NDPOOL_U16,
  i32 = NDPOOL_I32,
  u32 = NDPOOL_U32,
  i64 = NDPOOL_I64,
  u64 = NDPOOL_U64,
  boolean = NDPOOL_BOOL,
  same = NDPOOL_SAME_TYPE  // only as Pool::out_type
};

enum class Mode : std::int32_t {
  windowed = NDPOOL_WINDOWED,
  adaptive = NDPOOL_ADAPTIVE,
  global = NDPOOL_GLOBAL
};

enum class Rounding : std::int32_t {
  floor = NDPOOL_FLOOR,
  ceil = NDPOOL_CEIL,
  exact = NDPOOL_EXACT
};

enum class Padding : std::int32_t {
  given = NDPOOL_PADDING_GIVEN,
  same = NDPOOL_PADDING_SAME,
  same_lower = NDPOOL_PADDING_SAME_LOWER
};

enum class Algorithm : std::int32_t {
  automatic = NDPOOL_ALGORITHM_AUTOMATIC,
  rows = NDPOOL_ALGORITHM_ROWS,
  bands = NDPOOL_ALGORITHM_BANDS,
  doubling = NDPOOL_ALGORITHM_DOUBLING
};
enum class Ties : std::int32_t {
  first = NDPOOL_TIES_FIRST,
  last = NDPOOL_TIES_LAST,
  all = NDPOOL_TIES_ALL,
  split = NDPOOL_TIES_SPLIT
};

enum class Empty : std::int32_t { error = NDPOOL_EMPTY_ERROR, identity = NDPOOL_EMPTY_IDENTITY };

enum class Status : std::int32_t {
  ok = NDPOOL_OK,
  bad_argument = NDPOOL_BAD_ARGUMENT,
  bad_type = NDPOOL_BAD_TYPE,
  bad_geometry = NDPOOL_BAD_GEOMETRY,
  overflow = NDPOOL_OVERFLOW,
  bad_array = NDPOOL_BAD_ARRAY,
  bad_index = NDPOOL_BAD_INDEX,
  no_memory = NDPOOL_NO_MEMORY,
  cancelled = NDPOOL_CANCELLED
};

// ---- 16-bit floats: storage with conversions, so that no compiler extension is needed -----------

// IEEE binary16. Rounds to nearest even; NaN stays NaN; beyond 65504 (rounded) is infinite.
class float16 {  // NOLINT(readability-identifier-naming): a number type, named like float
 public:
  float16() = default;
  explicit constexpr float16(float value) : bits_(from_float(value)) {}
  constexpr operator float() const { return to_float(bits_); }  // exact, so it may be implicit
  static constexpr float16 from_bits(std::uint16_t bits) {
    float16 result(0.0F);
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = word >> 16 & 0x8000U;
    const std::uint32_t magnitude = word & 0x7FFFFFFFU;
    std::uint32_t half = 0;
    if (magnitude > 0x7F800000U) {  // NaN: keep the top of the payload and make it quiet
      half = 0x7E00U | (magnitude >> 13 & 0x1FFU);
    } else if (magnitude >= 0x477FF000U) {  // 65520 and more round to infinity
      half = 0x7C00U;
    } else if (magnitude >= 0x38800000U) {  // normal: move the exponent's bias from 127 to 15
      const std::uint32_t rebased = magnitude - 0x38000000U;
      half = (rebased + 0xFFFU + (rebased >> 13 & 1U)) >> 13;
    } else if (magnitude > 0x33000000U) {  // subnormal; 2^-25 itself is a tie that goes to 0
      const std::uint32_t shift = 126U - (magnitude >> 23);
      const std::uint32_t mantissa = (magnitude & 0x7FFFFFU) | 0x800000U;
      const std::uint32_t rest = mantissa & ((1U << shift) - 1U);
      const std::uint32_t tie = 1U << (shift - 1U);
      half = mantissa >> shift;
      if (rest > tie || (rest == tie && (half & 1U) != 0)) ++half;
    }
    return static_cast<std::uint16_t>(sign | half);
  }

  static constexpr float to_float(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16;
    const std::uint32_t exponent = half >> 10 & 0x1FU;
    std::uint32_t mantissa = half & 0x3FFU;
    std::uint32_t magnitude = 0;
    if (exponent == 0x1FU) {
      magnitude = 0x7F800000U | mantissa << 13;
    } else if (exponent != 0) {
      magnitude = (exponent + 112U) << 23 | mantissa << 13;
    } else if (mantissa != 0) {  // subnormal: shift the leading bit to its place
      const auto shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21U;
      mantissa = mantissa << shift & 0x3FFU;
      magnitude = (113U - shift) << 23 | mantissa << 13;
    }
    return std::bit_cast<float>(sign | magnitude);
  }

  std::uint16_t bits_;
};

// The upper half of an IEEE binary32. Rounds to nearest even; NaN stays NaN.
class bfloat16 {  // NOLINT(readability-identifier-naming)
 public:
  bfloat16() = default;
  explicit constexpr bfloat16(float value) : bits_(from_float(value)) {}
  constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits_) << 16);
  }
  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 result(0.0F);
    result.bits_ = bits;
    return result;
  }
  constexpr std::uint16_t bits() const { return bits_; }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if ((word & 0x7FFFFFFFU) > 0x7F800000U) {  // rounding could carry a NaN into infinity
      return static_cast<std::uint16_t>(word >> 16 | 0x40U);
    }
    return static_cast<std::uint16_t>((word + 0x7FFFU + (word >> 16 & 1U)) >> 16);
  }

  std::uint16_t bits_;
};

static_assert(sizeof(float16) == 2 && std::is_trivially_copyable_v<float16>);
static_assert(sizeof(bfloat16) == 2 && std::is_trivially_copyable_v<bfloat16>);

// ---- From a C++ type to its Type ----------------------------------------------------------------

namespace detail {

template <class T>
concept Integer =
    std::same_as<T, signed char> || std::same_as<T, unsigned char> || std::same_as<T, short> ||
    std::same_as<T, unsigned short> || std::same_as<T, int> || std::same_as<T, unsigned int> ||
    std::same_as<T, long> || std::same_as<T, unsigned long> || std::same_as<T, long long> ||
    std::same_as<T, unsigned long long>;

template <class T>
constexpr Type find_type() {
  if constexpr (std::same_as<T, float16>) return Type::f16;
  if constexpr (std::same_as<T, bfloat16>) return Type::bf16;
  if constexpr (std::same_as<T, float>) return Type::f32;
  if constexpr (std::same_as<T, double>) return Type::f64;
  if constexpr (std::same_as<T, bool>) return Type::boolean;
  if constexpr (Integer<T>) {  // by size, so that long and long long both have their type
    if (sizeof(T) == 1) return std::is_signed_v<T> ? Type::i8 : Type::u8;
    if (sizeof(T) == 2) return std::is_signed_v<T> ? Type::i16 : Type::u16;
    if (sizeof(T) == 4) return std::is_signed_v<T> ? Type::i32 : Type::u32;
    return std::is_signed_v<T> ? Type::i64 : Type::u64;
  }
  return Type::same;
}

}  // namespace detail

// A type that arrays can hold. char and std::byte are none: they are text and memory, not numbers.
template <class T>
concept Element = detail::find_type<std::remove_cv_t<T>>() != Type::same;

// NOLINTNEXTLINE(readability-identifier-naming): reads as a function of T
template <Element T>
inline constexpr Type type_of = detail::find_type<std::remove_cv_t<T>>();

inline const char* type_name(Type type) {
  return ndpool_type_name(static_cast<std::int32_t>(type));
}
inline std::size_t type_size(Type type) {
  return ndpool_type_size(static_cast<std::int32_t>(type));
}
inline const char* op_name(Op op) { return ndpool_op_name(static_cast<std::int32_t>(op)); }

}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_TYPES_HPP_
