// Ranks beyond what the random problems reach: many pooled axes, many axes of size 1.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "ndpool/ndpool.h"
#include "ndpool/spec.hpp"

namespace ndpool {
namespace {

// Numbers that are not monotone and have ties, from a fixed rule.
spec::Array<float> numbers(const std::vector<int64_t>& shape) {
  spec::Array<float> x{shape, {}};
  int64_t total = 1;
  for (int64_t size : shape) total *= size;
  for (int64_t i = 0; i < total; ++i)
    x.data.push_back(static_cast<float>((i * 37 + i / 5) % 23 - 11));
  return x;
}

struct Result {
  int32_t code = 0;
  std::vector<float> y, dx;
  std::vector<int64_t> index;
  ndpool_error error{};
};

// Forward with indices, and the VJP of ones from the input.
Result run(int32_t op, const spec::Array<float>& x, const std::vector<int64_t>& axes,
           const std::vector<int64_t>& window, size_t outputs) {
  ndpool_desc desc;
  ndpool_desc_init(&desc);
  desc.op = op;
  desc.shape = {x.shape.data(), static_cast<int64_t>(x.shape.size())};
  desc.axes = {axes.data(), static_cast<int64_t>(axes.size())};
  desc.window = {window.data(), static_cast<int64_t>(window.size())};
  Result r;
  ndpool_plan* plan = nullptr;
  r.code = ndpool_plan_create(&desc, &plan, &r.error);
  if (r.code != NDPOOL_OK) return r;
  r.y.resize(outputs);
  r.index.resize(outputs);
  r.dx.resize(x.data.size());
  const std::vector<float> g(outputs, 1);
  const ndpool_array none{nullptr, nullptr}, index{r.index.data(), nullptr};
  r.code = ndpool_forward(plan, {x.data.data(), nullptr}, {r.y.data(), nullptr}, none,
                          op == NDPOOL_MAX ? index : none, nullptr, &r.error);
  if (r.code == NDPOOL_OK) {
    r.code = ndpool_vjp(plan, {x.data.data(), nullptr}, {g.data(), nullptr}, {r.dx.data(), nullptr},
                        nullptr, &r.error);
  }
  ndpool_plan_destroy(plan);
  return r;
}

TEST(Ranks, EightAndMorePooledAxesAgreeWithTheDefinition) {
  for (int pooled : {8, 9, 12, 16}) {
    std::vector<int64_t> shape = {2}, axes, window;
    spec::Pool pool;
    for (int i = 0; i < pooled; ++i) {
      shape.push_back(i % 3 == 0 && i < 9 ? 3 : 2);
      axes.push_back(i + 1);
      window.push_back(i % 4 == 3 ? 1 : 2);
      pool.axes.push_back(i + 1);
      pool.window.push_back(window.back());
    }
    const spec::Array<float> x = numbers(shape);
    for (int32_t op : {NDPOOL_MAX, NDPOOL_AVG}) {
      pool.op = op == NDPOOL_MAX ? spec::Op::max : spec::Op::avg;
      const spec::Array<float> y = spec::forward(pool, x);
      const Result r = run(op, x, axes, window, y.data.size());
      ASSERT_EQ(r.code, NDPOOL_OK) << r.error.message;
      // Small whole numbers over powers of two: averages are exact in any order.
      EXPECT_EQ(r.y, y.data) << pooled << " pooled axes";
      spec::Array<float> g = y;
      for (float& value : g.data) value = 1;
      EXPECT_EQ(r.dx, spec::vjp(pool, x, g).data) << pooled << " pooled axes";
      if (op == NDPOOL_MAX) {
        EXPECT_EQ(r.index, spec::max_min(pool, x).index.data);
      }
    }
  }
}

TEST(Ranks, MorePooledAxesThanSixteenAreRefusedWithBothNumbers) {
  const spec::Array<float> x = numbers(std::vector<int64_t>(17, 1));
  std::vector<int64_t> axes;
  for (int i = 0; i < 17; ++i) axes.push_back(i);
  const Result r = run(NDPOOL_MAX, x, axes, {1}, 1);
  EXPECT_EQ(r.code, NDPOOL_BAD_ARGUMENT);
  EXPECT_EQ(r.error.numbers[0], 17);
  EXPECT_EQ(r.error.numbers[1], 16);
}

TEST(Ranks, HundredsOfAxesOfSizeOneChangeNothing) {
  const spec::Array<float> flat = numbers({3, 4, 6});
  spec::Pool pool;
  pool.axes = {1, 2};
  pool.window = {2, 2};
  const spec::Array<float> want = spec::forward(pool, flat);
  spec::Array<float> x = flat;
  x.shape.assign(300, 1);
  x.shape[10] = 3;
  x.shape[150] = 4;
  x.shape[299] = 6;
  const Result r = run(NDPOOL_MAX, x, {150, 299}, {2, 2}, want.data.size());
  ASSERT_EQ(r.code, NDPOOL_OK) << r.error.message;
  EXPECT_EQ(r.y, want.data);
  EXPECT_EQ(r.index, spec::max_min(pool, flat).index.data);
}

}  // namespace
}  // namespace ndpool
