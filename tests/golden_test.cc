// Averages written down once: the same bits on every processor, not only on every target of this
// one.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"

namespace {

// FNV-1a of all bytes.
uint64_t hash_of(const std::vector<char>& bytes) {
  uint64_t hash = 14695981039346656037u;
  for (char c : bytes) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  return hash;
}

// Numbers between -1 and 1 whose sums round, from a linear congruential generator.
template <class T>
std::vector<T> numbers(size_t count, uint64_t seed) {
  std::vector<T> values(count);
  for (T& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<T>(static_cast<double>(static_cast<int64_t>(seed) >> 11) * 0x1p-52);
  }
  return values;
}

// The hash of y and of the VJP of a fixed gradient.
template <class T>
uint64_t result_hash(const std::string& line) {
  ndpool_plan* plan = nullptr;
  ndpool_error error;
  EXPECT_EQ(ndpool_plan_parse(line.c_str(), &plan, &error), NDPOOL_OK) << error.message;
  if (!plan) return 0;
  std::vector<int64_t> shape(static_cast<size_t>(ndpool_plan_rank(plan)));
  size_t cells = 1, outputs = 1;
  ndpool_plan_input_shape(plan, shape.data());
  for (int64_t size : shape) cells *= static_cast<size_t>(size);
  ndpool_plan_output_shape(plan, shape.data());
  for (int64_t size : shape) outputs *= static_cast<size_t>(size);
  const std::vector<T> x = numbers<T>(cells, 1), g = numbers<T>(outputs, 2);
  std::vector<char> bytes((cells + outputs) * sizeof(T));
  char* dx = bytes.data() + outputs * sizeof(T);
  const ndpool_array none{nullptr, nullptr};
  EXPECT_EQ(ndpool_forward(plan, {x.data(), nullptr}, {bytes.data(), nullptr}, none, none, nullptr,
                           &error),
            NDPOOL_OK);
  EXPECT_EQ(
      ndpool_vjp(plan, {x.data(), nullptr}, {g.data(), nullptr}, {dx, nullptr}, nullptr, &error),
      NDPOOL_OK);
  ndpool_plan_destroy(plan);
  return hash_of(bytes);
}

TEST(Golden, AveragesHaveTheSameBitsOnEveryProcessor) {
  EXPECT_EQ(result_hash<float>("avg f32 2x3x50x61 w3x5 s1x2 p1x2 nopad"), 5724921614335773142u);
  EXPECT_EQ(result_hash<float>("avg f32 7000x3 w3001 s97 axes=0"), 8540233641188382524u);
  EXPECT_EQ(result_hash<float>("avg f32 5x40x7 a3x2 axes=0,1"), 10941931906689990697u);
  EXPECT_EQ(result_hash<double>("avg f64 4x9x11x13 w2x3x4 s1 p0x1x2 ceil axes=1,2,3"),
            267075753783256921u);
}

TEST(Golden, MaxHasTheSameBitsOnEveryProcessor) {
  EXPECT_EQ(result_hash<float>("max f32 2x3x50x61 w3x5 s1x2 p1x2"), 15272385910101547818u);
  EXPECT_EQ(result_hash<double>("min f64 4x9x11x13 w2x3x4 s1 p0x1x2 ceil axes=1,2,3 ties=split"),
            5408717229827532378u);
}

}  // namespace
