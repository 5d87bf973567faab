// One call of a plan: arrays checked, boxes resolved, tasks run. Everything that can be refused is
// refused here, before anything is written.
#ifndef NDPOOL_SRC_CALL_H_
#define NDPOOL_SRC_CALL_H_

#include <atomic>
#include <cstdint>

#include "arena.h"
#include "layout.h"
#include "line.h"
#include "ndpool/ndpool.h"
#include "plan.h"
#include "runner.h"

namespace ndpool {

// How the call runs, defaults filled in.
struct Exec {
  Runner runner{};
  int threads = 1;
  char* scratch = nullptr;
  size_t scratch_bytes = 0;
  int32_t (*cancelled)(void*) = nullptr;
  void* cancelled_context = nullptr;
};

// The cells from the first to the last that windows `outputs` hold; none: an empty range.
Range cells_of(const Axis& axis, Range outputs);

int32_t resolve_exec(const ndpool_exec* given, Exec* exec, ndpool_error* error);

// A box of an array, per axis; start nullptr: 0.
struct Box {
  const int64_t* start = nullptr;
  const int64_t* size = nullptr;
  Range on(int axis) const {
    const int64_t begin = start ? start[axis] : 0;
    return {begin, begin + size[axis]};
  }
};

struct Boxes {
  Box x, y, dx;
};

// Which arrays a call has, for checking what a tile must cover.
enum class Needs { forward, vjp_of_outputs, vjp_of_input };

int32_t resolve_boxes(const Plan& plan, const ndpool_exec* given, Needs needs, Boxes* boxes,
                      ndpool_error* error);

// An array of the call by name.
struct NamedArray {
  const char* name;
  ArrayArg arg;
  bool output;
};

ArrayArg array_arg(const void* data, const int64_t* strides, const Box& box, size_t element);

// Null data, strides that overflow, outputs that overlap themselves or another array.
int32_t check_arrays(int rank, const NamedArray* arrays, int count, ndpool_error* error);

// Hands out ranges of tasks to workers until there are none left, or the call is cancelled.
class TaskQueue {
 public:
  TaskQueue(int64_t tasks, int64_t grain, const Exec& exec)
      : tasks_(tasks), grain_(grain), exec_(exec) {}
  bool take(Range* range) {
    if (exec_.cancelled) {
      if (stopped_.load(std::memory_order_relaxed)) return false;
      if (exec_.cancelled(exec_.cancelled_context) != 0) {
        stopped_.store(true, std::memory_order_relaxed);
        return false;
      }
    }
    range->begin = next_.fetch_add(grain_, std::memory_order_relaxed);
    range->end = range->begin + grain_ < tasks_ ? range->begin + grain_ : tasks_;
    return range->begin < tasks_;
  }
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> next_{0};
  std::atomic<bool> stopped_{false};
  int64_t tasks_, grain_;
  const Exec& exec_;
};

// What a job starts from: x, to compute y; or g, to compute dx.
enum class From { x, g };

// What runs on one thread: takes ranges from the queue, with scratch of its own.
struct Job {
  virtual ~Job() = default;
  // Makes the worker's buffers from `arena` and, unless it only counts (queue nullptr), works.
  virtual void work(Arena* arena, TaskQueue* queue) const = 0;
};

// Threads and scratch for one job. Calls of several jobs reserve for all before any of them runs,
// so that nothing is written if there is too little.
class Reservation {
 public:
  Reservation() = default;
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  // `grain` tasks are worth a thread's while.
  int32_t make(const Job& job, int64_t tasks, int64_t grain, const Exec& exec, ndpool_error* error);
  int32_t run(const Job& job, const Exec& exec, ndpool_error* error);

 private:
  int64_t tasks_ = 0, threads_ = 1, step_ = 1;
  size_t each_ = 0;
  char* scratch_ = nullptr;
  char* owned_ = nullptr;
  alignas(Arena::kAlign) char small_[2048];
};

// How many of the threads a call can afford: beside its arrays it takes no more than 1 MiB, of
// which `used` bytes are gone, and 64 KiB for each thread. One at least, whatever it needs.
int64_t affordable_threads(int64_t threads, size_t each, size_t used);

// Whether the caller's scratch, if there is any, has room for a job.
bool fits_scratch(const Job& job, const Exec& exec);

// Reserves and runs.
int32_t run_job(const Job& job, int64_t tasks, int64_t grain, const Exec& exec,
                ndpool_error* error);

}  // namespace ndpool

#endif  // NDPOOL_SRC_CALL_H_
