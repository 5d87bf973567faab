// Numbers that can be worked out by hand, through the C++ interface.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ndpool/ndpool.hpp"

namespace {

using ndpool::Array;
using ndpool::Empty;
using ndpool::Ints;
using ndpool::Op;
using ndpool::Padding;
using ndpool::Plan;
using ndpool::Pool;
using ndpool::Rounding;
using ndpool::Ties;
using ndpool::Type;

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kLowest = std::numeric_limits<T>::lowest();
template <class T>
constexpr T kHighest = std::numeric_limits<T>::max();

template <class T>
std::vector<T> list(const Array<T>& array) {
  return std::vector<T>(array.begin(), array.end());
}

// Everything one plan says about one input with g = 1, 2, 3, … and dx = v = 1, 10, 100, ….
template <class T>
struct All {
  std::vector<T> y, dy, dx;
  std::vector<std::int64_t> index;
};

template <class T>
All<T> run_all(Pool pool, const std::vector<T>& x) {
  pool.type = ndpool::type_of<T>;
  const Plan plan(pool);
  const auto n = static_cast<std::size_t>(plan.output_count());
  All<T> all{std::vector<T>(n), std::vector<T>(n), std::vector<T>(x.size()), {}};
  std::vector<T> g(n);
  std::vector<T> tangent(x.size());
  for (std::size_t i = 0; i < n; ++i) g[i] = static_cast<T>(i + 1);
  for (std::size_t i = 0; i < x.size(); ++i) tangent[i] = static_cast<T>(std::pow(10, i));
  plan.jvp(x, tangent, all.y, all.dy);
  plan.vjp(x, g, all.dx);
  if (pool.op == Op::max || pool.op == Op::min) {
    all.index.resize(n);
    plan.forward_with_index(x, all.y, all.index);
  }
  return all;
}

// ---- Max and min -------------------------------------------------------------------------------

TEST(FixedNumbers, MaxOfOneNegativeCellIsThatCellInEveryPaddedWindow) {
  const Plan plan({.shape = {1, 1}, .window = {2, 2}, .stride = {1}, .padding = {1}});
  const std::vector<float> x = {-3};
  std::vector<float> y(4);
  std::vector<float> dx(1);
  ndpool::Compact argmax = plan.make_argmax();
  std::vector<std::int64_t> index(4);
  plan.forward(x, y, argmax, index);
  EXPECT_EQ(y, (std::vector<float>{-3, -3, -3, -3}));
  EXPECT_EQ(index, (std::vector<std::int64_t>{0, 0, 0, 0}));
  // Pads count in tap numbers: the one cell is the last tap of the first window.
  EXPECT_EQ(argmax.type(), Type::u8);
  EXPECT_EQ((std::vector<std::uint64_t>{argmax.at(0), argmax.at(1), argmax.at(2), argmax.at(3)}),
            (std::vector<std::uint64_t>{3, 2, 1, 0}));
  plan.vjp_argmax(argmax, std::vector<float>(4, 1), dx);
  EXPECT_EQ(dx[0], 4);
  plan.vjp(x, std::vector<float>(4, 1), dx);
  EXPECT_EQ(dx[0], 4);
}

TEST(FixedNumbers, MyGradsDocumentedExample) {
  const Plan plan({.type = Type::f64, .shape = {3, 3}, .window = {2, 2}, .stride = {1}});
  const std::vector<double> x = {0, 10, 8, 2, 7, 3, 5, 7, 20};
  std::vector<double> y(4);
  std::vector<double> dx(9);
  plan.forward(x, y);
  plan.vjp(x, std::vector<double>(4, 1), dx);
  EXPECT_EQ(y, (std::vector<double>{10, 10, 7, 20}));
  EXPECT_EQ(dx, (std::vector<double>{0, 2, 0, 0, 1, 0, 0, 0, 1}));
}

TEST(FixedNumbers, MyGradsShapes) {
  const Plan plan(
      {.shape = {10, 3, 12, 12}, .window = {2, 2}, .stride = {2, 1}, .rounding = Rounding::exact});
  EXPECT_EQ(plan.output_shape(), (Ints{10, 3, 6, 11}));
}

TEST(FixedNumbers, AnInfiniteOrLowestCellIsARealValueBesidePadding) {
  const Pool pool = {.shape = {2, 2}, .window = {3, 3}, .stride = {1}, .padding = {1}};
  const auto floats = run_all<float>(pool, std::vector<float>(4, -kInf<float>));
  EXPECT_EQ(floats.y, std::vector<float>(4, -kInf<float>));
  EXPECT_EQ(floats.index, (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(floats.dx, (std::vector<float>{10, 0, 0, 0}));

  const Array<std::int8_t> bytes({2, 2}, std::vector<std::int8_t>(4, -128));
  Pool shifted = pool;
  shifted.padding = {2};
  shifted.window = {3, 3};
  const auto [values, index] = ndpool::max_pool_with_index(bytes, shifted);
  EXPECT_EQ(values.shape(), (Ints{4, 4}));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], -128) << i;
    EXPECT_GE(index[i], 0) << i;
  }
  EXPECT_EQ(index[15], 3);

  const Array<std::uint64_t> high({1}, {kHighest<std::uint64_t>});
  EXPECT_EQ(ndpool::min_pool(high, {.window = {3}, .stride = {1}, .padding = {1}})[0],
            kHighest<std::uint64_t>);
}

TEST(FixedNumbers, NanWinsInMaxAndMinAndTheFirstOneIsNamed) {
  const std::vector<float> x = {1, kNan<float>, 5, kNan<float>, -kInf<float>, kInf<float>};
  for (const Op op : {Op::max, Op::min}) {
    const auto all = run_all<float>({.op = op, .shape = {6}, .window = {6}}, x);
    EXPECT_TRUE(std::isnan(all.y[0])) << ndpool::op_name(op);
    EXPECT_EQ(all.index[0], 1) << ndpool::op_name(op);
    EXPECT_EQ(all.dy[0], 10) << ndpool::op_name(op);
    EXPECT_EQ(all.dx, (std::vector<float>{0, 1, 0, 0, 0, 0})) << ndpool::op_name(op);
  }
}

TEST(FixedNumbers, ZerosOfBothSignsAreEqualSoTheFirstWins) {
  EXPECT_EQ(run_all<double>({.shape = {3}, .window = {3}}, {-1, -0.0, 0.0}).index[0], 1);
  EXPECT_EQ(run_all<double>({.op = Op::min, .shape = {3}, .window = {3}}, {0.0, -0.0, 1}).index[0],
            0);
}

TEST(FixedNumbers, TiesSayWhichWinnersCarryTheDerivative) {
  const std::vector<double> x = {3, 1, 3, 3};
  Pool pool = {.shape = {4}, .window = {4}};
  const std::vector<std::pair<Ties, std::vector<double>>> cases = {
      {Ties::first, {1, 0, 0, 0}},
      {Ties::last, {0, 0, 0, 1}},
      {Ties::all, {1, 0, 1, 1}},
      {Ties::split, {1.0 / 3, 0, 1.0 / 3, 1.0 / 3}}};
  const std::vector<double> tangents = {1, 1000, 1101, 367};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    pool.ties = cases[i].first;
    const auto all = run_all<double>(pool, x);
    EXPECT_EQ(all.dx, cases[i].second) << "ties " << i;
    EXPECT_EQ(all.dy[0], tangents[i]) << "ties " << i;
    EXPECT_EQ(all.index[0], 0) << "ties " << i << ": the index is always the first winner";
  }
}

TEST(FixedNumbers, TheCompactArgmaxTakesTheSmallestTypeThatHoldsItsTaps) {
  EXPECT_EQ(Plan({.shape = {20, 20}, .window = {16, 16}}).argmax_type(), Type::u8);
  EXPECT_EQ(Plan({.shape = {300}, .window = {257}}).argmax_type(), Type::u16);
  EXPECT_EQ(Plan({.shape = {70000}, .window = {65537}}).argmax_type(), Type::u32);
}

TEST(FixedNumbers, ValuesBelongToTheAxesAsTheyWereListed) {
  std::vector<float> values(24);
  for (std::size_t i = 0; i < 24; ++i) values[i] = static_cast<float>(i * 7 % 24);
  const Array<float> x({4, 6}, values);
  const auto straight = ndpool::max_pool_with_index(x, {.window = {2, 3}});
  const auto swapped = ndpool::max_pool_with_index(x, {.window = {3, 2}, .axes = {1, 0}});
  EXPECT_EQ(list(straight.values), list(swapped.values));
  EXPECT_EQ(list(straight.index), list(swapped.index));
}

// ---- Windows without a cell --------------------------------------------------------------------

// Window 1 with padding 1 on two cells: the first and the last window hold a pad alone.
template <class T>
std::vector<T> with_empty_windows(Pool pool, const std::vector<T>& x) {
  pool.shape = {2};
  pool.type = ndpool::type_of<T>;
  pool.window = {1};
  pool.padding = {1};
  pool.empty = Empty::identity;
  const Plan plan(pool);
  std::vector<T> y(4);
  plan.forward(x, y);
  return y;
}

TEST(FixedNumbers, EmptyWindowsHaveTheIdentityOfTheirOperation) {
  EXPECT_EQ(with_empty_windows<float>({.op = Op::max}, {1, 2}),
            (std::vector<float>{-kInf<float>, 1, 2, -kInf<float>}));
  EXPECT_EQ(with_empty_windows<double>({.op = Op::min}, {1, 2}),
            (std::vector<double>{kInf<double>, 1, 2, kInf<double>}));
  EXPECT_EQ(with_empty_windows<std::int16_t>({.op = Op::max}, {1, 2}),
            (std::vector<std::int16_t>{-32768, 1, 2, -32768}));
  EXPECT_EQ(with_empty_windows<std::uint8_t>({.op = Op::min}, {1, 2}),
            (std::vector<std::uint8_t>{255, 1, 2, 255}));
  EXPECT_EQ(with_empty_windows<std::int64_t>({.op = Op::max}, {1, 2}),
            (std::vector<std::int64_t>{kLowest<std::int64_t>, 1, 2, kLowest<std::int64_t>}));
  const auto avg = with_empty_windows<float>({.op = Op::avg, .count_include_pad = false}, {1, 2});
  EXPECT_TRUE(std::isnan(avg[0]) && avg[1] == 1 && avg[2] == 2 && std::isnan(avg[3]));
  for (const double beta : {1.0, -1.0}) {
    const auto smooth = with_empty_windows<double>(
        {.op = Op::smooth_max, .count_include_pad = false, .beta = beta}, {1, 2});
    EXPECT_EQ(smooth[0], beta > 0 ? -kInf<double> : kInf<double>) << beta;
    EXPECT_EQ(smooth[1], 1) << beta;
  }
  // Where padding counts, or a divisor is given, the window is not empty: its pads are zeros.
  EXPECT_EQ(with_empty_windows<float>({.op = Op::avg}, {1, 2}), (std::vector<float>{0, 1, 2, 0}));
  EXPECT_EQ(with_empty_windows<float>({.op = Op::lp}, {1, 2}), (std::vector<float>{0, 1, 2, 0}));
  EXPECT_EQ(
      with_empty_windows<float>({.op = Op::avg, .count_include_pad = false, .divisor = 2}, {1, 2}),
      (std::vector<float>{0, 0.5, 1, 0}));
}

TEST(FixedNumbers, EmptyWindowsOfBoolAreFalseForMaxAndTrueForMin) {
  for (const Op op : {Op::max, Op::min}) {
    const Array<bool> x({1}, {op == Op::min ? false : true});
    const Pool pool = {.window = {1}, .padding = {1}, .empty = Empty::identity};
    const auto y = op == Op::max ? ndpool::max_pool(x, pool) : ndpool::min_pool(x, pool);
    EXPECT_EQ(y[0], op == Op::min);
    EXPECT_EQ(y[1], op == Op::max);
    EXPECT_EQ(y[2], op == Op::min);
  }
}

TEST(FixedNumbers, EmptyWindowsHaveNoIndexNoTangentAndSendNoGradient) {
  const Pool pool = {
      .type = Type::f64, .shape = {2}, .window = {1}, .padding = {1}, .empty = Empty::identity};
  const auto all = run_all<double>(pool, {5, 6});
  EXPECT_EQ(all.index, (std::vector<std::int64_t>{-1, 0, 1, -1}));
  EXPECT_EQ(all.dy, (std::vector<double>{0, 1, 10, 0}));
  EXPECT_EQ(all.dx, (std::vector<double>{2, 3}));
  const Plan plan(pool);
  ndpool::Compact argmax = plan.make_argmax();
  std::vector<double> y(4);
  std::vector<double> dx(2);
  plan.forward(std::vector<double>{5, 6}, y, argmax);
  plan.vjp_argmax(argmax, std::vector<double>{1, 2, 3, 4}, dx);
  EXPECT_EQ(dx, (std::vector<double>{2, 3}));
}

// ---- Geometry ----------------------------------------------------------------------------------

TEST(FixedNumbers, CeilRoundingNeverStartsAWindowBeyondTheData) {
  EXPECT_EQ(Plan({.shape = {5}, .window = {2}, .rounding = Rounding::ceil}).output_shape(),
            (Ints{3}));
  // 7 padded cells would give 3 outputs, but the third would start at the right padding.
  EXPECT_EQ(
      Plan({.shape = {5}, .window = {2}, .stride = {3}, .padding = {1}, .rounding = Rounding::ceil})
          .output_shape(),
      (Ints{2}));
}

TEST(FixedNumbers, DroppedCellsAreReported) {
  EXPECT_EQ(Plan({.shape = {3, 11}, .window = {4}}).dropped(), (Ints{0, 3}));
  EXPECT_EQ(Plan({.shape = {3, 12}, .window = {4}}).dropped(), (Ints{0, 0}));
}

TEST(FixedNumbers, SamePaddingPutsTheOddPadAtTheEndOrTheStart) {
  const auto plan = [](Padding mode) {
    return Plan({.shape = {7, 5}, .window = {2}, .padding_mode = mode});
  };
  EXPECT_EQ(plan(Padding::same).output_shape(), (Ints{7, 3}));
  EXPECT_EQ(plan(Padding::same).padding(), (std::pair(Ints{0, 0}, Ints{0, 1})));
  EXPECT_EQ(plan(Padding::same_lower).padding(), (std::pair(Ints{0, 1}, Ints{0, 0})));
}

TEST(FixedNumbers, AdaptiveWindowsMayOverlap) {
  const Array<float> x({5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(list(ndpool::adaptive_avg_pool(x, {.output_size = {3}})),
            (std::vector<float>{1.5, 3, 4.5}));
  EXPECT_EQ(list(ndpool::adaptive_max_pool(x, {.output_size = {3}})),
            (std::vector<float>{2, 4, 5}));
  EXPECT_EQ(list(ndpool::adaptive_min_pool(x, {.output_size = {ndpool::kKeep}})), list(x));
  EXPECT_EQ(list(ndpool::adaptive_max_pool(x, {.output_size = {7}})),
            (std::vector<float>{1, 2, 3, 3, 4, 5, 5}));
}

TEST(FixedNumbers, GlobalPoolingKeepsItsAxesWithSizeOne) {
  const Array<double> x({2, 2, 2}, {1, 2, 3, 6, -4, 4, 0, 0});
  const auto y = ndpool::global_avg_pool(x, {.axes = {1, 2}});
  EXPECT_EQ(y.shape(), (Ints{2, 1, 1}));
  EXPECT_EQ(list(y), (std::vector<double>{3, 0}));
  EXPECT_EQ(list(ndpool::global_max_pool(x, {.axes = {1, 2}})), (std::vector<double>{6, 4}));
  EXPECT_EQ(list(ndpool::global_min_pool(x, {.axes = {0}})), (std::vector<double>{-4, 2, 0, 0}));
}

// ---- Unpool ------------------------------------------------------------------------------------

TEST(FixedNumbers, UnpoolKeepsTheLastValueOfAnIndexNamedTwice) {
  const Array<float> y({4}, {1, 2, 3, 4});
  const Array<std::int64_t> index({4}, {5, 0, 5, 2});
  EXPECT_EQ(list(ndpool::max_unpool(y, index, {6}, {0})), (std::vector<float>{2, 0, 4, 0, 0, 3}));
  std::vector<float> dy(4);
  ndpool::unpool_vjp({.y_shape = {4}, .output_shape = {6}, .axes = {0}},
                     std::vector<float>{10, 11, 12, 13, 14, 15}, index, dy);
  EXPECT_EQ(dy, (std::vector<float>{0, 10, 15, 12}));
}

}  // namespace
