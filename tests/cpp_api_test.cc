// The C++ interface itself: descriptions, results, views, tiles, element types, one-line functions.
#include "ndpool/ndpool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using ndpool::Array;
using ndpool::Exec;
using ndpool::float16;
using ndpool::Ints;
using ndpool::Op;
using ndpool::Plan;
using ndpool::Result;
using ndpool::Tile;
using ndpool::Type;
using ndpool::View;

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 29 % 31);
  return values;
}

// ---- Results -----------------------------------------------------------------------------------

TEST(CppApi, AResultIsAValueOrAnErrorAndNeverUndefined) {
  Result<int> good(3);
  EXPECT_TRUE(good.has_value());
  EXPECT_EQ(*good, 3);
  EXPECT_THROW((void)good.error(), std::logic_error);

  const Result<int> bad(ndpool::Error{ndpool::Status::bad_type, 2, {1, 2, 3, 4}, "because"});
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().axis, 2);
  EXPECT_THROW((void)*bad, ndpool::PoolError);
  try {
    (void)bad.value();
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "because");
    EXPECT_EQ(dynamic_cast<const ndpool::PoolError&>(error).error().numbers[3], 4);
  }
  EXPECT_TRUE(Result<void>().has_value());
  EXPECT_THROW(Result<void>(bad.error()).value(), ndpool::PoolError);
}

// ---- Plans -------------------------------------------------------------------------------------

TEST(CppApi, APlanKnowsItsShapesTypesAndChoices) {
  const auto plan = Plan::make<double>(
      {.op = Op::max, .shape = {2, 3, 9, 10}, .window = {3, 3}, .stride = {2}, .padding = {1}});
  ASSERT_TRUE(plan.has_value()) << plan.error().message;
  EXPECT_EQ(plan->type(), Type::f64);
  EXPECT_EQ(plan->output_type(), Type::f64);
  EXPECT_EQ(plan->argmax_type(), Type::u8);
  EXPECT_EQ(plan->input_shape(), (Ints{2, 3, 9, 10}));
  EXPECT_EQ(plan->output_shape(), (Ints{2, 3, 5, 5}));
  EXPECT_EQ(plan->padding(), (std::pair(Ints{0, 0, 1, 1}, Ints{0, 0, 1, 1})));
  EXPECT_EQ(plan->dropped(), (Ints{0, 0, 0, 0}));
  EXPECT_GE(plan->scratch_bytes(4), plan->scratch_bytes(1));
  EXPECT_GT(plan->explain().size(), 20U);
  EXPECT_EQ(plan->explain().find('\0'), std::string::npos);
}

TEST(CppApi, ExplainIsCutToTheCallersBuffer) {
  const Plan plan({.shape = {8, 8}, .window = {2, 2}});
  const std::string whole = plan.explain();
  std::array<char, 8> part;
  part.fill('#');
  EXPECT_EQ(ndpool_plan_explain(plan.c_plan(), part.data(), 5), whole.size());
  EXPECT_EQ(std::string(part.data()), whole.substr(0, 4));
  EXPECT_EQ(part[5], '#');
}

TEST(CppApi, ALineOfTextMakesTheSamePlanAsADescription) {
  const auto parsed = Plan::parse("avg u8 2x9x9 w3x3 s2 p1 ceil nopad out=f32");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  const Plan plan({.op = Op::avg,
                   .type = Type::u8,
                   .shape = {2, 9, 9},
                   .window = {3, 3},
                   .stride = {2},
                   .padding = {1},
                   .rounding = ndpool::Rounding::ceil,
                   .count_include_pad = false,
                   .out_type = Type::f32});
  EXPECT_EQ(parsed->type(), Type::u8);
  EXPECT_EQ(parsed->output_type(), Type::f32);
  EXPECT_EQ(parsed->output_shape(), plan.output_shape());
  EXPECT_EQ(parsed->explain(), plan.explain());
}

TEST(CppApi, CopiesShareOnePlanAndMovingLeavesNoPlanEmpty) {
  Plan first({.shape = {8}, .window = {2}});
  Plan second = first;
  const Plan third = std::move(first);         // NOLINT(performance-move-const-arg)
  EXPECT_EQ(first.output_shape(), (Ints{4}));  // NOLINT(bugprone-use-after-move): that is the test
  EXPECT_EQ(second.c_plan(), third.c_plan());
  second = Plan({.shape = {9}, .window = {3}});
  EXPECT_EQ(second.output_shape(), (Ints{3}));
}

// ---- Arrays ------------------------------------------------------------------------------------

TEST(CppApi, AnyContiguousRangeIsAnArray) {
  const Plan plan({.shape = {4}, .window = {2}});
  const float c_array[4] = {1, 4, 3, 2};
  std::array<float, 2> y = {};
  plan.forward(c_array, y);
  EXPECT_EQ(y, (std::array<float, 2>{4, 3}));
  plan.forward(std::vector<float>{5, 6, 7, 8}, std::span(y));
  EXPECT_EQ(y, (std::array<float, 2>{6, 8}));
  static_assert(!std::is_constructible_v<ndpool::Output, const std::vector<float>&>);
  static_assert(!std::is_constructible_v<ndpool::Output, std::vector<float>>);
  static_assert(!std::is_constructible_v<ndpool::Output, View<const float>>);
  static_assert(!std::is_constructible_v<ndpool::Input, std::vector<std::string>>);
  static_assert(!std::is_constructible_v<ndpool::Input, std::vector<bool>>);
}

TEST(CppApi, StridedViewsReadAndWriteInPlace) {
  const Plan plan({.shape = {4, 6}, .window = {2, 3}});
  const std::vector<float> x = numbers(24);
  std::vector<float> y(4);
  plan.forward(x, y);

  // Stored column by column, then with both axes reversed.
  std::vector<float> columns(24);
  std::vector<float> reversed(24);
  for (std::size_t i = 0; i < 24; ++i) {
    columns[i % 6 * 4 + i / 6] = x[i];
    reversed[23 - i] = x[i];
  }
  std::vector<float> transposed(4);
  plan.forward(View<const float>(columns, {4, 16}), View<float>(std::span(transposed), {4, 8}));
  EXPECT_EQ(transposed, (std::vector<float>{y[0], y[2], y[1], y[3]}));
  std::vector<float> again(4);
  plan.forward(View<const float>(reversed, {-24, -4}, 23), again);
  EXPECT_EQ(again, y);
  plan.forward(View<const float>::unchecked(x.data(), {24, 4}), again);
  EXPECT_EQ(again, y);
}

TEST(CppApi, TilesGiveTheBitsOfTheWhole) {
  const Plan plan(
      {.op = Op::avg, .shape = {9, 9}, .window = {3, 3}, .stride = {2}, .padding = {1}});
  const std::vector<float> x = numbers(81);
  std::vector<float> whole(25);
  plan.forward(x, whole);
  for (std::int64_t o = 0; o < 5; ++o) {  // output row o needs cells 2o-1 to 2o+1, where they exist
    const std::int64_t begin = std::max<std::int64_t>(0, 2 * o - 1);
    const std::int64_t end = std::min<std::int64_t>(9, 2 * o + 2);
    const Tile tile = {.x = {{begin, 0}, {end - begin, 9}}, .y = {{o, 0}, {1, 5}}};
    std::vector<float> row(5);
    const std::span cells(x.data() + begin * 9, static_cast<std::size_t>((end - begin) * 9));
    plan.forward(cells, row, Exec{.tile = &tile});
    EXPECT_EQ(row, std::vector<float>(whole.begin() + o * 5, whole.begin() + o * 5 + 5)) << o;
    // A span of the whole array is no tile of it.
    EXPECT_FALSE(plan.try_forward(x, row, Exec{.tile = &tile}).has_value());
  }
}

TEST(CppApi, TheCallersRunnerAndScratchAreUsed) {
  const Plan plan({.op = Op::avg, .shape = {8, 64, 64}, .window = {5, 5}, .stride = {1}});
  const std::vector<float> x = numbers(8 * 64 * 64);
  std::vector<float> expected(8 * 60 * 60);
  plan.forward(x, expected, Exec{.threads = 1});
  std::vector<std::byte> scratch(plan.scratch_bytes(3));
  std::vector<float> y(expected.size());
  std::atomic<int> calls = 0;
  const Exec exec = {.threads = 3,
                     .runner =
                         [&](std::int64_t n, const ndpool::Task& task) {
                           ++calls;
                           EXPECT_LE(n, 3);
                           for (std::int64_t i = n; i-- > 0;) task(i);
                         },
                     .scratch = scratch};
  plan.forward(x, y, exec);
  EXPECT_EQ(y, expected);
  EXPECT_GT(calls, 0);
}

TEST(CppApi, ACancelledCallSaysSo) {
  const Plan plan({.op = Op::avg, .shape = {64, 64, 64}, .window = {3, 3}, .stride = {1}});
  const std::vector<float> x(64 * 64 * 64);
  std::vector<float> y(64 * 62 * 62);
  const auto result = plan.try_forward(x, y, Exec{.cancelled = [] { return true; }});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ndpool::Status::cancelled);
  EXPECT_TRUE(plan.try_forward(x, y, Exec{.cancelled = [] { return false; }}).has_value());
}

TEST(CppApi, ArraysOwnTheirElements) {
  Array<int> a({2, 2}, {1, 2, 3, 4});
  const Array<int> copy = a;
  a[0] = 9;
  EXPECT_EQ(copy[0], 1);
  const Array<int> moved = std::move(a);
  EXPECT_EQ(moved[0], 9);
  EXPECT_THROW(Array<int>({2, 2}, {1, 2, 3}), ndpool::PoolError);
  EXPECT_THROW(Array<int>({2, -2}), ndpool::PoolError);
  EXPECT_THROW(Array<int>({std::numeric_limits<std::int64_t>::max(), 3}), ndpool::PoolError);
}

// ---- Element types -----------------------------------------------------------------------------

template <class T>
class CppApiTypes : public testing::Test {};
using Elements = testing::Types<float16, ndpool::bfloat16, float, double, std::int8_t, std::uint8_t,
                                std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                                std::int64_t, std::uint64_t, bool>;
TYPED_TEST_SUITE(CppApiTypes, Elements);

TYPED_TEST(CppApiTypes, MaxMinUnpoolAndIndexWorkForEveryType) {
  using T = TypeParam;
  const auto of = [](int value) {
    if constexpr (std::is_class_v<T>) return T(static_cast<float>(value));
    if constexpr (!std::is_class_v<T>) return static_cast<T>(value);
  };
  const Array<T> x({4}, {of(0), of(1), of(1), of(0)});
  EXPECT_EQ(ndpool::type_size(ndpool::type_of<T>), sizeof(T));
  const auto [values, index] = ndpool::max_pool_with_index(x, {.window = {2}});
  EXPECT_TRUE(values[0] == of(1) && values[1] == of(1));
  EXPECT_TRUE(index[0] == 1 && index[1] == 2);
  EXPECT_TRUE(ndpool::min_pool(x, {.window = {2}})[1] == of(0));
  const auto back = ndpool::max_unpool(values, index, {4}, {0});
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(back[i] == x[i]) << i;
  EXPECT_TRUE(ndpool::global_max_pool(x, {.axes = {0}})[0] == of(1));
  EXPECT_TRUE(ndpool::adaptive_min_pool(x, {.output_size = {1}})[0] == of(0));
}

TEST(CppApi, LongAndLongLongAreBothElements) {
  static_assert(ndpool::type_of<long long> == Type::i64);
  static_assert(ndpool::type_of<const unsigned long long> == Type::u64);
  static_assert(!ndpool::Element<char> && !ndpool::Element<long double>);
}

TEST(CppApi, HalfPrecisionRoundsToNearestEven) {
  const std::vector<std::pair<float, std::uint16_t>> cases = {
      {0.0F, 0x0000},        {-0.0F, 0x8000},    {1.0F, 0x3C00},     {-2.0F, 0xC000},
      {65504.0F, 0x7BFF},    {65519.0F, 0x7BFF}, {65520.0F, 0x7C00}, {1e30F, 0x7C00},
      {0x1p-14F, 0x0400},    {0x1p-24F, 0x0001}, {0x1p-25F, 0x0000}, {0x1.8p-24F, 0x0002},
      {0x1.01p-25F, 0x0001}, {2049.0F, 0x6800},  {2051.0F, 0x6802},  {0x1.ff8p-15F, 0x03FF},
      {0x1.ffcp-15F, 0x0400}};
  for (const auto& [value, bits] : cases) EXPECT_EQ(float16(value).bits(), bits) << value;
  EXPECT_TRUE(std::isnan(static_cast<float>(float16(std::numeric_limits<float>::quiet_NaN()))));
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {  // every value is its own nearest
    const auto half = float16::from_bits(static_cast<std::uint16_t>(bits));
    const float value = half;
    if (std::isnan(value)) continue;
    ASSERT_EQ(float16(value).bits(), bits) << value;
  }
}

TEST(CppApi, BrainFloatRoundsToNearestEven) {
  const std::vector<std::pair<float, std::uint16_t>> cases = {
      {1.0F, 0x3F80},          {0x1.01p0F, 0x3F80},        {0x1.03p0F, 0x3F82},
      {0x1.010002p0F, 0x3F81}, {-0x1.fffffep127F, 0xFF80}, {0x1p-133F, 0x0001}};
  for (const auto& [value, bits] : cases) EXPECT_EQ(ndpool::bfloat16(value).bits(), bits) << value;
  const float nan = std::bit_cast<float>(0x7F800001U);
  EXPECT_TRUE(std::isnan(static_cast<float>(ndpool::bfloat16(nan))));
}

// ---- One-line functions ------------------------------------------------------------------------

TEST(CppApi, OneLineFunctionsPlanAndRun) {
  const Array<double> x({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto values = [](const Array<double>& a) {
    return std::vector<double>(a.begin(), a.end());
  };
  EXPECT_EQ(values(ndpool::max_pool(x, {.window = {2, 2}})), (std::vector<double>{6, 8}));
  EXPECT_EQ(values(ndpool::max_pool(x, {.window = {2}, .stride = {1}})),
            (std::vector<double>{2, 3, 4, 6, 7, 8}));
  EXPECT_EQ(values(ndpool::min_pool(x, {.window = {2, 2}})), (std::vector<double>{1, 3}));
  EXPECT_EQ(values(ndpool::avg_pool(x, {.window = {2, 2}})), (std::vector<double>{3.5, 5.5}));
  EXPECT_NEAR(ndpool::smooth_max_pool(x, {.window = {2, 4}, .beta = 100})[0], 8, 1e-12);
  EXPECT_NEAR(ndpool::lp_pool(x, {.window = {1, 2}, .p = 1})[3], 15, 1e-12);
  EXPECT_EQ(values(ndpool::global_avg_pool(x, {.axes = {-2, -1}})), (std::vector<double>{4.5}));
  EXPECT_NEAR(ndpool::global_smooth_max_pool(x, {.axes = {0, 1}, .beta = -100})[0], 1, 1e-12);
  EXPECT_NEAR(ndpool::global_lp_pool(x, {.axes = {0, 1}})[0], std::sqrt(204.0), 1e-12);
  EXPECT_EQ(values(ndpool::adaptive_avg_pool(x, {.output_size = {1, 2}})),
            (std::vector<double>{3.5, 5.5}));
  EXPECT_NEAR(ndpool::adaptive_lp_pool(x, {.output_size = {1, 1}})[0], std::sqrt(204.0), 1e-12);
  EXPECT_NEAR(ndpool::adaptive_smooth_max_pool(x, {.output_size = {1, 1}, .beta = 100})[0], 8,
              1e-12);
  EXPECT_EQ(values(ndpool::min_pool_with_index(x, {.window = {2, 2}}).values),
            (std::vector<double>{1, 3}));
  EXPECT_THROW((void)ndpool::max_pool(x, {.window = {3, 3}}), ndpool::PoolError);
  const Array<std::int64_t> index({3}, {0, 1, 2});
  EXPECT_THROW((void)ndpool::max_unpool(x, index, {2, 8}, {1}), ndpool::PoolError);
}

TEST(CppApi, JvpAndVjpAreAdjoint) {
  for (const Op op : {Op::max, Op::min, Op::avg, Op::smooth_max, Op::lp}) {
    const Plan plan(
        {.op = op, .type = Type::f64, .shape = {7, 8}, .window = {3, 2}, .stride = {2}});
    std::vector<double> x(56);
    std::vector<double> tangent(56);
    for (std::size_t i = 0; i < 56; ++i) {
      x[i] = static_cast<double>(i * 29 % 31) / 8;
      tangent[i] = static_cast<double>(i * 17 % 23) - 11;
    }
    const auto n = static_cast<std::size_t>(plan.output_count());
    std::vector<double> g(n);
    for (std::size_t i = 0; i < n; ++i) g[i] = static_cast<double>(i * 5 % 7) - 3;
    std::vector<double> dy(n);
    std::vector<double> dx(56);
    plan.jvp(x, tangent, ndpool::none, dy);
    plan.vjp(x, g, dx);
    double left = 0;
    double right = 0;
    for (std::size_t i = 0; i < n; ++i) left += g[i] * dy[i];
    for (std::size_t i = 0; i < 56; ++i) right += dx[i] * tangent[i];
    EXPECT_NEAR(left, right, 1e-11 * (1 + std::abs(left))) << ndpool::op_name(op);
    EXPECT_NE(left, 0) << ndpool::op_name(op);
  }
}

TEST(CppApi, ThreadsCanBeSetAndGot) {
  const int before = ndpool::get_num_threads();
  EXPECT_GE(before, 1);
  ndpool::set_num_threads(3);
  EXPECT_EQ(ndpool::get_num_threads(), 3);
  ndpool::set_num_threads(0);
  EXPECT_EQ(ndpool::get_num_threads(), before);
}

TEST(CppApi, TheVersionIsTheHeaders) {
  EXPECT_EQ(std::string(ndpool::version()), std::to_string(NDPOOL_VERSION_MAJOR) + "." +
                                                std::to_string(NDPOOL_VERSION_MINOR) + "." +
                                                std::to_string(NDPOOL_VERSION_PATCH));
}

}  // namespace
