// Planes whose rows fit a vector, and the kernels that pool them.
#ifndef NDPOOL_SRC_KERNELS_STRIP_H_
#define NDPOOL_SRC_KERNELS_STRIP_H_

#include <cstdint>

namespace ndpool {

// A plane of f32 whose rows of cells and of outputs fit a vector. What lies behind a plane, as far
// as a vector reaches, is read, and what lies behind its results written.
struct Strip {
  static constexpr int kMostLanes = 16, kMostTaps = 4;
  // Of the vectors that rows of some width are pooled in, where the widest have `most` lanes.
  static constexpr int64_t lanes_for(int64_t width, int64_t most) {
    return most > 8 && width <= most / 2 ? most / 2 : most;
  }
  // Of a row of outputs: where each tap is in x. One that is absent is another of the window once
  // more; a sum leaves it out.
  struct Window {
    int32_t at[kMostTaps];
    bool present[kMostTaps];
  };
  int down = 1, along = 1;  // taps
  int64_t rows = 1, outputs = 1, plane = 1;
  int64_t width = 1;  // of a row, of cells or of outputs
  const Window* windows = nullptr;
  int32_t cell[kMostTaps][kMostLanes] = {};      // in a row, of each tap along it
  uint32_t present[kMostTaps][kMostLanes] = {};  // of sums: all bits or none
  int64_t divisor = 1;                           // of sums
};
// False, if there may be NaN among the cells, and it is of the kind that must not meet one.
using StripFn = bool (*)(const Strip& strip, int64_t planes, const float* x, float* y);

struct StripKernels {
  int64_t lanes = 0;                    // 0: the target has none of these
  StripFn numbers[2]{}, anything[2]{};  // by Extreme
  StripFn sum = nullptr;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_STRIP_H_
