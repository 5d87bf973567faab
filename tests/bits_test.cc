// The same bits whatever the number of threads, the SIMD target, the algorithm and the layout, on
// arrays large enough to be cut into chunks and windows long enough to be reduced in blocks.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"
#include "src/machine.h"
#include "src/problem.h"
#include "tests/support/bridge.h"
#include "tests/support/check_average.h"
#include "tests/support/dispatch.h"
#include "tests/support/random_problem.h"
#include "tests/support/results.h"

namespace ndpool::test {
namespace {

// Geometries without operation and type.
const std::vector<std::string>& geometries() {
  static const std::vector<std::string> lines = {"3x5x61x67 w3x3 s2 p1",
                                                 "2x5x64x96 w2x2",
                                                 "2x3x50x60 w5x4 s1x2 p2x1 ceil",
                                                 "2x45x50 w40x33 s7x6 p15x16",
                                                 "4x90x100 w1x40 s1x3 p0x20",
                                                 "90x100x4 w40x1 s3x1 axes=0,1",
                                                 "7000 w3001 s97",
                                                 "5500x2 w3100 s211 axes=0 p1000",
                                                 "2x5000 w9 s1 p4:0 axes=1",
                                                 "3x150x8 w19 s1 p8:0 axes=1",
                                                 "2x6000 w37 s3 d13 p200",
                                                 "3x20000 global axes=1",
                                                 "12000x4 global axes=0",
                                                 "6x40x50x7 global axes=1,2",
                                                 "40x5x60 global axes=0,2",
                                                 "4x60x70 a7x9",
                                                 "5003x3 a2x* axes=0,1",
                                                 "2x7x11x13x5 w3x3x3 s1x2x1 p1 axes=1,2,3",
                                                 "4x5x6x5x6 w2x3x2x3x2 s1",
                                                 "2x3x4x5x6x7 w2 s2 p1 axes=0,2,5 ceil",
                                                 "150x160 w31x31 s7 d2 p30",
                                                 "64x1x33x3 w3 s1 p1 axes=0",
                                                 "3x23x9x7 w3x2 s2x1 p1",
                                                 "70x8x9 global axes=1,2",
                                                 "83x7x7 global axes=1,2",
                                                 "50x5x3 global axes=1,2",
                                                 "61x6x8 global axes=1,2",
                                                 "45x2x2 global axes=1,2",
                                                 "40x37 global axes=1",
                                                 "40x75x28 global axes=1,2",
                                                 "21x100x17 global axes=1,2",
                                                 "19x33x100 global axes=1,2",
                                                 "18x130x13 global axes=1,2",
                                                 "17x41x56 global axes=1,2",
                                                 "5x9x7x7 a3x4",
                                                 "2x21x13x11 w5x5 s1 p2",
                                                 "90x3x16 w5 s3 p2",
                                                 "2x9x4x5x6 w2x3x2 s2x1x2",
                                                 "3x4x20x28 w3x3 s1 p1",
                                                 "2x5x19x60 w3x4 s1x1 p1:1x2:1",
                                                 "3x4x31x101 w3x3 s3 p1",
                                                 "2x3x12x97 w1x7 s1x5 p0x3",
                                                 "2x310x120 w31x17 s1 p15x8",
                                                 "170x60x5 w9x8 s1 d2x1 p4x0 axes=0,1",
                                                 "140x150 w101x70 s1 p50x35",
                                                 "2x70x128 w33x21 s1",
                                                 "2x40x300 w6x32 s1 p3x16",
                                                 "3x60x15 w9x5 s1 p4x2",
                                                 "2x50x47 w21x4 s1 p10x2",
                                                 "2x20x1700 w13x3 s1 p6x1",
                                                 "2x14x14x70 w5x5 s1 p2 axes=1,2",
                                                 "2x50x210 w5x64 s1 p2x31",
                                                 "3x90x75 w8x48 s1 p0x40:3",
                                                 "2x30x400 w3x130 s1 p1x60",
                                                 "4x33x90 w2x15 s1",
                                                 "2x80x81 w23x2 s1 p11x1",
                                                 "5000 w32 s1 p16",
                                                 "90x130 w16x31 s1 d3x2 p15x20",
                                                 "2x19x6x700 global axes=1,2",
                                                 "33x2x1100 global axes=0"};
  return lines;
}

// Planes of squares: cut into bands of rows, or as narrow as a vector, or joined before; and pixels
// of a few colours.
const std::vector<std::string>& squares() {
  static const std::vector<std::string> lines = {"2x40x70 w3x3 s1 p1",
                                                 "1x61x131 w3x3 s2",
                                                 "2x47x111 w2x2 s1 p1:0x0:1",
                                                 "2x61x150 w2x2 s2",
                                                 "2x55x84 w3x3 s2 p1:0",
                                                 "3x140x9 w3x3 s1 p2:1x1",
                                                 "3x30x8 w3x3 s1 p1",
                                                 "3x31x18 w3x3 s1",
                                                 "5x30x16 w3x3 s2 p1:1x1:0",
                                                 "2x41x25 w2x2 s1 p0:1x1",
                                                 "3x20x7 w2x2 s1 p1",
                                                 "3x20x8 w2x2 s1",
                                                 "2x20x15 w2x2 s1 p1",
                                                 "2x40x111 w3x3 s2 p1",
                                                 "2x41x115 w2x2 s2 ceil",
                                                 "3x33x35 w3x3 s2 p0:1",
                                                 "2x30x17 w3x3 s2 p1",
                                                 "2x30x16 w3x3 s1 p1",
                                                 "3x12x32 w3x3 s1 p1:0",
                                                 "2x20x33 w3x3 s2 p1",
                                                 "2x20x31 w3x3 s2 p1",
                                                 "2x5x13x40 w3x3x3 s2 p1",
                                                 "3x4x5x9x24 w2x2x2x2",
                                                 "2x7x20x18 w1x3x3 s1 p0x1x1",
                                                 "2x6x11x40 w4x3x3 s2x1x1 d2x1x1 p3x1x1",
                                                 "9x50x60 w2x2x2 s3x1x1",
                                                 "16x41x3 w2x2 axes=0,1",
                                                 "9x50x3 w1x3 s2x3 axes=0,1",
                                                 "9x70x2 w2x3 s1x2 axes=0,1",
                                                 "20x41x6 w3x2 s2 p1 axes=0,1",
                                                 "43x14x16 w3x3 s1 p1",
                                                 "3x21x10x9 w2x2 s1 p1:0",
                                                 "50x9x17 w3x3 s2 p1:0x1",
                                                 "3x9x11x24 w3x3 s1 p1 axes=1,2",
                                                 "2x8x9x5 w3x2 s2x1 p1 axes=1,2",
                                                 "2x5x83x64 w2x2 axes=1,2",
                                                 "2x6x40x130 w3x2 axes=1,2",
                                                 "1x20x1100 w3x3 s1 p1",
                                                 "1x27x1201 w3x3 s2 p1",
                                                 "2x9x66 w3x3 s2 p1",
                                                 "2x9x33 w3x3 s1 p1",
                                                 "2x9x65 w2x2 ceil",
                                                 "1x21x1500 w2x2",
                                                 "1x22x4100 w3x3 s2 p1",
                                                 "3x9x11x32 w3x3 s2 p1 axes=1,2",
                                                 "2x8x10x16 w2x2 axes=1,2",
                                                 "2x7x40x48 w3x3 s1 p1:0 axes=1,2",
                                                 "3x12x9x16 w3x3 s3x1 p0:1 axes=1,2",
                                                 "2x13x14x32 w2x2 s1x2 p1 ceil axes=1,2",
                                                 "2x9x12x16 w5x4 s2x1 p2 axes=1,2",
                                                 "2x10x11x16 w2x2 s3 axes=1,2",
                                                 "3x50x16 w3 s2 p1 axes=1",
                                                 "2x61x32 w2 s1 p0:1 axes=1",
                                                 "2x30x64 w3 s5 p2 axes=1",
                                                 "5x13x17 w3x3 s1 p1",
                                                 "2x3x9x28 w3x3 s1 p1",
                                                 "7x1x32 w3x3 s1 p1",
                                                 "3x2x48 w3x3 s1 p1",
                                                 "4x20x49 w3x3 s1 p1",
                                                 "3x11x64 w3x3 s1 p1",
                                                 "5x14x14 w3x3 s2 p1",
                                                 "3x9x32 w3x3 s2 p1",
                                                 "7x1x34 w3x3 s2 p1",
                                                 "2x3x11x56 w2x2",
                                                 "4x10x66 w3x3 s2 p1",
                                                 "3x8x98 w2x2",
                                                 "2x7x128 w3x3 s2 p1",
                                                 "40x22x128 w2x2",
                                                 "3x8x32 w3x3 s2 p1:2x1:0",
                                                 "3x8x32 w3x3 s2 p1:0",
                                                 "3x9x130 w3x3 s2 p1",
                                                 "2x6x290 w2x2",
                                                 "5x3x52 w3x3 s2 p1",
                                                 "3x1x258 w3x3 s2 p1",
                                                 "3x9x32 w2x2 ceil",
                                                 "2x11x55 w2x2 ceil",
                                                 "3x9x130 w2x2 ceil",
                                                 "3x7x17 w3x3 s2 p1",
                                                 "4x9x63 w3x3 s2 p1:0",
                                                 "5x6x97 w2x2",
                                                 "2x30x41 w3x3 d2 s1",
                                                 "3x19x60 w3x3 d3 s1",
                                                 "3x9x28 w2x2 d4 s1",
                                                 "2x21x131 w3x3 d2 s1",
                                                 "2x41x18x34 w3x3x3 s2 p1",
                                                 "3x7x11x66 w5x3x3 s2 p2x1x1",
                                                 "2x9x13x40 w2x3x3 s1x2x2 p0x1:0x1",
                                                 "2x10x9x33 w2x3x3 s5x2x2 p1",
                                                 "4x90x257 w3x3x3 s2 p1"};
  return lines;
}

// Planes so small that some are pooled together: all kinds of padding, rows shorter than a vector,
// windows of one level, of several and of the whole axis.
const std::vector<std::string>& small_planes() {
  static const std::vector<std::string> lines = {"9x20x20 w5x5 s1 p2",
                                                 "5x20x20 w13x13 s1 p6",
                                                 "40x20x20 w9x9 s1 p4",
                                                 "70x31x32 w4x7 s1 p1:2x6:0",
                                                 "60x17x24 w2x16 s1 p0x15:0",
                                                 "50x33x25 w1x5 s1 p0x1:3",
                                                 "90x9x8 w7x4 s1 p6:0x0",
                                                 "90x12x15 w5x6 s1",
                                                 "40x25x16 w25x9 s1 p12x4",
                                                 "30x8x28 w3x30 s1 p1x15:14",
                                                 "3x8x18x18 w9x7 s1 p4x3",
                                                 "70x7x7 a3x3",
                                                 "37x13x13 a6x6",
                                                 "3x112x7 w3x3 s2 p1",
                                                 "19x14x14 w3x3 s2 p1 ceil",
                                                 "4x9x30 w7x3 s1x2 p3:2x0:1",
                                                 "70x3x3 w2x2 s1",
                                                 "9x5x5 w5x5 s1 p4",
                                                 "3x30x31 w17x25 s1 p8x12:11",
                                                 "5x6x40 w1x9 s2 p0x4",
                                                 "11x20x9 w20x2 s1",
                                                 "6x17x23 w11x6 s3x1 p5:0x0:5",
                                                 "2x70x6 w64x4 s1 p20:31x3",
                                                 "3x40x56 w5x4 s2 p2x1",
                                                 "21x10x8 w6x1 s5x2 p1x0",
                                                 "4x20x12 w8x3 s4611686018427387904x1",
                                                 "19x14x14 w2x2",
                                                 "3x45x7x7 w3x3 s1 p1",
                                                 "17x12x15 w3x3 s3 p1",
                                                 "70x5x4x3 w2x2x2",
                                                 "41x7x8 w3x3 s1 p1",
                                                 "3x29x6x5 w4x2 s2x1 p2x1:0",
                                                 "65x7x7 a4x4",
                                                 "90x4 w3 s1 p1",
                                                 "23x2x9x3 w2 s1 p1 axes=3",
                                                 "33x8x6 w2x3 d2x1",
                                                 "9x12x12 w4x4 s1",
                                                 "7x11x16 w4x4 s2 p1",
                                                 "9x1003 global axes=1",
                                                 "19x9x7 global axes=1,2",
                                                 "3x40x28x30 global axes=2,3",
                                                 "5x21x150 global axes=1,2",
                                                 "70x7 global axes=1",
                                                 "41x31 global axes=1",
                                                 "3x30x3x3 global axes=2,3",
                                                 "5x31x33 global axes=1,2",
                                                 "3x9001 global axes=1"};
  return lines;
}

struct Case {
  Problem problem;
  Setting setting;
  std::string name;
};

const char* memory_name(Memory memory) {
  switch (memory) {
    case Memory::row_major:
      return "row-major";
    case Memory::column_major:
      return "column-major";
    case Memory::rotated:
      return "axis 1 innermost";
    case Memory::reversed:
      return "reversed";
    case Memory::gaps:
      return "gaps";
    default:
      return "random";
  }
}

Case make_case(const Problem& problem, const std::string& target, int32_t threads, bool backwards,
               Memory memory) {
  Case result{problem, {}, {}};
  result.problem.target = target;
  result.setting.threads = threads;
  result.setting.backwards = backwards;
  result.setting.memory = memory;
  result.name = target + ", " + std::to_string(threads) + " threads, " + memory_name(memory);
  return result;
}

// Settings that must agree with the first: every thread count, every layout, and, where the promise
// says so, every target with some of both.
std::vector<Case> cases(const Problem& problem) {
  constexpr Memory kMemories[] = {Memory::row_major, Memory::column_major, Memory::rotated,
                                  Memory::reversed, Memory::gaps};
  constexpr int32_t kThreads[] = {1, 2, 3, 7};
  std::vector<Case> list = {make_case(problem, targets()[0], 1, false, Memory::row_major)};
  for (const int32_t threads : {2, 3, 7}) {
    list.push_back(make_case(problem, targets()[0], threads, threads == 3, Memory::row_major));
  }
  for (size_t i = 1; i < 5; ++i) {
    list.push_back(make_case(problem, targets()[0], kThreads[(i + 1) % 4], false, kMemories[i]));
  }
  if (is_smooth(problem)) return list;
  for (int32_t i = 1; i < 4; ++i) {
    list.push_back(make_case(problem, targets()[0], kThreads[i], false, kMemories[i % 2]));
    list.back().problem.algorithm = i;
    list.back().name += ", algorithm " + std::to_string(i);
  }
  for (size_t t = 1; t < targets().size(); ++t) {
    list.push_back(make_case(problem, targets()[t], 1, false, Memory::row_major));
    list.push_back(make_case(problem, targets()[t], kThreads[t % 4], true, kMemories[1 + t % 4]));
  }
  return list;
}

template <class T>
Results<T> solve(const Case& c, const Inputs<T>& inputs, const Shape& in, const Shape& out) {
  ndpool_error error = {};
  const PlanPtr plan = make_plan(c.problem, &error);
  if (!plan) throw Mismatch(std::string("refused: ") + error.message);
  Engine engine(c.problem, plan.get(), c.setting, 1);
  set_streaming_bytes(c.setting.threads == 3 ? 1 : 0);  // past the caches in some cases
  Results<T> results = run_all(c.problem, &engine, inputs, in, out);
  if (is_extreme(c.problem)) {
    // Who asks for less may be served by another algorithm.
    expect_same("y alone", engine.forward(inputs.x, out, false, false).y, results.forward.y);
    const bool argmax = has_argmax(c.problem);
    const Forward<T> winners = engine.forward(inputs.x, out, argmax, false);
    expect_same("y beside argmax", winners.y, results.forward.y);
    expect_same("argmax without index", winners.argmax, results.forward.argmax);
  }
  return results;
}

void check_problem(const Problem& problem) {
  ndpool_error error = {};
  const PlanPtr plan = make_plan(problem, &error);
  ASSERT_NE(plan, nullptr) << to_line(problem) << "\n" << error.message;
  Shape out(problem.shape.size());
  ndpool_plan_output_shape(plan.get(), out.data());
  with_type(problem.type, [&]<class T>(T) {
    Rng rng(problem.seed);
    DataRange range = average_range(problem.type);
    range.finite = rng.percent(60);
    const Inputs<T> inputs = random_inputs<T>(&rng, problem.type, problem.shape, out, range);
    Results<T> first;
    std::string first_name;
    for (const Case& c : cases(problem)) {
      try {
        Results<T> results = solve(c, inputs, problem.shape, out);
        if (first_name.empty()) {
          first = std::move(results);
          first_name = c.name;
          continue;
        }
        expect_same_results(results, first);
      } catch (const Mismatch& mismatch) {
        ADD_FAILURE() << to_line(problem) << "\n"
                      << c.name << " (as engine) and " << first_name << " (as spec):\n"
                      << mismatch.what();
        return;
      }
    }
  });
}

// Every geometry with `rounds` types and policies of one operation; fewer where all tests are
// asked to do less.
void run(const std::string& op, const std::vector<std::string>& types,
         const std::vector<std::string>& policies, size_t rounds,
         const std::vector<std::string>& lines = geometries()) {
  const uint64_t base = environment_number("NDPOOL_TEST_SEED", 1);
  size_t number = 0;
  if (environment_number("NDPOOL_TEST_PROBLEMS", 20000) < 100000) rounds = 1;
  for (const std::string& geometry : lines) {
    for (size_t round = 0; round < rounds; ++round, ++number) {
      const std::string line = op + " " + types[number % types.size()] + " " + geometry + " " +
                               policies[number % policies.size()] +
                               " empty=identity seed=" + std::to_string(base * 1000 + number);
      const ParsedProblem parsed = parse_problem(line);
      ASSERT_TRUE(parsed) << line << "\n" << parsed.error.message;
      // Exponentials and powers of every tap take long, and smaller problems take the same paths.
      const spec::Pool pool = to_pool(parsed.problem);
      const double work = work_of(spec::make_layout(pool, parsed.problem.shape));
      if (is_smooth(parsed.problem) && work > 6e4) continue;
      check_problem(parsed.problem);
      if (testing::Test::HasFailure()) return;
    }
  }
}

const std::vector<std::string>& all_types() {
  static const std::vector<std::string> types = {"f32", "f64", "f16", "bf16", "i8",  "u8",  "i16",
                                                 "u16", "i32", "u32", "i64",  "u64", "bool"};
  return types;
}

const std::vector<std::string>& floats() {
  static const std::vector<std::string> types = {"f32", "f16", "f64", "bf16"};
  return types;
}

TEST(Bits, MaxIsTheSameOnEveryTargetLayoutAndThreadCount) {
  run("max", all_types(), {"ties=first", "ties=last", "ties=all", "ties=split"}, 2);
}

TEST(Bits, MinIsTheSameOnEveryTargetLayoutAndThreadCount) {
  run("min", all_types(), {"ties=last", "ties=first", "ties=split", "ties=all"}, 2);
}

TEST(Bits, SmallSquaresAreTheSameOnEveryTargetLayoutAndThreadCount) {
  run("max", {"f32"}, {"ties=first"}, 1, squares());
  run("min", {"f64", "f32"}, {"ties=last"}, 1, squares());
  run("avg", {"f32"}, {"", "divisor=7"}, 1, squares());
}

TEST(Bits, SmallPlanesAreTheSameOnEveryTargetLayoutAndThreadCount) {
  run("max", {"f32"}, {"ties=first"}, 1, small_planes());
  run("min", {"f32"}, {"ties=last"}, 1, small_planes());
  run("avg", {"f32"}, {"", "divisor=-7", "nopad"}, 1, small_planes());
}

TEST(Bits, SmallPlanesOfOtherTypesAreTheSameOnEveryTargetLayoutAndThreadCount) {
  for (const std::string& type : all_types()) {
    if (type == "f32") continue;
    run("max", {type}, {"ties=first"}, 1, small_planes());
    run("min", {type}, {"ties=last"}, 1, small_planes());
    if (type != "bool") run("avg", {type}, {"", "divisor=-7", "nopad"}, 3, small_planes());
  }
}

TEST(Bits, SmallSquaresOfNarrowTypesAreTheSameOnEveryTargetLayoutAndThreadCount) {
  for (const char* type : {"f16", "bf16", "i8", "u8", "i16", "u16"}) {
    run("max", {type}, {"ties=first"}, 1, squares());
    run("min", {type}, {"ties=last"}, 1, squares());
    run("avg", {type}, {"", "divisor=7", "divisor=-2", "divisor=1"}, 1, squares());
  }
}

TEST(Bits, AveragesOfFloatsAreTheSameOnEveryTargetLayoutAndThreadCount) {
  run("avg", floats(), {"", "nopad", "divisor=7"}, 2);
}

TEST(Bits, AveragesOfIntegersAreTheSameOnEveryTargetLayoutAndThreadCount) {
  run("avg", {"i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}, {"", "divisor=-3"}, 3);
}

TEST(Bits, SmoothMaxIsTheSameOnOneTargetForEveryLayoutAndThreadCount) {
  run("smooth", {"f32", "f16", "f64"}, {"beta=0.7", "nopad mean", "beta=-2", "nopad"}, 1);
  run("smooth", {"f32"}, {"", "beta=-0.7", "nopad", "beta=0.01"}, 1, squares());
}

TEST(Bits, LpIsTheSameOnOneTargetForEveryLayoutAndThreadCount) {
  run("lp", {"f32", "f64"}, {"p=3", "p=2", "p=0.5", "p=inf"}, 1);
}

}  // namespace
}  // namespace ndpool::test
