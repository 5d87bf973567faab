// How cost grows: with the size of the array, from 1 KB to 1 GB, and with a second thread. Writes
// two tables in Markdown to standard output: `make bench-scaling`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/limit.h"
#include "ndpool/ndpool.hpp"

namespace ndpool::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The best time of each work, which take turns; short ones are repeated within a turn.
std::vector<double> best_of(const std::vector<std::function<void()>>& works) {
  constexpr int kTurns = 9;
  constexpr double kTurnSeconds = 0.01;
  std::vector<int> times(works.size());
  for (size_t i = 0; i < works.size(); ++i) {
    works[i]();
    times[i] = std::clamp(static_cast<int>(kTurnSeconds / seconds(works[i])), 1, 100000);
  }
  std::vector<double> best(works.size(), 1e9);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (size_t i = 0; i < works.size(); ++i) {
      const double all = seconds([&] {
        for (int k = 0; k < times[i]; ++k) works[i]();
      });
      best[i] = std::min(best[i], all / times[i]);
    }
  }
  return best;
}

struct Arrays {
  explicit Arrays(const Plan& plan)
      : cells(static_cast<size_t>(plan.input_count())),
        outputs(static_cast<size_t>(plan.output_count())),
        x(cells * sizeof(float), 37),
        y(outputs * sizeof(float)) {
    for (size_t i = 0; i < cells; ++i) input()[i] = static_cast<float>(i * 7919 % 1021) / 256 - 2;
  }
  float* input() const { return reinterpret_cast<float*>(x.data()); }
  float* output() const { return reinterpret_cast<float*>(y.data()); }
  double bytes() const { return static_cast<double>((cells + outputs) * sizeof(float)); }

  std::function<void()> pool(const Plan& plan, int threads) const {
    return [this, &plan, threads] {
      plan.forward(std::span<const float>(input(), cells), std::span<float>(output(), outputs),
                   Exec{.threads = threads});
    };
  }
  // The limit, each thread touching a part of the arrays.
  std::function<void()> limit(int threads, bool streaming) const {
    return [this, threads, streaming] {
      const auto part = [&](int i) {
        const auto cut = [&](size_t bytes, int at) {
          return bytes / 64 * static_cast<size_t>(at) / static_cast<size_t>(threads) * 64;
        };
        touch_once(x.data() + cut(x.size(), i), cut(x.size(), i + 1) - cut(x.size(), i),
                   y.data() + cut(y.size(), i), cut(y.size(), i + 1) - cut(y.size(), i), streaming);
      };
      std::vector<std::thread> others;
      for (int i = 1; i < threads; ++i) others.emplace_back(part, i);
      part(0);
      for (std::thread& other : others) other.join();
    };
  }

  size_t cells, outputs;
  Memory x, y;
};

void sizes() {
  std::printf("## Cost and size\n\n`max f32 Nx16x16 w2x2`, one thread.\n\n");
  std::printf("| N | in and out | time | ns per KB | limit, ns per KB |\n");
  std::printf("| ---: | ---: | ---: | ---: | ---: |\n");
  for (int64_t n = 1; n <= int64_t{1} << 20; n *= 4) {
    const Plan plan = Plan::parse("max f32 " + std::to_string(n) + "x16x16 w2x2").value();
    const Arrays arrays(plan);
    const std::vector<double> best =
        best_of({arrays.pool(plan, 1), arrays.limit(1, false), arrays.limit(1, true)});
    const double kilobytes = arrays.bytes() / 1024;
    std::printf("| %lld | %.4g KB | %.4g ms | %.1f | %.1f |\n", static_cast<long long>(n),
                kilobytes, best[0] * 1e3, best[0] * 1e9 / kilobytes,
                std::min(best[1], best[2]) * 1e9 / kilobytes);
    std::fflush(stdout);
  }
}

void threads() {
  std::printf("\n## Two threads\n\n");
  std::printf("| problem | one thread ms | two ms | ratio | ratio of the limits |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: |\n");
  for (const char* line :
       {"max f32 32x64x112x112 w2x2", "max f32 32x64x112x112 w3x3 s2 p1",
        "avg f32 32x64x112x112 w2x2", "max f32 32x112x112x64 w2x2 axes=1,2",
        "max f32 32x112x112x64 w3x3 s2 p1 axes=1,2", "avg f32 32x112x112x64 w2x2 axes=1,2"}) {
    const Plan plan = Plan::parse(line).value();
    const Arrays arrays(plan);
    const std::vector<double> best =
        best_of({arrays.pool(plan, 1), arrays.pool(plan, 2), arrays.limit(1, false),
                 arrays.limit(1, true), arrays.limit(2, false), arrays.limit(2, true)});
    std::printf("| `%s` | %.3g | %.3g | %.2f | %.2f |\n", line, best[0] * 1e3, best[1] * 1e3,
                best[0] / best[1], std::min(best[2], best[3]) / std::min(best[4], best[5]));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace ndpool::bench

int main() {
  ndpool::bench::sizes();
  ndpool::bench::threads();
  return 0;
}
