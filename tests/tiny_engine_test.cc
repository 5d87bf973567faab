// tiny against the desktop engine: same outputs, masks and gradients, and the same refusals.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/tiny/engine.hpp"

namespace ndpool::tiny_test {
namespace {

constexpr std::uint32_t kProblems = 20000;

template <class T>
void expect_same(const T* got, const T* wanted, std::int32_t count, const char* what,
                 const std::string& problem) {
  for (std::int32_t i = 0; i < count; ++i) {
    if (got[i] == wanted[i] || (got[i] != got[i] && wanted[i] != wanted[i])) continue;
    FAIL() << problem << "\n"
           << what << '[' << i << "] is " << +got[i] << ", the engine's is " << +wanted[i];
  }
}

template <class T>
void expect_same(const Solution<T>& got, const Solution<T>& wanted, const std::string& problem) {
  ASSERT_EQ(got.refused, wanted.refused) << problem;
  ASSERT_EQ(got.outputs, wanted.outputs) << problem;
  ASSERT_EQ(got.mask_bytes, wanted.mask_bytes) << problem;
  expect_same(got.y, wanted.y, got.outputs, "y", problem);
  expect_same(got.mask, wanted.mask, got.mask_bytes, "mask", problem);
  if constexpr (std::is_same_v<T, float>) {
    expect_same(got.gx, wanted.gx, got.cells, "gx", problem);
  }
}

// Solves a problem by a whole call, and by the engine.
template <class Layer, class T>
void compare_with_engine(std::uint32_t number, const Problem& p, const Layer& layer,
                         Solution<T>* got, Solution<T>* wanted, const std::string& problem) {
  solve(number, layer, got);
  solve_by_engine(number, p, wanted);
  expect_same(*got, *wanted, problem);
  const auto plan = Plan::make(engine_pool(p));
  for (int a = 0; a < p.rank && plan.has_value() && layer.ok(); ++a) {
    const auto axis = static_cast<std::size_t>(1 + !p.channels_last + a);
    EXPECT_EQ(layer.dropped(a), plan->dropped()[axis]) << problem << " axis " << a;
  }
}

// Pushes the rows of x through a stream, and compares what comes out with a whole call.
template <class Layer, class T>
void compare_stream(const Problem& p, const Layer& layer, const Solution<T>& whole,
                    const std::string& problem) {
  const auto rows = static_cast<std::size_t>(layer.rows());
  const auto output_rows = static_cast<std::size_t>(layer.output_rows());
  const auto channels = static_cast<std::size_t>(p.channels_last ? 1 : p.channels);
  const std::size_t width = layer.row_size() / (channels == 0 ? 1 : channels);
  const std::size_t out_width = layer.output_row_size() / (channels == 0 ? 1 : channels);
  std::vector<T> ring(layer.ring_size()), row(layer.row_size()), out(layer.output_row_size());
  ASSERT_LE(layer.ring_rows(), p.global ? p.cells[0] - 1 : (p.kernel[0] - 1) * p.dilation[0]);
  tiny::Stream stream(layer, ring);
  std::int32_t next = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < channels; ++c) {
      std::copy_n(whole.x + (c * rows + r) * width, width, row.data() + c * width);
    }
    const auto error = stream.push(row, out, [&](std::int32_t o, tiny::Span<const T> y) {
      ASSERT_EQ(o, next++) << problem;
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t from = c * output_rows + static_cast<std::size_t>(o);
        expect_same(y.data() + c * out_width, whole.y + from * out_width,
                    static_cast<std::int32_t>(out_width), "row", problem);
      }
    });
    ASSERT_EQ(error, tiny::Error::none) << problem;
  }
  EXPECT_TRUE(stream.done());
  EXPECT_EQ(next, layer.output_rows()) << problem;
}

TEST(TinyEngine, LayersAndStreamsHaveTheEnginesBitsMasksGradientsAndRefusals) {
  const auto tiny = std::make_unique<Solutions>(), engine = std::make_unique<Solutions>();
  int solved = 0, streamed = 0;
  for (std::uint32_t number = 0; number < kProblems && !HasFatalFailure(); ++number) {
    const Problem p = random_problem(number);
    const std::string problem = "problem " + std::to_string(number) + ": " + describe(p);
    with_layer(p, [&](const auto& layer) {
      auto& got = tiny->of(element_of(layer));
      compare_with_engine(number, p, layer, &got, &engine->of(element_of(layer)), problem);
      if (HasFatalFailure() || got.refused) return;
      ++solved;
      if (p.batch != 1) return;
      compare_stream(p, layer, got, problem);
      ++streamed;
    });
  }
  EXPECT_GT(solved, static_cast<int>(kProblems) / 2) << "too few problems can be solved";
  EXPECT_GT(streamed, static_cast<int>(kProblems) / 3);
}

}  // namespace
}  // namespace ndpool::tiny_test
