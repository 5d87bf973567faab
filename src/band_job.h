// Forward, argmax and the VJP of avg by bands, for windows of moderate size.
#ifndef NDPOOL_SRC_BAND_JOB_H_
#define NDPOOL_SRC_BAND_JOB_H_

#include <string>

#include "band.h"
#include "call.h"
#include "finish.h"
#include "padded.h"
#include "plan.h"
#include "staged.h"

namespace ndpool {

class BandJob : public Job {
 public:
  // Values of max or min in y, compact tap numbers of its winners in argmax; each may be null.
  BandJob(const Plan& plan, const Space& space, const Bound& x, const Bound* y, const Bound* argmax,
          bool last_winner);
  // Averages of type `type`, or (transposed) their VJP.
  BandJob(const Plan& plan, const Space& space, const Bound& target, int type,
          const Reduction& reduction);
  BandJob(const BandJob&) = delete;
  BandJob& operator=(const BandJob&) = delete;

  // In words, for explain.
  std::string describe() const;
  bool possible() const { return padded_.possible || work_.cut.form != BandForm::none; }
  const BandTasks& tasks() const { return tasks_; }

  void work(Arena* arena, TaskQueue* queue) const override;

  // What one thread needs; and all tasks in one go, for who runs them again on other contents of
  // the same memory.
  struct Worker {
    Worker(const BandJob& job, Arena* arena);
    Band band;
    Padded padded;
    void* results;
    Staged staged;  // or there
    void* index;
    AverageFinish finish;
  };
  void run_all(Worker* worker) const { run_tasks({0, tasks_.total()}, worker); }

 private:
  void choose(TapsFn combine, bool winners, bool last_winner);
  void run_tasks(Range range, Worker* worker) const;
  void run(const BandTask& task, Worker* worker) const;
  void divide(const BandTask& task, const BandTarget& target) const;
  void put(const BandTask& task, Worker* worker) const;
  void put_averages(const BandTask& task, Worker* worker, char* to) const;
  Strided shape_in(const Bound& array, const BandTask& task) const;

  const Plan& plan_;
  const Space& space_;
  const Bound* y_;
  int type_;  // of y
  const Bound* argmax_;
  Reduction reduction_;
  BandWork work_;
  PaddedCut padded_;
  BandTasks tasks_;
  bool finish_ = false;     // sums that are yet to be divided
  int64_t divisor_ = 0;     // of all sums, if not 0
  bool divides_ = false;    // the kernels themselves do so
  bool in_place_ = false;   // y's elements are the lanes, side by side
  bool paced_ = false;      // results go past the caches while others are computed
  bool streaming_ = false;  // y is large, and a band of it one piece of memory
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_BAND_JOB_H_
