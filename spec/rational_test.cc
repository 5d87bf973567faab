// The definition in exact rational numbers: what must be equal is equal to the last digit.
#include <gtest/gtest.h>

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "ndpool/spec.hpp"

namespace ndpool::spec {
namespace {

using Rational = boost::multiprecision::cpp_rational;
using Random = std::mt19937_64;

constexpr uint64_t kSeed = 20240607;

int64_t draw(Random& random, int64_t lowest, int64_t highest) {
  return std::uniform_int_distribution<int64_t>(lowest, highest)(random);
}

// Small integers over small integers: few enough values that windows are full of ties.
Array<Rational> draw_array(Random& random, const Shape& shape, int64_t largest,
                           int64_t largest_denominator) {
  Array<Rational> result{shape, {}};
  for (int64_t i = elements(shape); i-- > 0;) {
    result.data.emplace_back(draw(random, -largest, largest), draw(random, 1, largest_denominator));
  }
  return result;
}

Rational inner(const Array<Rational>& a, const Array<Rational>& b) {
  Rational sum = 0;
  for (size_t i = 0; i < a.data.size(); ++i) sum += a.data[i] * b.data[i];
  return sum;
}

// A random problem that the definition accepts, of the mode asked for.
struct Problem {
  Pool pool;
  Shape shape;

  [[nodiscard]] std::string name() const {
    std::string axes;
    for (const int axis : pool.axes) axes += std::to_string(axis);
    return "op " + std::to_string(static_cast<int>(pool.op)) + " mode " +
           std::to_string(static_cast<int>(pool.mode)) + " ties " +
           std::to_string(static_cast<int>(pool.ties)) + " shape " + text(shape) + " axes " + axes +
           " window " + text(pool.window) + " stride " + text(pool.stride) + " dilation " +
           text(pool.dilation) + " pads " + text(pool.pad_lo) + " / " + text(pool.pad_hi) +
           " rounding " + std::to_string(static_cast<int>(pool.rounding)) + " padding " +
           std::to_string(static_cast<int>(pool.padding)) + " output " + text(pool.output_size) +
           " include " + std::to_string(static_cast<int>(pool.count_include_pad)) + " divisor " +
           std::to_string(pool.divisor.value_or(0));
  }
};

Problem draw_problem(Random& random, Op op, Mode mode, int rank) {
  for (;;) {
    Problem problem;
    Pool& pool = problem.pool;
    pool.op = op;
    pool.mode = mode;
    pool.rounding = static_cast<Rounding>(draw(random, 0, 2));
    pool.padding =
        draw(random, 0, 3) == 0 ? static_cast<Padding>(draw(random, 1, 2)) : Padding::given;
    for (int axis = 0; axis < rank; ++axis) {
      problem.shape.push_back(draw(random, 1, rank > 2 ? 4 : 7));
      if (draw(random, 0, 2) == 0) continue;
      pool.axes.insert(pool.axes.begin() + draw(random, 0, static_cast<int64_t>(pool.axes.size())),
                       axis);
      pool.window.push_back(draw(random, 1, 3));
      pool.stride.push_back(draw(random, 1, 3));
      pool.dilation.push_back(draw(random, 1, 2));
      pool.pad_lo.push_back(draw(random, 0, 2));
      pool.pad_hi.push_back(draw(random, 0, 2));
      pool.output_size.push_back(draw(random, 1, 5));
    }
    try {
      empty_window(pool, make_layout(pool, problem.shape), false);
      return problem;
    } catch (const Error&) {
      // Refused: draw another.
    }
  }
}

// <g, J dx> = <J^T g, dx>, to the last digit.
void expect_adjoint(const Problem& problem, Random& random, int64_t largest) {
  const Pool& pool = problem.pool;
  const Array<Rational> x = draw_array(random, problem.shape, largest, 1);
  const Array<Rational> dx = draw_array(random, problem.shape, 50, 9);
  const Array<Rational> g = draw_array(random, output_shape(pool, problem.shape), 50, 9);
  const Rational forward_side = inner(g, jvp(pool, x, dx));
  const Rational reverse_side = inner(vjp(pool, x, g), dx);
  EXPECT_EQ(forward_side, reverse_side) << "seed " << kSeed << ": " << problem.name();
}

TEST(SpecRational, MaxAndMinAreAdjointUnderEveryTiePolicy) {
  Random random(kSeed);
  int64_t ties_seen = 0;
  for (const Op op : {Op::max, Op::min})
    for (const Mode mode : {Mode::windowed, Mode::adaptive, Mode::global})
      for (int rank = 1; rank <= 4; ++rank)
        for (int repeat = 0; repeat < 12; ++repeat) {
          Problem problem = draw_problem(random, op, mode, rank);
          for (const Ties ties : {Ties::first, Ties::last, Ties::all, Ties::split}) {
            problem.pool.ties = ties;
            expect_adjoint(problem, random, 2);
          }
          const MaxMin<Rational> result =
              max_min(problem.pool, draw_array(random, problem.shape, 2, 1));
          for (size_t i = 0; i < result.y.data.size(); ++i) {
            ties_seen += result.first_tap.data[i] != result.last_tap.data[i] ? 1 : 0;
          }
        }
  EXPECT_GT(ties_seen, 500);
}

TEST(SpecRational, AveragesAreAdjointUnderEveryDivisor) {
  Random random(kSeed + 1);
  for (const Mode mode : {Mode::windowed, Mode::adaptive, Mode::global})
    for (int rank = 1; rank <= 4; ++rank)
      for (int repeat = 0; repeat < 12; ++repeat) {
        Problem problem = draw_problem(random, Op::avg, mode, rank);
        for (const int64_t divisor : {0, 7, -3}) {
          if (divisor != 0) problem.pool.divisor = divisor;
          for (const bool include : {true, false}) {
            problem.pool.count_include_pad = include;
            try {
              empty_window(problem.pool, make_layout(problem.pool, problem.shape), false);
            } catch (const Error&) {
              continue;  // a window of padding alone, with padding left out
            }
            expect_adjoint(problem, random, 9);
          }
        }
      }
}

// Max moves with its winners: a step too small to change who wins changes y by the tangent.
TEST(SpecRational, TheTangentOfMaxIsItsSlope) {
  Random random(kSeed + 2);
  const Rational step(1, 1000000);
  for (int rank = 1; rank <= 4; ++rank)
    for (int repeat = 0; repeat < 20; ++repeat) {
      const Problem problem = draw_problem(random, repeat % 2 == 0 ? Op::max : Op::min,
                                           static_cast<Mode>(repeat % 3), rank);
      Array<Rational> x = draw_array(random, problem.shape, 1000000, 1);
      for (size_t i = 0; i < x.data.size(); ++i) x.data[i] += Rational(i, 4096);  // all distinct
      const Array<Rational> dx = draw_array(random, problem.shape, 50, 9);
      Array<Rational> moved = x;
      for (size_t i = 0; i < x.data.size(); ++i) moved.data[i] += step * dx.data[i];
      const Array<Rational> before = forward(problem.pool, x);
      const Array<Rational> after = forward(problem.pool, moved);
      const Array<Rational> tangent = jvp(problem.pool, x, dx);
      for (size_t i = 0; i < before.data.size(); ++i) {
        EXPECT_EQ(Rational(after.data[i] - before.data[i]), Rational(step * tangent.data[i]))
            << "seed " << kSeed + 2 << ", output " << i << ": " << problem.name();
      }
    }
}

TEST(SpecRational, IntegerAveragesAreTheExactOnesRounded) {
  Random random(kSeed + 3);
  for (int repeat = 0; repeat < 200; ++repeat) {
    Problem problem = draw_problem(random, Op::avg, static_cast<Mode>(repeat % 3), 1 + repeat % 4);
    if (repeat % 2 == 0) problem.pool.divisor = draw(random, 1, 12) * (repeat % 4 == 0 ? 1 : -1);
    const Array<Rational> exact = draw_array(random, problem.shape, 100, 1);
    Array<int8_t> x{problem.shape, {}};
    for (const Rational& value : exact.data) x.data.push_back(value.convert_to<int8_t>());
    const Array<Rational> wanted = forward(problem.pool, exact);
    EXPECT_EQ(average_as<Rational>(problem.pool, x).data, wanted.data) << problem.name();
    const Array<int8_t> rounded = forward(problem.pool, x);
    for (size_t i = 0; i < wanted.data.size(); ++i) {
      const Rational value = wanted.data[i];
      const Rational got(static_cast<int>(rounded.data[i]));
      const Rational distance = abs(Rational(value - got));
      const Rational half(1, 2);
      // Nearest; of two equally near, the one farther from zero; or the end of the range.
      const bool right = distance < half || (distance == half && abs(got) > abs(value)) ||
                         (got == 127 && value > 127) || (got == -128 && value < -128);
      EXPECT_TRUE(right) << "seed " << kSeed + 3 << ": " << value << " became " << got << ", "
                         << problem.name();
    }
  }
}

// The float nearest to an exact value: neither neighbour is nearer, and of two equally near the
// even one is taken.
template <class Float, class Bits>
void expect_nearest(const Rational& exact, Float got) {
  const Rational distance = abs(Rational(exact - Rational(got)));
  constexpr Float kFar = std::numeric_limits<Float>::infinity();
  for (const Float neighbour : {std::nextafter(got, kFar), std::nextafter(got, -kFar)}) {
    const Rational other = abs(Rational(exact - Rational(neighbour)));
    EXPECT_LE(distance, other) << exact << " became " << got;
    const bool even = std::bit_cast<Bits>(got) % 2 == 0;
    EXPECT_TRUE(distance < other || even) << exact << ", a tie, became " << got;
  }
}

TEST(SpecRational, IntegerSumsBecomeTheNearestFloat) {
  Random random(kSeed + 4);
  int64_t ties = 0;
  for (int repeat = 0; repeat < 4000; ++repeat) {
    // Any length of sum and divisor; often a power of two, and a sum that ends just beside a tie.
    Wide sum = Wide{draw(random, INT64_MIN, INT64_MAX)} * draw(random, 1, INT64_MAX);
    sum /= Wide{1} << draw(random, 0, 110);
    int64_t divisor = draw(random, 1, INT64_MAX) >> draw(random, 0, 61);
    if (repeat % 2 == 0) {
      const int digits = repeat % 4 == 0 ? 24 : 53;
      const int64_t kept = draw(random, int64_t{1} << (digits - 1), (int64_t{1} << digits) - 1);
      sum = ((Wide{kept} * 2 + 1) << draw(random, 1, 60)) + draw(random, -1, 1);
      divisor = int64_t{1} << draw(random, 0, 62);
    }
    if (divisor == 0) divisor = 1;
    if (repeat % 3 == 0) divisor = -divisor;
    const bool negative = sum < 0;
    const UnsignedWide size = static_cast<UnsignedWide>(negative ? -sum : sum);
    Rational exact(static_cast<uint64_t>(size >> 64));
    exact = exact * Rational(uint64_t{1} << 32) * Rational(uint64_t{1} << 32) +
            Rational(static_cast<uint64_t>(size));
    exact = (negative ? Rational(-exact) : exact) / Rational(divisor);
    SCOPED_TRACE("seed " + std::to_string(kSeed + 4) + ", repeat " + std::to_string(repeat));
    const auto in_float = divide_to_real<float>(sum, divisor);
    const auto in_double = divide_to_real<double>(sum, divisor);
    expect_nearest<float, uint32_t>(exact, in_float);
    expect_nearest<double, uint64_t>(exact, in_double);
    const Rational gap = abs(Rational(exact - Rational(in_float)));
    const float beyond =
        std::nextafter(in_float, Rational(in_float) < exact ? INFINITY : -INFINITY);
    ties += gap == abs(Rational(exact - Rational(beyond))) ? 1 : 0;
  }
  EXPECT_GT(ties, 100);
}

TEST(SpecRational, NothingStandsForAnEmptyWindow) {
  // Rationals have no infinity and no NaN, so that even the identity policy is refused.
  const Array<Rational> x{{1}, {4}};
  for (const Op op : {Op::max, Op::min, Op::avg}) {
    const Pool pool{.op = op,
                    .axes = {0},
                    .window = {1},
                    .pad_lo = {1},
                    .empty = Empty::identity,
                    .count_include_pad = false};
    EXPECT_THROW(forward(pool, x), Error);
    EXPECT_THROW(vjp(pool, x, {{2}, {1, 1}}), Error);
  }
  EXPECT_THROW(forward({.op = Op::lp, .axes = {0}, .window = {1}}, x), Error);
}

}  // namespace
}  // namespace ndpool::spec
