// The VJP of max and min, for windows of few taps: each cell looks at the windows that hold it, and
// takes the gradient of those that it won. Compared with sending gradients from windows to cells,
// this needs no scattered stores, and rows of cells are computed side by side.
#ifndef NDPOOL_SRC_SPREAD_H_
#define NDPOOL_SRC_SPREAD_H_

#include "call.h"
#include "plan.h"
#include "rows.h"
#include "runs.h"
#include "tap_list.h"

namespace ndpool {

class SpreadJob : public Job {
 public:
  SpreadJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
            const Bound& dx);
  SpreadJob(const SpreadJob&) = delete;
  SpreadJob& operator=(const SpreadJob&) = delete;

  bool possible() const { return possible_; }
  const BandTasks& tasks() const { return tasks_; }

  void work(Arena* arena, TaskQueue* queue) const override;

  // What one thread needs; and all tasks in one go, for who runs them again on other contents of
  // the same memory.
  struct Worker {
    Worker(const SpreadJob& job, Arena* arena);
    char* g;
    char* taps;
    char* apart;
    char* results;
    TapList lists[2];
  };
  void run_all(Worker* worker) const { run_tasks({0, tasks_.total()}, worker); }

 private:
  struct Source;  // the loaded rows of one band
  struct Layout {
    int64_t plane, row, position;  // elements
  };

  void choose_cut();
  void run_tasks(Range range, Worker* w) const;
  void run(const BandTask& task, Worker* w) const;
  Source load(const BandTask& task, Worker* w) const;
  Source in_place(const BandTask& task) const;
  void load_array(const Bound& array, LoadFn kernel, int64_t size, const BandTask& task,
                  const Source& source, char* to) const;
  bool pairs(const BandTask& task, const Source& source, Worker* w) const;
  void phases(const BandTask& task, const Source& source, Worker* w) const;
  void channels(const BandTask& task, const Source& source, Worker* w) const;
  // The list of windows that hold a cell of `row` and of `last` (runs of the last two axes), and
  // what a kernel call for them reads (no taps: there are none).
  void list(const BandTask& task, const Source& source, const Run& row, const Run& last,
            TapList* list) const;
  TapRows rows_of(const BandTask& task, const Source& source, const Run& row, const Run& last,
                  TapList* list) const;
  void clear(const TapRows& t) const;
  Layout layout_of(const BandTask& task) const;
  void put(const BandTask& task, Worker* w) const;
  char* at(void* memory, int64_t elements) const {
    return static_cast<char*>(memory) + elements * size_;
  }

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &argmax_, &dx_;
  Line lines_[kMaxPooled];
  int last_, row_;
  Lane lane_;
  int64_t size_;
  // Where g and the winners lie, lanes are read there; where dx does, they are written there.
  bool possible_ = false, wide_ = false, read_in_place_ = false, in_place_ = false,
       streaming_ = false;
  int64_t planes_ = 1, rows_ = 1, cells_ = 1, inner_ = 1;  // of a band
  int64_t loaded_ = 0, results_ = 0, apart_ = 0;           // elements
  BandTasks tasks_;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_SPREAD_H_
