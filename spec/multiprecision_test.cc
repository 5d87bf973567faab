// Smooth max and Lp in a hundred digits: the definition against its formulas and its own slopes.
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ndpool/spec.hpp"

namespace ndpool::spec {
namespace {

using Real = boost::multiprecision::cpp_bin_float_100;
using Random = std::mt19937_64;

constexpr uint64_t kSeed = 31415926;
const Real kTiny("1e-90");

Array<Real> draw_array(Random& random, const Shape& shape) {
  // Multiples of 1/8 other than 0, so that Lp has all its derivatives.
  Array<Real> result{shape, {}};
  std::uniform_int_distribution<int> eighths(1, 24);
  for (int64_t i = elements(shape); i-- > 0;) {
    const Real value = Real(eighths(random)) / 8;
    result.data.push_back(random() % 2 == 0 ? value : Real(-value));
  }
  return result;
}

Real inner(const Array<Real>& a, const Array<Real>& b) {
  Real sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i) sum += a.data[i] * b.data[i];
  return sum;
}

// x + step * v
Array<Real> moved(Array<Real> x, const Real& step, const Array<Real>& v) {
  for (size_t i = 0; i < x.data.size(); ++i) x.data[i] += step * v.data[i];
  return x;
}

struct Problem {
  std::string name;
  Pool pool;
  Shape shape;
};

// Each operation with its parameters, on each kind of window, ranks 1 to 4.
std::vector<Problem> problems() {
  std::vector<Problem> windows;
  windows.push_back({"a row", {.axes = {0}, .window = {3}, .stride = {2}}, {9}});
  windows.push_back({"padded and dilated, ceil",
                     {.axes = {1, 0},
                      .window = {2, 3},
                      .stride = {2, 1},
                      .dilation = {2, 1},
                      .pad_lo = {1, 1},
                      .pad_hi = {2, 0},
                      .rounding = Rounding::ceil},
                     {4, 5}});
  windows.push_back(
      {"adaptive", {.mode = Mode::adaptive, .axes = {0, 2}, .output_size = {2, 3}}, {3, 2, 4}});
  windows.push_back({"global", {.mode = Mode::global, .axes = {1, 3}}, {2, 3, 1, 2}});

  std::vector<Problem> result;
  for (const Problem& window : windows) {
    for (const double beta : {1.0, 0.25, 7.5, -2.0}) {
      for (const bool include : {true, false}) {
        Problem problem = window;
        problem.name += ", beta " + std::to_string(beta) + (include ? ", with pads" : "");
        problem.pool.op = Op::smooth_max;
        problem.pool.beta = beta;
        problem.pool.mean = beta == 0.25;
        problem.pool.count_include_pad = include;
        result.push_back(problem);
      }
    }
    for (const double p : {2.0, 1.0, 3.5, 1.25, 0.5, std::numeric_limits<double>::infinity()}) {
      Problem problem = window;
      problem.name += ", p " + std::to_string(p);
      problem.pool.op = Op::lp;
      problem.pool.p = p;
      result.push_back(problem);
    }
  }
  return result;
}

// The value of one window as the textbook has it, with neither pivot nor scaling.
Real textbook(const Pool& pool, const Array<Real>& x, const std::vector<Tap>& window) {
  Real sum = 0;
  Real largest = 0;
  int64_t count = 0;
  for (const Tap& tap : window) {
    const bool pad = tap.kind == Tap::pad && (pool.count_include_pad || pool.op == Op::lp);
    if (tap.kind != Tap::cell && !pad) continue;
    Real value = 0;
    if (tap.kind == Tap::cell) {
      int64_t place = 0;
      for (size_t i = 0; i < x.shape.size(); ++i) place = place * x.shape[i] + tap.position[i];
      value = at(x, place);
    }
    ++count;
    const Real magnitude = abs(value);
    if (magnitude > largest) largest = magnitude;
    if (pool.op == Op::smooth_max) {
      sum += exp(Real(pool.beta * value));
    } else if (!std::isinf(pool.p) && magnitude > 0) {
      sum += pow(magnitude, Real(pool.p));
    }
  }
  if (pool.op == Op::smooth_max) return Real(log(Real(pool.mean ? sum / count : sum)) / pool.beta);
  return std::isinf(pool.p) ? largest : Real(pow(sum, Real(1 / Real(pool.p))));
}

TEST(SpecMultiprecision, ValuesFollowTheFormulas) {
  Random random(kSeed);
  int64_t compared = 0;
  for (const Problem& problem : problems()) {
    if (problem.pool.axes.size() != problem.shape.size()) continue;  // textbook() sees whole arrays
    const Array<Real> x = draw_array(random, problem.shape);
    const Array<Real> y = forward(problem.pool, x);
    Shape position(y.shape.size(), 0);
    size_t i = 0;
    do {
      const std::vector<Tap> window = taps(problem.pool, x.shape, position);
      EXPECT_LT(abs(Real(y.data[i] - textbook(problem.pool, x, window))), kTiny)
          << "seed " << kSeed << ", " << problem.name << ", output " << i << ": " << y.data[i];
      ++compared;
      ++i;
    } while (next_position(position, y.shape));
  }
  EXPECT_GT(compared, 100);
}

TEST(SpecMultiprecision, ForwardAndReverseAreAdjoint) {
  Random random(kSeed + 1);
  for (const Problem& problem : problems()) {
    const Array<Real> x = draw_array(random, problem.shape);
    const Array<Real> dx = draw_array(random, problem.shape);
    const Array<Real> g = draw_array(random, output_shape(problem.pool, problem.shape));
    const Real forward_side = inner(g, jvp(problem.pool, x, dx));
    const Real reverse_side = inner(vjp(problem.pool, x, g), dx);
    EXPECT_LT(abs(Real(forward_side - reverse_side)), kTiny)
        << "seed " << kSeed + 1 << ", " << problem.name << ": " << forward_side << " and "
        << reverse_side;
    EXPECT_GT(abs(forward_side), kTiny) << problem.name;
  }
}

TEST(SpecMultiprecision, TangentsAreSlopes) {
  Random random(kSeed + 2);
  const Real step("1e-30");
  for (const Problem& problem : problems()) {
    if (std::isinf(problem.pool.p)) continue;  // its winners tie, and there it has no slope
    const Array<Real> x = draw_array(random, problem.shape);
    const Array<Real> dx = draw_array(random, problem.shape);
    const Array<Real> tangent = jvp(problem.pool, x, dx);
    const Array<Real> up = forward(problem.pool, moved(x, step, dx));
    const Array<Real> down = forward(problem.pool, moved(x, -step, dx));
    for (size_t i = 0; i < tangent.data.size(); ++i) {
      const Real slope = (up.data[i] - down.data[i]) / (2 * step);
      EXPECT_LT(abs(Real(slope - tangent.data[i])), Real("1e-50"))
          << "seed " << kSeed + 2 << ", " << problem.name << ", output " << i;
    }
  }
}

TEST(SpecMultiprecision, SecondOrderProductsAreSlopesOfTheGradient) {
  Random random(kSeed + 3);
  const Real step("1e-30");
  for (const Problem& problem : problems()) {
    if (std::isinf(problem.pool.p)) continue;
    const Array<Real> x = draw_array(random, problem.shape);
    const Array<Real> v = draw_array(random, problem.shape);
    const Array<Real> g = draw_array(random, output_shape(problem.pool, problem.shape));
    const Array<Real> product = hvp(problem.pool, x, g, v);
    for (int repeat = 0; repeat < 2; ++repeat) {  // along two random directions
      const Array<Real> u = draw_array(random, problem.shape);
      const Real up = inner(v, vjp(problem.pool, moved(x, step, u), g));
      const Real down = inner(v, vjp(problem.pool, moved(x, -step, u), g));
      const Real slope = (up - down) / (2 * step);
      const Real got = inner(product, u);
      EXPECT_LT(abs(Real(slope - got)), Real("1e-50"))
          << "seed " << kSeed + 3 << ", " << problem.name << ": " << got << ", not " << slope;
    }
  }
}

// long double is the reference for most tests, so it must follow the hundred digits closely.
TEST(SpecMultiprecision, LongDoubleFollowsCloselyEnoughToBeAReference) {
  Random random(kSeed + 4);
  for (const Problem& problem : problems()) {
    const Array<Real> x = draw_array(random, problem.shape);
    Array<long double> shorter{x.shape, {}};
    for (const Real& value : x.data) shorter.data.push_back(value.convert_to<long double>());
    const Array<Real> exact = forward(problem.pool, x);
    const Array<long double> got = forward(problem.pool, shorter);
    for (size_t i = 0; i < exact.data.size(); ++i) {
      const Real scale = problem.pool.op == Op::lp ? exact.data[i] : Real(3);
      EXPECT_LT(abs(Real(Real(got.data[i]) - exact.data[i])), Real(1e-17) * scale)
          << "seed " << kSeed + 4 << ", " << problem.name << ", output " << i;
    }
  }
}

TEST(SpecMultiprecision, SmallLogarithmsKeepTheirDigits) {
  // y = log(1 + exp(-60)) / beta: far below the rounding of 1, and still right to the last bits.
  const Pool pool{.op = Op::smooth_max, .axes = {0}, .window = {2}, .beta = 2};
  const Array<double> y = forward<double>(pool, {{2}, {0, -30}});
  const Array<Real> exact = forward<Real>(pool, {{2}, {0, -30}});
  EXPECT_LT(abs(Real(Real(y.data[0]) / exact.data[0] - 1)), Real(4e-16)) << y.data[0];
  const Array<Real> scale = smooth_scale<Real>(pool, {{2}, {0, -30}});
  EXPECT_EQ(scale.data[0], exact.data[0]);
}

TEST(SpecMultiprecision, InfinityAndZeroFollowTheSameRulesAsInDouble) {
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Pool smooth{.op = Op::smooth_max, .axes = {0}, .window = {2}};
  EXPECT_EQ(forward<Real>(smooth, {{2}, {1, -infinity}}).data[0], 1);
  EXPECT_EQ(forward<Real>(smooth, {{2}, {1, infinity}}).data[0], infinity);
  EXPECT_EQ(vjp<Real>(smooth, {{2}, {infinity, infinity}}, {{1}, {1}}).data[1], Real(0.5));
  const Pool lp{.op = Op::lp, .axes = {0}, .window = {2}, .p = 1.5};
  EXPECT_EQ(vjp<Real>(lp, {{2}, {0, 0}}, {{1}, {1}}).data[0], 0);
  EXPECT_EQ(hvp<Real>(lp, {{2}, {0, 1}}, {{1}, {1}}, {{2}, {1, 0}}).data[0], infinity);
  const Real nan = std::numeric_limits<Real>::quiet_NaN();
  for (const Pool& pool : {smooth, lp}) {
    EXPECT_TRUE(is_nan(forward<Real>(pool, {{2}, {nan, infinity}}).data[0]));
    EXPECT_TRUE(is_nan(vjp<Real>(pool, {{2}, {nan, infinity}}, {{1}, {0}}).data[1]));
    EXPECT_TRUE(is_nan(hvp<Real>(pool, {{2}, {nan, 1}}, {{1}, {1}}, {{2}, {1, 1}}).data[1]));
  }
}

}  // namespace
}  // namespace ndpool::spec
