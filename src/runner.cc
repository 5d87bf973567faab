#include "runner.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>

#include "machine.h"

namespace ndpool {
namespace {

// One call of parallel_for. It lives on its caller's stack and is linked into the pool while
// helpers may join; the caller leaves only when none is inside. Fields but `next` are guarded by
// the pool's mutex or never change.
struct Job {
  Body body;
  void* arg;
  int64_t n;
  int places;       // Helpers that may still join.
  int helpers = 0;  // Helpers inside.
  Job* after = nullptr;
  std::atomic<int64_t> next{0};

  // Whether a helper that joins now would find a task. Once false it stays false.
  bool wants_help() const noexcept {
    return places > 0 && next.load(std::memory_order_relaxed) < n;
  }

  // Takes tasks until none is left. The mutex orders the data; the counter only has to hand out
  // each number once.
  void work() noexcept {
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= n) return;
      body(arg, i);
    }
  }
};

// Threads that help callers. Jobs wait in a list, oldest first, and a free worker joins the first
// that wants help. A caller never waits for a worker to come, only for those already inside its
// job, and while it waits it takes no other work. So nested and concurrent calls cannot deadlock: a
// thread only ever waits for threads that run a job started later than the one it stands in.
//
// A pool is never destroyed and its threads are detached: nothing to join at exit, and calls made
// by late destructors still work.
class Pool {
 public:
  // `previous` is the pool of the process that this one was forked from, if any. It is never
  // touched, since a thread that does not exist here may hold its mutex; it is kept reachable, so
  // that leak checkers do not report it.
  Pool(int64_t process, const Pool* previous) noexcept : process_(process), previous_(previous) {}

  int64_t process() const noexcept { return process_; }

  // Runs the job with at most `helpers` workers beside the caller.
  void run(Job& job, int helpers, int worker_limit) noexcept {
    int wake = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      grow(helpers);
      worker_limit_ = worker_limit;
      Job** last = &first_;
      while (*last != nullptr) last = &(*last)->after;
      *last = &job;
      wake = std::min(helpers, sleeping_);
    }
    for (; wake > 0; --wake) work_.notify_one();
    job.work();
    std::unique_lock<std::mutex> lock(mutex_);
    Job** link = &first_;
    while (*link != &job) link = &(*link)->after;
    *link = job.after;
    done_.wait(lock, [&job] { return job.helpers == 0; });
  }

 private:
  // Starts workers until there are `wanted`. If the system refuses one, goes on with those there
  // are and leaves the matter alone for some calls, since asking in vain is slow. Needs the mutex.
  void grow(int wanted) noexcept {
    if (workers_ >= wanted) return;
    if (calls_until_retry_ > 0) {
      --calls_until_retry_;
      return;
    }
    while (workers_ < wanted) {
      if (!start_detached_thread(&Pool::serve_forever, this)) {
        calls_until_retry_ = kCallsBetweenRetries;
        return;
      }
      ++workers_;
    }
  }

  static void* serve_forever(void* pool) noexcept {
    static_cast<Pool*>(pool)->serve();
    return nullptr;
  }

  // The life of a worker: join the oldest job that wants help, or sleep. `busy_` keeps the workers
  // that are awake within the last caller's thread count, also when the pool once grew beyond it.
  void serve() noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Job* job = busy_ < worker_limit_ ? first_ : nullptr;
      while (job != nullptr && !job->wants_help()) job = job->after;
      if (job == nullptr) {
        ++sleeping_;
        work_.wait(lock);
        --sleeping_;
        continue;
      }
      --job->places;
      ++job->helpers;
      ++busy_;
      lock.unlock();
      job->work();
      lock.lock();
      --busy_;
      // Once the mutex is free again the caller may return, and the job be gone.
      if (--job->helpers == 0) done_.notify_all();
    }
  }

  static constexpr int kCallsBetweenRetries = 256;

  const int64_t process_;
  [[maybe_unused]] const Pool* const previous_;
  std::mutex mutex_;
  std::condition_variable work_;  // A job was added.
  std::condition_variable done_;  // Some job's last helper left.
  Job* first_ = nullptr;
  int workers_ = 0;
  int sleeping_ = 0;
  int busy_ = 0;
  int worker_limit_ = 0;
  int calls_until_retry_ = 0;
};

std::atomic<Pool*> current_pool{nullptr};
std::atomic<int> chosen_threads{0};   // 0: none chosen.
std::atomic<int> default_threads{0};  // 0: not yet looked up.

// This process's pool, made on first use; null if there is no memory for one. A pool that was made
// by another process came here through a fork, without its threads.
Pool* pool_of_this_process() noexcept {
  const int64_t process = process_id();
  Pool* pool = current_pool.load(std::memory_order_acquire);
  if (pool != nullptr && pool->process() == process) return pool;
  Pool* fresh = new (std::nothrow) Pool(process, pool);
  if (fresh == nullptr) return nullptr;
  if (current_pool.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;  // Another thread was first; no worker has seen this one.
  return pool;
}

// Default runner: with one task or one thread, on the caller alone and without a pool.
// The context is the number of threads, as an address; none: get_num_threads().
void run_on_pool(void* context, int64_t n, Body body, void* arg) {
  const int asked = static_cast<int>(reinterpret_cast<intptr_t>(context));
  const int threads = asked > 0 ? asked : get_num_threads();
  const int helpers = static_cast<int>(std::min<int64_t>(n, threads)) - 1;
  Pool* pool = helpers > 0 ? pool_of_this_process() : nullptr;
  if (pool == nullptr) {
    for (int64_t i = 0; i < n; ++i) body(arg, i);
    return;
  }
  Job job{.body = body, .arg = arg, .n = n, .places = helpers};
  pool->run(job, helpers, threads - 1);
}

// The environment's thread count, 0 if it has none or not a whole number in range.
int threads_of_environment() noexcept {
  const char* text = std::getenv("NDPOOL_NUM_THREADS");
  if (text == nullptr) return 0;
  const char* end = text + std::strlen(text);
  int threads = 0;
  const auto [stop, error] = std::from_chars(text, end, threads);
  const bool whole = error == std::errc() && stop == end;
  return whole && threads >= 1 && threads <= kMaxThreads ? threads : 0;
}

}  // namespace

Runner default_runner(int threads) noexcept {
  return {reinterpret_cast<void*>(static_cast<intptr_t>(threads)), &run_on_pool};
}

int get_num_threads() noexcept {
  if (const int chosen = chosen_threads.load(std::memory_order_relaxed); chosen > 0) return chosen;
  int threads = default_threads.load(std::memory_order_relaxed);
  if (threads == 0) {
    threads = threads_of_environment();
    if (threads == 0) threads = std::min(usable_cpus(), kMaxThreads);
    default_threads.store(threads, std::memory_order_relaxed);
  }
  return threads;
}

bool set_num_threads(int n) noexcept {
  if (n < 0 || n > kMaxThreads) return false;
  if (n == 0) default_threads.store(0, std::memory_order_relaxed);
  chosen_threads.store(n, std::memory_order_relaxed);
  return true;
}

}  // namespace ndpool
