// Max or min with its compact argmax, f32, two pooled axes of few taps: the winners along each row
// of cells are found once, and those of several rows compared to give a row of outputs.
#ifndef NDPOOL_SRC_WINNER_ROWS_H_
#define NDPOOL_SRC_WINNER_ROWS_H_

#include <cstdint>

#include "call.h"
#include "layout.h"
#include "line.h"
#include "plan.h"

namespace ndpool {

class WinnerRowsJob : public Job {
 public:
  WinnerRowsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y,
                const Bound& argmax);

  // Whole planes without gaps, tap numbers in bytes; rows that windows share, or padding.
  bool possible() const { return possible_; }
  int64_t planes() const { return space_.outer_total() * space_.batch; }
  int64_t grain() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  struct Worker {
    Span* windows;      // of each row of outputs: its rows of cells
    float* values;      // a ring of rows: what won along a row of cells,
    uint32_t* numbers;  // the number of its tap,
    int64_t* rows;      // and which row of cells that is
    float* staged;      // a plane of results that go past the caches
  };
  void run(int64_t plane, const Worker& w) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &x_, &y_, &argmax_;
  int64_t ring_ = 0;  // rows: a power of two
  int64_t outputs_ = 0, row_outputs_ = 0;
  bool streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_WINNER_ROWS_H_
