// Who runs the tasks of a plan: the caller's own `parallel_for`, or the default pool of threads.
#ifndef NDPOOL_SRC_RUNNER_H_
#define NDPOOL_SRC_RUNNER_H_

#include <cstdint>

namespace ndpool {

// One task: called with the `arg` handed to parallel_for and the task's number. Must not throw, and
// must not fork and then return in the child.
using Body = void (*)(void* arg, int64_t i);

// Calls body(arg, i) for each i in [0, n), each exactly once, on any threads in any order, and
// returns when all are done. What the caller wrote before is visible to the bodies, and what they
// wrote is visible to the caller afterwards.
using ParallelFor = void (*)(void* context, int64_t n, Body body, void* arg);

struct Runner {
  void* context;
  ParallelFor parallel_for;
};

// The default pool. Its threads start when a call first needs them, and sleep between calls; the
// calling thread always takes part. May be used from several threads at once, from inside a body,
// and in a forked child. Never throws: with fewer threads than asked for it does the same work more
// slowly. After the first call with the same n and thread count a call allocates nothing.
// It uses `threads` threads, the caller's included; 0: as many as get_num_threads() says then.
Runner default_runner(int threads = 0) noexcept;

// The most threads a setting can ask for.
inline constexpr int kMaxThreads = 1024;

// The number of threads one call may use, the calling thread included. Unless set, it is the
// environment's NDPOOL_NUM_THREADS if that is a whole number in 1..1024, else usable_cpus().
int get_num_threads() noexcept;

// Sets that number, for calls that start afterwards; 0 goes back to the default and looks at the
// environment and the machine again. Outside 0..kMaxThreads: changes nothing and returns false.
bool set_num_threads(int n) noexcept;

}  // namespace ndpool

#endif  // NDPOOL_SRC_RUNNER_H_
