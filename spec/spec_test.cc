// The definition on examples whose answers are known, policy by policy.
#include "ndpool/spec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ndpool::spec {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
Array<T> row(std::vector<T> data) {
  return {{static_cast<int64_t>(data.size())}, std::move(data)};
}

// Equal values, with every NaN equal to every other.
template <class T>
void expect_values(const Array<T>& got, const std::vector<T>& wanted) {
  ASSERT_EQ(got.data.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const T a = got.data[i];
    const T b = wanted[i];
    EXPECT_TRUE(a == b || (is_nan(a) && is_nan(b)))
        << "element " << i << ": " << a << ", not " << b;
  }
}

template <class Call>
std::string refusal(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(not refused)";
}

const Pool kRow2{.axes = {0}, .window = {2}, .stride = {1}};

// ---- max and min ----

const Array<double> kMyGrad{{3, 3}, {0, 10, 8, 2, 7, 3, 5, 7, 20}};

TEST(SpecMax, MyGradsDocumentedExampleHolds) {
  const Pool pool{.axes = {0, 1}, .window = {2, 2}, .stride = {1, 1}};
  const MaxMin<double> result = max_min(pool, kMyGrad);
  EXPECT_EQ(result.y.shape, (Shape{2, 2}));
  expect_values(result.y, {10, 10, 7, 20});
  expect_values<int64_t>(result.index, {1, 1, 4, 8});
  expect_values<int64_t>(result.first_tap, {1, 0, 1, 3});
  expect_values<int64_t>(result.last_tap, {1, 0, 3, 3});  // the third window holds 7 twice
  expect_values(vjp(pool, kMyGrad, {{2, 2}, {1, 1, 1, 1}}), {0, 2, 0, 0, 1, 0, 0, 0, 1});
}

TEST(SpecMax, MyGradsShapesHold) {
  const Pool pool{.axes = {2, 3}, .window = {2, 2}, .stride = {2, 1}, .rounding = Rounding::exact};
  EXPECT_EQ(output_shape(pool, {10, 3, 12, 12}), (Shape{10, 3, 6, 11}));
}

TEST(SpecMax, PaddingNeverWins) {
  const Pool pool{
      .axes = {0, 1}, .window = {2, 2}, .stride = {1, 1}, .pad_lo = {1, 1}, .pad_hi = {1, 1}};
  const Array<double> x{{1, 1}, {-3}};
  expect_values(forward(pool, x), {-3, -3, -3, -3});
  expect_values(vjp(pool, x, {{2, 2}, {1, 1, 1, 1}}), {4});
  const MaxMin<double> result =
      max_min<double>(pool, {{1, 1}, {-kInf}});  // a real value, not "nothing"
  expect_values<int64_t>(result.index, {0, 0, 0, 0});
  expect_values<int64_t>(result.first_tap, {3, 2, 1, 0});
  expect_values<int8_t>(forward(pool, Array<int8_t>{{1, 1}, {-128}}), {-128, -128, -128, -128});
}

TEST(SpecMax, NanWinsInMaxAndInMin) {
  Pool pool = kRow2;
  pool.ties = Ties::last;
  for (const Op op : {Op::max, Op::min}) {
    pool.op = op;
    const Array<double> x = row<double>({kInf, kNan, kNan, -kInf, 1});
    const MaxMin<double> result = max_min(pool, x);
    expect_values(result.y, {kNan, kNan, kNan, op == Op::max ? 1 : -kInf});
    expect_values<int64_t>(result.index, {1, 1, 2, op == Op::max ? 4 : 3});
    expect_values(vjp(pool, x, row<double>({1, 10, 100, 1000})),
                  op == Op::max ? std::vector<double>{0, 1, 110, 0, 1000}
                                : std::vector<double>{0, 1, 110, 1000, 0});
  }
}

TEST(SpecMax, ZerosOfEitherSignAreEqual) {
  for (const Op op : {Op::max, Op::min}) {
    Pool pool = kRow2;
    pool.op = op;
    const MaxMin<double> result = max_min(pool, row<double>({-0.0, 0.0, -0.0}));
    expect_values<int64_t>(result.index, {0, 1});
    expect_values<int64_t>(result.last_tap, {1, 1});
    EXPECT_TRUE(std::signbit(result.y.data[0]));
  }
}

TEST(SpecMax, TiesSayWhichWinnersCarryTheDerivative) {
  const Array<double> x = row<double>({5, 1, 5, 5, 0});
  const Array<double> dx = row<double>({1, 10, 100, 1000, 10000});
  struct Case {
    Ties ties;
    double tangent;
    std::vector<double> gradient;
  };
  for (const Case& c :
       {Case{Ties::first, 1, {6, 0, 0, 0, 0}}, Case{Ties::last, 1000, {0, 0, 0, 6, 0}},
        Case{Ties::all, 1101, {6, 0, 6, 6, 0}}, Case{Ties::split, 367, {2, 0, 2, 2, 0}}}) {
    const Pool pool{.axes = {0}, .window = {5}, .ties = c.ties};
    expect_values(jvp(pool, x, dx), {c.tangent});
    expect_values(vjp(pool, x, row<double>({6})), c.gradient);
    expect_values<int64_t>(max_min(pool, x).index, {0});
  }
}

TEST(SpecMax, ArgumentOrderOfTheAxesChangesNothing) {
  Array<double> x{{3, 2, 4}, {}};
  for (int i = 0; i < 24; ++i) x.data.push_back(i * 7 % 11);
  const Pool pool{.axes = {0, 2}, .window = {2, 3}, .stride = {1, 1}};
  const Pool turned{.axes = {2, 0}, .window = {3, 2}, .stride = {1, 1}};
  const MaxMin<double> a = max_min(pool, x);
  const MaxMin<double> b = max_min(turned, x);
  EXPECT_EQ(a.y.shape, (Shape{2, 2, 2}));
  EXPECT_EQ(a.y.data, b.y.data);
  EXPECT_EQ(a.index.data, b.index.data);
  EXPECT_EQ(a.first_tap.data, b.first_tap.data);
  // Output (0, 1, 1) pools positions 0-1 of axis 0 and 1-3 of axis 2: 2 9 5 / 3 10 6.
  EXPECT_EQ(a.y.data[3], 10);
  EXPECT_EQ(a.index.data[3], 6);
  EXPECT_EQ(a.first_tap.data[3], 4);
}

// ---- empty windows ----

// Window 0 of 1 cell with 2 pads before it lies on padding alone.
const Pool kEmpty{
    .axes = {0}, .window = {1}, .stride = {2}, .pad_lo = {2}, .empty = Empty::identity};

TEST(SpecEmpty, WindowsWithoutACellAreRefusedByName) {
  Pool pool = kEmpty;
  pool.empty = Empty::error;
  const std::string message = refusal([&] { forward(pool, row<double>({4})); });
  EXPECT_NE(message.find("output 0 "), std::string::npos) << message;
  // A dilated 2x2 window that straddles the data: every tap is a pad or overhang.
  const Pool straddling{.axes = {0, 1},
                        .window = {2, 2},
                        .stride = {1, 1},
                        .dilation = {3, 3},
                        .pad_lo = {1, 1},
                        .pad_hi = {1, 1}};
  EXPECT_THROW(max_min<double>(straddling, {{2, 2}, {1, 2, 3, 4}}), Error);
  Pool identity = straddling;
  identity.empty = Empty::identity;
  const MaxMin<double> result = max_min<double>(identity, {{2, 2}, {1, 2, 3, 4}});
  expect_values<int64_t>(result.index, {-1});
  expect_values<int64_t>(result.first_tap, {-1});
  expect_values<int64_t>(result.last_tap, {-1});
}

TEST(SpecEmpty, TheIdentityStandsForNothing) {
  Pool pool = kEmpty;
  expect_values(forward(pool, row<double>({4})), {-kInf, 4});
  expect_values<int16_t>(forward(pool, row<int16_t>({4})), {-32768, 4});
  expect_values<bool>(forward(pool, row<bool>({true})), {false, true});
  for (const Ties ties : {Ties::first, Ties::last, Ties::all, Ties::split}) {
    pool.ties = ties;
    expect_values(jvp(pool, row<double>({4}), row<double>({3})), {0, 3});
    expect_values(vjp(pool, row<double>({4}), row<double>({5, 7})), {7});
  }
  pool.op = Op::min;
  expect_values(forward(pool, row<double>({4})), {kInf, 4});
  expect_values<uint16_t>(forward(pool, row<uint16_t>({4})), {65535, 4});
  expect_values<bool>(forward(pool, row<bool>({false})), {true, false});
}

TEST(SpecEmpty, AveragesAndSmoothMaxAreEmptyOnlyWherePaddingIsLeftOut) {
  Pool pool = kEmpty;
  pool.op = Op::avg;
  expect_values(forward(pool, row<double>({4})), {0, 4});
  pool.count_include_pad = false;
  expect_values(forward(pool, row<double>({4})), {kNan, 4});
  expect_values(average_as<float>(pool, row<int8_t>({4})), {std::nanf(""), 4});
  EXPECT_THROW(forward(pool, row<int8_t>({4})), Error);
  expect_values(jvp(pool, row<double>({4}), row<double>({3})), {0, 3});
  expect_values(vjp(pool, row<double>({4}), row<double>({5, 7})), {7});
  pool.divisor = 2;
  expect_values(forward(pool, row<double>({4})), {0, 2});
  expect_values<int8_t>(forward(pool, row<int8_t>({4})), {0, 2});

  pool.op = Op::smooth_max;
  expect_values(forward(pool, row<double>({4})), {-kInf, 4});
  expect_values(vjp(pool, row<double>({4}), row<double>({5, 7})), {7});
  pool.beta = -1;
  expect_values(forward(pool, row<double>({4})), {kInf, 4});
  pool.count_include_pad = true;
  expect_values(forward(pool, row<double>({4})), {0, 4});
  pool.op = Op::lp;
  pool.empty = Empty::error;
  expect_values(forward(pool, row<double>({4})), {0, 4});
}

// ---- average ----

TEST(SpecAverage, DivisorsCountWhatTheySay) {
  // Cells 1 2 3, one pad before, none after; the second window overhangs by one tap.
  Pool pool{.op = Op::avg,
            .axes = {0},
            .window = {3},
            .stride = {2},
            .pad_lo = {1},
            .pad_hi = {0},
            .rounding = Rounding::ceil};
  const Array<double> x = row<double>({6, 12, 24});
  expect_values(forward(pool, x), {6, 18});  // 18/3 with its pad, 36/2 without the overhang
  expect_values<int64_t>(terms(pool, {3}), {3, 2});
  expect_values(vjp(pool, x, row<double>({3, 8})), {1, 1 + 4, 4});
  expect_values(sum_of_magnitudes(pool, row<double>({-6, 12, -24})), {6, 18});
  pool.count_include_pad = false;
  expect_values(forward(pool, x), {9, 18});
  expect_values<int64_t>(terms(pool, {3}), {2, 2});
  pool.divisor = -4;
  expect_values(forward(pool, x), {-4.5, -9});
  expect_values(vjp(pool, x, row<double>({4, 8})), {-1, -3, -2});
  expect_values(sum_of_magnitudes(pool, row<double>({-6, 12, -24})), {4.5, 9});
}

TEST(SpecAverage, IntegersAreExactAndSaturate) {
  const Pool square{.op = Op::avg, .axes = {0, 1}, .window = {17, 17}};
  expect_values<int16_t>(forward(square, filled<int16_t>({17, 17}, 32767)), {32767});
  Pool pool{.op = Op::avg, .axes = {0}, .window = {2}, .divisor = 1};
  expect_values<uint8_t>(forward(pool, row<uint8_t>({255, 255})), {255});
  pool.divisor = -1;
  expect_values<uint8_t>(forward(pool, row<uint8_t>({255, 255})), {0});
  expect_values<int8_t>(forward(pool, row<int8_t>({-128, -128})), {127});
  pool.divisor.reset();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  expect_values<int64_t>(forward(pool, row<int64_t>({kHigh, kHigh, kLow, kLow})), {kHigh, kLow});
  expect_values<uint64_t>(forward(pool, row<uint64_t>({~uint64_t{0}, ~uint64_t{0}})),
                          {~uint64_t{0}});
}

TEST(SpecAverage, HalvesRoundAwayFromZero) {
  const Pool pool{.op = Op::avg, .axes = {0}, .window = {2}};
  expect_values<int32_t>(forward(pool, row<int32_t>({1, 2, -1, -2, 0, 1, 0, -1})), {2, -2, 1, -1});
  const Pool thirds{.op = Op::avg, .axes = {0}, .window = {3}};
  expect_values<int32_t>(forward(thirds, row<int32_t>({0, 0, 1, 0, 1, 1, 0, 0, -1})), {0, 1, 0});
}

TEST(SpecAverage, IntegersBecomeFloatsInOneRounding) {
  Pool pool{.op = Op::avg, .axes = {0}, .window = {1}};
  // Halfway between two floats goes to the even one; a bit more goes up, however far below it is.
  expect_values<float>(
      average_as<float>(pool, row<int64_t>({(1 << 24) + 1, (1 << 24) + 3, -(1 << 24) - 1})),
      {16777216.0F, 16777220.0F, -16777216.0F});
  expect_values<float>(
      average_as<float>(pool, row<int64_t>({(int64_t{1} << 62) + (1LL << 38) + 1})),
      {std::ldexp(1.0F, 62) + std::ldexp(1.0F, 39)});
  pool.divisor = 3;
  expect_values<double>(average_as<double>(pool, row<int32_t>({1, -2, 0})),
                        {1.0 / 3, -2.0 / 3, 0.0});
  pool.divisor = std::numeric_limits<int64_t>::max();
  expect_values<double>(average_as<double>(pool, row<uint64_t>({1})), {std::ldexp(1.0, -63)});
  EXPECT_THROW(forward(pool, row<bool>({true})), Error);
}

TEST(SpecAverage, OneInfinityOrNanStaysInItsWindows) {
  Pool pool = kRow2;
  pool.op = Op::avg;
  expect_values(forward(pool, row<double>({1, 3, kInf, 5, 7, kNan, 1, 3})),
                {2, kInf, kInf, 6, kNan, kNan, 2});
}

// ---- smooth max ----

TEST(SpecSmooth, HugeValuesNeitherOverflowNorMix) {
  Pool pool{.op = Op::smooth_max, .axes = {0}, .window = {2}, .beta = 1e20};
  const Array<double> x = row<double>({1e20, -1e20});
  expect_values(forward(pool, x), {1e20});
  expect_values(vjp(pool, x, row<double>({1})), {1, 0});
  pool.beta = -1e20;
  expect_values(forward(pool, x), {-1e20});
  expect_values(vjp(pool, x, row<double>({1})), {0, 1});
}

TEST(SpecSmooth, AConstantWindowIsItsValueAndALogarithm) {
  Pool pool{.op = Op::smooth_max, .axes = {0}, .window = {7}};
  const Array<double> x = filled<double>({7}, -2.5);
  for (const double beta : {1.0, 0.125, -3.0}) {
    pool.beta = beta;
    pool.mean = false;
    EXPECT_NEAR(forward(pool, x).data[0], -2.5 + std::log(7.0) / beta, 1e-14) << beta;
    EXPECT_DOUBLE_EQ(jvp(pool, x, row<double>({7, 0, 0, 0, 0, 0, 14})).data[0], 3) << beta;
    EXPECT_GE(smooth_scale(pool, x).data[0], 2.5) << beta;
    pool.mean = true;
    EXPECT_NEAR(forward(pool, x).data[0], -2.5, 1e-14) << beta;
  }
}

TEST(SpecSmooth, PadsAreZerosThatWeigh) {
  Pool pool{.op = Op::smooth_max, .axes = {0}, .window = {3}, .pad_lo = {1}, .pad_hi = {1}};
  const Array<double> x = row<double>({-1});
  const double sum = 2 + std::exp(-1.0);
  EXPECT_NEAR(forward(pool, x).data[0], std::log(sum), 1e-15);
  EXPECT_NEAR(vjp(pool, x, row<double>({2})).data[0], 2 * std::exp(-1.0) / sum, 1e-15);
  const double w = std::exp(-1.0) / sum;
  EXPECT_NEAR(hvp(pool, x, row<double>({2}), row<double>({3})).data[0], 2 * w * (3 - w * 3), 1e-15);
  pool.count_include_pad = false;
  expect_values(forward(pool, x), {-1});
  expect_values(vjp(pool, x, row<double>({2})), {2});
}

TEST(SpecSmooth, InfinitePivotsShareAndNanSpreads) {
  const Pool pool{.op = Op::smooth_max, .axes = {0}, .window = {3}};
  const Array<double> x =
      row<double>({kInf, 1, kInf, -kInf, -kInf, -kInf, 0, kNan, 1, 2, -kInf, 2});
  const Array<double> y = forward(pool, x);
  expect_values(y, {kInf, -kInf, kNan, 2 + std::log(2.0)});
  expect_values(vjp(pool, x, row<double>({6, 6, 6, 6})),
                {3, 0, 3, 2, 2, 2, kNan, kNan, kNan, 3, 0, 3});
  expect_values(hvp(pool, x, row<double>({6, 6, 6, 0}), filled<double>({12}, 1)),
                {0, 0, 0, 0, 0, 0, kNan, kNan, kNan, 0, 0, 0});
}

// ---- Lp ----

TEST(SpecLp, IsTheNormOfTheWindow) {
  Pool pool{.op = Op::lp, .axes = {0}, .window = {2}};
  const Array<double> x = row<double>({3, -4});
  expect_values(forward(pool, x), {5});
  EXPECT_DOUBLE_EQ(vjp(pool, x, row<double>({5})).data[0], 3);
  EXPECT_DOUBLE_EQ(vjp(pool, x, row<double>({5})).data[1], -4);
  const Array<double> extremes = forward(pool, row<double>({3e200, 4e200, 3e-200, 4e-200}));
  EXPECT_DOUBLE_EQ(extremes.data[0], 5e200);
  EXPECT_DOUBLE_EQ(extremes.data[1], 5e-200);
  pool.p = 1;
  expect_values(forward(pool, x), {7});
  expect_values(hvp(pool, x, row<double>({1}), row<double>({1, 2})), {0, 0});
  pool.p = kInf;
  expect_values(forward(pool, x), {4});
  expect_values(vjp(pool, row<double>({-4, 4}), row<double>({1})), {-1, 0});
  pool.p = 0.5;
  EXPECT_DOUBLE_EQ(forward(pool, row<double>({1, 4})).data[0], 9);
}

TEST(SpecLp, PadsAddNothing) {
  const Pool pool{.op = Op::lp, .axes = {0}, .window = {2}, .stride = {1}, .pad_lo = {2}};
  expect_values(forward(pool, row<double>({-3})), {0, 3});
  expect_values(vjp(pool, row<double>({-3}), row<double>({7, 2})), {-2});
  expect_values<int64_t>(terms(pool, {1}), {2, 2});
}

TEST(SpecLp, ZeroInfinityAndNanHaveTheirRules) {
  Pool pool{.op = Op::lp, .axes = {0}, .window = {4}, .p = 2};
  const Array<double> g = row<double>({2, 2, 2});
  const Array<double> x = row<double>({0, 0, 0, 0, kInf, 1, -kInf, 0, kNan, 1, 0, 2});
  const double share = 2 * std::sqrt(0.5);
  expect_values(forward(pool, x), {0, kInf, kNan});
  const Array<double> dx = vjp(pool, x, g);
  expect_values<double>({{4}, {dx.data[0], dx.data[5], dx.data[7], dx.data[8]}}, {0, 0, 0, kNan});
  EXPECT_DOUBLE_EQ(dx.data[4], share);
  EXPECT_DOUBLE_EQ(dx.data[6], -share);
  expect_values(jvp(pool, x, filled<double>({12}, 1)), {0, 0, kNan});
  expect_values(hvp(pool, x, g, filled<double>({12}, 1)),
                {0, 0, 0, 0, 0, 0, 0, 0, kNan, kNan, kNan, kNan});
}

TEST(SpecLp, AZeroTangentOrGradientContributesNothingToTheSecondOrder) {
  const Pool pool{.op = Op::lp, .axes = {0}, .window = {2}, .p = 1.5};
  const Array<double> x = row<double>({0, 2});
  expect_values(hvp(pool, x, row<double>({1}), row<double>({0, 0})), {0, 0});
  expect_values(hvp(pool, x, row<double>({0}), row<double>({1, 1})), {0, 0});
  expect_values(hvp(pool, x, row<double>({1}), row<double>({-1, 0})), {-kInf, 0});
}

}  // namespace
}  // namespace ndpool::spec
