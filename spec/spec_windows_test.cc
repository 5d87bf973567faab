// Windows, taps, unpooling and refusals of the definition.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "ndpool/spec.hpp"

namespace ndpool::spec {
namespace {

std::string kinds(const std::vector<Tap>& taps) {
  std::string result;
  for (const Tap& tap : taps) result += "cpo"[tap.kind];
  return result;
}

TEST(SpecWindows, TapsAreCellsPadsOrOverhang) {
  // Axis 0: 3 cells, 1 pad before; windows of 2 at -1, 1. Axis 1: 4 cells, 1 pad after; windows of
  // 3 at 0, 3, the second of which reaches the pad and one tap beyond.
  const Pool pool{.axes = {0, 1},
                  .window = {2, 3},
                  .stride = {2, 3},
                  .pad_lo = {1, 0},
                  .pad_hi = {0, 1},
                  .rounding = Rounding::ceil};
  EXPECT_EQ(output_shape(pool, {3, 4}), (Shape{2, 2}));
  EXPECT_EQ(kinds(taps(pool, {3, 4}, {0, 0})), "pppccc");
  EXPECT_EQ(kinds(taps(pool, {3, 4}, {0, 1})), "ppocpo");
  EXPECT_EQ(kinds(taps(pool, {3, 4}, {1, 1})), "cpocpo");
  const std::vector<Tap> all = taps(pool, {3, 4}, {1, 1});
  EXPECT_EQ(all[3].position, (Shape{2, 3}));
  EXPECT_EQ(all[4].position, (Shape{2, 4}));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].number, static_cast<int64_t>(i));
  EXPECT_THROW(taps(pool, {3, 4}, {2, 0}), Error);
  EXPECT_THROW(taps(pool, {3, 4}, {0}), Error);
}

TEST(SpecWindows, AdaptiveTapsAreNumberedInTheLargestWindow) {
  // 5 cells to 3 windows: [0,2) [1,4) [3,5); 4 cells to 2: [0,2) [2,4).
  const Pool pool{.mode = Mode::adaptive, .axes = {0, 1}, .output_size = {2, 3}};
  EXPECT_EQ(box(pool, {4, 5}), (Shape{2, 3}));
  const std::vector<Tap> all = taps(pool, {4, 5}, {1, 2});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0].position, (Shape{2, 3}));
  EXPECT_EQ(all[3].position, (Shape{3, 4}));
  EXPECT_EQ(all[1].number, 1);
  EXPECT_EQ(all[2].number, 3);  // a row of the box is 3 taps, though this window has 2
  EXPECT_EQ(taps(pool, {4, 5}, {0, 1}).size(), 6U);
}

TEST(SpecWindows, AdaptiveCanHaveMoreOutputsThanCells) {
  const Pool pool{.op = Op::avg, .mode = Mode::adaptive, .axes = {0}, .output_size = {5}};
  const Array<double> x{{3}, {1, 3, 5}};  // [0,1) [0,2) [1,2) [1,3) [2,3)
  EXPECT_EQ(forward(pool, x).data, (std::vector<double>{1, 2, 3, 4, 5}));
}

TEST(SpecWindows, GlobalIsOneWindow) {
  const Pool pool{.mode = Mode::global, .axes = {2, 1}};
  const Array<int32_t> x{{2, 2, 2}, {1, 4, 3, 4, -1, -2, -3, -4}};
  const MaxMin<int32_t> result = max_min(pool, x);
  EXPECT_EQ(result.y.shape, (Shape{2, 1, 1}));
  EXPECT_EQ(result.y.data, (std::vector<int32_t>{4, -1}));
  EXPECT_EQ(result.index.data, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(result.last_tap.data, (std::vector<int64_t>{3, 0}));
}

// The formulas of the documentation, against the counting of the spec.
TEST(SpecWindows, CountingAgreesWithTheFormulas) {
  const auto floor_div = [](int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); };
  int64_t refused = 0;
  int64_t accepted = 0;
  for (int64_t n = 1; n <= 12; ++n)
    for (int64_t k = 1; k <= 5; ++k)
      for (int64_t s = 1; s <= 4; ++s)
        for (int64_t d = 1; d <= 3; ++d)
          for (int64_t lo = 0; lo <= 4; ++lo)
            for (int64_t hi = 0; hi <= 4; ++hi)
              for (const Rounding rounding : {Rounding::floor, Rounding::ceil, Rounding::exact}) {
                const int64_t e = (k - 1) * d + 1;
                const int64_t m = n + lo + hi;
                int64_t outputs = floor_div(m - e, s) + 1;
                if (rounding == Rounding::ceil) {
                  outputs = floor_div(m - e + s - 1, s) + 1;
                  if (outputs > 0 && (outputs - 1) * s >= n + lo) --outputs;
                }
                const bool refuse =
                    outputs < 1 || (rounding == Rounding::exact && (m - e) % s != 0);
                const auto problem =
                    std::make_tuple(n, k, s, d, lo, hi, static_cast<int>(rounding));
                SCOPED_TRACE(testing::PrintToString(problem));
                if (refuse) {
                  ++refused;
                  ASSERT_THROW(count_axis(n, k, s, d, lo, hi, rounding), Error);
                  continue;
                }
                ++accepted;
                const AxisCount count = count_axis(n, k, s, d, lo, hi, rounding);
                ASSERT_EQ(count.outputs, outputs);
                ASSERT_EQ(count.dropped, std::max<int64_t>(0, n + lo - (outputs - 1) * s - e));
                ASSERT_EQ(count.pad_lo, lo);
                ASSERT_EQ(count.pad_hi, hi);
              }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(accepted, 10000);
}

TEST(SpecWindows, SameKeepsOneOutputPerStride) {
  for (int64_t n = 1; n <= 12; ++n)
    for (int64_t k = 1; k <= 5; ++k)
      for (int64_t s = 1; s <= 6; ++s)
        for (int64_t d = 1; d <= 3; ++d)
          for (const Rounding rounding : {Rounding::floor, Rounding::ceil}) {
            const int64_t outputs = (n + s - 1) / s;
            const int64_t total = std::max<int64_t>(0, (outputs - 1) * s + (k - 1) * d + 1 - n);
            SCOPED_TRACE(testing::PrintToString(std::make_tuple(n, k, s, d)));
            const AxisCount same = count_axis(n, k, s, d, 0, 0, rounding, Padding::same);
            const AxisCount lower = count_axis(n, k, s, d, 0, 0, rounding, Padding::same_lower);
            ASSERT_EQ(same.outputs, outputs);
            ASSERT_EQ(lower.outputs, outputs);
            ASSERT_EQ(same.pad_lo + same.pad_hi, total);
            ASSERT_EQ(same.pad_hi - same.pad_lo, total % 2);
            ASSERT_EQ(lower.pad_lo, same.pad_hi);
            ASSERT_EQ(lower.pad_hi, same.pad_lo);
          }
}

TEST(SpecWindows, SameWithExactRoundingStillRefusesARemainder) {
  EXPECT_EQ(count_axis(5, 3, 2, 1, 0, 0, Rounding::exact, Padding::same).outputs, 3);
  // Windows of 1 at 0 and 2 need no padding, and leave cell 3 behind.
  EXPECT_EQ(count_axis(4, 1, 2, 1, 0, 0, Rounding::floor, Padding::same).dropped, 1);
  EXPECT_THROW(count_axis(4, 1, 2, 1, 0, 0, Rounding::exact, Padding::same), Error);
}

TEST(SpecWindows, ExactRoundingSaysWhatItWouldDrop) {
  const auto message = [](int64_t pad_hi) -> std::string {
    try {
      count_axis(10, 3, 4, 1, 0, pad_hi, Rounding::exact);
    } catch (const Error& error) {
      return error.what();
    }
    return "(not refused)";
  };
  EXPECT_NE(message(0).find("remainder of 3 and drop 3 cells"), std::string::npos) << message(0);
  EXPECT_EQ(message(1), "(not refused)");
  EXPECT_NE(message(2).find("remainder of 1 and drop 0 cells"), std::string::npos) << message(2);
}

// ---- unpool ----

TEST(SpecUnpool, PutsValuesBackWhereMaxFoundThem) {
  const Pool pool{.axes = {0, 2}, .window = {2, 2}};
  Array<float> x{{2, 2, 4}, {1, 2, 3, 4, 9, 8, 7, 6, 5, 6, 7, 8, 1, 2, 3, 10}};
  const MaxMin<float> result = max_min(pool, x);
  EXPECT_EQ(result.y.data, (std::vector<float>{6, 8, 9, 10}));
  const Array<float> back = unpool(result.y, result.index, x.shape, {2, 0});
  EXPECT_EQ(back.data, (std::vector<float>{0, 0, 0, 0, 9, 0, 0, 0, 0, 6, 0, 8, 0, 0, 0, 10}));
  EXPECT_EQ(unpool_vjp(x, result.index, result.y.shape, {0, 2}).data, result.y.data);
}

TEST(SpecUnpool, ASharedIndexKeepsTheLast) {
  const Array<double> y{{3}, {1, 2, 3}};
  const Array<int64_t> index{{3}, {1, 3, 1}};
  EXPECT_EQ(unpool(y, index, {4}, {0}).data, (std::vector<double>{0, 3, 0, 2}));
  EXPECT_EQ(unpool_vjp<double>({{4}, {5, 6, 7, 8}}, index, {3}, {0}).data,
            (std::vector<double>{0, 8, 6}));
}

TEST(SpecUnpool, EveryIndexIsChecked) {
  const Array<double> y{{2, 1}, {1, 2}};
  for (const int64_t wrong : {int64_t{-1}, int64_t{4}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_THROW(unpool(y, {{2, 1}, {0, wrong}}, {2, 4}, {1}), Error) << wrong;
    EXPECT_THROW(
        unpool_vjp<double>({{2, 4}, std::vector<double>(8)}, {{2, 1}, {wrong, 0}}, {2, 1}, {1}),
        Error)
        << wrong;
  }
  EXPECT_THROW(unpool(y, {{1, 2}, {0, 1}}, {2, 4}, {1}), Error);
  EXPECT_THROW(unpool(y, {{2, 1}, {0, 1}}, {3, 4}, {1}), Error);
  EXPECT_THROW(unpool(y, {{2, 1}, {0, 1}}, {2, 4}, {1, 1}), Error);
  EXPECT_THROW(unpool(y, {{2, 1}, {0, 1}}, {2, 4}, {2}), Error);
}

// ---- refusals ----

TEST(SpecRefusals, BadGeometryIsRefusedAndNamesTheAxis) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const Shape shape{2, 8};
  const Pool good{.axes = {1}, .window = {2}};
  EXPECT_EQ(output_shape(good, shape), (Shape{2, 4}));
  std::vector<Pool> bad(18, good);
  bad[0].window = {0};
  bad[1].window = {-1};
  bad[2].stride = {0};
  bad[3].dilation = {0};
  bad[4].pad_lo = {-1};
  bad[5].window = {9};
  bad[6].window = {kMax};
  bad[7].window = bad[7].stride = bad[7].dilation = {2147483697};
  bad[8].window = {8608480567731124087};
  bad[8].pad_lo = bad[8].pad_hi = bad[8].dilation = {1250999896764};
  bad[9].window = {536870912};
  bad[9].dilation = {1879048192};
  bad[10].pad_lo = {kMax};
  bad[11].stride = {1, 1};
  bad[12].axes = {2};
  bad[13].axes = {-1};
  bad[14].mode = bad[15].mode = Mode::adaptive;
  bad[14].output_size = {0};
  bad[15].output_size = {};
  bad[16].window = {};
  bad[17].window = {3};
  bad[17].rounding = Rounding::exact;
  for (size_t i = 0; i < bad.size(); ++i) {
    try {
      output_shape(bad[i], shape);
      ADD_FAILURE() << "problem " << i << " was not refused";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("axis"), std::string::npos) << i << error.what();
    }
  }
  EXPECT_THROW(output_shape(good, {2, 0}), Error);
  EXPECT_THROW(output_shape({.axes = {}}, shape), Error);
  EXPECT_THROW(output_shape({.axes = {1, 1}, .window = {1, 1}}, shape), Error);
  EXPECT_THROW(
      output_shape({.mode = Mode::global, .axes = {4, 5}}, {9, 15, 0, 2772747373535906632, 0, 14}),
      Error);
}

TEST(SpecRefusals, BadNumbersAndArraysAreRefused) {
  const Array<double> x{{4}, {1, 2, 3, 4}};
  Pool pool{.op = Op::avg, .axes = {0}, .window = {2}, .divisor = 0};
  EXPECT_THROW(forward(pool, x), Error);
  pool = {.op = Op::smooth_max, .axes = {0}, .window = {2}};
  for (const double beta :
       {0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    pool.beta = beta;
    EXPECT_THROW(forward(pool, x), Error) << beta;
  }
  pool.op = Op::lp;
  for (const double p : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    pool.p = p;
    EXPECT_THROW(forward(pool, x), Error) << p;
  }
  pool.p = 2;
  EXPECT_THROW(vjp(pool, x, x), Error);                    // a gradient of the input's shape
  EXPECT_THROW(jvp(pool, x, {{2}, {1, 2}}), Error);        // a tangent of the output's
  EXPECT_THROW(forward<double>(pool, {{4}, {1}}), Error);  // fewer elements than the shape says
  EXPECT_THROW(forward<int>(pool, {{2}, {1, 2}}), Error);  // Lp of integers
  EXPECT_THROW(max_min(pool, x), Error);
}

TEST(SpecRefusals, EmptyBatchesAreNotRefused) {
  for (const Op op : {Op::max, Op::min, Op::avg, Op::smooth_max, Op::lp}) {
    const Pool pool{.op = op, .axes = {2}, .window = {2}};
    const Array<double> x{{0, 3, 4}, {}};
    const Array<double> y = forward(pool, x);
    EXPECT_EQ(y.shape, (Shape{0, 3, 2}));
    EXPECT_EQ(vjp(pool, x, y).shape, x.shape);
    EXPECT_EQ(jvp(pool, x, x).shape, y.shape);
    EXPECT_EQ(output_shape(pool, {3, 0, 5}), (Shape{3, 0, 2}));
  }
}

}  // namespace
}  // namespace ndpool::spec
