// ndpool against the limit of memory, from problem lines: `make bench-quick`, or with lines of your
// own:
//   quick 'max f32 32x64x112x112 w2x2'
// For each line: forward (and, for max and min, with compact argmax; for floats, the VJP, of max
// and min from the argmax), and beside it the limit of the same bytes, measured in the same run.
// Then what a call on a tiny array and a plan cost. One thread unless NDPOOL_NUM_THREADS says else.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/limit.h"
#include "ndpool/ndpool.h"

namespace ndpool::bench {
namespace {

constexpr const char* kLines[] = {
    "max f32 32x64x112x112 w2x2",          "avg f32 32x64x112x112 w2x2",
    "max f32 32x64x112x112 w3x3 s2 p1",    "max f32 32x112x112x64 w3x3 s2 p1 axes=1,2",
    "max f32 1x64x56x56 w3x3 s2 p1",       "max f32 32x64x56x56 w3x3 s1 p1",
    "max f32 1x32x256x256 w31x31 s1 p15",  "avg f32 1x32x256x256 w31x31 s1 p15",
    "avg f32 64x2048x7x7 global axes=2,3", "max f32 2x32x64x96x96 w2x2x2",
    "smooth f32 8x64x112x112 w3x3 s2 p1",  "max u8 32x64x112x112 w2x2",
    "avg f16 32x64x112x112 w2x2",
};

// One problem with its arrays.
struct Problem {
  ndpool_plan* plan = nullptr;
  std::unique_ptr<Memory> x, y, argmax, g, dx;

  explicit Problem(const std::string& line) {
    ndpool_error error;
    if (ndpool_plan_parse(line.c_str(), &plan, &error) != NDPOOL_OK) {
      std::fprintf(stderr, "%s: %s\n", line.c_str(), error.message);
      std::exit(1);
    }
    std::vector<int64_t> shape(static_cast<size_t>(ndpool_plan_rank(plan)));
    ndpool_plan_input_shape(plan, shape.data());
    const size_t cells = product(shape);
    ndpool_plan_output_shape(plan, shape.data());
    const size_t outputs = product(shape);
    const size_t element = ndpool_type_size(ndpool_plan_input_type(plan));
    x = std::make_unique<Memory>(cells * element, 37);
    dx = std::make_unique<Memory>(cells * element);
    y = std::make_unique<Memory>(outputs * ndpool_type_size(ndpool_plan_output_type(plan)));
    g = std::make_unique<Memory>(outputs * element, 11);
    argmax = std::make_unique<Memory>(outputs * ndpool_type_size(ndpool_plan_argmax_type(plan)));
    if (ndpool_plan_input_type(plan) != NDPOOL_F32) return;
    fill(x.get(), cells);
    fill(g.get(), outputs);
  }
  ~Problem() { ndpool_plan_destroy(plan); }

 private:
  // Numbers as networks have them: bytes at random would be huge, tiny or NaN.
  static void fill(Memory* memory, size_t count) {
    auto* values = reinterpret_cast<float*>(memory->data());
    for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7919 % 1021) / 256 - 2;
  }
  static size_t product(const std::vector<int64_t>& shape) {
    size_t n = 1;
    for (int64_t size : shape) n *= static_cast<size_t>(size);
    return n;
  }
};

enum class Work { forward, argmax, vjp, vjp_argmax };

void run(benchmark::State& state, const std::string& line, Work work) {
  const Problem p(line);
  ndpool_exec exec{};
  exec.threads = std::getenv("NDPOOL_NUM_THREADS") ? 0 : 1;
  const ndpool_const_array x{p.x->data(), nullptr}, g{p.g->data(), nullptr};
  const ndpool_array y{p.y->data(), nullptr}, dx{p.dx->data(), nullptr}, none{nullptr, nullptr};
  const ndpool_array argmax{p.argmax->data(), nullptr};
  const ndpool_const_array winners{p.argmax->data(), nullptr};
  ndpool_error error{};
  const auto forward = [&](const ndpool_array& with) {
    return ndpool_forward(p.plan, x, y, with, none, &exec, &error);
  };
  if (work == Work::vjp_argmax && forward(argmax) != NDPOOL_OK) {
    return state.SkipWithError(error.message);
  }
  for (auto _ : state) {
    const int32_t code = work == Work::vjp ? ndpool_vjp(p.plan, x, g, dx, &exec, &error)
                         : work == Work::vjp_argmax
                             ? ndpool_vjp_argmax(p.plan, winners, g, dx, &exec, &error)
                             : forward(work == Work::argmax ? argmax : none);
    if (code != NDPOOL_OK) return state.SkipWithError(error.message);
  }
}

// The bytes that the work cannot avoid: read, then written.
void limit(benchmark::State& state, const std::string& line, Work work, bool streaming) {
  const Problem p(line);
  const bool back = work == Work::vjp || work == Work::vjp_argmax;
  const Memory& from = back ? *p.g : *p.x;
  const Memory& to = back ? *p.dx : *p.y;
  for (auto _ : state) {
    touch_once(from.data(), from.size(), to.data(), to.size(), streaming);
    if (work == Work::argmax) {
      touch_once(from.data(), 0, p.argmax->data(), p.argmax->size(), streaming);
    }
    if (work == Work::vjp_argmax) {
      touch_once(p.argmax->data(), p.argmax->size(), to.data(), 0, streaming);
    }
    benchmark::ClobberMemory();
  }
}

void add(const std::string& line) {
  const Problem p(line);
  const bool extreme = line.rfind("max", 0) == 0 || line.rfind("min", 0) == 0;
  const int32_t type = ndpool_plan_input_type(p.plan);
  const bool real = type >= NDPOOL_F16 && type <= NDPOOL_F64;
  const struct {
    Work work;
    const char* name;
    bool wanted;
  } works[] = {{Work::forward, "", true},
               {Work::argmax, " +argmax", extreme},
               {Work::vjp, " vjp", !extreme && real},
               {Work::vjp_argmax, " vjp", extreme && real}};
  for (const auto& w : works) {
    if (!w.wanted) continue;
    const auto name = [&](const char* what) { return line + w.name + " | " + what; };
    const Work work = w.work;
    const auto set = [](benchmark::internal::Benchmark* b) {
      b->Unit(benchmark::kMillisecond)->MinTime(0.1);
    };
    set(benchmark::RegisterBenchmark(name("ndpool").c_str(), run, line, work));
    set(benchmark::RegisterBenchmark(name("limit").c_str(), limit, line, work, false));
    set(benchmark::RegisterBenchmark(name("limit, streaming").c_str(), limit, line, work, true));
  }
}

constexpr const char* kSmall = "max f32 1x1x8x8 w2x2";

void call_small(benchmark::State& state) { run(state, kSmall, Work::forward); }

void make_plan(benchmark::State& state) {
  for (auto _ : state) {
    ndpool_plan* plan = nullptr;
    ndpool_error error{};
    if (ndpool_plan_parse(kSmall, &plan, &error) != NDPOOL_OK) state.SkipWithError(error.message);
    ndpool_plan_destroy(plan);
  }
}

}  // namespace
}  // namespace ndpool::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (argc > 1) {
    for (int i = 1; i < argc; ++i) ndpool::bench::add(argv[i]);
  } else {
    for (const char* line : ndpool::bench::kLines) ndpool::bench::add(line);
    const std::string small = ndpool::bench::kSmall;
    benchmark::RegisterBenchmark((small + " | one call").c_str(), ndpool::bench::call_small);
    benchmark::RegisterBenchmark((small + " | plan from text").c_str(), ndpool::bench::make_plan);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
