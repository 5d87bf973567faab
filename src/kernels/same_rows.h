// Windows of 3x3 cells, one around each cell, on planes of short rows: kernels/same_rows.cc and
// kernels/same_gradients.cc.
#ifndef NDPOOL_SRC_KERNELS_SAME_ROWS_H_
#define NDPOOL_SRC_KERNELS_SAME_ROWS_H_

#include <cstdint>

namespace ndpool {

// Some planes of f32 that follow one another without gaps, and as many of results, which go past
// the caches. A row is held in vectors while it meets the two that follow it.
struct SameRows {
  static constexpr int64_t kLeastCells = 17, kMostCells = 64;  // in a row
  int64_t planes = 0, rows = 0, cells = 0;
  const float* x = nullptr;
  float* y = nullptr;
  uint8_t* winners = nullptr;  // found, or given
  uint32_t number = 0;         // of the first tap, as CollectRows has it
  int64_t divisor = 1;
  bool divide_first = false;  // cells, not sums
};
// False if there may be NaN among the cells, where that matters.
using SameRowsFn = bool (*)(const SameRows& rows);

struct SameRowKernels {
  struct Kinds {
    SameRowsFn numbers = nullptr, anything = nullptr;
  };
  Kinds extremes[2], winners[2];  // by Extreme; none: the target has none of these
  SameRowsFn sum = nullptr;
};

struct SameGradientKernels {
  SameRowsFn collect = nullptr;  // from the gradients and winners of outputs at x
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_SAME_ROWS_H_
