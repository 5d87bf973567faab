// Smooth max of f32 over squares of 2x2 or 3x3 taps, 1 or 2 cells apart, some rows of a plane at a
// time. Places along a row are counted from the first tap of the first window. Rows of terms have
// zeros around them; with spacing 2 odd places lie apart from even ones, `apart` lanes behind them,
// so that the taps of neighbouring windows always lie side by side.
#ifndef NDPOOL_SRC_KERNELS_SMOOTH_ROWS_H_
#define NDPOOL_SRC_KERNELS_SMOOTH_ROWS_H_

#include <cstdint>

#include "kernels/kernels.h"

namespace ndpool {

struct SmoothRows {
  int taps = 2;
  int64_t spacing = 1;
  double beta = 1;
  int64_t pad = 0;  // the place of the first cell
  int64_t cells = 0, outputs = 0;
  int64_t term_row = 0, apart = 0;  // lanes
  int64_t quotient_row = 0;
  // Rows are read and written by whole vectors: there is so much room behind each of them, and
  // before the quotients.
  static constexpr int64_t kSlack = 16;
};

struct SmoothRowKernels {
  // The terms of rows of cells.
  void (*terms)(const SmoothRows& shape, int64_t rows, const float* x, float* terms);
  // Of rows of outputs, from the terms of the first row of cells of the first window on: y, NaN
  // where f32 does not do (false if there is such a one); or the quotients of g and the sums.
  // `pads`: what absent taps add, if that is anything.
  bool (*logarithms)(const SmoothRows& shape, int64_t rows, const float* terms, const float* pads,
                     float* y);
  void (*quotients)(const SmoothRows& shape, int64_t rows, const float* terms, const float* pads,
                    const float* g, float* quotients);
  // The gradients of a row of cells: tap `tap` of the windows of a row of outputs, and of those
  // before that one `spacing` taps further on; `quotients` and `terms` are those rows. What f32
  // does not do for is not finite; false if there is any.
  bool (*gradients)(const SmoothRows& shape, int tap, const float* quotients, const float* terms,
                    float* dx);
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_SMOOTH_ROWS_H_
