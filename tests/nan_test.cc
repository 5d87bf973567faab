// NaN beats every number, in every lane of every algorithm.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"

namespace {

struct Square {
  const char* op;
  int64_t height, width, window, stride, pad;

  std::string line() const {
    return std::string(op) + " f32 2x" + std::to_string(height) + "x" + std::to_string(width) +
           " w" + std::to_string(window) + "x" + std::to_string(window) + " s" +
           std::to_string(stride) + " p" + std::to_string(pad);
  }
  int64_t outputs(int64_t cells) const { return (cells + 2 * pad - window) / stride + 1; }
  // The tap of window `o` of an axis that is `cell`; -1: none.
  int64_t tap(int64_t o, int64_t cell) const {
    const int64_t tap = cell - (o * stride - pad);
    return tap < window ? std::max<int64_t>(tap, -1) : -1;
  }
};

struct Pooled {
  std::vector<float> y;
  std::vector<uint8_t> argmax;
};

Pooled pooled(const Square& square, const std::vector<float>& x, bool want_argmax) {
  ndpool_plan* made = nullptr;
  ndpool_error error{};
  EXPECT_EQ(ndpool_plan_parse(square.line().c_str(), &made, &error), NDPOOL_OK) << error.message;
  const std::unique_ptr<ndpool_plan, void (*)(ndpool_plan*)> plan(made, ndpool_plan_destroy);
  const auto outputs =
      static_cast<size_t>(2 * square.outputs(square.height) * square.outputs(square.width));
  Pooled result{std::vector<float>(outputs), std::vector<uint8_t>(outputs)};
  const ndpool_array none{nullptr, nullptr};
  EXPECT_EQ(ndpool_forward(plan.get(), {x.data(), nullptr}, {result.y.data(), nullptr},
                           want_argmax ? ndpool_array{result.argmax.data(), nullptr} : none, none,
                           nullptr, &error),
            NDPOOL_OK)
      << error.message;
  return result;
}

TEST(Nan, OneReachesTheWindowsThatHoldItAndNoOther) {
  for (const Square& s :
       {Square{"max", 7, 17, 3, 1, 1}, Square{"min", 6, 18, 3, 1, 0}, Square{"max", 5, 17, 2, 1, 0},
        Square{"min", 7, 34, 3, 2, 1}, Square{"max", 9, 35, 3, 2, 0}, Square{"min", 6, 34, 2, 2, 0},
        Square{"max", 9, 20, 7, 1, 3}, Square{"min", 6, 30, 3, 3, 0}, Square{"max", 8, 9, 4, 1, 2},
        Square{"min", 9, 13, 5, 2, 2}, Square{"max", 5, 6, 5, 1, 2}, Square{"max", 5, 33, 3, 2, 1},
        Square{"max", 11, 75, 7, 1, 3}}) {
    const int64_t cells = s.height * s.width;
    std::vector<float> x(static_cast<size_t>(2 * cells));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1009) - 500;
    x[x.size() / 3] = std::numeric_limits<float>::infinity();
    x[x.size() / 2] = -std::numeric_limits<float>::infinity();
    const int64_t rows = s.outputs(s.height), columns = s.outputs(s.width);
    for (const bool want_argmax : {false, true}) {
      const Pooled without = pooled(s, x, want_argmax);
      for (int64_t cell = 0; cell < 2 * cells; ++cell) {
        std::vector<float> with = x;
        with[static_cast<size_t>(cell)] = std::numeric_limits<float>::quiet_NaN();
        const Pooled result = pooled(s, with, want_argmax);
        for (int64_t i = 0; i < 2 * rows * columns; ++i) {
          const int64_t down = s.tap(i / columns % rows, cell / s.width % s.height);
          const int64_t along = s.tap(i % columns, cell % s.width);
          const bool held = i / (rows * columns) == cell / cells && down >= 0 && along >= 0;
          const auto at = static_cast<size_t>(i);
          const int64_t winner = !held         ? without.argmax[at]
                                 : want_argmax ? down * s.window + along
                                               : 0;
          ASSERT_TRUE(held ? std::isnan(result.y[at]) : result.y[at] == without.y[at])
              << s.line() << "\nNaN at cell " << cell << ": output " << i << " is " << result.y[at]
              << ", without NaN " << without.y[at];
          ASSERT_EQ(result.argmax[at], winner)
              << s.line() << "\nNaN at cell " << cell << ": winner of output " << i;
        }
      }
    }
  }
}

}  // namespace
