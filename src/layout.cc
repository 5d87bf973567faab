#include "layout.h"

#include <cstdlib>
#include <utility>

namespace ndpool {
namespace {

// One unpooled axis with its stride in each array.
struct Loop {
  int64_t size;
  int64_t stride[kMaxArrays];
};

bool follows(const Loop& outside, const Loop& inside, int count) {
  for (int i = 0; i < count; ++i) {
    int64_t next = 0;
    if (__builtin_mul_overflow(inside.stride[i], inside.size, &next)) return false;
    if (outside.stride[i] != next) return false;
  }
  return true;
}

}  // namespace

void bind_arrays(int rank, const bool* is_pooled, const ArrayArg* args, int count, int target,
                 Space* space, Bound* bound) {
  Loop loops[kMaxOuter];
  int loop_count = 0, pooled = 0;
  for (int axis = 0; axis < rank; ++axis) pooled += is_pooled[axis];
  space->pooled = pooled;
  int64_t row_major[kMaxArrays];
  for (int i = 0; i < count; ++i) {
    row_major[i] = args[i].element;
    bound[i].data = args[i].data;
    bound[i].element = args[i].element;
  }
  for (int axis = rank - 1; axis >= 0; --axis) {
    const auto start = [axis](const ArrayArg& a) { return a.start ? a.start[axis] : 0; };
    Loop loop{args[target].size[axis], {}};
    for (int i = 0; i < count; ++i) {
      loop.stride[i] = args[i].strides ? args[i].strides[axis] : row_major[i];
      row_major[i] *= args[i].size[axis];
    }
    if (is_pooled[axis]) {
      --pooled;
      for (int i = 0; i < count; ++i) {
        bound[i].pooled[pooled] = loop.stride[i];
        bound[i].box[pooled] = {start(args[i]), start(args[i]) + args[i].size[axis]};
      }
      continue;
    }
    for (int i = 0; i < count; ++i) {
      bound[i].data += (start(args[target]) - start(args[i])) * loop.stride[i];
    }
    if (loop.size > 1) {
      // Keep the loops ordered by the main array's stride, largest first.
      int at = loop_count++;
      for (; at > 0 && std::llabs(loops[at - 1].stride[0]) < std::llabs(loop.stride[0]); --at) {
        loops[at] = loops[at - 1];
      }
      loops[at] = loop;
    }
  }

  int merged = 0;
  for (int i = 0; i < loop_count; ++i) {
    if (merged > 0 && follows(loops[merged - 1], loops[i], count)) {
      loops[i].size *= loops[merged - 1].size;
      loops[merged - 1] = loops[i];
    } else {
      loops[merged++] = loops[i];
    }
  }

  const Loop none{1, {}};
  const bool has_inner = merged > 0 && loops[merged - 1].stride[0] == args[0].element;
  const Loop& inner = has_inner ? loops[--merged] : none;
  const Loop& batch = merged > 0 ? loops[--merged] : none;
  space->inner = inner.size;
  space->batch = batch.size;
  space->outer_count = merged;
  for (int k = 0; k < merged; ++k) space->outer_size[k] = loops[k].size;
  for (int i = 0; i < count; ++i) {
    bound[i].inner = inner.stride[i];
    bound[i].batch = batch.stride[i];
    for (int k = 0; k < merged; ++k) bound[i].outer[k] = loops[k].stride[i];
  }
}

}  // namespace ndpool
