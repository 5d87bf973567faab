// Max, min and averages over small planes, channels first: each plane is joined at every place of
// scratch in passes of 2 or 4 neighbours, down and then along, as if it were one row; short rows
// cost no more than long ones. Of max and min, rows of a few vectors at stride 1 are joined in
// registers instead.
#ifndef NDPOOL_SRC_SHEETS_H_
#define NDPOOL_SRC_SHEETS_H_

#include <cstdint>
#include <string>

#include "call.h"
#include "finish.h"
#include "layout.h"
#include "plan.h"

namespace ndpool {

class SheetsJob : public Job {
 public:
  // From g to dx: the VJP of averages.
  SheetsJob(const Plan& plan, const Space& space, From from, const Bound& source,
            const Bound& target);

  // Whole planes without gaps, of short rows; outputs of a row 1 or 2 cells apart.
  bool possible() const { return possible_; }
  int64_t tasks() const { return space_.outer_total() * groups_; }
  int64_t grain() const;
  std::string describe() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  void choose();
  // As axes of x and y: those of g and dx, which are outputs of windows of g, begin elsewhere.
  Axis axis_of(int i) const;
  void load(int64_t planes, const char* x, char* down) const;
  void put(int64_t planes, char* sums, char* y, AverageFinish* finish) const;
  void choose_held(const Axis& down, const Axis& along);
  int64_t plan_axis(int64_t window, int64_t step, int64_t places, SheetAxis* axis) const;
  int64_t plan_extremes(int64_t window, int64_t step, int64_t places, int64_t room,
                        SheetAxis* axis) const;

  const Plan& plan_;
  const Space& space_;
  From from_;
  const Bound &x_, &y_;  // or g and dx
  Sheet sheet_;
  HeldRows held_;
  bool is_held_ = false;
  Lane lane_ = Lane::f32;
  int64_t lane_size_ = 0;
  bool native_ = false;    // elements are lanes already
  bool finished_ = false;  // by the kernel: nothing is left to divide or to convert
  int64_t down_lanes_ = 0, along_lanes_ = 0;  // of scratch
  int64_t together_ = 1;                      // planes in scratch
  int64_t task_planes_ = 1, groups_ = 0;
  bool staged_ = false, streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_SHEETS_H_
