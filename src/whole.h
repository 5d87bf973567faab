// Windows that are whole planes, channels first: max and min over any number of axes, averages of
// f32 and f64 over one or two.
#ifndef NDPOOL_SRC_WHOLE_H_
#define NDPOOL_SRC_WHOLE_H_

#include <cstdint>
#include <string>

#include "call.h"
#include "layout.h"
#include "plan.h"

namespace ndpool {

class WholeJob : public Job {
 public:
  WholeJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y);

  // Planes without gaps, enough of them for all threads.
  bool possible() const { return possible_; }
  int64_t tasks() const { return space_.outer_total() * space_.batch; }
  int64_t grain() const;
  std::string describe() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  // Planes that follow one another in the batch.
  void reduce(int64_t planes, const char* x, char* y) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &x_, &y_;
  int64_t cells_ = 1;               // of a plane
  int64_t rows_ = 1, columns_ = 1;  // the same, of two axes
  int64_t divisor_ = 1;
  bool far_ = false;  // cells are not in the caches
  bool possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_WHOLE_H_
