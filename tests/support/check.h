// One problem with everything that checking it needs: the spec's view, the plan, and the engine.
#ifndef NDPOOL_TESTS_SUPPORT_CHECK_H_
#define NDPOOL_TESTS_SUPPORT_CHECK_H_

#include <cstdint>
#include <string>

#include "ndpool/ndpool.h"
#include "src/problem.h"
#include "tests/support/bridge.h"
#include "tests/support/compare.h"
#include "tests/support/engine.h"

namespace ndpool::test {

struct Check {
  const Problem& problem;
  const spec::Pool& pool;
  const spec::Layout& layout;
  const ndpool_plan* plan;
  Engine engine;
  Rng rng;  // of the data

  Check(const Problem& problem_in, const spec::Pool& pool_in, const spec::Layout& layout_in,
        const ndpool_plan* plan_in)
      : problem(problem_in),
        pool(pool_in),
        layout(layout_in),
        plan(plan_in),
        engine(problem_in, plan_in, setting(problem_in), problem_in.seed + 2),
        rng(problem_in.seed + 3) {}

  int32_t type() const { return problem.type; }
  const Shape& in() const { return layout.input; }
  const Shape& out() const { return layout.output; }

 private:
  static Setting setting(const Problem& problem) {
    Rng rng(problem.seed + 1);
    return random_setting(&rng, problem.order);
  }
};

// Throws unless the plan reports what the definition counts: shapes, types, padding, dropped cells.
inline void check_plan(const Check& c) {
  const size_t rank = c.in().size();
  if (ndpool_plan_rank(c.plan) != static_cast<int32_t>(rank)) throw Mismatch("another rank");
  Shape shape(rank);
  ndpool_plan_input_shape(c.plan, shape.data());
  if (shape != c.in()) throw Mismatch("input shape: engine " + spec::text(shape));
  ndpool_plan_output_shape(c.plan, shape.data());
  if (shape != c.out()) {
    throw Mismatch("output shape: engine " + spec::text(shape) + ", spec " + spec::text(c.out()));
  }
  if (ndpool_plan_output_type(c.plan) != output_type(c.problem)) throw Mismatch("another out type");

  const int64_t taps = spec::elements(c.layout.box);
  const int32_t argmax = taps <= 256 ? NDPOOL_U8 : taps <= 1 << 16 ? NDPOOL_U16 : NDPOOL_U32;
  if ((c.problem.op == NDPOOL_MAX || c.problem.op == NDPOOL_MIN) &&
      ndpool_plan_argmax_type(c.plan) != argmax) {
    throw Mismatch("argmax type for " + std::to_string(taps) + " taps: another one");
  }

  Shape dropped(rank), lo(rank), hi(rank);
  Shape want_dropped(rank), want_lo(rank), want_hi(rank);
  ndpool_plan_dropped(c.plan, dropped.data());
  ndpool_plan_padding(c.plan, lo.data(), hi.data());
  for (const spec::Axis& axis : c.layout.axes) {
    if (axis.adaptive) continue;
    const spec::AxisCount count = spec::count_axis(axis.n, axis.window, axis.stride, axis.dilation,
                                                   axis.pad_lo, axis.pad_hi, c.pool.rounding);
    want_dropped[axis.place] = count.dropped;
    want_lo[axis.place] = axis.pad_lo;
    want_hi[axis.place] = axis.pad_hi;
  }
  if (dropped != want_dropped) {
    throw Mismatch("dropped: engine " + spec::text(dropped) + ", spec " + spec::text(want_dropped));
  }
  if (lo != want_lo || hi != want_hi) throw Mismatch("padding in force: another one");
}

// The formal number of taps of a window: the box where it slides, its cells where it adapts.
inline int64_t taps_of(const spec::Layout& layout, const spec::Window& window) {
  int64_t taps = 1;
  for (size_t i = 0; i < layout.axes.size(); ++i) taps *= layout.axes[i].taps(window.output[i]);
  return taps;
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_CHECK_H_
