// The engine against the definition, on random problems.
//
//   NDPOOL_TEST_PROBLEMS  how many (default 20000, shared out between the tests of this file)
//   NDPOOL_TEST_SEED      base of the seeds (default 1)
//   NDPOOL_TEST_LINE      this one problem instead, as a failure prints it
#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>

#include "ndpool/ndpool.h"
#include "ndpool/spec.hpp"
#include "src/machine.h"
#include "src/problem.h"
#include "tests/support/check_average.h"
#include "tests/support/check_extreme.h"
#include "tests/support/check_lp.h"
#include "tests/support/check_smooth.h"
#include "tests/support/dispatch.h"
#include "tests/support/random_problem.h"

namespace ndpool::test {
namespace {

using Multiprecision = boost::multiprecision::cpp_bin_float_50;

// Checks one element type of the problem's operation.
template <class T, class Exact>
void check_type(Check* c) {
  switch (c->problem.op) {
    case NDPOOL_MAX:
    case NDPOOL_MIN:
      return check_extreme<T>(c);
    case NDPOOL_AVG:
      return check_average<T>(c);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    return c->problem.op == NDPOOL_LP ? check_lp<T, Exact>(c) : check_smooth<T, Exact>(c);
  }
}

// Solves one problem both ways. True if the definition refuses it; the engine then must too.
template <class Exact>
bool check_problem(const Problem& problem) {
  const spec::Pool pool = to_pool(problem);
  const Judgement judgement = judge(problem, pool);
  ndpool_error error = {};
  const PlanPtr plan = make_plan(problem, &error);
  if (!judgement.refusal.empty()) {
    if (plan) throw Mismatch("the engine accepts what the spec refuses: " + judgement.refusal);
    return true;
  }
  if (!plan) throw Mismatch(std::string("the engine refuses it: ") + error.message);
  Check check(problem, pool, judgement.layout, plan.get());
  check_plan(check);
  // Arrays as small as these are never written past the caches, unless one says so.
  set_streaming_bytes(problem.seed % 4 == 0 ? 1 : 0);
  with_type(problem.type, [&]<class T>(T) { check_type<T, Exact>(&check); });
  return false;
}

// Runs a share of the problems, or the one of the environment if its operation is among `ops`.
// Stops after a few failures.
template <class Exact>
void run(std::initializer_list<int32_t> ops, uint64_t percent, uint64_t salt,
         const Limits& limits = {}) {
  if (const char* const line = std::getenv("NDPOOL_TEST_LINE")) {
    const ParsedProblem parsed = parse_problem(line);
    ASSERT_TRUE(parsed) << parsed.error.message;
    if (std::find(ops.begin(), ops.end(), parsed.problem.op) == ops.end()) return;
    try {
      check_problem<Exact>(parsed.problem);
    } catch (const Mismatch& mismatch) {
      FAIL() << line << "\n" << mismatch.what();
    }
    return;
  }
  const uint64_t count = environment_number("NDPOOL_TEST_PROBLEMS", 20000) * percent / 100;
  Rng seeds(environment_number("NDPOOL_TEST_SEED", 1) * 1000003 + salt);
  uint64_t refused = 0;
  int failures = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const Problem problem = ProblemSource(seeds.next(), limits).draw(ops);
    try {
      if (check_problem<Exact>(problem)) ++refused;
    } catch (const Mismatch& mismatch) {
      ADD_FAILURE() << to_line(problem) << "\n" << mismatch.what();
      if (++failures == 5) return;
    }
  }
  // Neither are refusals left untested, nor do they crowd out the rest.
  EXPECT_LE(refused * 100, count * 15);
  if (limits.refused_percent > 0 && count >= 1000) {
    EXPECT_GE(refused * 100, count);
  }
}

TEST(Differential, MaxAndMinOfFloatsAndIntegersAgreeBitForBit) {
  run<Real>({NDPOOL_MAX, NDPOOL_MIN}, 45, 1);
}

TEST(Differential, AveragesAgreeWithinThePromisedErrorAndIntegersExactly) {
  run<Real>({NDPOOL_AVG}, 30, 2);
}

TEST(Differential, SmoothMaxAgreesWithinThePromisedError) { run<Real>({NDPOOL_SMOOTH_MAX}, 12, 3); }

// Squares in planes with rows of some vectors, whole ones and not.
TEST(Differential, SmoothMaxOfSmallSquaresAgreesWithinThePromisedError) {
  for (const char* const line :
       {"smooth f32 2x9x40 w3x3 s2 p1", "smooth f32 9x35 w3x3 s2 p1 beta=0.7",
        "smooth f32 2x8x33 w2x2 beta=-2", "smooth f32 7x34 w2x2 s1 p1:0x0:1 nopad",
        "smooth f32 2x6x21 w3x3 s1 p1 beta=3.3", "smooth f32 8x37 w3x3 s2 p0:1 ceil nopad",
        "smooth f32 3x2x16 w2x2 s1 p1 beta=0.1", "smooth f32 30x16 w3x3 s1 p2",
        "smooth f32 7x48x2 w3x3 s2 p2:1 axes=0,1", "smooth f32 6x2x40 w3x3 s1 p1 axes=0,2",
        "smooth f32 9x42x1 w2x2 s1 axes=0,1 beta=7", "smooth f32 2x21x30x1 w3x3 s1 p1 axes=1,2"}) {
    for (uint64_t seed = 1; seed <= 12; ++seed) {
      ParsedProblem parsed = parse_problem(line);
      ASSERT_TRUE(parsed) << parsed.error.message;
      parsed.problem.seed = seed;
      try {
        check_problem<Real>(parsed.problem);
      } catch (const Mismatch& mismatch) {
        FAIL() << to_line(parsed.problem) << "\n" << mismatch.what();
      }
    }
  }
}

TEST(Differential, LpAgreesWithinThePromisedError) { run<Real>({NDPOOL_LP}, 11, 4); }

TEST(Differential, SmoothMaxAndLpAgreeWithFiftyDigits) {
  Limits limits;
  limits.elements = 40;
  limits.work = 90;
  limits.refused_percent = 0;
  run<Multiprecision>({NDPOOL_SMOOTH_MAX, NDPOOL_LP}, 2, 5, limits);
}

}  // namespace
}  // namespace ndpool::test
