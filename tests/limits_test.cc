// Calls at the edge of what is allowed: tiles without outputs, scratch of just the promised size,
// numbers far apart, and windows much larger than the data.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"

namespace {

struct Destroy {
  void operator()(ndpool_plan* plan) const { ndpool_plan_destroy(plan); }
};
using PlanPointer = std::unique_ptr<ndpool_plan, Destroy>;

PlanPointer parse(const std::string& line) {
  ndpool_plan* plan = nullptr;
  ndpool_error error;
  EXPECT_EQ(ndpool_plan_parse(line.c_str(), &plan, &error), NDPOOL_OK) << error.message;
  return PlanPointer(plan);
}

template <class T>
ndpool_const_array in(const std::vector<T>& v) {
  return {v.data(), nullptr};
}
template <class T>
ndpool_array out(std::vector<T>* v) {
  return {v->data(), nullptr};
}
constexpr ndpool_array kNone{nullptr, nullptr};

TEST(Limits, ATileOfDroppedCellsTakesNoOutputsAndGetsZeros) {
  const PlanPointer plan = parse("max f32 5 w2 s2");
  const int64_t cell = 4, beyond = 2, none = 0, one = 1, zero = 0, five = 5;
  const ndpool_tile tile{{&zero, &five}, {&beyond, &none}, {&cell, &one}};
  ndpool_exec exec{};
  exec.tile = &tile;
  const std::vector<float> x = {1, 2, 3, 4, 5}, g(1);
  const std::vector<uint8_t> argmax(1);
  for (bool from_x : {false, true}) {
    std::vector<float> dx = {7};
    ndpool_error error{};
    const int32_t code =
        from_x ? ndpool_vjp(plan.get(), in(x), in(g), out(&dx), &exec, &error)
               : ndpool_vjp_argmax(plan.get(), in(argmax), in(g), out(&dx), &exec, &error);
    ASSERT_EQ(code, NDPOOL_OK) << error.message;
    EXPECT_EQ(dx[0], 0);
  }
}

TEST(Limits, TilesOfTwoAxesThatReachNoCellOrNoOutputAreServed) {
  const int64_t origin[2] = {0, 0}, none[2] = {0, 0}, one[2] = {1, 1};
  ndpool_exec exec{};
  ndpool_error error{};
  const std::vector<float> nothing(1);
  {
    // A cell that no window covers.
    const PlanPointer plan = parse("avg f32 5x5 w2x2 s2");
    const int64_t cell[2] = {4, 0}, beyond[2] = {2, 0}, row[2] = {0, 1};
    const ndpool_tile tile{{origin, none}, {beyond, row}, {cell, one}};
    exec.tile = &tile;
    std::vector<float> dx = {7};
    ASSERT_EQ(ndpool_vjp(plan.get(), {}, in(nothing), out(&dx), &exec, &error), NDPOOL_OK)
        << error.message;
    EXPECT_EQ(dx[0], 0);
  }
  // A window of padding alone.
  const PlanPointer plan = parse("max f32 2x2 w1x1 s1 p1 empty=identity");
  const ndpool_tile tile{{origin, none}, {origin, one}, {nullptr, nullptr}};
  exec.tile = &tile;
  std::vector<float> y = {7};
  ASSERT_EQ(ndpool_forward(plan.get(), in(nothing), out(&y), kNone, kNone, &exec, &error),
            NDPOOL_OK)
      << error.message;
  EXPECT_EQ(y[0], -std::numeric_limits<float>::infinity());
}

TEST(Limits, SmoothMaxCountsThePadsOfWindowsBeforeOneThatStepsOverThem) {
  // The last window goes from a cell over both pads into the overhang; the one before it has a pad.
  const PlanPointer plan = parse("smooth f32 11 w2 s2 d3 p0:2 ceil");
  const std::vector<float> x(11, 1);
  std::vector<float> y(6);
  ndpool_error error{};
  ASSERT_EQ(ndpool_forward(plan.get(), in(x), out(&y), kNone, kNone, nullptr, &error), NDPOOL_OK)
      << error.message;
  const double e = std::exp(1.0);
  const double expected[] = {2 * e, 2 * e, 2 * e, 2 * e, e + 1, e};
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], std::log(expected[i]), 1e-5) << "y[" << i << "]";
  }
}

TEST(Limits, SmoothMaxAndLpOfATileAreTheSameWithThePromisedScratch) {
  for (const char* line : {"smooth f32 8x11000 w3 s1 p1 beta=3", "lp f32 8x11000 w3 s1 p1 p=3"}) {
    const PlanPointer plan = parse(line);
    std::vector<float> x(8 * 11000);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1021) / 512 - 0.5F;
    // Two rows of the tile fit a box, and one of the whole.
    const int64_t start[2] = {0, 0}, size[2] = {8, 8000}, cells[2] = {8, 8001};
    const int64_t strides[2] = {11000 * 4, 4};
    const ndpool_tile tile{{start, cells}, {start, size}, {nullptr, nullptr}};
    std::vector<float> y(8 * 8000), dy(y), y_again(y), dy_again(y);
    std::vector<char> scratch(ndpool_plan_scratch_bytes(plan.get(), 1));
    ndpool_exec exec{};
    exec.threads = 1;
    exec.tile = &tile;
    ndpool_error error{};
    // The tangent takes the most scratch.
    const ndpool_const_array from{x.data(), strides};
    ASSERT_EQ(ndpool_jvp(plan.get(), from, from, out(&y), out(&dy), &exec, &error), NDPOOL_OK)
        << error.message;
    exec.scratch = scratch.data();
    exec.scratch_bytes = scratch.size();
    ASSERT_EQ(ndpool_jvp(plan.get(), from, from, out(&y_again), out(&dy_again), &exec, &error),
              NDPOOL_OK)
        << error.message;
    EXPECT_EQ(y, y_again) << line;
    EXPECT_EQ(dy, dy_again) << line;
  }
}

TEST(Limits, TheGradientOfAWindowThatIsPaddingButForAFewCellsIsSharedAsItsDivisorSays) {
  const PlanPointer plan = parse("avg f32 3x4x4 w2305843009213693952x1 p0:2305843009213693952x0:0");
  const std::vector<float> g(12, 1);
  std::vector<float> dx(48, 7);
  ndpool_error error{};
  ASSERT_EQ(ndpool_vjp(plan.get(), {nullptr, nullptr}, in(g), out(&dx), nullptr, &error), NDPOOL_OK)
      << error.message;
  for (const float value : dx) EXPECT_EQ(value, 0x1p-61F);
}

// x grows in row-major order, so that the last cell of a window wins.
template <class T, class Cell>
void expect_winners(const std::string& line, Cell cell_of_output) {
  const PlanPointer plan = parse(line);
  ASSERT_TRUE(plan);
  int64_t shape[8], outputs[8];
  ndpool_plan_input_shape(plan.get(), shape);
  ndpool_plan_output_shape(plan.get(), outputs);
  size_t cells = 1, count = 1;
  for (int i = 0; i < ndpool_plan_rank(plan.get()); ++i) {
    cells *= static_cast<size_t>(shape[i]);
    count *= static_cast<size_t>(outputs[i]);
  }
  std::vector<T> x(cells), y(count), alone(count);
  for (size_t i = 0; i < cells; ++i) x[i] = static_cast<T>(i);
  std::vector<uint64_t> argmax(count);
  ndpool_exec exec{};
  exec.threads = 1;
  ndpool_error error{};
  ASSERT_EQ(ndpool_forward(plan.get(), in(x), out(&y), out(&argmax), kNone, &exec, &error),
            NDPOOL_OK)
      << line << ": " << error.message;
  ASSERT_EQ(ndpool_forward(plan.get(), in(x), out(&alone), kNone, kNone, &exec, &error), NDPOOL_OK)
      << line << ": " << error.message;
  for (size_t i = 0; i < count; ++i) {
    ASSERT_EQ(y[i], x[cell_of_output(i)]) << line << ", output " << i;
    ASSERT_EQ(alone[i], y[i]) << line << ", output " << i << " without argmax";
  }
}

TEST(Limits, WindowsStridesAndDilationsOfAnySizeNeedNoMemoryOfTheirSize) {
  expect_winners<float>("max f32 1x600x4x64 w300x1 s1 axes=1,2",
                        [](size_t i) { return i + 299 * 256; });
  for (const char* stride : {"4611686018427387905", "9223372036854775807"}) {
    expect_winners<float>("max f32 2x64x64 w2x3 s" + std::string(stride) + "x1",
                          [](size_t i) { return i / 62 * 4096 + 64 + i % 62 + 2; });
  }
  expect_winners<double>("max f64 100x4 w1x2305843009213693953 s1 p0:0x0:2305843009213693952",
                         [](size_t i) { return i / 4 * 4 + 3; });
  expect_winners<double>("max f64 1000 w2 s1 d2305843009213693952 p0:2305843009213693952",
                         [](size_t i) { return i; });
  const std::string far = "1152921504606846976x1x1";
  expect_winners<float>("max f32 5x40x40 w2x3x3 s" + far + " d" + far + " p1152921504606846976x0x0",
                        [](size_t i) { return (i / 38 % 38 + 2) * 40 + i % 38 + 2; });
}

TEST(Limits, RowsThatEndInUnusedBytesAreReadWhereTheyLie) {
  for (const char* op : {"avg", "max"}) {
    const PlanPointer plan = parse(std::string(op) + " f32 2x4x33x3 w1x33 axes=1,2");
    const int64_t strides[] = {1600, 400, 12, 4};
    std::vector<float> x(800, 1e9F), y(24);
    for (size_t i = 0; i < 24 * 33; ++i) x[i / 99 * 100 + i % 99] = static_cast<float>(i / 99);
    ndpool_exec exec{};
    ndpool_error error{};
    ASSERT_EQ(ndpool_forward(plan.get(), {x.data(), strides}, out(&y), kNone, kNone, &exec, &error),
              NDPOOL_OK)
        << error.message;
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], static_cast<float>(i / 3)) << op << i;
  }
}

TEST(Limits, OneLargePlaneKeepsAllThreadsBusy) {
  const auto most_at_once = [](auto call) {
    int64_t most = 0;
    ndpool_exec exec{};
    exec.threads = 4;
    ndpool_runner runner{};
    exec.runner = &runner;
    runner.context = &most;
    runner.parallel_for = [](void* context, int64_t n, void (*body)(void*, int64_t), void* arg) {
      auto* largest = static_cast<int64_t*>(context);
      *largest = std::max(*largest, n);
      for (int64_t i = 0; i < n; ++i) body(arg, i);
    };
    ndpool_error error{};
    EXPECT_EQ(call(&exec, &error), NDPOOL_OK) << error.message;
    return most;
  };
  const std::vector<float> x(2000 * 200), g(x.size());
  std::vector<float> y(x.size()), dx(x.size());
  std::vector<uint8_t> argmax(x.size());
  for (const char* line : {"max f32 1x2000x200 w3x3 s1 p1", "avg f32 1x2000x200 w3x3 s1 p1"}) {
    const PlanPointer plan = parse(line);
    const bool max = line[0] == 'm';
    const ndpool_array winners = max ? out(&argmax) : kNone;
    EXPECT_EQ(most_at_once([&](const ndpool_exec* exec, ndpool_error* error) {
                return ndpool_forward(plan.get(), in(x), out(&y), winners, kNone, exec, error);
              }),
              4)
        << line;
    EXPECT_EQ(most_at_once([&](const ndpool_exec* exec, ndpool_error* error) {
                return max ? ndpool_vjp_argmax(plan.get(), in(argmax), in(g), out(&dx), exec, error)
                           : ndpool_vjp(plan.get(), in(x), in(g), out(&dx), exec, error);
              }),
              4)
        << "VJP of " << line;
  }
}

TEST(Limits, ThePromisedScratchIsEnoughForWindowsLargerThanTheData) {
  for (const char* line : {"lp f32 33 w9252 s7021 p4611", "smooth f32 33 w9252 s7021 p4611",
                           "max f64 33 w9252 s7021 p4611", "avg f16 33 w9252 s7021 p4611"}) {
    const PlanPointer plan = parse(line);
    int64_t outputs = 0;
    ndpool_plan_output_shape(plan.get(), &outputs);
    std::vector<double> x(33, 1), dx(33), y(static_cast<size_t>(outputs)), g(y);
    for (int32_t threads : {1, 3}) {
      std::vector<char> scratch(ndpool_plan_scratch_bytes(plan.get(), threads));
      ndpool_exec exec{};
      exec.threads = threads;
      exec.scratch = scratch.data();
      exec.scratch_bytes = scratch.size();
      ndpool_error error{};
      EXPECT_EQ(ndpool_forward(plan.get(), in(x), out(&y), kNone, kNone, &exec, &error), NDPOOL_OK)
          << line << ": " << error.message;
      EXPECT_EQ(ndpool_vjp(plan.get(), in(x), in(g), out(&dx), &exec, &error), NDPOOL_OK)
          << line << ": " << error.message;
    }
  }
}

TEST(Limits, TooLittleScratchForTheTangentLeavesTheValueUntouched) {
  const PlanPointer plan = parse("avg f32 4x64x32 w3 s1 axes=1");
  const std::vector<float> x(4 * 64 * 32, 1);
  std::vector<float> y(4 * 62 * 32, -1), dy(y);
  const int64_t swapped[3] = {64 * 32 * 4, 4, 64 * 4};
  std::vector<char> scratch(ndpool_plan_scratch_bytes(plan.get(), 1));
  ndpool_exec exec{};
  exec.threads = 1;
  exec.scratch = scratch.data();
  for (exec.scratch_bytes = scratch.size(); exec.scratch_bytes > 0; exec.scratch_bytes -= 64) {
    std::fill(y.begin(), y.end(), -1.0F);
    ndpool_error error{};
    const int32_t code =
        ndpool_jvp(plan.get(), {x.data(), swapped}, in(x), out(&y), out(&dy), &exec, &error);
    if (code == NDPOOL_OK) continue;
    ASSERT_EQ(y, std::vector<float>(y.size(), -1)) << error.message;
    if (exec.scratch_bytes < 64) break;
  }
}

TEST(Limits, PlansOfHugePaddingAndDilationAreMadeAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  ndpool_plan* plan = nullptr;
  ndpool_error error;
  EXPECT_EQ(ndpool_plan_parse("max f32 3 w1000000000001 s2 d4 p4000000000000", &plan, &error),
            NDPOOL_OK)
      << error.message;
  ndpool_plan_destroy(plan);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Limits, ValuesThatTheModeWouldIgnoreAreRefused) {
  const struct {
    const char *line, *word;
  } cases[] = {{"max f32 8 a2 s3", "stride"},
               {"max f32 8 a2 p1", "pad_lo"},
               {"max f32 8 global axes=0 d2", "dilation"}};
  for (const auto& c : cases) {
    ndpool_plan* plan = nullptr;
    ndpool_error error;
    EXPECT_EQ(ndpool_plan_parse(c.line, &plan, &error), NDPOOL_BAD_ARGUMENT) << c.line;
    EXPECT_NE(std::string(error.message).find(c.word), std::string::npos) << error.message;
  }
}

TEST(Limits, AnAddressSpaceTooSmallForTheArrayIsRefusedWithoutStridesToo) {
  const PlanPointer plan = parse("max f32 64 w2");
  std::vector<float> y(32, 3);
  ndpool_error error{};
  const auto* high = reinterpret_cast<const void*>(std::numeric_limits<uintptr_t>::max() - 7);
  EXPECT_EQ(ndpool_forward(plan.get(), {high, nullptr}, out(&y), kNone, kNone, nullptr, &error),
            NDPOOL_BAD_ARRAY);
  EXPECT_EQ(y, std::vector<float>(32, 3));
}

// The VJP of a gradient of 1 for one window.
std::vector<double> slopes(const std::string& line, const std::vector<double>& x) {
  const PlanPointer plan = parse(line);
  std::vector<double> dx(x.size());
  const std::vector<double> g = {1};
  ndpool_error error{};
  EXPECT_EQ(ndpool_vjp(plan.get(), in(x), in(g), out(&dx), nullptr, &error), NDPOOL_OK)
      << error.message;
  return dx;
}

TEST(Limits, LpKeepsItsDirectionForEveryP) {
  for (const char* p : {"0.5", "1", "1.5", "3", "1000", "1e6", "1e16", "1e300"}) {
    const std::vector<double> dx = slopes("lp f64 2 w2 p=" + std::string(p), {1, 1});
    // Euler: y is homogeneous of degree 1, so that <u, x> = y.
    const double y = std::pow(2.0, 1 / std::stod(p));
    EXPECT_NEAR(dx[0] + dx[1], y, 1e-13 * y) << "p = " << p;
    EXPECT_EQ(dx[0], dx[1]) << "p = " << p;
  }
}

TEST(Limits, SmoothMaxOfNumbersFartherApartThanF64Reaches) {
  const std::vector<double> x = {1.5e308, -1.5e308};
  const PlanPointer plan = parse("smooth f64 2 w2 beta=1e-308");
  std::vector<double> y(1);
  ndpool_error error{};
  ASSERT_EQ(ndpool_forward(plan.get(), in(x), out(&y), kNone, kNone, nullptr, &error), NDPOOL_OK);
  const double expected = 1.5e308 + std::log1p(std::exp(-3.0)) * 1e308;
  EXPECT_NEAR(y[0] / expected, 1, 1e-14);
  EXPECT_NEAR(slopes("smooth f64 2 w2 beta=1e-308", x)[1], 1 / (1 + std::exp(3.0)), 1e-14);
}

TEST(Limits, SecondOrderProductsThatAreZeroAreNotNaN) {
  const struct {
    const char* line;
    std::vector<double> x, g, v;
  } cases[] = {{"smooth f64 2 w2 beta=1e300", {0, -1}, {1e10}, {1, 1}},
               {"lp f64 1 w1 p=3", {1e-320}, {1}, {1}}};
  for (const auto& c : cases) {
    const PlanPointer plan = parse(c.line);
    std::vector<double> hx(c.x.size(), 9);
    ndpool_error error{};
    ASSERT_EQ(ndpool_hvp(plan.get(), in(c.x), in(c.g), in(c.v), out(&hx), nullptr, &error),
              NDPOOL_OK);
    for (double value : hx) EXPECT_EQ(value, 0) << c.line;
  }
}

TEST(Limits, PlansOfHugeAxesAndPaddingAskForLittleScratch) {
  for (const char* line :
       {"smooth f32 288230376151711744 a1125899906842623", "smooth f32 4 w1048576 s1 p1048576",
        "smooth f32 288230376151711744 w1 s144115188075855872",
        "lp f32 13x11 w39x12 s8x31 p1152921504606846975x29 empty=identity p=3",
        "lp f16 239x1x1 w8 s18014398509481984 d3 p576460752303423488 empty=identity p=3",
        "smooth f16 2097152x7x1 w14 s4503599627370496 d1 p139767000178907411 ceil empty=identity",
        "avg u32 54x64x32x1 w36x1x1x18 s2x3x2251799813685248x30357189080590100 "
        "p17x30x288230376151711743x0 ceil empty=identity",
        "avg i8 170x1 w1 s18014398509481983 p144115188075855872 ceil empty=identity",
        "max f32 79 a536870911", "min f64 2x3 a5x1073741824",
        "avg f64 1152921504606846975 global axes=0",
        "lp f16 245x2147483647 w29 s2 d562949953421312 p9007199254740992 ceil"}) {
    const PlanPointer plan = parse(line);
    ASSERT_NE(plan, nullptr);
    EXPECT_LT(ndpool_plan_scratch_bytes(plan.get(), 1), size_t{4} << 20) << line;
  }
}

}  // namespace
