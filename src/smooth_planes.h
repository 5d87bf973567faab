// Smooth max of f32 over small squares, and its gradient, in whole planes: terms, sums and
// quotients of some rows of cells stay in the first-level cache, and those that the next rows need
// as well are kept for them.
#ifndef NDPOOL_SRC_SMOOTH_PLANES_H_
#define NDPOOL_SRC_SMOOTH_PLANES_H_

#include <cstdint>

#include "arena.h"
#include "kernels/smooth_rows.h"
#include "plan.h"
#include "plane_tasks.h"
#include "term_boxes.h"

namespace ndpool {

class SmoothPlanes {
 public:
  // From x to y; or, with g, from x and g to dx.
  SmoothPlanes(const Plan& plan, const ArrayArg& x, const ArrayArg* g, const ArrayArg& target);

  // Two pooled axes, windows of 2x2 or 3x3 cells, 1 or 2 apart; planes whole and without gaps.
  bool possible() const { return possible_; }
  const PlaneTasks& tasks() const { return tasks_; }

  // What one thread keeps.
  struct Worker {
    Worker(const SmoothPlanes& planes, Arena* arena, bool counts);
    float* room;                   // for what goes past the caches
    float *terms, *quotients;      // of the rows held, from the first place and the first output on
    float* pads[2];                // of windows that are whole downwards, and of others
    double *present, *counted;     // cells and counted taps of windows along a row
    int64_t plane = -1, next = 0;  // what was computed last: the rows of a plane before `next`
    Range held_terms, held_quotients;
    int64_t pads_cells = -1, pads_counted = -1;  // those of pads[1]
  };

  // Some rows of the target, except for those lanes that f32 does not do for: false if there are
  // any. They are NaN, or not finite in dx.
  bool run(int64_t plane, Range rows, Worker* w) const;
  // After the last rows of a worker.
  void finish() const;

  // Lanes `along` of rows of the target, as a box.
  TermBox box_of(int64_t plane, Range rows, Range along) const;
  int64_t row_lanes() const { return gradient_ ? shape_.cells : shape_.outputs; }
  const float* row_of(int64_t plane, int64_t row) const;

 private:
  bool is_plain(const ArrayArg& array, bool of_cells) const;
  void choose(const ArrayArg& x, const ArrayArg* g, const ArrayArg& target);
  char* plane_of(const TermArray& array, int64_t plane) const;
  int64_t term_rows() const;      // that are held at most,
  int64_t quotient_rows() const;  // and of quotients
  // The rows that are held, without those before `needed`.
  static void keep(Range needed, int64_t row, float* lanes, Range* held);
  void find_terms(int64_t plane, Range needed, Worker* w) const;
  void find_quotients(int64_t plane, Range needed, Worker* w) const;
  const float* pads_of(int64_t output, Worker* w) const;
  // f(rows of outputs that lack the same taps, their terms, what pads add)
  template <class F>
  void each_kind(Range outputs, Worker* w, F f) const;

  const Plan& plan_;
  bool gradient_;
  int row_axis_ = 0, lane_axis_ = 0;  // of the array
  TermArray x_, g_, target_;
  TermBox whole_;  // of the target
  SmoothRows shape_;
  int64_t rows_ = 0;  // of the target in a band
  PlaneTasks tasks_;
  bool streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_SMOOTH_PLANES_H_
