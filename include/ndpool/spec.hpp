// The executable definition of what ndpool computes.
//
// Written to be read, for any scalar type and any rank, and slow on purpose. Every operation is the
// same three steps: enumerate the taps of each window one by one in row-major order; tell cells,
// pads and overhang apart by their coordinates; fold the terms that are present.
//
//   spec/pool.hpp     the words: Pool (a problem), Array, Error
//   spec/windows.hpp  windows and taps: count_axis, output_shape, box, taps, terms
//   spec/extreme.hpp  max and min: max_min
//   spec/average.hpp  avg: average_as, sum_of_magnitudes
//   spec/smooth.hpp   smooth max: smooth_scale
//   spec/lp.hpp       Lp
//   spec/unpool.hpp   unpool, unpool_vjp
//
// This file joins them: forward, jvp, vjp and hvp of any operation. Whatever is refused throws
// ndpool::spec::Error. Nothing is shared with the engine, which is tested against this.
#pragma once

#include "ndpool/spec/average.hpp"
#include "ndpool/spec/extreme.hpp"
#include "ndpool/spec/lp.hpp"
#include "ndpool/spec/pool.hpp"
#include "ndpool/spec/smooth.hpp"
#include "ndpool/spec/unpool.hpp"
#include "ndpool/spec/windows.hpp"

namespace ndpool::spec {

// The result of any operation, in the input's type. Averages of integers are exact sums, rounded
// to nearest (halves away from zero), saturating. smooth_max and lp need a type with exp and log.
template <class T>
Array<T> forward(const Pool& pool, const Array<T>& x) {
  if (pool.op == Op::max || pool.op == Op::min) return max_min(pool, x).y;
  if (pool.op == Op::avg) return average_as<T>(pool, x);
  if constexpr (kReal<T>) {
    const Layout layout = make_layout(pool, x.shape);
    check_array("x", x, layout.input);
    return pool.op == Op::smooth_max ? smooth_forward(pool, layout, x)
                                     : lp_forward(pool, layout, x);
  } else {
    throw Error("smooth max and Lp need a floating type");
  }
}

// The tangent of the result where x moves along dx: J * dx. Not for integers.
template <class T>
Array<T> jvp(const Pool& pool, const Array<T>& x, const Array<T>& dx) {
  static_assert(!std::numeric_limits<T>::is_integer, "integers have no derivatives");
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  check_array("dx", dx, layout.input);
  if (pool.op == Op::max || pool.op == Op::min) return extreme_jvp(pool, layout, x, dx);
  if (pool.op == Op::avg) return average_jvp(pool, layout, dx);
  if constexpr (kReal<T>) {
    return pool.op == Op::smooth_max ? smooth_jvp(pool, layout, x, dx)
                                     : lp_jvp(pool, layout, x, dx);
  } else {
    throw Error("smooth max and Lp need a floating type");
  }
}

// The gradient in x of <g, result>: J transposed * g. Where windows overlap, gradients add in
// row-major order of the outputs. Not for integers.
template <class T>
Array<T> vjp(const Pool& pool, const Array<T>& x, const Array<T>& g) {
  static_assert(!std::numeric_limits<T>::is_integer, "integers have no derivatives");
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  check_array("g", g, layout.output);
  if (pool.op == Op::max || pool.op == Op::min) return extreme_vjp(pool, layout, x, g);
  if (pool.op == Op::avg) return average_vjp(pool, layout, g);
  if constexpr (kReal<T>) {
    return pool.op == Op::smooth_max ? smooth_vjp(pool, layout, x, g) : lp_vjp(pool, layout, x, g);
  } else {
    throw Error("smooth max and Lp need a floating type");
  }
}

// The second-order product of smooth max and Lp: the derivative of <v, vjp(x, g)> in x.
// (Its derivative in g is jvp(x, v).)
template <class T>
Array<T> hvp(const Pool& pool, const Array<T>& x, const Array<T>& g, const Array<T>& v) {
  static_assert(kReal<T>, "smooth max and Lp need a floating type");
  if (pool.op != Op::smooth_max && pool.op != Op::lp) throw Error("hvp is for smooth max and Lp");
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  check_array("g", g, layout.output);
  check_array("v", v, layout.input);
  return pool.op == Op::smooth_max ? smooth_hvp(pool, layout, x, g, v)
                                   : lp_hvp(pool, layout, x, g, v);
}

}  // namespace ndpool::spec
