// Small windows of f32 on one or two axes, channels last: outputs are computed, and cells get their
// gradients, in the order of memory, and go past the caches straight from registers.
#ifndef NDPOOL_SRC_CHANNELS_H_
#define NDPOOL_SRC_CHANNELS_H_

#include <cstdint>
#include <string>

#include "call.h"
#include "kernels/channels.h"
#include "layout.h"
#include "plan.h"
#include "plane_tasks.h"

namespace ndpool {

class ChannelsJob : public Job {
 public:
  // Max, min and averages; argmax may be absent.
  ChannelsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y,
              const Bound* argmax);
  // The VJP of max and min.
  ChannelsJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
              const Bound& dx);

  // Whole planes without gaps, channels that fill vectors.
  bool possible() const { return possible_; }
  const PlaneTasks& tasks() const { return tasks_; }
  std::string describe() const;

  void work(Arena* arena, TaskQueue* queue) const override;

 private:
  bool choose();
  bool is_average_fit() const;
  void band(int64_t plane, Range rows) const;

  const Plan& plan_;
  const Space& space_;
  const Bound &from_, &to_;
  const Bound* argmax_;
  bool gradient_;
  ChannelRows rows_;  // what all bands have in common
  PlaneTasks tasks_;
  bool possible_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_CHANNELS_H_
