// Cells that go from place to place, and numbers that are looked at: kernels/move.cc.
#ifndef NDPOOL_SRC_KERNELS_MOVE_H_
#define NDPOOL_SRC_KERNELS_MOVE_H_

#include <cstddef>
#include <cstdint>

namespace ndpool {

// Rows taken apart by phase: dst[phase][i] = src[starts[phase] + i*step], groups of `inner`
// elements. Joined: the other way round, from the phases at `src` to the row at `dst`.
struct SplitRows {
  int64_t rows = 1, inner = 1, step = 1;
  const void* src = nullptr;
  int64_t src_row = 0;
  void* dst = nullptr;
  int64_t dst_row = 0;
  int phases = 0;
  int64_t phase = 0;  // from phase to phase, on the side that is apart
  const int64_t* starts = nullptr;
  const int64_t* counts = nullptr;
  const int32_t* table = nullptr;  // if given: src[table[phase*counts[0] + i]]
};

// Each of some groups of `inner` elements, divided, to `times` places side by side; no more than
// `places` in all, and zeros in those that are left.
struct Repeat {
  int64_t groups = 0, inner = 1, times = 1, places = 0, divisor = 1;
};

struct MoveKernels {
  void (*split[4])(const SplitRows& rows);  // by log2 of the element size
  void (*join[4])(const SplitRows& rows);
  // dst[c*dst_row + r] = src[r*src_row + c], by log2 of the element size.
  void (*transpose[4])(int64_t rows, int64_t columns, const void* src, int64_t src_row, void* dst,
                       int64_t dst_row);
  // f32, f64.
  void (*repeat_divided[2])(const Repeat& shape, const void* src, void* dst);
  // The largest of `count` bytes, `distance` apart.
  uint64_t (*largest)(const char* first, int64_t count, int64_t distance);
  // Whether all of some numbers, `plane` of them in each of `planes` planes that follow one
  // another, are below `below`, 16 at most, and kinds[number] has no bit of its place in the plane.
  bool (*are_present)(const uint8_t* numbers, int64_t planes, int64_t plane, const uint8_t* absent,
                      const uint8_t* kinds, uint8_t below);
  // In each row, lane to[i] becomes what lane from[i] is.
  void (*repeat[4])(int64_t rows, int64_t row_stride, void* block, int64_t count, const int32_t* to,
                    const int32_t* from);
  // A copy past the caches; flush() after the last.
  void (*stream)(const void* src, void* dst, size_t bytes);
  void (*flush)();
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_MOVE_H_
