// The VJP of max and min from the compact argmax, f32 and f64, two pooled axes of few taps: cells
// compare, row by row, the winners of the windows that hold them.
#ifndef NDPOOL_SRC_COLLECT_H_
#define NDPOOL_SRC_COLLECT_H_

#include <cstdint>

#include "call.h"
#include "layout.h"
#include "line.h"
#include "plan.h"
#include "plane_tasks.h"
#include "staged.h"

namespace ndpool {

class CollectJob : public Job {
 public:
  CollectJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
             const Bound& dx);

  // Whole planes without gaps, tap numbers in bytes; windows of 2 or 3 cells along a row.
  bool possible() const { return possible_; }
  const PlaneTasks& tasks() const { return tasks_; }

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  // Some rows of cells of a plane.
  void band(int64_t plane, Range rows, Staged* staged) const;
  // Some planes, if they are together, or one.
  void same_rows(int64_t group) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &argmax_, &dx_;
  int64_t size_;      // bytes of a lane
  int64_t rows_ = 0;  // of cells in a band
  int64_t together_ = 1;
  PlaneTasks tasks_;
  bool streaming_ = false, in_order_ = false, same_rows_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_COLLECT_H_
