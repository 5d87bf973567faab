// Arrays of which some planes begin at multiples of the element size and others do not: paths that
// need aligned planes are taken for some of them only.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"

namespace {

using Bytes = std::vector<unsigned char>;

struct PlanCloser {
  ndpool_plan* plan = nullptr;
  ~PlanCloser() { ndpool_plan_destroy(plan); }
};

int64_t count(const std::vector<int64_t>& shape) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

// An array of f32 in row-major order but for its first axis, whose parts are two bytes further
// apart than they need be; the first begins two bytes behind a multiple of 64.
class Askew {
 public:
  explicit Askew(const std::vector<int64_t>& shape)
      : parts_(shape[0]), part_(count(shape) / shape[0] * 4), strides_(shape.size(), 4) {
    for (size_t i = shape.size() - 1; i > 0; --i) strides_[i - 1] = strides_[i] * shape[i];
    strides_[0] = part_ + 2;
    memory_.resize(static_cast<size_t>(parts_ * strides_[0] + 128));
  }
  unsigned char* data() {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (64 - address % 64) + 2;
  }
  const int64_t* strides() const { return strides_.data(); }
  void fill(const Bytes& values) {
    for (int64_t i = 0; i < parts_; ++i) {
      std::memcpy(data() + i * strides_[0], values.data() + i * part_, static_cast<size_t>(part_));
    }
  }
  Bytes values() {
    Bytes all;
    for (int64_t i = 0; i < parts_; ++i) {
      const unsigned char* part = data() + i * strides_[0];
      all.insert(all.end(), part, part + part_);
    }
    return all;
  }

 private:
  int64_t parts_, part_;
  std::vector<int64_t> strides_;
  Bytes memory_;
};

Bytes numbers(int64_t n, int first) {
  std::vector<float> values(static_cast<size_t>(n));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((static_cast<int>(i) * 7919 + first) % 1009 - 500);
  }
  Bytes bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(Alignment, TheVjpOfMaxFromXIsTheSameWhereOnlySomePlanesAreAligned) {
  for (const std::string line :
       {"max f32 2x8x57x32 w3x3 s1x4", "max f32 2x20x57x32 w3x3 s1x4 p2x2",
        "max f32 3x19x14x14 w2x2", "min f32 2x9x28x28 w3x3 s1 p1", "max f32 3x12x7x7 w3x3 s2"}) {
    PlanCloser closer;
    ndpool_error error = {};
    ASSERT_EQ(ndpool_plan_parse(line.c_str(), &closer.plan, &error), NDPOOL_OK) << error.message;
    std::vector<int64_t> in(static_cast<size_t>(ndpool_plan_rank(closer.plan))), out = in;
    ndpool_plan_input_shape(closer.plan, in.data());
    ndpool_plan_output_shape(closer.plan, out.data());
    const Bytes x = numbers(count(in), 1), g = numbers(count(out), 2);
    Bytes wanted(x.size());
    ASSERT_EQ(ndpool_vjp(closer.plan, {x.data(), nullptr}, {g.data(), nullptr},
                         {wanted.data(), nullptr}, nullptr, &error),
              NDPOOL_OK)
        << line << ": " << error.message;
    Askew askew_x(in), askew_g(out), askew_dx(in);
    askew_x.fill(x);
    askew_g.fill(g);
    ASSERT_EQ(ndpool_vjp(closer.plan, {askew_x.data(), askew_x.strides()},
                         {askew_g.data(), askew_g.strides()}, {askew_dx.data(), askew_dx.strides()},
                         nullptr, &error),
              NDPOOL_OK)
        << line << ": " << error.message;
    EXPECT_EQ(askew_dx.values(), wanted) << line;
  }
}

}  // namespace
