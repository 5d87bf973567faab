// Smooth max against the spec: values and weights within the promised error.
#ifndef NDPOOL_TESTS_SUPPORT_CHECK_SMOOTH_H_
#define NDPOOL_TESTS_SUPPORT_CHECK_SMOOTH_H_

#include <cmath>
#include <cstdint>

#include "tests/support/check.h"

namespace ndpool::test {

// What the derivatives of the smooth operations may be off by.
struct DerivativeTolerances {
  Array<Real> jvp, vjp, hvp;
};

// Gradients and tangents stay finite and moderate: an infinite one times a weight that is zero in
// one precision and tiny in another says nothing about the engine.
inline DataRange derivative_range() {
  DataRange range;
  range.finite = true;
  range.largest = 1000;
  return range;
}

// How many outputs cover each cell.
inline Array<int64_t> covering_outputs(const Check& c) {
  Array<int64_t> covering = spec::filled<int64_t>(c.in(), 0);
  spec::for_each_output(c.layout, [&](const spec::Window& window, int64_t input, int64_t) {
    for (const spec::Window::Cell& cell : window.cells) ++spec::at(covering, input + cell.offset);
  });
  return covering;
}

// With K = 4 + ceil(log2 terms) and eps a ULP of 1, each weight is within K*eps, so that
//   jvp  is within K*eps*sum|dx|, and one rounding;
//   vjp  within the sum over the covering outputs of |g|*K*eps, and one rounding per addition;
//   hvp  g*beta*w*(v - centre): w is off by K*eps, the centre by K*eps*sum|v|, the products by a
//        few roundings: (2*K + 5)*eps*|g*beta|*(|v| + sum|v|) over the covering outputs; and any
//        product may have been rounded to a subnormal before the others came to it.
// Where a scale is beyond the range of the accumulator, nothing is promised.
inline DerivativeTolerances smooth_tolerances(const Check& c, const Array<Real>& dx,
                                              const Array<Real>& g, const Array<Real>& v) {
  const int32_t type = c.type();
  const Real eps = ulp(type, 1);
  const Real tiny = ulp(type, 0);
  const Real beta = std::fabs(static_cast<Real>(c.problem.beta));
  const Array<int64_t> covering = covering_outputs(c);
  DerivativeTolerances t{spec::filled<Real>(c.out(), 0), spec::filled<Real>(c.in(), 0),
                         spec::filled<Real>(c.in(), 0)};
  Array<Real> hvp_scale = t.hvp;
  spec::for_each_output(c.layout, [&](const spec::Window& window, int64_t input, int64_t output) {
    const int64_t terms = spec::count_terms(c.pool, window);
    const Real k = 4 + ceil_log2(terms);
    Real sum_dx = 0;
    Real sum_v = 0;
    for (const spec::Window::Cell& cell : window.cells) {
      sum_dx += std::fabs(spec::at(dx, input + cell.offset));
      sum_v += std::fabs(spec::at(v, input + cell.offset));
    }
    spec::at(t.jvp, output) =
        k * eps * sum_dx + ulp(type, sum_dx) + static_cast<Real>(terms) * tiny;
    const Real gradient = std::fabs(spec::at(g, output));
    for (const spec::Window::Cell& cell : window.cells) {
      const int64_t place = input + cell.offset;
      const Real additions = static_cast<Real>(spec::at(covering, place)) / 2;
      spec::at(t.vjp, place) += gradient * eps * (k + 1 + additions) + 2 * tiny;
      const Real reach = std::fabs(spec::at(v, place)) + sum_v;
      const Real scale = gradient * beta * reach;
      spec::at(hvp_scale, place) += scale;
      spec::at(t.hvp, place) += scale * eps * (2 * k + 5 + additions) +
                                2 * tiny * (1 + beta) * (1 + gradient) * (1 + reach);
    }
  });
  for (size_t i = 0; i < t.hvp.data.size(); ++i) {
    if (hvp_scale.data[i] > largest_sum(type)) t.hvp.data[i] = kAnything;
  }
  return t;
}

// Exact is long double or a multiprecision float.
template <class T, class Exact>
void check_smooth(Check* c) {
  const int32_t type = c->type();
  const Array<T> x = random_array<T>(&c->rng, type, c->in());
  const Array<T> dx = random_array<T>(&c->rng, type, c->in(), derivative_range());
  const Array<T> g = random_array<T>(&c->rng, type, c->out(), derivative_range());
  const Array<T> v = random_array<T>(&c->rng, type, c->in(), derivative_range());
  const Array<Exact> exact_x = converted<Exact>(x);
  const Array<Exact> exact_g = converted<Exact>(g);

  const Array<Exact> scale = spec::smooth_scale(c->pool, exact_x);
  Array<Real> tolerance = spec::filled<Real>(c->out(), 0);
  const Array<int64_t> terms = spec::terms(c->pool, c->in());
  for (size_t i = 0; i < scale.data.size(); ++i) {
    const Real magnitude = static_cast<Real>(scale.data[i]);
    if (std::isfinite(magnitude)) {
      tolerance.data[i] = (4 + ceil_log2(terms.data[i])) * ulp(type, magnitude);
    }
  }
  const Forward<T> got = c->engine.forward(x, c->out(), false, false);
  expect_close("y", type, got.y, spec::forward(c->pool, exact_x), tolerance);

  const DerivativeTolerances t =
      smooth_tolerances(*c, converted<Real>(dx), converted<Real>(g), converted<Real>(v));
  const bool want_y = c->rng.percent(50);
  const auto [dy, y] = c->engine.jvp(x, dx, c->out(), want_y);
  expect_close("dy", type, dy, spec::jvp(c->pool, exact_x, converted<Exact>(dx)), t.jvp);
  if (want_y) expect_same("y of jvp", y, got.y);
  expect_close("dx", type, c->engine.vjp(&x, g, c->in()), spec::vjp(c->pool, exact_x, exact_g),
               t.vjp);
  expect_close("hx", type, c->engine.hvp(x, g, v, c->in()),
               spec::hvp(c->pool, exact_x, exact_g, converted<Exact>(v)), t.hvp);
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_CHECK_SMOOTH_H_
