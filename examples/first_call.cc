// A first call: the largest value of each 2x2 block of a 4x4 array, in one line and with a plan.
#include <cstdio>
#include <vector>

#include "ndpool/ndpool.hpp"

int main() {
  // An Array is a shape and its values, row by row.
  const ndpool::Array<float> x({4, 4}, {1, 3, 2, 0,  //
                                        5, 4, 1, 1,  //
                                        0, 2, 9, 8,  //
                                        7, 6, 3, 4});

  // One line. The stride is not given, so windows do not overlap.
  const ndpool::Array<float> y = ndpool::max_pool(x, {.window = {2, 2}});
  for (const float value : y) std::printf("%g ", value);
  std::printf("\n");

  // The same in two steps: plan once, run as often as you like, on memory of your own.
  const ndpool::Plan plan({.op = ndpool::Op::max, .shape = {4, 4}, .window = {2, 2}});
  std::vector<float> again(4);
  plan.forward(x, again);

  // What does not make sense is refused with a reason: here, a window larger than the array.
  const auto refused =
      ndpool::Plan::make({.op = ndpool::Op::max, .shape = {4, 4}, .window = {5, 5}});
  if (refused) return 1;
  std::printf("refused: %s\n", refused.error().message.c_str());

  const std::vector<float> expected = {5, 2, 7, 9};
  return std::vector<float>(y.begin(), y.end()) == expected && again == expected ? 0 : 1;
}
