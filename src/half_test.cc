// f16 and bf16: every value there and back, and every rounding boundary.
#include "half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace ndpool {
namespace {

template <class T>
T from_bits(uint32_t bits) {
  return T{static_cast<uint16_t>(bits)};
}

template <class T>
void check_every_value() {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const T half = from_bits<T>(bits);
    const float value = to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(to_float(RoundTo<T>::from(value)))) << bits;
      continue;
    }
    ASSERT_EQ(RoundTo<T>::from(value).bits, bits) << value;
    ASSERT_EQ(RoundTo<T>::from(static_cast<double>(value)).bits, bits) << value;
  }
}

TEST(Half, EveryValueSurvivesTheWayToFloatAndBack) {
  check_every_value<Float16>();
  check_every_value<BFloat16>();
}

// Between neighbours: the middle goes to the even one, anything off the middle to the nearer one,
// also where the difference is too small for a float to hold.
template <class T>
void check_boundaries(uint32_t infinity) {
  for (uint32_t bits = 0; bits + 1 < infinity; ++bits) {
    const double low = to_float(from_bits<T>(bits)), high = to_float(from_bits<T>(bits + 1));
    const double middle = (low + high) / 2;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(RoundTo<T>::from(middle).bits, even) << middle;
    ASSERT_EQ(RoundTo<T>::from(std::nextafter(middle, 0.0)).bits, bits) << middle;
    ASSERT_EQ(RoundTo<T>::from(std::nextafter(middle, high)).bits, bits + 1) << middle;
    ASSERT_EQ(RoundTo<T>::from(-std::nextafter(middle, 0.0)).bits, bits | 0x8000) << middle;
    const float near = static_cast<float>(middle);
    if (near == middle) {
      ASSERT_EQ(RoundTo<T>::from(near).bits, even) << middle;
    }
  }
}

TEST(Half, RoundsToNearestOnceAndHalvesToEven) {
  check_boundaries<Float16>(0x7C00);
  check_boundaries<BFloat16>(0x7F80);
}

TEST(Half, NumbersBeyondTheLargestBecomeInfinite) {
  EXPECT_EQ(RoundTo<Float16>::from(65519.99).bits, 0x7BFF);
  EXPECT_EQ(RoundTo<Float16>::from(65520.0).bits, 0x7C00);
  EXPECT_EQ(RoundTo<Float16>::from(-1e300).bits, 0xFC00);
  EXPECT_EQ(RoundTo<BFloat16>::from(3.4e38f).bits, 0x7F80);
  EXPECT_EQ(RoundTo<BFloat16>::from(1e300).bits, 0x7F80);
}

}  // namespace
}  // namespace ndpool
