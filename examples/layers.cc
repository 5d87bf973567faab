// The layers of layers.hpp on small arrays: forward, backward, and what they keep in between.
#include "layers.hpp"

#include <cstdio>
#include <stdexcept>
#include <vector>

namespace {

int failures = 0;

// Prints one line, and counts it as a failure unless the numbers are the expected ones.
void expect(const char* what, const layers::Array& got, const std::vector<float>& expected) {
  const std::vector<float> values(got.begin(), got.end());
  std::printf("%-28s", what);
  for (const float value : values) std::printf(" %g", value);
  std::printf("%s\n", values == expected ? "" : "   <- wrong");
  if (values != expected) ++failures;
}

void expect(const char* what, bool right) {
  std::printf("%-28s %s\n", what, right ? "yes" : "no   <- wrong");
  if (!right) ++failures;
}

}  // namespace

int main() {
  using layers::Array;

  // 1-D: two channels of six values. No stride given: the kernel's.
  const Array signal({2, 6}, {1, 5, 2, 2, 8, 3,  //
                              4, 0, 7, 7, 1, 9});
  layers::MaxPool1D max1(2);
  expect("MaxPool1D(2)", max1.forward(signal), {5, 2, 8, 4, 7, 9});
  // Where two values tie, the first one gets the gradient.
  expect("  backward", max1.backward(Array({2, 3}, {1, 2, 3, 4, 5, 6})),
         {0, 1, 2, 0, 3, 0, 4, 0, 5, 0, 0, 6});
  layers::AvgPool1D avg1(2, 1);
  expect("AvgPool1D(2, stride 1)", avg1.forward(Array({4}, {1, 3, 5, 11})), {2, 4, 8});
  expect("  backward", avg1.backward(Array({3}, {2, 2, 2})), {1, 2, 2, 1});

  // 2-D, overlapping windows: 10 and 7 each lie in two, 10 wins both of its own and gets both
  // gradients.
  const Array image({3, 3}, {0, 10, 8, 2, 7, 3, 5, 7, 20});
  layers::MaxPool2D max2(2, 1);
  expect("MaxPool2D(2, stride 1)", max2.forward(image), {10, 10, 7, 20});
  expect("  backward", max2.backward(Array({2, 2}, {1, 1, 1, 1})), {0, 2, 0, 0, 1, 0, 0, 0, 1});
  layers::AvgPool2D avg2(2);
  expect("AvgPool2D(2)", avg2.forward(Array({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8})), {3.5, 5.5});
  layers::GlobalAvgPool global;
  expect("GlobalAvgPool", global.forward(Array({2, 2, 2}, {1, 2, 3, 6, 4, 4, 4, 4})), {3, 4});
  expect("  backward", global.backward(Array({2, 1, 1}, {4, 8})), {1, 1, 1, 1, 2, 2, 2, 2});

  // The mask lives only while training.
  expect("mask kept while training", max2.keeps_mask());
  max2.train(false);
  expect("  MaxPool2D, not training", max2.forward(image), {10, 10, 7, 20});
  expect("  no mask kept", !max2.keeps_mask());
  bool refused = false;
  try {
    max2.backward(Array({2, 2}, {1, 1, 1, 1}));
  } catch (const std::logic_error&) {
    refused = true;
  }
  expect("  backward refused", refused);
  return failures == 0 ? 0 : 1;
}
