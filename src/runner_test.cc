#include "runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "machine.h"

#if defined(__linux__)
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {
std::atomic<int64_t> allocations{0};

void* counted_allocation(std::size_t bytes) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(bytes > 0 ? bytes : 1);
}
}  // namespace

// Every allocation of this program passes here, so that a test can count those of a call. The
// deletes are not inlined, because GCC then takes their `free` for a mismatch with `new`.
void* operator new(std::size_t bytes) {
  void* memory = counted_allocation(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted_allocation(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}

namespace ndpool {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds(20);

// Runs `body(i)` for each i in [0, n) on the default runner.
template <typename F>
void parallel_for(int64_t n, F&& body) {
  const Runner runner = default_runner();
  using Callable = std::remove_reference_t<F>;
  runner.parallel_for(
      runner.context, n, [](void* arg, int64_t i) { (*static_cast<Callable*>(arg))(i); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

// How many of the numbers in [0, n) a call does not visit exactly once.
int64_t wrong_visits(int64_t n) {
  const auto size = static_cast<std::size_t>(n);
  const std::unique_ptr<std::atomic<int>[]> visits(new std::atomic<int>[size]());
  parallel_for(n, [&](int64_t i) { visits[static_cast<std::size_t>(i)].fetch_add(1); });
  int64_t wrong = 0;
  for (std::size_t i = 0; i < size; ++i) wrong += visits[i].load() != 1 ? 1 : 0;
  return wrong;
}

// Whether `count` tasks are inside their bodies at the same moment: each waits for all the others.
bool all_meet(int count) {
  std::atomic<int> inside{0};
  std::atomic<int> met{0};
  const auto deadline = steady_clock::now() + kPatience;
  parallel_for(count, [&](int64_t) {
    inside.fetch_add(1);
    while (inside.load() < count && steady_clock::now() < deadline) std::this_thread::yield();
    if (inside.load() == count) met.fetch_add(1);
  });
  return met.load() == count;
}

// Each test starts and ends with the default thread count and without the variable.
class RunnerTest : public ::testing::Test {
 protected:
  void SetUp() override { reset(); }
  void TearDown() override { reset(); }

 private:
  static void reset() {
    unsetenv("NDPOOL_NUM_THREADS");
    ASSERT_TRUE(set_num_threads(0));
  }
};

TEST_F(RunnerTest, EveryTaskRunsExactlyOnce) {
  for (const int threads : {1, 2, 3, 7, 2}) {
    ASSERT_TRUE(set_num_threads(threads));
    for (const int64_t n : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 100, 1000, 20000}) {
      EXPECT_EQ(wrong_visits(n), 0) << "n " << n << " threads " << threads;
    }
    for (int repeat = 0; repeat < 300; ++repeat) {
      ASSERT_EQ(wrong_visits(repeat % 11), 0) << "n " << repeat % 11 << " threads " << threads;
    }
  }
}

TEST_F(RunnerTest, ANegativeNumberOfTasksRunsNone) {
  ASSERT_TRUE(set_num_threads(3));
  int calls = 0;
  parallel_for(-5, [&](int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

TEST_F(RunnerTest, WhatTheTasksWriteIsVisibleToTheCaller) {
  ASSERT_TRUE(set_num_threads(7));
  for (int64_t repeat = 0; repeat < 500; ++repeat) {
    std::vector<int64_t> values(64, repeat);  // Plain memory, so that tsan can object.
    parallel_for(64, [&](int64_t i) { values[static_cast<std::size_t>(i)] += i; });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), 64 * repeat + 2016);
  }
}

TEST_F(RunnerTest, AsManyThreadsAsAskedWorkAtOnce) {
  for (const int threads : {2, 3, 7}) {
    ASSERT_TRUE(set_num_threads(threads));
    EXPECT_TRUE(all_meet(threads)) << threads << " threads";
  }
}

TEST_F(RunnerTest, NoMoreThreadsThanAskedWorkAtOnceEvenNestedInALargerPool) {
  ASSERT_TRUE(set_num_threads(7));
  ASSERT_TRUE(all_meet(7));
  for (const int threads : {1, 2, 3}) {
    ASSERT_TRUE(set_num_threads(threads));
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    parallel_for(8, [&](int64_t) {
      parallel_for(8, [&](int64_t) {
        const int now = inside.fetch_add(1) + 1;
        int seen = most.load();
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        inside.fetch_sub(1);
      });
    });
    EXPECT_LE(most.load(), threads);
  }
}

TEST_F(RunnerTest, ARunnerWithANumberOfItsOwnIgnoresTheSetting) {
  ASSERT_TRUE(set_num_threads(1));
  struct Meeting {
    std::atomic<int> present{0};
    std::atomic<bool> met{false};
  } meeting;
  const Runner runner = default_runner(2);
  runner.parallel_for(
      runner.context, 2,
      [](void* arg, int64_t) {
        auto& m = *static_cast<Meeting*>(arg);
        if (m.present.fetch_add(1) == 1) m.met = true;
        for (int i = 0; i < 10000 && !m.met; ++i) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
      },
      &meeting);
  EXPECT_TRUE(meeting.met) << "the second task waited for the first to end";
}

TEST_F(RunnerTest, ConcurrentCallersEachGetTheirOwnTasksDone) {
  for (const int threads : {2, 3, 7}) {
    ASSERT_TRUE(set_num_threads(threads));
    std::atomic<int64_t> wrong{0};
    std::vector<std::thread> callers;
    callers.reserve(5);
    for (int caller = 0; caller < 5; ++caller) {
      callers.emplace_back([&wrong, caller] {
        for (int64_t n = 0; n < 200; ++n) wrong.fetch_add(wrong_visits(n % 40 + caller));
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(wrong.load(), 0) << threads << " threads";
  }
}

// The first two callers meet inside their tasks, so the second cannot have waited for the first.
TEST_F(RunnerTest, ACallerDoesNotWaitForAnotherCallersTasks) {
  ASSERT_TRUE(set_num_threads(2));
  std::atomic<int> inside{0};
  std::atomic<int> met{0};
  const auto call = [&] {
    const auto deadline = steady_clock::now() + kPatience;
    std::atomic<bool> first{true};
    parallel_for(2, [&](int64_t) {
      if (first.exchange(false)) inside.fetch_add(1);
      while (inside.load() < 2 && steady_clock::now() < deadline) std::this_thread::yield();
      if (inside.load() == 2) met.fetch_add(1);
    });
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(met.load(), 4);
}

TEST_F(RunnerTest, TasksMayThemselvesCallParallelFor) {
  for (const int threads : {1, 2, 3, 7}) {
    ASSERT_TRUE(set_num_threads(threads));
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::atomic<int64_t> sum{0};
      parallel_for(6, [&](int64_t i) {
        parallel_for(5, [&](int64_t j) {
          parallel_for(4, [&](int64_t k) { sum.fetch_add(100 * i + 10 * j + k); });
        });
      });
      ASSERT_EQ(sum.load(), 20 * 100 * 15 + 24 * 10 * 10 + 30 * 6) << threads << " threads";
    }
  }
}

TEST_F(RunnerTest, AfterTheFirstCallsNothingIsAllocated) {
  ASSERT_TRUE(set_num_threads(3));
  ASSERT_TRUE(all_meet(3));  // Every worker has started and reached its first task.
  std::atomic<int64_t> sum{0};
  const auto body = [&](int64_t i) { sum.fetch_add(i); };
  const int64_t before = allocations.load();
  for (int repeat = 0; repeat < 1000; ++repeat) parallel_for(10, body);
  EXPECT_EQ(allocations.load() - before, 0);
  EXPECT_EQ(sum.load(), 45000);
  const std::vector<int> control(10);
  EXPECT_GT(allocations.load(), before) << "allocations are not being counted";
}

TEST_F(RunnerTest, TheThreadCountCanBeSetAndReset) {
  const int usual = get_num_threads();
  EXPECT_EQ(usual, usable_cpus());
  for (const int threads : {1, 3, kMaxThreads}) {
    EXPECT_TRUE(set_num_threads(threads));
    EXPECT_EQ(get_num_threads(), threads);
  }
  EXPECT_FALSE(set_num_threads(-1));
  EXPECT_FALSE(set_num_threads(kMaxThreads + 1));
  EXPECT_EQ(get_num_threads(), kMaxThreads);
  EXPECT_TRUE(set_num_threads(0));
  EXPECT_EQ(get_num_threads(), usual);
}

TEST_F(RunnerTest, TheEnvironmentGivesTheDefaultIfItIsAWholeNumberInRange) {
  const auto count_with = [](const char* text) {
    setenv("NDPOOL_NUM_THREADS", text, 1);
    EXPECT_TRUE(set_num_threads(0));
    return get_num_threads();
  };
  EXPECT_EQ(count_with("1"), 1);
  EXPECT_EQ(count_with("17"), 17);
  EXPECT_EQ(count_with("1024"), 1024);
  for (const char* text : {"", "0", "-3", "1025", "+4", "4.0", " 4", "4 ", "4x", "four", "0x4",
                           "99999999999999999999"}) {
    EXPECT_EQ(count_with(text), usable_cpus()) << '"' << text << '"';
  }
  count_with("17");
  EXPECT_TRUE(set_num_threads(5));
  EXPECT_EQ(get_num_threads(), 5) << "a number that was set goes before the environment";
}

#if defined(__GLIBC__)
// Threads are refused for real: no address space holds a stack of the size made the default here.
TEST_F(RunnerTest, WithoutNewThreadsTheWorkIsDoneByThoseThereAre) {
  ASSERT_TRUE(set_num_threads(2));
  ASSERT_TRUE(all_meet(2));
  pthread_attr_t usual;
  pthread_attr_t impossible;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&impossible), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&impossible, std::size_t{1} << 56), 0);
  ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
  ASSERT_TRUE(set_num_threads(40));
  bool refused = false;
  try {
    std::thread([] {}).join();
  } catch (const std::system_error&) {
    refused = true;
  }
  int64_t wrong = 0;
  for (int repeat = 0; repeat < 100; ++repeat) wrong += wrong_visits(100);
  const bool two_still_meet = all_meet(2);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
  EXPECT_TRUE(refused) << "the test did not manage to have threads refused";
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(two_still_meet);
  for (int repeat = 0; repeat < 300; ++repeat) EXPECT_EQ(wrong_visits(40), 0);
  EXPECT_TRUE(all_meet(40)) << "the pool did not grow once threads could be had again";
}
#endif

// Thread sanitizer does not follow the child of a process with threads.
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)

// Waits for a child and returns its wait status; kills it and returns -1 if it does not end in
// time.
int wait_patiently(pid_t child) {
  const auto deadline = steady_clock::now() + kPatience;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (steady_clock::now() > deadline) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

// Forks, runs `work` in the child and leaves with exit code 0 if it returns true, through `leave`.
template <typename Work>
int status_of_child(Work work, void (*leave)(int)) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    leave(work() ? 0 : 1);
  }
  return child > 0 ? wait_patiently(child) : -2;
}

bool works_with_three_threads() { return wrong_visits(50) == 0 && all_meet(3); }

// Other threads are in the middle of calls, and often hold the pool's mutex, at the fork. They have
// all started and allocate nothing: address sanitizer's allocator could be left locked in the
// child.
TEST_F(RunnerTest, AChildForkedDuringOtherThreadsCallsHasAPoolOfItsOwn) {
  ASSERT_TRUE(set_num_threads(3));
  ASSERT_TRUE(all_meet(3));
  std::atomic<bool> stop{false};
  std::atomic<int> calling{0};
  std::atomic<int64_t> wrong{0};
  std::vector<std::thread> callers;
  callers.reserve(2);
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&] {
      calling.fetch_add(1);
      while (!stop.load()) {
        std::atomic<int64_t> sum{0};
        parallel_for(4, [&](int64_t i) { sum.fetch_add(i); });
        wrong.fetch_add(sum.load() != 6 ? 1 : 0);
      }
    });
  }
  while (calling.load() < 2) std::this_thread::yield();
  for (int repeat = 0; repeat < 40; ++repeat) {
    const int status = status_of_child(works_with_three_threads, _exit);
    EXPECT_EQ(status, 0) << "fork " << repeat << " (-1: hung)";
    if (status != 0) break;
  }
  stop.store(true);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_TRUE(works_with_three_threads()) << "in the parent, after the forks";
}

// An ordinary exit runs destructors and, where there is one, the leak checker.
TEST_F(RunnerTest, AChildAndItsOwnChildExitInTheOrdinaryWay) {
  ASSERT_TRUE(set_num_threads(3));
  ASSERT_TRUE(all_meet(3));
  const auto work_and_fork = [] {
    return works_with_three_threads() &&
           status_of_child(works_with_three_threads, std::exit) == 0 && works_with_three_threads();
  };
  EXPECT_EQ(status_of_child(work_and_fork, std::exit), 0);
}

TEST_F(RunnerTest, AProcessExitsWhileAnotherThreadIsInsideACall) {
  const auto work = [] {
    static std::atomic<bool> inside{false};
    std::thread([] {
      parallel_for(3, [](int64_t) {
        inside.store(true);
        std::this_thread::sleep_for(std::chrono::hours(1));
      });
    }).detach();
    while (!inside.load()) std::this_thread::yield();
    return true;
  };
  ASSERT_TRUE(set_num_threads(3));
  EXPECT_EQ(status_of_child(work, std::exit), 0);
}

#endif

}  // namespace
}  // namespace ndpool
