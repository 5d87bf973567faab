// Everything that one problem has to give, computed by the engine on given inputs: for tests that
// compare the engine with itself.
#ifndef NDPOOL_TESTS_SUPPORT_RESULTS_H_
#define NDPOOL_TESTS_SUPPORT_RESULTS_H_

#include <string>
#include <type_traits>

#include "ndpool/ndpool.h"
#include "src/problem.h"
#include "tests/support/compare.h"
#include "tests/support/data.h"
#include "tests/support/engine.h"

namespace ndpool::test {

inline bool is_extreme(const Problem& p) { return p.op == NDPOOL_MAX || p.op == NDPOOL_MIN; }
inline bool is_smooth(const Problem& p) { return p.op == NDPOOL_SMOOTH_MAX || p.op == NDPOOL_LP; }

// Whether a compact argmax carries the derivative.
inline bool has_argmax(const Problem& problem) {
  return is_extreme(problem) &&
         (problem.ties == NDPOOL_TIES_FIRST || problem.ties == NDPOOL_TIES_LAST);
}

template <class T>
struct Inputs {
  Array<T> x, dx, g, v;
};

// Random inputs of a problem; dx, g and v only for floats.
template <class T>
Inputs<T> random_inputs(Rng* rng, int32_t type, const Shape& in, const Shape& out,
                        const DataRange& range) {
  Inputs<T> inputs;
  inputs.x = random_array<T>(rng, type, in, range);
  if constexpr (std::is_floating_point_v<T>) {
    inputs.dx = random_array<T>(rng, type, in, range);
    inputs.g = random_array<T>(rng, type, out, range);
    inputs.v = random_array<T>(rng, type, in, range);
  }
  return inputs;
}

template <class T>
struct Results {
  Forward<T> forward;
  Array<T> dy, dy_from_argmax, dx, dx_from_argmax, hx;
};

// Runs every call that the problem's operation and type have.
template <class T>
Results<T> run_all(const Problem& problem, Engine* engine, const Inputs<T>& inputs, const Shape& in,
                   const Shape& out) {
  Results<T> results;
  const bool argmax = has_argmax(problem);
  results.forward = engine->forward(inputs.x, out, argmax, is_extreme(problem));
  if constexpr (std::is_floating_point_v<T>) {
    results.dy = engine->jvp(inputs.x, inputs.dx, out, false).first;
    results.dx = engine->vjp(&inputs.x, inputs.g, in);
    if (argmax) {
      results.dy_from_argmax = engine->jvp_argmax(results.forward.argmax, inputs.dx, out);
      results.dx_from_argmax = engine->vjp_argmax(results.forward.argmax, inputs.g, in);
    }
    if (is_smooth(problem)) results.hx = engine->hvp(inputs.x, inputs.g, inputs.v, in);
  }
  return results;
}

template <class T>
void expect_same_results(const Results<T>& one, const Results<T>& other) {
  expect_same("y", one.forward.y, other.forward.y);
  expect_same("index", one.forward.index, other.forward.index);
  expect_same("argmax", one.forward.argmax, other.forward.argmax);
  expect_same("dy", one.dy, other.dy);
  expect_same("dy from argmax", one.dy_from_argmax, other.dy_from_argmax);
  expect_same("dx", one.dx, other.dx);
  expect_same("dx from argmax", one.dx_from_argmax, other.dx_from_argmax);
  expect_same("hx", one.hx, other.hx);
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_RESULTS_H_
