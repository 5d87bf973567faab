// Which parts of an array are one piece of memory.
#ifndef NDPOOL_SRC_CONTIGUOUS_H_
#define NDPOOL_SRC_CONTIGUOUS_H_

#include <cstdint>

#include "layout.h"
#include "machine.h"

namespace ndpool {

// Whether an array's elements can be used as lanes where they lie, those of a row side by side.
inline bool rows_in_lanes(const Space& space, const Bound& array) {
  const int64_t size = array.element;
  int64_t odd =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(array.data) % static_cast<uintptr_t>(size));
  for (int i = 0; i < space.outer_count; ++i) odd |= array.outer[i] % size;
  for (int i = 0; i < space.pooled; ++i) odd |= array.pooled[i] % size;
  odd |= array.batch % size;
  return odd == 0 && (space.inner == 1 || array.inner == size) &&
         array.pooled[space.pooled - 1] == space.inner * size;
}

// Whether the planes of an array are whole, of size_of(axis) elements on each pooled axis, and
// without gaps.
template <class SizeOf>
bool has_plain_planes(const Space& space, const Bound& array, SizeOf size_of) {
  if (!rows_in_lanes(space, array)) return false;
  int64_t step = array.element * space.inner;
  for (int i = space.pooled - 1; i >= 0; --i) {
    const int64_t size = size_of(i);
    if (array.box[i].begin != 0 || array.box[i].size() != size) return false;
    if (size > 1 && array.pooled[i] != step) return false;
    step *= size;
  }
  return true;
}

// Whether bands of that size are one piece of memory in an array whose rows are in lanes.
inline bool bands_in_one_piece(const Space& space, const Bound& array, int64_t planes, int64_t rows,
                               int64_t outputs, int64_t inner) {
  const int last = space.pooled - 1;
  if (inner != space.inner && outputs > 1) return false;
  int64_t piece = array.box[last].size() * space.inner * array.element;
  const bool whole = outputs == array.box[last].size() && inner == space.inner;
  if (!whole && rows * planes > 1) return false;
  if (last > 0) {
    if (rows > 1 && array.pooled[last - 1] != piece) return false;
    if (rows != array.box[last - 1].size() && planes > 1) return false;
    piece *= array.box[last - 1].size();
  }
  return planes == 1 || array.batch == piece;
}

inline int64_t elements_of(const Space& space, const Bound& array) {
  int64_t n = space.outer_total() * space.batch * space.inner;
  for (int i = 0; i < space.pooled; ++i) n *= array.box[i].size();
  return n;
}

inline size_t bytes_of(const Space& space, const Bound& array) {
  return static_cast<size_t>(elements_of(space, array) * array.element);
}

// Whether so many bytes are so many that caches hold little of them when they have been read or
// written.
inline bool is_beyond_caches(size_t bytes) { return bytes >= streaming_bytes(); }
inline bool is_beyond_caches(const Space& space, const Bound& array) {
  return is_beyond_caches(bytes_of(space, array));
}

// Whether results go past the caches: if these hold little of them, or if what is read would push
// them out. (f32 2x2 with 12 MB of results then takes less than half the time, with 6 MB three
// quarters; with 4 MB, where all fits, it would take half as much again.)
inline bool is_streamed(size_t read, size_t written) {
  const size_t many = streaming_bytes();
  return written >= many ||
         (read >= many && written >= many / 4 && read + written >= many + many / 2);
}
inline bool is_streamed(const Space& space, const Bound& x, const Bound& y) {
  return is_streamed(bytes_of(space, x), bytes_of(space, y));
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_CONTIGUOUS_H_
