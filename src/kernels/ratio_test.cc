// Integer sums over divisors against exact rationals.
#include "kernels/ratio.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <random>

namespace ndpool {
namespace {

using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;

Integer exact(Int128 v) {
  const UInt128 size = magnitude(v);
  const Integer sum =
      (Integer(static_cast<uint64_t>(size >> 64)) << 64) + static_cast<uint64_t>(size);
  return v < 0 ? Integer(-sum) : sum;
}

// Sums of every length up to 126 bits, and divisors of every length, from a fixed seed.
template <class F>
void each_ratio(F f) {
  std::mt19937_64 random(20);
  for (int i = 0; i < 20000; ++i) {
    const UInt128 wide = (static_cast<UInt128>(random()) << 64 | random()) >> (2 + random() % 126);
    const Int128 sum = random() % 2 ? static_cast<Int128>(wide) : -static_cast<Int128>(wide);
    int64_t divisor = static_cast<int64_t>(random() >> random() % 64);
    if (divisor == 0) divisor = INT64_MIN;
    f(sum, divisor);
  }
}

TEST(Ratio, QuotientsRoundToNearestHalvesAwayFromZeroAndSaturate) {
  each_ratio([](Int128 sum, int64_t divisor) {
    const Rational ratio = Rational(exact(sum)) / Rational(Integer(divisor));
    const Rational shifted = abs(ratio) + Rational(1, 2);
    Integer want = numerator(shifted) / denominator(shifted);
    if (ratio < 0) want = -want;
    const Integer low = std::numeric_limits<int64_t>::min();
    const Integer high = std::numeric_limits<int64_t>::max();
    want = want < low ? low : want > high ? high : want;
    ASSERT_EQ(Integer(rounded_quotient<int64_t>(sum, divisor)), want) << ratio;
  });
  EXPECT_EQ((rounded_quotient<uint8_t>(int32_t{510}, 1)), 255);
  EXPECT_EQ((rounded_quotient<uint8_t>(int32_t{-3}, 1)), 0);
  EXPECT_EQ((rounded_quotient<int8_t>(int32_t{5}, -2)), -3);
  EXPECT_EQ((rounded_quotient<int8_t>(int64_t{-5}, 2)), -3);
}

// The nearest float is no further away than both of its neighbours, and even if as far as one.
template <class T>
void check_nearest(Int128 sum, int64_t divisor) {
  const Rational ratio = Rational(exact(sum)) / Rational(Integer(divisor));
  const T got = nearest_ratio<T>(sum, divisor);
  const auto distance = [&](T v) { return Rational(abs(Rational(v) - ratio)); };
  const T infinity = std::numeric_limits<T>::infinity();
  for (T neighbour : {std::nextafter(got, -infinity), std::nextafter(got, infinity)}) {
    ASSERT_LE(distance(got), distance(neighbour)) << ratio << " gave " << got;
    if (distance(got) == distance(neighbour)) {
      ASSERT_EQ(std::fmod(std::ldexp(std::fabs(got),
                                     std::numeric_limits<T>::digits - 1 - std::ilogb(got)),
                          T{2}),
                0)
          << ratio;
    }
  }
}

TEST(Ratio, FloatsAreRoundedOnce) {
  each_ratio([](Int128 sum, int64_t divisor) {
    if (sum == 0) return;
    ASSERT_NO_FATAL_FAILURE(check_nearest<double>(sum, divisor));
    ASSERT_NO_FATAL_FAILURE(check_nearest<float>(sum, divisor));
  });
  // 2049 lies between the f16 neighbours 2048 and 2050; just above it must not fall to the even
  // one.
  EXPECT_EQ((nearest_ratio<Float16>(Int128{2049}, 1).bits), 0x6800);
  EXPECT_EQ((nearest_ratio<Float16>(Int128{2049} * 1000000007 + 1, 1000000007).bits), 0x6801);
}

}  // namespace
}  // namespace ndpool
