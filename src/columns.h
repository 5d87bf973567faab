// Max, min and averages over small squares (f32, halves, integers of one and two bytes), of f32
// also with their argmax: vectors of outputs go down the rows, and what the next window shares with
// one stays in registers.
#ifndef NDPOOL_SRC_COLUMNS_H_
#define NDPOOL_SRC_COLUMNS_H_

#include <cstdint>
#include <string>

#include "call.h"
#include "layout.h"
#include "line.h"
#include "plan.h"
#include "plane_tasks.h"
#include "staged.h"

namespace ndpool {

class ColumnsJob : public Job {
 public:
  // y or argmax may be absent.
  ColumnsJob(const Plan& plan, const Space& space, const Bound& x, const Bound* y,
             const Bound* argmax);
  // The VJP of averages.
  ColumnsJob(const Plan& plan, const Space& space, const Bound& g, const Bound& dx);

  // Whole planes without gaps; windows of 2x2 or 3x3 cells, 1 or 2 apart, on the last two axes, of
  // some planes on the axes before; rows of some vectors.
  bool possible() const { return possible_; }
  const PlaneTasks& tasks() const { return tasks_; }
  std::string describe() const;
  Lane lane() const;  // in which it computes

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  static constexpr int64_t kMostBytes = 56 * 1024;  // of scratch
  static constexpr int64_t kMostPlanes = 64;        // of a window

  // An axis of x and y, or of g and dx, which are outputs of windows of g.
  struct Side {
    int64_t cells, outputs, window, stride, pad, dilation;
    int64_t extent() const { return (window - 1) * dilation + 1; }
    int64_t behind() const { return (outputs - 1) * stride - pad + extent() - cells; }
    bool is_fit() const;
  };
  // Some rows of outputs of a plane of y, or all of some planes; room for rows of cells that are
  // made first: of g, divided, or of planes, joined.
  void band(Range planes, Range rows, void* made, Staged* staged) const;
  // What the kernels make of some rows.
  void pool(ColumnRows* c) const;
  void pool_dilated(const char* x, Range rows, const ColumnRows& c) const;
  void choose();
  bool is_lead_fit() const;
  // Gives c rows from `first` on of the planes that a window holds on the axes before the last two:
  // joined in `to`, or where they lie if it holds one.
  void join(const char* x, int64_t window, int64_t first, int64_t lanes, void* to,
            ColumnRows* c) const;
  // Some rows of outputs of a plane, as far as all have that in common.
  ColumnRows rows_of(Range rows) const;
  // Windows of some planes that are pooled before they are joined.
  void choose_pooled_planes();
  PlaneTasks pooled_plane_tasks() const;
  void pool_planes(int64_t task, Range windows, char* slots, Staged* staged) const;
  // To a slot; meanwhile about `sent` bytes of what is finished go past the caches with each row.
  void pool_plane(const char* x, Range rows, int64_t sent, char* to, Staged* staged) const;
  void choose_same_rows();
  void pool_same_rows(Range planes) const;
  void choose_halved_rows();
  bool pool_halved_rows(Range planes) const;  // false: they hold NaN, and are not finished
  const HalvedRowKernels& halved_row_kernels() const;
  bool has_adjacent_planes() const;
  // How many whole planes are worth taking together.
  int64_t planes_together() const;
  int64_t made_lanes() const;
  int64_t staged_bytes() const;

  const Plan& plan_;
  const Space& space_;
  const ColumnKernels& kernels_;
  const Bound& x_;
  const Bound *y_, *argmax_;
  int64_t size_;  // bytes of an element
  bool gradient_;
  Side down_{}, along_{};
  int lead_ = 0;              // axes before the last two
  int64_t lead_outputs_ = 1;  // windows on them
  int64_t divisor_ = 1;
  int64_t planes_ = 0;                 // in all
  int64_t rows_ = 0, together_ = 1;    // of outputs in a band; whole planes in one
  int64_t slots_ = 0, slot_rows_ = 0;  // for planes that are joined when they are pooled
  PlaneTasks tasks_;
  bool streaming_ = false, far_ = false, same_rows_ = false, halved_rows_ = false,
       in_order_streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_COLUMNS_H_
