// Calls that are refused when a good plan meets bad arrays: nothing is written, and the error says
// why. Through C++ where it adds checks of its own, through C where only C can be that wrong.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "ndpool/ndpool.hpp"
#include "tests/refusal.h"

namespace {

using ndpool::Exec;
using ndpool::Ints;
using ndpool::none;
using ndpool::Op;
using ndpool::Plan;
using ndpool::Result;
using ndpool::Status;
using ndpool::Tile;
using ndpool::Type;
using ndpool::View;
using ndpool::test::expect_good_error;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr float kPoison = -12345.0F;

class BadCall : public ndpool::test::Limited {};

// Checks that the call was refused with that status and those words, and gives the error.
void expect_refused(const Result<void>& result, Status code, const std::vector<std::string>& says,
                    const std::string& what) {
  ASSERT_FALSE(result.has_value()) << what << " was accepted";
  EXPECT_EQ(result.error().code, code) << what << ": " << result.error().message;
  expect_good_error(result.error(), result.error().axis, says, what);
}

bool poisoned(const std::vector<float>& values) {
  return values == std::vector<float>(values.size(), kPoison);
}

// max of 2x2 windows over 4x6: 24 cells, 6 outputs.
Plan small_plan() { return Plan({.shape = {4, 6}, .window = {2, 2}}); }

TEST_F(BadCall, SpansOfTheWrongSizeNameBothSizes) {
  const Plan plan = small_plan();
  const std::vector<float> x(24);
  const std::vector<float> x23(23);
  const std::vector<float> g(6);
  const std::vector<float> g5(5);
  std::vector<float> y(6, kPoison);
  std::vector<float> y7(7, kPoison);
  std::vector<float> dx(24, kPoison);
  std::vector<std::int64_t> index(5, -7);
  std::vector<std::uint8_t> argmax(8, 77);
  expect_refused(plan.try_forward(x23, y), Status::bad_array, {"x", "23", "24", "4x6"}, "x");
  expect_refused(plan.try_forward(x, y7), Status::bad_array, {"y", "7", "6", "2x3"}, "y");
  expect_refused(plan.try_forward(x, y, argmax), Status::bad_array, {"argmax", "8", "6"}, "argmax");
  expect_refused(plan.try_forward_with_index(x, y, index), Status::bad_array, {"index", "5", "6"},
                 "index");
  expect_refused(plan.try_vjp(x, g5, dx), Status::bad_array, {"g", "5", "6", "2x3"}, "g");
  expect_refused(plan.try_vjp(x, x, dx), Status::bad_array, {"g", "24", "6"}, "g of x's shape");
  expect_refused(plan.try_vjp(x, g, y), Status::bad_array, {"dx", "6", "24"}, "dx");
  expect_refused(plan.try_jvp(x, x23, y, none), Status::bad_array, {"dx", "23", "24"}, "tangent");
  EXPECT_TRUE(poisoned(y) && poisoned(y7) && poisoned(dx));
  EXPECT_EQ(argmax, std::vector<std::uint8_t>(8, 77));
  EXPECT_EQ(index, std::vector<std::int64_t>(5, -7));
  EXPECT_THROW(plan.forward(x23, y), ndpool::PoolError);
}

TEST_F(BadCall, ElementsOfAnotherTypeAreRefused) {
  const Plan plan = small_plan();
  const std::vector<float> x(24);
  const std::vector<double> doubles(24);
  const std::vector<std::uint32_t> as_wide(24);
  std::vector<float> y(6, kPoison);
  std::vector<std::int32_t> index(6, -7);
  std::vector<std::uint16_t> argmax(6, 77);
  expect_refused(plan.try_forward(doubles, y), Status::bad_type, {"x", "f64", "f32"}, "double");
  expect_refused(plan.try_forward(as_wide, y), Status::bad_type, {"x", "u32", "f32"}, "uint32");
  expect_refused(plan.try_forward(x, y, argmax), Status::bad_type, {"argmax", "u16", "u8"}, "u16");
  expect_refused(plan.try_forward_with_index(x, y, index), Status::bad_type,
                 {"index", "i32", "i64"}, "int32 index");
  EXPECT_TRUE(poisoned(y));
}

TEST_F(BadCall, StridesThatLeaveTheirMemoryAreRefused) {
  const Plan plan = small_plan();
  std::vector<float> memory(24);
  std::vector<float> y(6, kPoison);
  const auto run = [&](Ints strides, std::size_t first) {
    return plan.try_forward(View<const float>(memory, std::move(strides), first), y);
  };
  expect_refused(run({24}, 0), Status::bad_array, {"x", "1", "2"}, "one stride for two axes");
  expect_refused(run({24, 8}, 0), Status::bad_array, {"x", "96"}, "too far");
  expect_refused(run({24, 4}, 1), Status::bad_array, {"x", "96"}, "first element too late");
  expect_refused(run({-24, 4}, 0), Status::bad_array, {"x", "96"}, "before the start");
  expect_refused(run({kMost, kMost}, 0), Status::bad_array, {"x"}, "strides that overflow");
  expect_refused(run({0, 0}, static_cast<std::size_t>(-1)), Status::bad_array, {"x"}, "no first");
  EXPECT_TRUE(poisoned(y));
  EXPECT_TRUE(run({-24, 4}, 18).has_value());
  EXPECT_TRUE(run({0, 0}, 23).has_value());
}

TEST_F(BadCall, ArraysThatOverlapAreRefused) {
  const Plan plan = small_plan();
  std::vector<float> memory(30, kPoison);
  const std::vector<float> before = memory;
  const std::span<float> x(memory.data(), 24);
  expect_refused(plan.try_forward(x, std::span(memory.data(), 6)), Status::bad_array, {}, "y in x");
  expect_refused(plan.try_forward(x, std::span(memory.data() + 23, 6)), Status::bad_array, {},
                 "y begins in the last cell of x");
  const std::vector<float> g(6);
  expect_refused(plan.try_vjp(x, g, x), Status::bad_array, {}, "dx is x");
  std::vector<float> y(6, kPoison);
  expect_refused(plan.try_jvp(x, x, y, y), Status::bad_array, {}, "y is dy");
  EXPECT_EQ(memory, before);
  EXPECT_TRUE(poisoned(y));
  EXPECT_TRUE(plan.try_forward(x, std::span(memory.data() + 24, 6)).has_value()) << "neighbours";
}

TEST_F(BadCall, OutputsThatOverlapThemselvesAreRefused) {
  const Plan plan = small_plan();
  const std::vector<float> x(24);
  std::vector<float> y(24, kPoison);
  const auto run = [&](Ints strides) {
    return plan.try_forward(x, View<float>(std::span(y), std::move(strides)));
  };
  expect_refused(run({0, 4}), Status::bad_array, {}, "stride 0");
  expect_refused(run({4, 4}), Status::bad_array, {}, "rows shifted by one");
  expect_refused(run({12, 2}), Status::bad_array, {}, "half an element");
  EXPECT_TRUE(poisoned(y));
  EXPECT_TRUE(run({4, 8}).has_value()) << "transposed";
}

TEST_F(BadCall, UncheckedStridesThatOverflowAreRefused) {
  const Plan plan = small_plan();
  const std::vector<float> x(24);
  std::vector<float> y(6, kPoison);
  const auto run = [&](Ints strides) {
    return plan.try_forward(View<const float>::unchecked(x.data(), std::move(strides)), y);
  };
  expect_refused(run({kMost, 4}), Status::bad_array, {}, "INT64_MAX");
  expect_refused(run({-kMost - 1, 4}), Status::bad_array, {}, "INT64_MIN");
  // Two rows: their distance itself is a 64-bit number, but no machine has such addresses.
  for (const std::int64_t stride : {-kMost - 1, kMost}) {
    expect_refused(plan.try_forward(x, View<float>::unchecked(y.data(), {stride, 4})),
                   Status::bad_array, {}, "rows of y at the ends of the address space");
  }
  EXPECT_TRUE(poisoned(y));
}

TEST_F(BadCall, ACompactArgmaxThatIsNoTapOrNoCellIsRefused) {
  // One cell, 2x2 windows, padding 1: taps 3, 2, 1, 0 are the only ones on a cell.
  const Plan plan({.shape = {1, 1}, .window = {2, 2}, .stride = {1}, .padding = {1}});
  const std::vector<float> g(4, 1);
  std::vector<float> dx(1, kPoison);
  using Taps = std::vector<std::uint8_t>;
  expect_refused(plan.try_vjp_argmax(Taps{3, 2, 1, 4}, g, dx), Status::bad_index, {"4"}, "no tap");
  expect_refused(plan.try_vjp_argmax(Taps{3, 255, 1, 0}, g, dx), Status::bad_index, {"255"},
                 "no tap at all");
  expect_refused(plan.try_vjp_argmax(Taps{0, 2, 1, 0}, g, dx), Status::bad_index, {"0"}, "a pad");
  EXPECT_TRUE(poisoned(dx));
  EXPECT_TRUE(plan.try_vjp_argmax(Taps{3, 2, 1, 0}, g, dx).has_value());
  std::vector<float> dy = g;
  expect_refused(plan.try_jvp_argmax(Taps{0, 2, 1, 0}, dx, dy), Status::bad_index, {"0"}, "a pad");
  EXPECT_EQ(dy, g);
  EXPECT_TRUE(plan.try_jvp_argmax(Taps{3, 2, 1, 0}, dx, dy).has_value());
  EXPECT_EQ(dx[0], 4);
}

TEST_F(BadCall, OneBadNumberAmongManyPlanesOfCompactArgmaxIsFound) {
  // Every number at every place of one of many planes: small ones are compared as a whole.
  constexpr std::size_t kPlanes = 20;
  for (const std::int64_t side : {3, 13}) {
    const Plan plan({.shape = {kPlanes, side, side},
                     .window = {3, 3},
                     .stride = {2},
                     .padding = {1},
                     .axes = {1, 2}});
    const auto outputs = static_cast<std::size_t>((side + 1) / 2);
    const std::size_t plane = outputs * outputs;
    const std::vector<float> g(kPlanes * plane, 1);
    std::vector<std::uint8_t> argmax(kPlanes * plane, 4);  // the cell in the middle
    const auto is_absent = [&](std::size_t output, std::size_t tap) {
      return (output == 0 && tap == 0) || (output == outputs - 1 && tap == 2);
    };
    for (std::size_t place = 0; place < plane; ++place) {
      for (std::size_t number = 0; number < 256; ++number) {
        const bool bad = number >= 9 || is_absent(place / outputs, number / 3) ||
                         is_absent(place % outputs, number % 3);
        const std::size_t at = number % kPlanes * plane + place;
        argmax[at] = static_cast<std::uint8_t>(number);
        std::vector<float> dx(kPlanes * static_cast<std::size_t>(side * side), kPoison);
        const auto said = plan.try_vjp_argmax(argmax, g, dx);
        ASSERT_EQ(said.has_value(), !bad)
            << "side " << side << ", place " << place << ", number " << number;
        ASSERT_EQ(poisoned(dx), bad) << "side " << side << ", place " << place;
        if (bad) {
          expect_refused(said, Status::bad_index, {std::to_string(number)}, "one bad number");
        }
        argmax[at] = 4;
      }
    }
  }
}

TEST_F(BadCall, AnIndexOutsideTheUnpooledArrayIsRefused) {
  const ndpool::Unpool unpool = {.y_shape = {2, 2}, .output_shape = {2, 6}, .axes = {1}};
  const std::vector<float> y = {1, 2, 3, 4};
  std::vector<float> out(12, kPoison);
  std::vector<float> dy(4, kPoison);
  for (const std::int64_t bad : {std::int64_t{6}, std::int64_t{-1}, kMost, -kMost - 1}) {
    const std::vector<std::int64_t> index = {0, 1, 2, bad};
    expect_refused(ndpool::try_unpool(unpool, y, index, out), Status::bad_index,
                   {std::to_string(bad), "6"}, "unpool");
    expect_refused(ndpool::try_unpool_vjp(unpool, std::vector<float>(12), index, dy),
                   Status::bad_index, {std::to_string(bad), "6"}, "its gradient");
  }
  EXPECT_TRUE(poisoned(out) && poisoned(dy));
}

TEST_F(BadCall, UnpoolShapesThatDoNotFitAreRefused) {
  const std::vector<float> y(4);
  const std::vector<std::int64_t> index(4);
  std::vector<float> out(12, kPoison);
  const auto run = [&](Ints y_shape, Ints output_shape, Ints axes) {
    return ndpool::try_unpool({.y_shape = std::move(y_shape),
                               .output_shape = std::move(output_shape),
                               .axes = std::move(axes)},
                              y, index, out)
        .has_value();
  };
  EXPECT_FALSE(run({2, 2}, {3, 4}, {1})) << "axis 0 is not pooled but changes";
  EXPECT_FALSE(run({2, 2}, {12}, {0})) << "ranks differ";
  EXPECT_FALSE(run({2, 2}, {2, 6}, {2})) << "no such axis";
  EXPECT_FALSE(run({2, 2}, {2, 6}, {1, 1})) << "an axis twice";
  EXPECT_FALSE(run({2, 2}, {2, 6}, {})) << "no axes";
  EXPECT_FALSE(run({2, 2}, {2, -6}, {1})) << "a negative size";
  EXPECT_FALSE(run({2, 2}, {2, kMost}, {1})) << "beyond 64 bits";
  EXPECT_TRUE(poisoned(out));
}

TEST_F(BadCall, DerivativesThatDoNotExistAreRefused) {
  const std::vector<std::int32_t> ints(24);
  const std::vector<std::int32_t> g(6);
  std::vector<std::int32_t> dx(24, 77);
  const Plan of_ints({.type = Type::i32, .shape = {4, 6}, .window = {2, 2}});
  expect_refused(of_ints.try_vjp(ints, g, dx), Status::bad_type, {"i32"}, "gradient of integers");
  EXPECT_EQ(dx, std::vector<std::int32_t>(24, 77));

  const std::vector<float> x(24);
  const std::vector<float> ones(6, 1);
  std::vector<float> y(6, kPoison);
  std::vector<float> hx(24, kPoison);
  std::vector<std::int64_t> index(6, -7);
  std::vector<std::uint8_t> argmax(6, 77);
  expect_refused(small_plan().try_hvp(x, ones, x, hx), Status::bad_argument, {"max"}, "hvp of max");
  const Plan avg({.op = Op::avg, .shape = {4, 6}, .window = {2, 2}});
  expect_refused(avg.try_forward_with_index(x, y, index), Status::bad_argument, {"avg"}, "index");
  expect_refused(avg.try_vjp_argmax(argmax, ones, hx), Status::bad_argument, {"avg"}, "argmax");
  const Plan split({.shape = {4, 6}, .window = {2, 2}, .ties = ndpool::Ties::split});
  expect_refused(split.try_vjp_argmax(argmax, ones, hx), Status::bad_argument, {"split"}, "ties");
  EXPECT_TRUE(poisoned(y) && poisoned(hx));
}

TEST_F(BadCall, TooLittleScratchIsRefusedWithBothNumbers) {
  int refused = 0;
  for (const Op op : {Op::max, Op::avg, Op::smooth_max, Op::lp}) {
    const Plan plan({.op = op, .shape = {3, 40, 40}, .window = {9, 9}, .stride = {1}});
    const std::vector<float> x(static_cast<std::size_t>(plan.input_count()));
    std::vector<float> y(static_cast<std::size_t>(plan.output_count()), kPoison);
    std::byte one = {};
    const auto result = plan.try_forward(x, y, Exec{.threads = 1, .scratch = {&one, 1}});
    if (!result.has_value()) {
      ++refused;
      expect_refused(result, Status::bad_argument, {"scratch", "1"}, ndpool::op_name(op));
      EXPECT_EQ(result.error().numbers[0], 1);
      EXPECT_TRUE(poisoned(y)) << ndpool::op_name(op);
    }
    // What the plan asks for is enough wherever that memory begins.
    std::vector<std::byte> scratch(plan.scratch_bytes(1) + 64);
    for (const std::size_t offset : {0U, 1U, 8U, 63U}) {
      const std::span part(scratch.data() + offset, plan.scratch_bytes(1));
      const auto enough = plan.try_forward(x, y, Exec{.threads = 1, .scratch = part});
      EXPECT_TRUE(enough.has_value()) << ndpool::op_name(op) << ": " << enough.error().message;
    }
  }
  EXPECT_GT(refused, 0) << "no call here needs scratch: the test checks nothing";
}

TEST_F(BadCall, AbsurdThreadCountsAreRefused) {
  const Plan plan = small_plan();
  const std::vector<float> x(24);
  std::vector<float> y(6, kPoison);
  expect_refused(plan.try_forward(x, y, Exec{.threads = -1}), Status::bad_argument, {"-1"}, "-1");
  EXPECT_TRUE(poisoned(y));
  const int before = ndpool::get_num_threads();
  EXPECT_THROW(ndpool::set_num_threads(-1), ndpool::PoolError);
  EXPECT_EQ(ndpool::get_num_threads(), before);
}

TEST_F(BadCall, BoxesThatDoNotCoverAreRefused) {
  // 3x3 windows, stride 2, padding 1 on 9x9: 5x5 outputs; output row 1 has cells 1 to 3.
  const Plan plan({.shape = {9, 9}, .window = {3, 3}, .stride = {2}, .padding = {1}});
  const std::vector<float> memory(200);
  std::vector<float> y(200, kPoison);
  const auto run = [&](const Tile& tile) {
    return plan.try_forward(View<const float>::unchecked(memory.data(), {40, 4}),
                            View<float>::unchecked(y.data(), {40, 4}), Exec{.tile = &tile});
  };
  const std::vector<std::pair<const char*, Tile>> cases = {
      {"one row missing", {.x = {{2, 1}, {2, 3}}, .y = {{1, 1}, {1, 1}}}},
      {"one column missing at the end", {.x = {{1, 1}, {3, 2}}, .y = {{1, 1}, {1, 1}}}},
      {"y beyond the output", {.x = {{0, 0}, {9, 9}}, .y = {{4, 4}, {2, 1}}}},
      {"x beyond the input", {.x = {{1, 1}, {9, 3}}, .y = {{1, 1}, {1, 1}}}},
      {"negative start", {.x = {{-1, 0}, {9, 9}}, .y = {{1, 1}, {1, 1}}}},
      {"negative size", {.x = {{1, 1}, {3, -3}}, .y = {{1, 1}, {1, 1}}}},
      {"start and size that overflow", {.x = {{kMost, 1}, {kMost, 3}}, .y = {{1, 1}, {1, 1}}}},
      {"one number too few", {.x = {{1}, {3, 3}}, .y = {{1, 1}, {1, 1}}}},
      {"no size", {.x = {{1, 1}, {}}, .y = {{1, 1}, {1, 1}}}},
  };
  for (const auto& [what, tile] : cases) {
    expect_refused(run(tile), Status::bad_array, {}, what);
  }
  EXPECT_TRUE(poisoned(y));
  EXPECT_TRUE(run({.x = {{1, 1}, {3, 3}}, .y = {{1, 1}, {1, 1}}}).has_value());
  EXPECT_EQ(y[0], 0);
}

// ---- What only C can do wrong ------------------------------------------------------------------

constexpr std::array<std::int64_t, 2> kAxes = {0, 1};

struct CCall {
  ndpool_desc desc;
  std::array<std::int64_t, 2> shape = {4, 6};
  std::array<std::int64_t, 2> window = {2, 2};
  CCall() {
    ndpool_desc_init(&desc);
    desc.shape = {shape.data(), 2};
    desc.window = {window.data(), 2};
  }
  // The status of planning; the plan must stay as it was when refused.
  std::int32_t plan(ndpool_error* error) const {
    ndpool_desc anything = {};
    auto* const before = reinterpret_cast<ndpool_plan*>(&anything);  // only ever compared
    ndpool_plan* plan = before;
    const std::int32_t status = ndpool_plan_create(&desc, &plan, error);
    if (status == NDPOOL_OK) {
      ndpool_plan_destroy(plan);
    } else {
      EXPECT_EQ(plan, before);
    }
    return status;
  }
};

void expect_c_refused(const CCall& call, const char* what) {
  ndpool_error error = {};
  std::memset(error.message, 'x', sizeof error.message);
  const std::int32_t status = call.plan(&error);
  EXPECT_NE(status, NDPOOL_OK) << what;
  EXPECT_EQ(error.code, status) << what;
  EXPECT_LT(strnlen(error.message, sizeof error.message), sizeof error.message) << what;
  EXPECT_GT(strnlen(error.message, sizeof error.message), 20U) << what << ": " << error.message;
  EXPECT_EQ(call.plan(nullptr), status) << what << ": without an error to fill";
}

TEST_F(BadCall, DescriptionsWithNullsAndAbsurdCountsAreRefusedThroughC) {
  EXPECT_EQ(CCall().plan(nullptr), NDPOOL_OK);
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, sizeof(ndpool_desc) - 1}) {
    CCall call;
    call.desc.struct_size = size;
    expect_c_refused(call, "struct_size");
  }
  for (const std::int64_t count : {std::int64_t{-1}, -kMost - 1, kMost, std::int64_t{1} << 40}) {
    const std::string text = "count " + std::to_string(count);
    CCall shape;
    shape.desc.shape.count = count;
    expect_c_refused(shape, ("shape " + text).c_str());
    CCall window;
    window.desc.window.count = count;
    expect_c_refused(window, ("window " + text).c_str());
    CCall axes;
    axes.desc.axes = {kAxes.data(), count};
    expect_c_refused(axes, ("axes " + text).c_str());
    CCall stride;
    stride.desc.stride = {stride.window.data(), count};
    expect_c_refused(stride, ("stride " + text).c_str());
  }
  for (ndpool_ints ndpool_desc::* member :
       {&ndpool_desc::shape, &ndpool_desc::axes, &ndpool_desc::window, &ndpool_desc::stride,
        &ndpool_desc::dilation, &ndpool_desc::pad_lo, &ndpool_desc::pad_hi}) {
    CCall call;
    call.desc.*member = {nullptr, 2};
    expect_c_refused(call, "data NULL with count 2");
  }
}

TEST_F(BadCall, NullPointersAreRefusedThroughC) {
  ndpool_error error = {};
  ndpool_plan* plan = nullptr;
  const CCall call;
  EXPECT_NE(ndpool_plan_create(nullptr, &plan, &error), NDPOOL_OK);
  EXPECT_NE(ndpool_plan_create(&call.desc, nullptr, &error), NDPOOL_OK);
  EXPECT_NE(ndpool_plan_create(nullptr, nullptr, nullptr), NDPOOL_OK);
  EXPECT_NE(ndpool_plan_parse(nullptr, &plan, &error), NDPOOL_OK);
  EXPECT_NE(ndpool_plan_parse("max f32 8 w2", nullptr, &error), NDPOOL_OK);
  ndpool_desc_init(nullptr);
  ndpool_unpool_desc_init(nullptr);
  ndpool_plan_destroy(nullptr);

  ASSERT_EQ(ndpool_plan_create(&call.desc, &plan, &error), NDPOOL_OK) << error.message;
  std::vector<float> memory(24);
  std::vector<float> out(24, kPoison);
  const ndpool_const_array in = {memory.data(), nullptr};
  const ndpool_array to = {out.data(), nullptr};
  const ndpool_const_array no_in = {nullptr, nullptr};
  const ndpool_array no_out = {nullptr, nullptr};
  const ndpool_runner no_runner = {nullptr, nullptr};
  ndpool_exec exec = {};
  exec.runner = &no_runner;
  std::int64_t cells[2] = {};
  const std::vector<std::int32_t> statuses = {
      ndpool_forward(nullptr, in, to, no_out, no_out, nullptr, &error),
      ndpool_forward(plan, no_in, to, no_out, no_out, nullptr, &error),
      ndpool_forward(plan, in, no_out, no_out, no_out, nullptr, &error),
      ndpool_forward(plan, in, to, no_out, no_out, &exec, &error),
      ndpool_jvp(nullptr, in, in, to, to, nullptr, &error),
      ndpool_jvp(plan, no_in, in, no_out, to, nullptr, &error),
      ndpool_jvp(plan, in, no_in, no_out, to, nullptr, &error),
      ndpool_jvp(plan, in, in, no_out, no_out, nullptr, &error),
      ndpool_vjp(nullptr, in, in, to, nullptr, &error),
      ndpool_vjp(plan, no_in, in, to, nullptr, &error),
      ndpool_vjp(plan, in, no_in, to, nullptr, &error),
      ndpool_vjp(plan, in, in, no_out, nullptr, &error),
      ndpool_vjp_argmax(nullptr, in, in, to, nullptr, &error),
      ndpool_vjp_argmax(plan, no_in, in, to, nullptr, &error),
      ndpool_vjp_argmax(plan, in, no_in, to, nullptr, &error),
      ndpool_vjp_argmax(plan, in, in, no_out, nullptr, &error),
      ndpool_plan_cells(nullptr, 0, 0, 1, &cells[0], &cells[1], &error),
      ndpool_plan_cells(plan, 0, 0, 1, nullptr, &cells[1], &error),
      ndpool_jvp_argmax(nullptr, in, in, to, nullptr, &error),
      ndpool_jvp_argmax(plan, no_in, in, to, nullptr, &error),
      ndpool_jvp_argmax(plan, in, no_in, to, nullptr, &error),
      ndpool_jvp_argmax(plan, in, in, no_out, nullptr, &error),
      ndpool_hvp(nullptr, in, in, in, to, nullptr, &error),
      ndpool_unpool(nullptr, in, in, to, nullptr, &error),
      ndpool_unpool_vjp(nullptr, in, in, to, nullptr, &error)};
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    EXPECT_EQ(statuses[i], NDPOOL_BAD_ARGUMENT) << "call " << i;
  }
  EXPECT_TRUE(poisoned(out));
  const std::int64_t start[2] = {0, 0};
  const ndpool_tile half_a_box = {{start, nullptr}, {nullptr, nullptr}, {nullptr, nullptr}};
  exec = {};
  exec.tile = &half_a_box;
  EXPECT_NE(ndpool_forward(plan, in, to, no_out, no_out, &exec, &error), NDPOOL_OK);
  EXPECT_TRUE(poisoned(out));
  ndpool_plan_destroy(plan);
}

TEST_F(BadCall, QuestionsAboutNoPlanHaveHarmlessAnswers) {
  std::array<std::int64_t, 2> numbers = {7, 7};
  ndpool_plan_input_shape(nullptr, numbers.data());
  ndpool_plan_output_shape(nullptr, numbers.data());
  ndpool_plan_dropped(nullptr, numbers.data());
  ndpool_plan_padding(nullptr, numbers.data(), numbers.data());
  EXPECT_EQ(numbers, (std::array<std::int64_t, 2>{7, 7}));
  EXPECT_LE(ndpool_plan_rank(nullptr), 0);
  EXPECT_EQ(ndpool_plan_scratch_bytes(nullptr, 1), 0U);
  EXPECT_EQ(ndpool_plan_explain(nullptr, nullptr, 0), 0U);
  EXPECT_EQ(ndpool_type_name(99), nullptr);
  EXPECT_EQ(ndpool_type_size(99), 0U);
  EXPECT_EQ(ndpool_op_name(-4), nullptr);
  EXPECT_EQ(ndpool_target_name(-1), nullptr);
  EXPECT_EQ(ndpool_target_name(1000), nullptr);
}

TEST_F(BadCall, ASuccessfulCallClearsTheError) {
  ndpool_error error = {};
  error.code = 5;
  std::strcpy(error.message, "left over");
  ASSERT_EQ(CCall().plan(&error), NDPOOL_OK);
  EXPECT_EQ(error.code, NDPOOL_OK);
  EXPECT_STREQ(error.message, "");
}

}  // namespace
