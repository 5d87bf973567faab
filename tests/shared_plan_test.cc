// One plan in many hands: threads that run it at once, calls that are cancelled, a child after
// fork.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "ndpool/ndpool.hpp"

namespace {

using ndpool::Exec;
using ndpool::Plan;

#if defined(__SANITIZE_THREAD__)
constexpr bool kTsan = true;
#elif defined(__has_feature)
constexpr bool kTsan = __has_feature(thread_sanitizer);
#else
constexpr bool kTsan = false;
#endif

// An input that differs from `number` to `number`, with ties.
std::vector<float> input(const Plan& plan, unsigned number) {
  std::vector<float> x(static_cast<std::size_t>(plan.input_count()));
  std::uint32_t state = number * 2654435761U + 1;
  for (float& value : x) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 25);
  }
  return x;
}

struct Answer {
  std::vector<float> y, dy, dx;
  bool operator==(const Answer&) const = default;
};

// Forward, JVP and VJP of one input, with g = y.
Answer solve(const Plan& plan, unsigned number, const Exec& exec) {
  const std::vector<float> x = input(plan, number);
  const auto outputs = static_cast<std::size_t>(plan.output_count());
  Answer answer{std::vector<float>(outputs), std::vector<float>(outputs),
                std::vector<float>(x.size())};
  plan.forward(x, answer.y, exec);
  plan.jvp(x, x, ndpool::none, answer.dy, exec);
  plan.vjp(x, answer.y, answer.dx, exec);
  return answer;
}

TEST(SharedPlan, ManyThreadsAtOnceGetWhatEachWouldGetAlone) {
  constexpr unsigned kThreads = 8;
  for (const char* line : {"max f32 2x6x33x33 w3x3 s2 p1", "avg f32 2x6x33x33 w5x5 s1 p2",
                           "smooth f32 2x3x19x19 w3x3 s2", "min f32 3x33x33 w17x17 s1"}) {
    const Plan plan = Plan::parse(line).value();
    std::vector<Answer> expected;
    for (unsigned i = 0; i < kThreads; ++i) expected.push_back(solve(plan, i, {.threads = 1}));
    EXPECT_NE(expected[0].y, expected[1].y);
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (unsigned i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, plan, i] {  // a copy of the Plan: the same plan underneath
        for (int round = 0; round < 2; ++round) {
          const Exec exec = {.threads = 1 + static_cast<int>(i) % 3};
          if (!(solve(plan, i, exec) == expected[i])) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << line;
  }
}

TEST(SharedPlan, OneVolumeOrPlaneIsWorkForFourThreads) {
  for (const char* const line :
       {"max f32 32x112x112 w3x3x3 s2 p1", "max f32 16x128x128 w3x3x3 s1x2x2 p1",
        "max f32 500x500 w3x3 s2 p1"}) {
    const Plan plan = Plan::parse(line).value();
    const std::vector<float> x = input(plan, 1);
    std::vector<float> y(static_cast<std::size_t>(plan.output_count()));
    std::int64_t most = 0;
    const auto count = [&](std::int64_t n, const ndpool::Task& task) {
      most = std::max(most, n);
      for (std::int64_t i = 0; i < n; ++i) task(i);
    };
    plan.forward(x, y, Exec{.threads = 4, .runner = count});
    EXPECT_EQ(most, 4) << line;
  }
}

TEST(SharedPlan, PlansMayBeMadeAndDroppedByManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> refused = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&refused, i] {
      for (int round = 0; round < 20; ++round) {
        const auto plan = Plan::make({.shape = {4, 16 + i, 16 + round}, .window = {3, 3}});
        const auto bad = Plan::make({.shape = {4, 2, 16}, .window = {3, 3}});
        if (!plan || bad) ++refused;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
}

TEST(SharedPlan, ACancelledCallStopsAndLeavesThePlanUsable) {
  const Plan plan = Plan::parse("avg f32 32x8x40x40 w3x3 s1").value();
  const std::vector<float> x = input(plan, 1);
  std::vector<float> y(static_cast<std::size_t>(plan.output_count()));
  for (const int threads : {1, 2, 3}) {
    std::atomic<int> asked = 0;
    const Exec exec = {.threads = threads, .cancelled = [&asked] { return ++asked > 0; }};
    const auto result = plan.try_forward(x, y, exec);
    ASSERT_FALSE(result.has_value()) << threads << " threads";
    EXPECT_EQ(result.error().code, ndpool::Status::cancelled) << result.error().message;
    EXPECT_GE(asked, 1);
  }
  EXPECT_EQ(solve(plan, 1, {.threads = 2}), solve(plan, 1, {.threads = 1}));
}

TEST(SharedPlan, CancellingOneCallDoesNotDisturbAnother) {
  const Plan plan = Plan::parse("max f32 4x8x40x40 w3x3 s1").value();
  const Answer expected = solve(plan, 2, {.threads = 1});
  std::atomic<bool> done = false;
  std::thread canceller([&] {
    const std::vector<float> x = input(plan, 3);
    std::vector<float> y(static_cast<std::size_t>(plan.output_count()));
    while (!done) {
      (void)plan.try_forward(x, y, Exec{.threads = 2, .cancelled = [] { return true; }});
    }
  });
  for (int round = 0; round < 5; ++round) EXPECT_EQ(solve(plan, 2, {.threads = 2}), expected);
  done = true;
  canceller.join();
}

#if defined(__unix__)
TEST(SharedPlan, AChildForkedAfterUseCanUseThePlanWithThreads) {
  if (kTsan) GTEST_SKIP() << "the thread sanitizer does not follow threads after fork";
  const Plan plan = Plan::parse("max f32 8x8x40x40 w3x3 s2 p1").value();
  const Answer expected = solve(plan, 4, {.threads = 3});  // the pool's threads now exist
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a child that hangs ends by signal
    _exit(solve(plan, 4, {.threads = 3}) == expected ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(solve(plan, 4, {.threads = 3}), expected) << "the parent after the fork";
}
#endif

}  // namespace
