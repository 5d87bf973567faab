// Windows two cells apart, on planes of short rows of which they leave half: kernels/halved_rows.cc
// for f32, kernels/narrow_halved_rows.cc for halves and integers of one and two bytes.
#ifndef NDPOOL_SRC_KERNELS_HALVED_ROWS_H_
#define NDPOOL_SRC_KERNELS_HALVED_ROWS_H_

#include <cstdint>

#include "lane.h"

namespace ndpool {

// Some planes that follow one another without gaps, and as many of results: windows of 2x2
// cells, or of 3x3 the first of which lacks a row and a column. Along a row the last window may
// lack its last cell, and cells may be left behind it (f32 alone). In the order of memory; the row
// that two windows of three share stays in registers, or is read again (narrow types).
struct HalvedRows {
  static constexpr int64_t kMostCells = 128;        // in a row of f32
  static constexpr int64_t kLeastNarrowBytes = 96;  // in a row of others: it should fill vectors
  int taps = 2;
  int64_t planes = 0, rows = 0, cells = 0, output_rows = 0, outputs = 0;
  const void* x = nullptr;
  void* y = nullptr;
  bool streamed = false;  // narrow types: past the caches
  uint8_t* winners = nullptr;
  int64_t divisor = 1;
};
// False if there may be NaN among the cells, where that matters.
using HalvedRowsFn = bool (*)(const HalvedRows& rows);

struct HalvedRowKernels {
  struct Kinds {
    HalvedRowsFn numbers = nullptr, anything = nullptr;
  };
  Kinds extremes[2], winners[2];  // by Extreme; none: the target has none of these
  HalvedRowsFn average = nullptr;
};
struct NarrowHalvedRowKernels {
  HalvedRowKernels of[kTypes];  // no winners; divisors as in ColumnKernels; halves: numbers alone
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_HALVED_ROWS_H_
