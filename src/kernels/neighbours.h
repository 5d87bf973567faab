// Windows along rows of f32, joined in registers, and the kernels that do it.
#ifndef NDPOOL_SRC_KERNELS_NEIGHBOURS_H_
#define NDPOOL_SRC_KERNELS_NEIGHBOURS_H_

#include <cstdint>

namespace ndpool {

// Windows of `taps` neighbours at each of some places of rows. What lies up to kAround elements
// before the first cell and behind the last is read, and may be anything.
struct NeighbourRows {
  static constexpr int64_t kMostSums = 31, kMostExtremes = 32, kAround = 32;
  int64_t rows = 1, lanes = 1, taps = 1;
  const float* src = nullptr;
  int64_t src_row = 0;
  float* dst = nullptr;
  int64_t dst_row = 0;
  int64_t divisor = 0;  // of sums, if not 0
};
using NeighboursFn = void (*)(const NeighbourRows& rows);

// Sums of kWide neighbours, and of the last `taps` (0 to 15) of windows, which have more, at each
// of some places of one row. Of both, up to kAround elements before the first place and behind the
// last are written.
struct WideSums {
  static constexpr int64_t kWide = 16;
  int64_t lanes = 0, taps = 0;
  const float* src = nullptr;
  float *wide = nullptr, *rest = nullptr;
};

struct NeighbourKernels {                    // none: the target has none of these
  NeighboursFn numbers[2]{}, anything[2]{};  // by Extreme
  NeighboursFn sum = nullptr;
  void (*wide_sums)(const WideSums& sums) = nullptr;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_NEIGHBOURS_H_
