// Arrays in the order of memory. Axes that are not pooled merge where all arrays of a call allow
// it; what remains is outer × batch × pooled axes × inner:
//   inner   a run of unpooled elements without gaps in the main array (NHWC's channels), else 1
//   batch   planes that one kernel call covers together
//   outer   the rest, walked one by one
#ifndef NDPOOL_SRC_LAYOUT_H_
#define NDPOOL_SRC_LAYOUT_H_

#include <cstdint>

#include "line.h"

namespace ndpool {

inline constexpr int kMaxPooled = 16;
inline constexpr int kMaxOuter = 64;
inline constexpr int kMaxAxes = kMaxOuter + kMaxPooled;
inline constexpr int kMaxArrays = 5;

// An array of a call before the merge: `size` and `start` of its box for each axis (start nullptr:
// 0).
struct ArrayArg {
  char* data = nullptr;
  const int64_t* strides = nullptr;  // bytes; nullptr: row-major in the box
  const int64_t* size = nullptr;
  const int64_t* start = nullptr;
  int64_t element = 0;  // bytes
};

// An array after the merge; strides in bytes.
struct Bound {
  char* data;
  int64_t element;
  int64_t inner, batch;
  int64_t pooled[kMaxPooled];
  Range box[kMaxPooled];  // the part of each pooled axis that the memory holds
  int64_t outer[kMaxOuter];
};

struct Space {
  int pooled = 0;
  int outer_count = 0;
  int64_t inner = 1, batch = 1;
  int64_t outer_size[kMaxOuter];

  int64_t outer_total() const {
    int64_t total = 1;
    for (int i = 0; i < outer_count; ++i) total *= outer_size[i];
    return total;
  }
};

// Merges `count` arrays of `rank` axes. is_pooled[axis] tells the pooled ones (kMaxPooled at most).
// On the others the box of args[target] is walked, which lies inside those of all arrays and is not
// empty. Array 0 is the main one, whose order of memory decides.
void bind_arrays(int rank, const bool* is_pooled, const ArrayArg* args, int count, int target,
                 Space* space, Bound* bound);

// The address of element (0, …) of one outer index.
inline char* outer_address(const Space& space, const Bound& array, int64_t outer) {
  char* at = array.data;
  for (int i = space.outer_count - 1; i >= 0; --i) {
    at += outer % space.outer_size[i] * array.outer[i];
    outer /= space.outer_size[i];
  }
  return at;
}

// That of one plane, outer and batch counted as one.
inline char* plane_address(const Space& space, const Bound& array, int64_t plane) {
  return outer_address(space, array, plane / space.batch) + plane % space.batch * array.batch;
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_LAYOUT_H_
