// Problems that no pooling has: each is refused when the plan is made, quickly, in little memory,
// with the axis, the numbers and a way out.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ndpool/ndpool.hpp"
#include "tests/refusal.h"

namespace {

using ndpool::Ints;
using ndpool::Mode;
using ndpool::Op;
using ndpool::Plan;
using ndpool::Pool;
using ndpool::Rounding;
using ndpool::Status;
using ndpool::Type;
using ndpool::test::expect_good_error;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class BadInput : public ndpool::test::Limited {};

struct Case {
  std::string what;
  Pool pool;
  int axis;
  std::vector<std::string> says;
  std::vector<Status> codes;  // the first is the best; others where two rules are broken at once
};

void expect_refused(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    const auto plan = Plan::make(c.pool);
    if (plan.has_value()) {
      ADD_FAILURE() << c.what << " was accepted:\n" << plan->explain();
      continue;
    }
    expect_good_error(plan.error(), c.axis, c.says, c.what);
    bool code_fits = false;
    for (const Status code : c.codes) code_fits = code_fits || code == plan.error().code;
    EXPECT_TRUE(code_fits) << c.what << ": status " << static_cast<int>(plan.error().code)
                           << " instead of " << static_cast<int>(c.codes[0]) << ": "
                           << plan.error().message;
    EXPECT_THROW(Plan{c.pool}, ndpool::PoolError) << c.what;
  }
}

TEST_F(BadInput, NumbersThatNoPoolingHas) {
  const std::vector<Status> argument = {Status::bad_argument};
  expect_refused({
      {"window 0", {.shape = {2, 3, 8, 8}, .window = {2, 0}}, 3, {"window", "0", "1"}, argument},
      {"window -3", {.shape = {2, 3, 8, 8}, .window = {-3, 2}}, 2, {"window", "-3"}, argument},
      {"stride 0",
       {.shape = {8, 8}, .window = {2, 2}, .stride = {1, 0}},
       1,
       {"stride", "0"},
       argument},
      {"stride -1",
       {.shape = {8, 8}, .window = {2, 2}, .stride = {-1}},
       0,
       {"stride", "-1"},
       argument},
      {"dilation 0",
       {.shape = {8, 8}, .window = {2, 2}, .dilation = {0}},
       0,
       {"dilation", "0"},
       argument},
      {"padding -1",
       {.shape = {8, 8}, .window = {2, 2}, .padding = {0, -1}},
       1,
       {"padding", "-1"},
       argument},
      {"padding_hi -7",
       {.shape = {8, 8}, .window = {2, 2}, .padding = {0}, .padding_hi = {-7, 0}},
       0,
       {"padding", "-7"},
       argument},
      {"a negative size", {.shape = {8, -2, 8}, .window = {2}}, 1, {"-2"}, argument},
      {"adaptive to 0",
       {.shape = {4, 8, 8}, .mode = Mode::adaptive, .output_size = {3, 0}},
       2,
       {"0"},
       argument},
      {"adaptive to -5",
       {.shape = {4, 8, 8}, .mode = Mode::adaptive, .output_size = {-5, 2}},
       1,
       {"-5"},
       argument},
  });
}

TEST_F(BadInput, ListsOfTheWrongLengthAndAxesThatAreNone) {
  const std::vector<Status> argument = {Status::bad_argument};
  expect_refused({
      {"rank 0",
       {.shape = {}, .window = {2}},
       -1,
       {},
       {Status::bad_argument, Status::bad_geometry}},
      {"no window", {.shape = {8, 8}}, -1, {"window"}, argument},
      {"more windows than axes", {.shape = {8, 8}, .window = {2, 2, 2}}, -1, {"3", "2"}, argument},
      {"three strides for two axes",
       {.shape = {8, 8}, .window = {2, 2}, .stride = {1, 1, 1}},
       -1,
       {"stride", "3", "2"},
       argument},
      {"three paddings for two axes",
       {.shape = {8, 8}, .window = {2, 2}, .padding = {1, 1, 1}},
       -1,
       {"pad_lo", "3", "2"},
       argument},
      {"three dilations for two axes",
       {.shape = {8, 8}, .window = {2, 2}, .dilation = {1, 1, 1}},
       -1,
       {"dilation", "3", "2"},
       argument},
      {"two windows for three axes",
       {.shape = {8, 8, 8}, .window = {2, 2}, .axes = {0, 1, 2}},
       -1,
       {"window", "2", "3"},
       argument},
      {"an axis twice",
       {.shape = {8, 8}, .window = {2, 2}, .axes = {1, -1}},
       1,
       {"twice"},
       argument},
      {"axis 2 of 2", {.shape = {8, 8}, .window = {2, 2}, .axes = {0, 2}}, -1, {"2"}, argument},
      {"axis -3 of 2", {.shape = {8, 8}, .window = {2}, .axes = {-3}}, -1, {"-3", "2"}, argument},
      {"an absurd axis",
       {.shape = {8}, .window = {2}, .axes = {kMost}},
       -1,
       {std::to_string(kMost)},
       argument},
      {"global without axes", {.shape = {8, 8}, .mode = Mode::global}, -1, {"axes"}, argument},
      {"adaptive without sizes", {.shape = {8, 8}, .mode = Mode::adaptive}, -1, {}, argument},
  });
}

TEST_F(BadInput, WindowsThatDoNotFit) {
  const std::vector<Status> geometry = {Status::bad_geometry};
  expect_refused({
      {"window larger than the padded input",
       {.shape = {2, 3, 8, 5}, .window = {3, 8}, .padding = {0, 1}},
       3,
       {"8", "7"},
       geometry},
      {"extent larger than the input",
       {.shape = {2, 8}, .window = {4}, .dilation = {3}},
       1,
       {"10", "8"},
       geometry},
      {"an empty pooled axis", {.shape = {2, 3, 0, 5}, .window = {1, 1}}, 2, {"0"}, geometry},
      {"an empty global axis",
       {.shape = {2, 0}, .axes = {1}, .mode = Mode::global},
       1,
       {"0"},
       geometry},
      {"an empty adaptive axis",
       {.shape = {2, 0}, .mode = Mode::adaptive, .output_size = {2}},
       1,
       {"0"},
       geometry},
      {"a remainder where none may be",
       {.shape = {4, 12}, .window = {2}, .stride = {3}, .rounding = Rounding::exact},
       1,
       {"remainder 1", "stride 3", "1 cells"},
       geometry},
      {"a window of padding alone",
       {.shape = {6, 4}, .window = {2}, .padding = {2}},
       1,
       {"window 0", "4", "padding", "empty=identity"},
       geometry},
      {"two huge zeros",
       {.shape = {9, 15, 0, 2772747373535906632, 0, 14}, .window = {1, 1}},
       4,
       {"0"},
       {Status::bad_geometry, Status::overflow}},
  });
}

TEST_F(BadInput, NumbersNearTheEndOf64Bits) {
  const std::vector<Status> too_much = {Status::overflow, Status::bad_geometry};
  const Ints image = {1, 1, 8, 8};
  expect_refused({
      {"k = s = d = 2147483697",
       {.shape = image,
        .window = {2147483697, 2147483697},
        .stride = {2147483697},
        .dilation = {2147483697}},
       2,
       {"2147483697"},
       too_much},
      {"k = s = INT64_MAX",
       {.shape = image, .window = {kMost, kMost}, .stride = {kMost}},
       2,
       {std::to_string(kMost)},
       too_much},
      {"k = INT64_MAX with as much padding",
       {.shape = image, .window = {kMost, kMost}, .stride = {1}, .padding = {kMost}},
       2,
       {std::to_string(kMost)},
       too_much},
      {"k = 8608480567731124087 with padding = dilation = 1250999896764",
       {.shape = image,
        .window = {8608480567731124087, 8608480567731124087},
        .padding = {1250999896764},
        .dilation = {1250999896764}},
       2,
       {"8608480567731124087", "1250999896764"},
       too_much},
      {"k = 536870912 with d = 1879048192",
       {.shape = image, .window = {536870912, 536870912}, .dilation = {1879048192}},
       2,
       {"536870912", "1879048192"},
       too_much},
      {"INT64_MIN everywhere",
       {.shape = image, .window = {-kMost - 1, 2}},
       2,
       {std::to_string(-kMost - 1)},
       {Status::bad_argument}},
  });
}

TEST_F(BadInput, ResultsAndInputsBeyond64Bits) {
  for (const Type type : {Type::f32, Type::u8}) {
    for (const Op op : {Op::max, Op::avg}) {
      const auto plan = Plan::make({.op = op,
                                    .type = type,
                                    .shape = {2, 7},
                                    .mode = Mode::adaptive,
                                    .output_size = {9132760301568586890}});
      ASSERT_FALSE(plan.has_value()) << ndpool::type_name(type);
      expect_good_error(plan.error(), 1, {"9132760301568586890"}, ndpool::type_name(type));
    }
    const auto cube = Plan::make({.type = type,
                                  .shape = {7, 7, 7},
                                  .mode = Mode::adaptive,
                                  .output_size = {1879048192, 1879048192, 1879048192}});
    ASSERT_FALSE(cube.has_value()) << ndpool::type_name(type);
    EXPECT_NE(cube.error().message.find("1879048192"), std::string::npos) << cube.error().message;
  }
  const auto input = Plan::make({.shape = {kMost / 4, 3, 2}, .window = {2}});
  ASSERT_FALSE(input.has_value());
  EXPECT_EQ(input.error().code, Status::overflow) << input.error().message;
  EXPECT_NE(input.error().message.find(std::to_string(kMost / 4)), std::string::npos)
      << input.error().message;
  // A zero elsewhere must not hide the overflow.
  EXPECT_FALSE(Plan::make({.shape = {kMost, kMost, 0, 4}, .window = {2}}).has_value());
}

TEST_F(BadInput, ParametersOfTheOperations) {
  const std::vector<Status> argument = {Status::bad_argument};
  const auto smooth = [](double beta) {
    return Pool{.op = Op::smooth_max, .shape = {8}, .window = {2}, .beta = beta};
  };
  const auto lp = [](double p) { return Pool{.op = Op::lp, .shape = {8}, .window = {2}, .p = p}; };
  expect_refused({
      {"beta 0", smooth(0), -1, {"beta"}, argument},
      {"beta -0", smooth(-0.0), -1, {"beta"}, argument},
      {"beta NaN", smooth(kNan), -1, {"beta"}, argument},
      {"beta inf", smooth(kInf), -1, {"beta"}, argument},
      {"beta -inf", smooth(-kInf), -1, {"beta"}, argument},
      {"p 0", lp(0), -1, {"p"}, argument},
      {"p -2", lp(-2), -1, {"p", "-2"}, argument},
      {"p NaN", lp(kNan), -1, {"p"}, argument},
      {"p -inf", lp(-kInf), -1, {"p"}, argument},
      {"divisor 0",
       {.op = Op::avg, .shape = {8}, .window = {2}, .divisor = 0},
       -1,
       {"divisor", "0"},
       argument},
      {"a target that is none",
       {.shape = {8}, .window = {2}, .target = "ABACUS"},
       -1,
       {"ABACUS"},
       argument},
  });
}

TEST_F(BadInput, TypesThatAnOperationDoesNotHave) {
  const std::vector<Status> type = {Status::bad_type};
  expect_refused({
      {"average of bool",
       {.op = Op::avg, .type = Type::boolean, .shape = {8}, .window = {2}},
       -1,
       {"avg", "bool"},
       type},
      {"smooth max of int",
       {.op = Op::smooth_max, .type = Type::i32, .shape = {8}, .window = {2}},
       -1,
       {"i32"},
       type},
      {"Lp of bytes",
       {.op = Op::lp, .type = Type::u8, .shape = {8}, .window = {2}},
       -1,
       {"lp", "u8"},
       type},
      {"max into another type",
       {.type = Type::i8, .shape = {8}, .window = {2}, .out_type = Type::f32},
       -1,
       {"max", "out_type"},
       type},
      {"average into a narrower integer",
       {.op = Op::avg, .type = Type::i32, .shape = {8}, .window = {2}, .out_type = Type::i16},
       -1,
       {"i32", "i16"},
       type},
      {"an empty average of integers",
       {.op = Op::avg,
        .type = Type::i32,
        .shape = {2},
        .window = {1},
        .padding = {1},
        .empty = ndpool::Empty::identity,
        .count_include_pad = false},
       0,
       {},
       {Status::bad_geometry, Status::bad_type}},
  });
}

TEST_F(BadInput, WordsThatAreNone) {
  const auto word = [](int value) { return std::to_string(value); };
  for (const int value :
       {-7, 99, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
    const std::vector<Status> codes = {Status::bad_argument, Status::bad_type};
    const Pool good = {.shape = {8}, .window = {2}};
    std::vector<Case> cases(8, Case{"", good, -1, {word(value)}, codes});
    cases[0].what = "op";
    cases[0].pool.op = static_cast<Op>(value);
    cases[1].what = "type";
    cases[1].pool.type = static_cast<Type>(value);
    cases[2].what = "out_type";
    cases[2].pool.out_type = static_cast<Type>(value);
    cases[3].what = "mode";
    cases[3].pool.mode = static_cast<Mode>(value);
    cases[4].what = "rounding";
    cases[4].pool.rounding = static_cast<Rounding>(value);
    cases[5].what = "padding";
    cases[5].pool.padding_mode = static_cast<ndpool::Padding>(value);
    cases[6].what = "ties";
    cases[6].pool.ties = static_cast<ndpool::Ties>(value);
    cases[7].what = "empty";
    cases[7].pool.empty = static_cast<ndpool::Empty>(value);
    expect_refused(cases);
  }
}

TEST_F(BadInput, LinesThatNameNoProblem) {
  for (const char* line :
       {"", "max", "max f32", "median f32 8x8 w2", "max f99 8x8 w2x2", "max f32 8x8 w",
        "max f32 8x8 w2x2 s99999999999999999999", "max f32 8x8 w2x2 q4", "max f32 8x8 w9x9"}) {
    const auto plan = Plan::parse(line);
    ASSERT_FALSE(plan.has_value()) << line;
    EXPECT_GT(plan.error().message.size(), 20U) << line;
  }
}

TEST_F(BadInput, EmptyBatchesAndChannelsWork) {
  for (const Ints& shape : {Ints{0, 3, 8, 8}, Ints{2, 0, 8, 8}, Ints{0, 0, 8, 8}}) {
    for (const Op op : {Op::max, Op::min, Op::avg, Op::smooth_max, Op::lp}) {
      const Plan plan({.op = op, .shape = shape, .window = {2, 2}});
      EXPECT_EQ(plan.output_shape(), (Ints{shape[0], shape[1], 4, 4}));
      const std::vector<float> x;
      std::vector<float> y;
      std::vector<float> dx;
      EXPECT_TRUE(plan.try_forward(x, y).has_value()) << ndpool::op_name(op);
      EXPECT_TRUE(plan.try_jvp(x, x, y, dx).has_value()) << ndpool::op_name(op);
      EXPECT_TRUE(plan.try_vjp(x, y, dx).has_value()) << ndpool::op_name(op);
    }
  }
}

}  // namespace
