// Numbers that can be worked out by hand: averages, smooth max and Lp, through the C++ interface.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ndpool/ndpool.hpp"

namespace {

using ndpool::Array;
using ndpool::Op;
using ndpool::Plan;
using ndpool::Pool;

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kLowest = std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::numeric_limits<T>::max();

// One window over all of x.
template <class T>
T whole(Pool pool, const std::vector<T>& x) {
  pool.type = ndpool::type_of<T>;
  pool.shape = {static_cast<std::int64_t>(x.size())};
  pool.window = pool.shape;
  std::vector<T> y(1);
  Plan(pool).forward(x, y);
  return y[0];
}

// The gradient of that one output.
template <class T>
std::vector<T> whole_gradient(Pool pool, const std::vector<T>& x) {
  pool.type = ndpool::type_of<T>;
  pool.shape = {static_cast<std::int64_t>(x.size())};
  pool.window = pool.shape;
  std::vector<T> dx(x.size());
  Plan(pool).vjp(x, std::vector<T>{1}, dx);
  return dx;
}

template <class T>
std::vector<T> whole_hvp(Pool pool, const std::vector<T>& x, const std::vector<T>& v) {
  pool.type = ndpool::type_of<T>;
  pool.shape = {static_cast<std::int64_t>(x.size())};
  pool.window = pool.shape;
  std::vector<T> hx(x.size());
  Plan(pool).hvp(x, std::vector<T>{1}, v, hx);
  return hx;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-14) << i;
}

// ---- Averages ----------------------------------------------------------------------------------

TEST(FixedSums, AverageOfTheHighestInt16IsItself) {
  const Array<std::int16_t> x({17, 17}, std::vector<std::int16_t>(289, 32767));
  EXPECT_EQ(ndpool::avg_pool(x, {.window = {17, 17}})[0], 32767);
}

TEST(FixedSums, AverageOf4096OnesInHalfPrecisionIsOne) {
  const Array<ndpool::float16> x({64, 64},
                                 std::vector<ndpool::float16>(4096, ndpool::float16(1.0F)));
  EXPECT_EQ(static_cast<float>(ndpool::avg_pool(x, {.window = {64, 64}})[0]), 1.0F);
  const Array<ndpool::bfloat16> b({64, 64},
                                  std::vector<ndpool::bfloat16>(4096, ndpool::bfloat16(1.0F)));
  EXPECT_EQ(static_cast<float>(ndpool::avg_pool(b, {.window = {64, 64}})[0]), 1.0F);
}

TEST(FixedSums, HalfPrecisionSumsBeyondItsRange) {
  const std::vector<ndpool::float16> x(4, ndpool::float16(60000.0F));
  EXPECT_EQ(static_cast<float>(whole({.op = Op::avg}, x)), 60000.0F);
}

TEST(FixedSums, AverageOfTwoToThe24PlusOneOnesIsOne) {
  const std::vector<float> x((1U << 24) + 1, 1.0F);
  EXPECT_EQ(whole({.op = Op::avg}, x), 1.0F);
}

TEST(FixedSums, IntegersAreExactRoundHalvesAwayFromZeroAndSaturate) {
  EXPECT_EQ(whole<std::uint8_t>({.op = Op::avg, .divisor = 1}, {255, 255}), 255);
  EXPECT_EQ(whole<std::int8_t>({.op = Op::avg, .divisor = 1}, {-128, -128}), -128);
  EXPECT_EQ(whole<std::int8_t>({.op = Op::avg, .divisor = -1}, {-128, -128}), 127);
  EXPECT_EQ(whole<std::uint8_t>({.op = Op::avg, .divisor = -1}, {1, 2}), 0);
  EXPECT_EQ(whole<std::int32_t>({.op = Op::avg}, {1, 2}), 2);
  EXPECT_EQ(whole<std::int32_t>({.op = Op::avg}, {-1, -2}), -2);
  EXPECT_EQ(whole<std::int32_t>({.op = Op::avg}, {1, 2, 1}), 1);
  EXPECT_EQ(whole<std::int16_t>({.op = Op::avg, .divisor = -2}, {1, 2}), -2);
  EXPECT_EQ(whole<std::int64_t>({.op = Op::avg}, std::vector(3, kHighest<std::int64_t>)),
            kHighest<std::int64_t>);
  EXPECT_EQ(whole<std::int64_t>({.op = Op::avg}, std::vector(3, kLowest<std::int64_t>)),
            kLowest<std::int64_t>);
  EXPECT_EQ(whole<std::uint64_t>({.op = Op::avg}, std::vector(3, kHighest<std::uint64_t>)),
            kHighest<std::uint64_t>);
  EXPECT_EQ(whole<std::uint64_t>({.op = Op::avg}, {kHighest<std::uint64_t>, 0}),
            std::uint64_t{1} << 63);
}

TEST(FixedSums, IntegersAverageIntoAnotherType) {
  const Array<std::uint8_t> x({4}, {1, 2, 255, 254});
  const auto floats = ndpool::avg_pool_as<float>(x, {.window = {2}});
  EXPECT_EQ(floats[0], 1.5F);
  EXPECT_EQ(floats[1], 254.5F);
  EXPECT_EQ(ndpool::avg_pool_as<std::int32_t>(x, {.window = {2}, .divisor = 1})[1], 509);
}

TEST(FixedSums, PadsCountUnlessLeftOutAndOverhangNever) {
  const Array<double> x({5}, {2, 4, 6, 8, 10});
  const Pool padded = {.window = {2}, .stride = {2}, .padding = {1}};
  EXPECT_EQ(ndpool::avg_pool(x, padded)[0], 1);
  Pool cells = padded;
  cells.count_include_pad = false;
  EXPECT_EQ(ndpool::avg_pool(x, cells)[0], 2);
  Pool divided = padded;
  divided.divisor = 4;
  EXPECT_EQ(ndpool::avg_pool(x, divided)[0], 0.5);
  // The last window of ceil rounding holds one cell and one tap beyond the padding.
  const auto ceil = ndpool::avg_pool(x, {.window = {2}, .rounding = ndpool::Rounding::ceil});
  ASSERT_EQ(ceil.size(), 3U);
  EXPECT_EQ(ceil[2], 10);
}

TEST(FixedSums, GradientOfAnAverageNeedsNoInput) {
  const Plan plan({.op = Op::avg, .shape = {5}, .window = {2}, .stride = {1}});
  std::vector<float> dx(5);
  plan.vjp(ndpool::none, std::vector<float>{2, 4, 6, 8}, dx);
  EXPECT_EQ(dx, (std::vector<float>{1, 3, 5, 7, 4}));
}

// Puts `value` at one cell and checks that only the windows that hold it change, to the bit.
void expect_no_leak(const Pool& pool, float value) {
  const Plan plan(pool);
  const std::int64_t n = pool.shape[0];
  const std::int64_t k = pool.window[0];
  const std::int64_t lo = pool.padding.empty() ? 0 : pool.padding[0];
  std::vector<float> x(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 37 % 101) * 0.37F - 7.0F;
  std::vector<float> clean(static_cast<std::size_t>(plan.output_count()));
  plan.forward(x, clean);
  const std::int64_t row = n / 2;
  const std::int64_t column = n / 3;
  x[static_cast<std::size_t>(row * n + column)] = value;
  std::vector<float> y(clean.size());
  plan.forward(x, y);
  const std::int64_t outputs = plan.output_shape()[1];
  int touched = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::int64_t r = static_cast<std::int64_t>(i) / outputs - lo;
    const std::int64_t c = static_cast<std::int64_t>(i) % outputs - lo;
    const bool holds = r <= row && row < r + k && c <= column && column < c + k;
    if (holds) {
      ++touched;
      EXPECT_FALSE(std::isfinite(y[i])) << "window " << i << " of " << plan.explain();
    } else {
      EXPECT_EQ(y[i], clean[i]) << "window " << i << " of " << plan.explain();
    }
  }
  EXPECT_GT(touched, 0);
  EXPECT_LT(touched, static_cast<int>(y.size()));
}

TEST(FixedSums, OneInfinityOrNanChangesOnlyTheWindowsThatHoldIt) {
  for (const float value : {kInf<float>, -kInf<float>, kNan<float>}) {
    for (const auto& [n, k, lo] :
         std::vector<std::array<std::int64_t, 3>>{{24, 3, 1}, {40, 7, 0}, {70, 31, 15}}) {
      expect_no_leak(
          {.op = Op::avg, .shape = {n, n}, .window = {k, k}, .stride = {1}, .padding = {lo}},
          value);
    }
  }
}

// ---- Smooth max --------------------------------------------------------------------------------

template <class T>
void check_huge_beta() {
  const std::vector<T> x = {static_cast<T>(1e20), static_cast<T>(-1e20)};
  EXPECT_EQ(whole({.op = Op::smooth_max, .beta = 1e20}, x), x[0]);
  EXPECT_EQ(whole({.op = Op::smooth_max, .beta = -1e20}, x), x[1]);
  EXPECT_EQ(whole_gradient({.op = Op::smooth_max, .beta = 1e20}, x), (std::vector<T>{1, 0}));
  EXPECT_EQ(whole_gradient({.op = Op::smooth_max, .beta = -1e20}, x), (std::vector<T>{0, 1}));
}

TEST(FixedSums, SmoothMaxOfHugeValuesWithHugeBetaNeitherOverflowsNorLosesTheWinner) {
  check_huge_beta<float>();
  check_huge_beta<double>();
}

TEST(FixedSums, SmoothMaxOfAConstantWindowAddsTheLogarithmOfItsTaps) {
  for (const double beta : {2.0, -0.5}) {
    for (const int n : {1, 2, 9, 1000}) {
      const std::vector<double> x(static_cast<std::size_t>(n), 2.5);
      EXPECT_NEAR(whole({.op = Op::smooth_max, .beta = beta}, x), 2.5 + std::log(n) / beta, 4e-14)
          << n << " taps, beta " << beta;
      EXPECT_NEAR(whole({.op = Op::smooth_max, .beta = beta, .mean = true}, x), 2.5, 4e-14)
          << n << " taps, beta " << beta;
    }
  }
}

TEST(FixedSums, PadsOfSmoothMaxAreZerosUnlessLeftOut) {
  const Array<double> x({1}, {0});
  Pool pool = {.window = {3}, .padding = {1}};
  EXPECT_NEAR(ndpool::smooth_max_pool(x, pool)[0], std::log(3.0), 1e-15);
  pool.count_include_pad = false;
  EXPECT_EQ(ndpool::smooth_max_pool(x, pool)[0], 0);
}

TEST(FixedSums, AnInfinitePivotSharesItsWeightEvenly) {
  const std::vector<double> x = {kInf<double>, 1, kInf<double>};
  EXPECT_EQ(whole({.op = Op::smooth_max}, x), kInf<double>);
  EXPECT_EQ(whole_gradient({.op = Op::smooth_max}, x), (std::vector<double>{0.5, 0, 0.5}));
  EXPECT_EQ(whole_hvp<double>({.op = Op::smooth_max}, x, {1, 2, 3}),
            (std::vector<double>{0, 0, 0}));
}

TEST(FixedSums, NanMakesValueAndWeightsOfItsWindowNan) {
  const std::vector<double> x = {1, kNan<double>, kInf<double>};
  for (const Op op : {Op::smooth_max, Op::lp}) {
    EXPECT_TRUE(std::isnan(whole({.op = op}, x))) << ndpool::op_name(op);
    for (const double d : whole_gradient({.op = op}, x)) EXPECT_TRUE(std::isnan(d));
  }
}

TEST(FixedSums, SecondOrderOfSmoothMax) {
  expect_near(whole_hvp<double>({.op = Op::smooth_max, .beta = 2}, {0.0, 0.0}, {1.0, 0.0}),
              {0.5, -0.5});
}

// ---- Lp ----------------------------------------------------------------------------------------

TEST(FixedSums, LpOfThreeAndFour) {
  const std::vector<double> x = {3, -4};
  EXPECT_NEAR(whole({.op = Op::lp}, x), 5, 5e-15);
  EXPECT_NEAR(whole({.op = Op::lp, .p = 1}, x), 7, 7e-15);
  EXPECT_EQ(whole({.op = Op::lp, .p = kInf<double>}, x), 4);
  expect_near(whole_gradient({.op = Op::lp}, x), {0.6, -0.8});
  EXPECT_EQ(whole_gradient<double>({.op = Op::lp, .p = kInf<double>}, {4.0, -4.0}),
            (std::vector<double>{1, 0}));
  expect_near(whole_hvp<double>({.op = Op::lp}, {3.0, 4.0}, {1.0, 0.0}), {0.128, -0.096});
  EXPECT_EQ(whole_hvp<double>({.op = Op::lp, .p = 1}, {3.0, 4.0}, {1.0, 0.0}),
            (std::vector<double>{0, 0}));
}

TEST(FixedSums, LpNeitherOverflowsNorUnderflows) {
  EXPECT_NEAR(whole<double>({.op = Op::lp}, {3e200, 4e200}) / 5e200, 1, 1e-15);
  EXPECT_NEAR(whole<double>({.op = Op::lp}, {3e-200, 4e-200}) / 5e-200, 1, 1e-15);
  EXPECT_NEAR(whole<float>({.op = Op::lp}, {3e30F, 4e30F}) / 5e30F, 1, 1e-6);
}

TEST(FixedSums, LpOfZerosHasNoGradientAndInfiniteCellsShareIt) {
  EXPECT_EQ(whole_gradient<double>({.op = Op::lp}, {0, 0}), (std::vector<double>{0, 0}));
  EXPECT_EQ(whole<double>({.op = Op::lp}, {kInf<double>, 1, -kInf<double>}), kInf<double>);
  expect_near(whole_gradient<double>({.op = Op::lp}, {kInf<double>, 1, -kInf<double>}),
              {std::sqrt(0.5), 0, -std::sqrt(0.5)});
}

}  // namespace
