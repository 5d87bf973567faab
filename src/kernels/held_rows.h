// Planes whose rows are held in a few vectors, and the kernels that pool them.
#ifndef NDPOOL_SRC_KERNELS_HELD_ROWS_H_
#define NDPOOL_SRC_KERNELS_HELD_ROWS_H_

#include <algorithm>
#include <cstdint>

namespace ndpool {

// Planes of f32 with windows at stride 1. All vectors of a row but the last are full, of cells and
// of outputs alike.
struct HeldRows {
  static constexpr int64_t kLanes = 8, kMostVectors = 4;
  static constexpr int kMostSteps = 8;
  int64_t rows = 1, cells = 1, plane = 1;  // from plane to plane; rows have no gaps between them
  int64_t output_rows = 1, outputs = 1;    // without gaps
  int64_t taps = 1, pad = 0;               // down; the first tap is in row -pad
  // Along: each lane joins the one that lies so many before it; then, the one so many behind it.
  int back = 0, ahead = 0;
  int64_t distance[kMostSteps] = {};

  // False if that takes too many steps.
  bool plan_along(int64_t window, int64_t pad_along) {
    int64_t covered = 1;
    const auto cover = [&](int64_t end, int* steps) {
      for (; covered < end && back + ahead < kMostSteps; ++*steps) {
        const int64_t step = std::min({covered, end - covered, kLanes});
        distance[back + ahead] = step;
        covered += step;
      }
    };
    cover(pad_along + 1, &back);
    cover(window, &ahead);
    return covered == window;
  }
};
// `ring`: room for `taps` rows of kMostVectors vectors. False, if there may be NaN among the cells.
using HeldFn = bool (*)(const HeldRows& held, int64_t planes, const float* x, float* ring,
                        float* y);

struct HeldKernels {
  HeldFn extreme[2]{};  // by Extreme; none: the target has none of these
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_HELD_ROWS_H_
