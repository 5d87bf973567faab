// With the caller's scratch and runner a call allocates nothing: not through operator new, not
// through malloc. Without, it takes little, whatever the array's size. A program of its own,
// because it replaces malloc.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "ndpool/ndpool.hpp"

namespace {

std::atomic<long> g_allocations = 0;
std::atomic<long> g_bytes = 0;  // taken and not given back yet
std::atomic<long> g_most_bytes = 0;
std::atomic<bool> g_counting = false;

[[maybe_unused]] void* count(void* memory, std::size_t bytes) {
  if (g_counting.load(std::memory_order_relaxed)) {
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    const long now = g_bytes.fetch_add(static_cast<long>(bytes)) + static_cast<long>(bytes);
    long most = g_most_bytes;
    while (now > most && !g_most_bytes.compare_exchange_weak(most, now)) {
    }
  }
  return memory;
}

}  // namespace

// The sanitizers bring an allocator of their own, which must not be replaced.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
#define COUNTS_ALLOCATIONS 1

// glibc's own names for its allocator: replacing malloc this way needs no lookup, which would
// itself allocate. operator new ends in malloc, so it is counted too.
extern "C" {
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier)
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)

void* malloc(std::size_t size) {
  void* const memory = __libc_malloc(size);
  return count(memory, malloc_usable_size(memory));
}
void* calloc(std::size_t number, std::size_t size) {
  void* const memory = __libc_calloc(number, size);
  return count(memory, malloc_usable_size(memory));
}
void* realloc(void* old, std::size_t size) {
  const std::size_t before = malloc_usable_size(old);
  void* const memory = __libc_realloc(old, size);
  count(memory, malloc_usable_size(memory));
  if (g_counting.load(std::memory_order_relaxed)) g_bytes.fetch_sub(static_cast<long>(before));
  return memory;
}
void* memalign(std::size_t alignment, std::size_t size) {
  void* const memory = __libc_memalign(alignment, size);
  return count(memory, malloc_usable_size(memory));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  *memory = memalign(alignment, size);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (g_counting.load(std::memory_order_relaxed)) {
    g_bytes.fetch_sub(static_cast<long>(malloc_usable_size(memory)));
  }
  __libc_free(memory);
}
}
#else
#define COUNTS_ALLOCATIONS 0
#endif

namespace {

using ndpool::Exec;
using ndpool::Plan;

// The allocations of one call.
template <class Call>
long allocations_of(Call call) {
  g_allocations = g_bytes = g_most_bytes = 0;
  g_counting = true;
  call();
  g_counting = false;
  return g_allocations;
}

// Runs a line's problem with the caller's scratch and runner; says how often each call allocated.
void expect_no_allocation(const std::string& line, int threads) {
  const Plan plan = Plan::parse(line).value();
  std::vector<std::byte> scratch(plan.scratch_bytes(threads));
  const Exec exec = {.threads = threads,
                     .runner =
                         [](std::int64_t n, const ndpool::Task& task) {
                           for (std::int64_t i = 0; i < n; ++i) task(i);
                         },
                     .scratch = scratch};
  const auto outputs = static_cast<std::size_t>(plan.output_count());
  const std::vector<float> x(static_cast<std::size_t>(plan.input_count()), 1.5F);
  const std::vector<float> g(outputs, 1.0F);
  std::vector<float> y(outputs);
  std::vector<float> dy(outputs);
  std::vector<float> dx(x.size());
  bool right = true;
  EXPECT_EQ(allocations_of([&] { right &= plan.try_forward(x, y, exec).has_value(); }), 0)
      << "forward of " << line << ", " << threads << " threads";
  EXPECT_EQ(allocations_of([&] { right &= plan.try_jvp(x, x, y, dy, exec).has_value(); }), 0)
      << "jvp of " << line << ", " << threads << " threads";
  EXPECT_EQ(allocations_of([&] { right &= plan.try_vjp(x, g, dx, exec).has_value(); }), 0)
      << "vjp of " << line << ", " << threads << " threads";
  const bool one_winner = line.find("ties=") == std::string::npos;
  if (one_winner && (line.starts_with("max") || line.starts_with("min"))) {
    ndpool::Compact argmax = plan.make_argmax();
    std::vector<std::int64_t> index(outputs);
    EXPECT_EQ(
        allocations_of([&] { right &= plan.try_forward(x, y, argmax, index, exec).has_value(); }),
        0)
        << "forward with argmax of " << line << ", " << threads << " threads";
    EXPECT_EQ(
        allocations_of([&] { right &= plan.try_vjp_argmax(argmax, g, dx, exec).has_value(); }), 0)
        << "vjp from argmax of " << line << ", " << threads << " threads";
  }
  EXPECT_TRUE(right) << line;
}

TEST(Allocation, TheCounterCounts) {
  if (!COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer's allocator is not replaced";
  EXPECT_GT(allocations_of([] { std::free(std::malloc(10)); }), 0);
  EXPECT_GT(allocations_of([] { ::operator delete(::operator new(10)); }), 0);
}

TEST(Allocation, CallsWithTheCallersScratchAndRunnerAllocateNothing) {
  if (!COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer's allocator is not replaced";
  for (const char* line :
       {"max f32 3x4x30x30 w2x2", "max f32 3x4x30x30 w3x3 s2 p1 ceil", "min f32 4x60x60 w31x31 s1",
        "avg f32 3x4x30x30 w3x3 s2 p1", "avg f32 2x60x60 w25x25 s1 p12 nopad",
        "smooth f32 3x4x30x30 w3x3 s2 p1", "lp f32 3x4x30x30 w3x3 s2 p=3",
        "max f32 3x30x30x4 w2x2 axes=1,2", "avg f32 6x30x30 a7x7",
        "max f32 6x30x30 global axes=1,2", "avg f32 6x30x30 global axes=0,1,2",
        "max f32 4x5x6x7x8 w2x2x2x2x2 s1", "max f32 8x20x20 w3x3 d2 ties=split"}) {
    for (const int threads : {1, 3}) expect_no_allocation(line, threads);
  }
}

TEST(Allocation, TheCallersScratchChangesNoBits) {
  for (const char* line : {"smooth f32 16x16 w3x3 s1 p1", "smooth f32 2x9x35 w3x3 s2 p1 beta=0.7",
                           "smooth f32 3x40x51 w2x2 s1", "smooth f32 2x30x40 w5x5 s2 p2",
                           "lp f32 16x16 w3x3 s1 p1 p=3", "smooth f32 5x700 w3 s2"}) {
    const Plan plan = Plan::parse(line).value();
    std::vector<float> x(static_cast<std::size_t>(plan.input_count()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) * 0.3F - 5;
    const std::vector<float> g(static_cast<std::size_t>(plan.output_count()), 1.5F);
    std::vector<float> y(g.size());
    std::vector<float> same_y(g.size());
    std::vector<float> dx(x.size());
    std::vector<float> same_dx(x.size());
    plan.forward(x, y, {.threads = 1});
    plan.vjp(x, g, dx, {.threads = 1});
    for (const int threads : {1, 3}) {
      std::vector<std::byte> scratch(plan.scratch_bytes(threads));
      const Exec exec = {.threads = threads, .scratch = scratch};
      plan.forward(x, same_y, exec);
      plan.vjp(x, g, same_dx, exec);
      EXPECT_EQ(y, same_y) << line;
      EXPECT_EQ(dx, same_dx) << line;
    }
  }
}

// Runs a line's problem as users do; says how much memory each call took at once.
template <class T>
void expect_little_memory(const std::string& line, int threads) {
  constexpr long kMost = 1 << 20;
  constexpr long kMostPerThread = 64 << 10;
  const Plan plan = Plan::parse(line).value();
  const Exec exec = {.threads = threads};
  const std::vector<T> x(static_cast<std::size_t>(plan.input_count()), T(1.5F));
  const std::vector<T> g(static_cast<std::size_t>(plan.output_count()), T(1.0F));
  std::vector<T> y(g.size());
  std::vector<T> dx(x.size());
  plan.forward(x, y, exec);  // the pool's threads are made once
  const auto check = [&](const char* name, auto call) {
    allocations_of(call);
    EXPECT_LE(g_most_bytes, kMost + kMostPerThread * threads)
        << name << " of " << line << ", " << threads << " threads";
  };
  check("forward", [&] { plan.forward(x, y, exec); });
  check("vjp", [&] { plan.vjp(x, g, dx, exec); });
  if (line.starts_with("smooth") || line.starts_with("lp")) {
    std::vector<T> dy(g.size());
    check("jvp", [&] { plan.jvp(x, x, y, dy, exec); });
  }
  if (line.starts_with("max") && line.find("ties=") == std::string::npos) {
    ndpool::Compact argmax = plan.make_argmax();
    check("forward with argmax", [&] { plan.forward(x, y, argmax, exec); });
    check("vjp from argmax", [&] { plan.vjp_argmax(argmax, g, dx, exec); });
  }
}

TEST(Allocation, BesideItsArraysACallTakesAMegabyteAndALittleForEachThread) {
  if (!COUNTS_ALLOCATIONS) GTEST_SKIP() << "the sanitizer's allocator is not replaced";
  for (const char* line : {"max f32 8x64x112x112 w2x2",
                           "max f32 8x64x112x112 w3x3 s2 p1",
                           "max f32 4x20x250x250 w3x3 s2 p1",
                           "max f32 4x112x112x64 w3x3 s2 p1 axes=1,2",
                           "avg f32 8x64x112x112 w3x3 s2 p1 nopad",
                           "avg f32 64x512x7x7 a3x3",
                           "max f32 64x512x7x7 a3x3",
                           "avg f32 64x2048x7x7 global axes=2,3",
                           "max f32 8x28x28x512 global axes=1,2",
                           "max f32 2x1x300x300 w31x31 s1 p15",
                           "avg f32 2x1x300x300 w101x101 s1 p50",
                           "max f32 1x1200x1200 w1000x1000 s20",
                           "avg f32 1x1200x1200 w1000x1000 s20",
                           "avg f32 2x40000 w1000 s1",
                           "max f32 2x40000 w1000 s7",
                           "max f32 8x64x64x8 w3x3x3 s1 p1",
                           "avg f32 7x1x100x2600 w15x870 s1",
                           "avg f32 7x1x256x256 w101x101 s1 p50 nopad",
                           "max f32 16x64x300x16 w3x3 s1 d30x1",
                           "lp f32 4x112x112 w3x3 s2 p=3 algorithm=rows",
                           "smooth f32 8x112x112 w3x3 s2 p1",
                           "smooth f32 2x112x112 w5x5 s2 p2",
                           "smooth f32 4x64x64x24 w3x3 s1 p1 axes=1,2",
                           "smooth f32 8x112x112 global axes=1,2",
                           "smooth f32 100x100 w31x31 s30",
                           "smooth f32 2x20000 w1000 s7",
                           "lp f32 8x112x112 w3x3 s2 p=3",
                           "lp f32 2x40x40x16 w3x3 axes=1,2",
                           "lp f32 100x100 w31x31 s30",
                           "lp f32 4x30x30x30 w3x3x3 s1 p=3",
                           "lp f32 2x100x100 a7x7 p=3",
                           "max f32 4x4x400x400 w2x2 ties=split",
                           "max f32 600x16x16 w3x3 s1 p1"}) {
    for (const int threads : {1, 2, 7, 40}) expect_little_memory<float>(line, threads);
  }
  for (const char* line : {"max f16 629x4x9x11 w4x6x4 s3x2x3 p0:0x1:0x0:1 ties=last",
                           "max f16 860x7x4x5 w3x3x1 s1 p2:0x0:0x0:0"}) {
    for (const int threads : {1, 7, 40}) expect_little_memory<ndpool::float16>(line, threads);
  }
}

}  // namespace
