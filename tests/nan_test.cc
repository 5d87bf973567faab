// NaN beats every number, in every lane of every algorithm.
#include <gtest/gtest.h>

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
  // Whether window `o` of an axis holds a cell.
  bool holds(int64_t o, int64_t cell) const {
    const int64_t tap = cell - (o * stride - pad);
    return tap >= 0 && tap < window;
  }
};

std::vector<float> pooled(const Square& square, const std::vector<float>& x) {
  ndpool_plan* made = nullptr;
  ndpool_error error{};
  EXPECT_EQ(ndpool_plan_parse(square.line().c_str(), &made, &error), NDPOOL_OK) << error.message;
  const std::unique_ptr<ndpool_plan, void (*)(ndpool_plan*)> plan(made, ndpool_plan_destroy);
  std::vector<float> y(
      static_cast<size_t>(2 * square.outputs(square.height) * square.outputs(square.width)));
  const ndpool_array none{nullptr, nullptr};
  EXPECT_EQ(ndpool_forward(plan.get(), {x.data(), nullptr}, {y.data(), nullptr}, none, none,
                           nullptr, &error),
            NDPOOL_OK)
      << error.message;
  return y;
}

TEST(Nan, OneReachesTheWindowsThatHoldItAndNoOther) {
  for (const Square& s : {Square{"max", 19, 17, 3, 1, 1}, Square{"min", 12, 18, 3, 1, 0},
                          Square{"max", 21, 17, 2, 1, 0}, Square{"min", 20, 34, 3, 2, 1},
                          Square{"max", 19, 35, 3, 2, 0}, Square{"min", 18, 34, 2, 2, 0},
                          Square{"max", 20, 40, 7, 1, 3}, Square{"min", 22, 60, 3, 3, 0},
                          Square{"max", 8, 9, 4, 1, 2}}) {
    const int64_t cells = s.height * s.width;
    std::vector<float> x(static_cast<size_t>(2 * cells));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1009) - 500;
    x[x.size() / 3] = std::numeric_limits<float>::infinity();
    x[x.size() / 2] = -std::numeric_limits<float>::infinity();
    const std::vector<float> y = pooled(s, x);
    const int64_t rows = s.outputs(s.height), columns = s.outputs(s.width);
    for (int64_t cell = 0; cell < 2 * cells; ++cell) {
      std::vector<float> with = x;
      with[static_cast<size_t>(cell)] = std::numeric_limits<float>::quiet_NaN();
      const std::vector<float> result = pooled(s, with);
      for (int64_t i = 0; i < 2 * rows * columns; ++i) {
        const bool held = i / (rows * columns) == cell / cells &&
                          s.holds(i / columns % rows, cell / s.width % s.height) &&
                          s.holds(i % columns, cell % s.width);
        const float value = result[static_cast<size_t>(i)];
        const bool right = held ? std::isnan(value) : value == y[static_cast<size_t>(i)];
        ASSERT_TRUE(right) << s.line() << "\nNaN at cell " << cell << ": output " << i << " is "
                           << value << ", without NaN " << y[static_cast<size_t>(i)];
      }
    }
  }
}

}  // namespace
