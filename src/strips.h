// Planes whose rows fit a vector, f32, channels first: rows are joined as they lie in memory, and
// the taps of all outputs of a row picked from one vector.
#ifndef NDPOOL_SRC_STRIPS_H_
#define NDPOOL_SRC_STRIPS_H_

#include <cstdint>
#include <string>

#include "call.h"
#include "layout.h"
#include "plan.h"

namespace ndpool {

class StripsJob : public Job {
 public:
  StripsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y);

  // Planes that follow one another without gaps; windows of up to four taps on one or two axes.
  bool possible() const { return possible_; }
  int64_t tasks() const { return space_.outer_total() * groups_; }
  int64_t grain() const;
  std::string describe() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  void choose();
  void pool(const Strip& strip, int64_t planes, const char* x, float* y) const;
  void fill(Strip::Window* windows, Strip* strip) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &x_, &y_;
  Strip strip_;
  int64_t results_ = 0;                // of a plane
  int64_t together_ = 1, groups_ = 0;  // planes of a task
  int64_t last_planes_ = 1;            // that a vector may reach over
  bool streaming_ = false, possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_STRIPS_H_
