// The VJP of avg where every cell lies in one window at most (stride = window): each gradient,
// divided, is repeated over its window.
#ifndef NDPOOL_SRC_REPEAT_H_
#define NDPOOL_SRC_REPEAT_H_

#include <cstdint>

#include "call.h"
#include "layout.h"
#include "plan.h"

namespace ndpool {

class RepeatJob : public Job {
 public:
  RepeatJob(const Plan& plan, const Space& space, const Bound& g, const Bound& dx);

  bool possible() const { return possible_; }
  int64_t tasks() const { return planes_ * slabs_ * chunks_; }
  int64_t grain() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  // An axis: so many cells, outputs, and cells a window.
  struct Extent {
    int64_t cells = 1, outputs = 1, window = 1;
  };
  void run(int64_t task, char* staged) const;
  // The rows of a chunk, from the gradients of the first one on; `held`: windows hold them.
  void write_rows(Range rows, const char* g, bool held, char* to) const;
  // The same past the caches, for long rows: pieces of one go to all rows of its window.
  void stream_pieces(Range rows, const char* g, bool held, char* staged, char* to) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &dx_;
  int64_t size_;
  // Planes of slabs (one for each cell of the axes before the last two) of rows of places; whole
  // axes at the end are one. Chunks of a slab are some rows, windows of them whole.
  int before_ = 0;
  Extent axes_[kMaxPooled];
  Extent row_, place_;
  int64_t planes_ = 1, slabs_ = 1, chunks_ = 1, chunk_rows_ = 1;
  int64_t row_bytes_ = 0, g_row_bytes_ = 0;
  int64_t staged_bytes_ = 0;
  int64_t piece_ = 0;  // outputs of a row that are repeated at once; 0: whole rows
  bool planes_are_rows_ = false, streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_REPEAT_H_
