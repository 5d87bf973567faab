// Lp against the spec: the value within the promised error, derivatives within what follows from
// it.
#ifndef NDPOOL_TESTS_SUPPORT_CHECK_LP_H_
#define NDPOOL_TESTS_SUPPORT_CHECK_LP_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/check_smooth.h"

namespace ndpool::test {

// (4 + ceil(log2 taps)) * max(1, 1/p) ULP: the promised error of y, in ULP of y.
inline Real lp_ulps(const Check& c, const spec::Window& window) {
  return (4 + ceil_log2(taps_of(c.layout, window))) *
         std::max<Real>(1, 1 / static_cast<Real>(c.problem.p));
}

// The relative errors that follow from the error of y in one window, as fractions.
struct LpErrors {
  Real y = 0;
  std::vector<Real> slope;  // of (|x|/y)^(p-1), for each cell
  std::vector<Real> curve;  // of (|x|/y)^(p-2)
  bool promised = true;     // false: a ratio or y leaves the range of the accumulator

  // A power r^q is off by |q| times the relative error of r, and, because powers are exponentials
  // of logarithms, by |q*log r| times the error of the logarithm and of its product with q: an ULP
  // each.
  template <class Exact>
  void look(const Check& c, const spec::Window& window, const spec::LpWindow<Exact>& lp) {
    const Real eps = ulp(c.type(), 1);
    const Real value = static_cast<Real>(lp.y);
    const int32_t accumulator = c.type() == NDPOOL_F64 ? NDPOOL_F64 : NDPOOL_F32;
    const Real smallest_normal = std::ldexp(Real{1}, format_of(accumulator).min_exponent);
    const bool hard = std::isinf(c.problem.p);
    const Real q = hard ? 0 : static_cast<Real>(c.problem.p) - 1;
    const Real q2 = hard ? 0 : static_cast<Real>(c.problem.p) - 2;
    const bool finite = std::isfinite(value) && value > 0;
    y = lp_ulps(c, window) * (finite ? ulp(c.type(), value) / value : eps);
    promised = !finite || value <= largest_sum(c.type());
    slope.assign(window.cells.size(), 0);
    curve.assign(window.cells.size(), 0);
    for (size_t i = 0; i < window.cells.size(); ++i) {
      const Real ratio = static_cast<Real>(lp.ratios[i]);
      if (!(ratio > 0)) continue;
      if (ratio < smallest_normal && q != 0) promised = false;
      const Real off = y + 2 * (1 + std::fabs(std::log(ratio))) * eps;
      slope[i] = std::fabs(q) * off + 4 * eps;
      curve[i] = std::fabs(q2) * off + 4 * eps;
    }
  }
};

// What follows for the derivatives: each term's own error, and the roundings of products and sums.
// Where a term, or a sum of magnitudes, is beyond the accumulator's range, nothing is promised.
template <class Exact>
DerivativeTolerances lp_tolerances(const Check& c, const Array<Exact>& x, const Array<Real>& dx,
                                   const Array<Real>& g, const Array<Real>& v) {
  const int32_t type = c.type();
  const Real eps = ulp(type, 1);
  const Real tiny = ulp(type, 0);
  const Real p = static_cast<Real>(c.problem.p);
  const bool flat = std::isinf(c.problem.p) || c.problem.p == 1;
  const Array<int64_t> covering = covering_outputs(c);
  DerivativeTolerances t{spec::filled<Real>(c.out(), 0), spec::filled<Real>(c.in(), 0),
                         spec::filled<Real>(c.in(), 0)};
  Array<Real> vjp_scale = t.vjp;
  Array<Real> hvp_scale = t.hvp;
  LpErrors off;
  const auto visit = [&](const spec::Window& window, const spec::LpWindow<Exact>& lp, int64_t input,
                         int64_t output) {
    if (lp.nan) return;  // every derivative of the window is NaN, whatever the others add
    off.look(c, window, lp);
    const Real additions = ceil_log2(taps_of(c.layout, window)) + 2;
    const Real gradient = std::fabs(spec::at(g, output));
    Real jvp_scale = 0;
    Real along = 0;      // sum of |slope * v|
    Real along_off = 0;  // and its error
    for (size_t i = 0; i < window.cells.size(); ++i) {
      const int64_t place = input + window.cells[i].offset;
      const Real slope = std::fabs(static_cast<Real>(lp.slopes[i]));
      const Real tangent = std::fabs(spec::at(dx, place));
      jvp_scale += slope * tangent;
      spec::at(t.jvp, output) +=
          slope * tangent * (off.slope[i] + additions * eps) + 2 * tiny * (1 + tangent);
      const Real moved = slope * std::fabs(spec::at(v, place));
      along += moved;
      along_off +=
          moved * (off.slope[i] + additions * eps) + tiny * (1 + std::fabs(spec::at(v, place)));
    }
    if (!off.promised || jvp_scale > largest_sum(type)) spec::at(t.jvp, output) = kAnything;

    const Real value = static_cast<Real>(lp.y);
    const Real factor = flat || lp.infinite || lp.y == 0
                            ? 0
                            : gradient * std::fabs(p - 1) / static_cast<Real>(lp.y);
    for (size_t i = 0; i < window.cells.size(); ++i) {
      const int64_t place = input + window.cells[i].offset;
      const Real slope = std::fabs(static_cast<Real>(lp.slopes[i]));
      const Real adds = static_cast<Real>(spec::at(covering, place)) / 2;
      spec::at(vjp_scale, place) += gradient * slope;
      spec::at(t.vjp, place) +=
          gradient * slope * (off.slope[i] + (1 + adds) * eps) + 2 * tiny * (1 + gradient);
      if (!off.promised) spec::at(t.vjp, place) = spec::at(t.hvp, place) = kAnything;
      const Real moved = std::fabs(spec::at(v, place));
      if (factor == 0) continue;
      const Real power =
          moved == 0 ? 0 : static_cast<Real>(spec::power(lp.ratios[i], Exact(c.problem.p - 2)));
      const Real own = moved == 0 ? 0 : moved * power;
      const Real common = off.y + (5 + adds) * eps;  // of factor, of the difference, of the sum
      // The formula's own factors must be within range, too, and each of six products may have been
      // rounded to a subnormal before the others came to it.
      const Real step = std::max({factor, power, own, slope * along});
      spec::at(hvp_scale, place) += std::max(step, factor * (own + slope * along));
      spec::at(t.hvp, place) +=
          factor * (own * (off.curve[i] + common) + slope * along_off +
                    slope * along * (off.slope[i] + common)) +
          6 * tiny *
              (1 + power + (1 + 1 / value) * (own + slope * along) + factor * (1 + moved + along));
    }
  };
  spec::for_each_lp(c.pool, c.layout, x, true, visit);
  for (size_t i = 0; i < t.hvp.data.size(); ++i) {
    if (vjp_scale.data[i] > largest_sum(type)) t.vjp.data[i] = kAnything;
    if (hvp_scale.data[i] > largest_sum(type)) t.hvp.data[i] = kAnything;
  }
  return t;
}

// Exact is long double or a multiprecision float.
template <class T, class Exact>
void check_lp(Check* c) {
  const int32_t type = c->type();
  const Array<T> x = random_array<T>(&c->rng, type, c->in());
  const Array<T> dx = random_array<T>(&c->rng, type, c->in(), derivative_range());
  const Array<T> g = random_array<T>(&c->rng, type, c->out(), derivative_range());
  const Array<T> v = random_array<T>(&c->rng, type, c->in(), derivative_range());
  const Array<Exact> exact_x = converted<Exact>(x);
  const Array<Exact> exact_g = converted<Exact>(g);

  const Array<Exact> exact_y = spec::forward(c->pool, exact_x);
  Array<Real> tolerance = spec::filled<Real>(c->out(), 0);
  spec::for_each_output(c->layout, [&](const spec::Window& window, int64_t, int64_t output) {
    const Real y = static_cast<Real>(spec::at(exact_y, output));
    if (std::isfinite(y)) spec::at(tolerance, output) = lp_ulps(*c, window) * ulp(type, y);
  });
  const Forward<T> got = c->engine.forward(x, c->out(), false, false);
  expect_close("y", type, got.y, exact_y, tolerance);

  const DerivativeTolerances t =
      lp_tolerances(*c, exact_x, converted<Real>(dx), converted<Real>(g), converted<Real>(v));
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

#endif  // NDPOOL_TESTS_SUPPORT_CHECK_LP_H_
