// Averages against the spec: integers exactly, floats within the promised error.
#ifndef NDPOOL_TESTS_SUPPORT_CHECK_AVERAGE_H_
#define NDPOOL_TESTS_SUPPORT_CHECK_AVERAGE_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tests/support/check.h"

namespace ndpool::test {

// A double rounded once to f16 or bf16: through a float whose last bit keeps what was cut off.
inline float round_double_to(int32_t type, double value) {
  float near = static_cast<float>(value);
  if (std::isfinite(near) && static_cast<double>(near) != value &&
      (std::bit_cast<uint32_t>(near) & 1) == 0) {
    near = std::nextafter(near, static_cast<double>(near) < value ? HUGE_VALF : -HUGE_VALF);
  }
  return round_to(type, near);
}

// (1 + ceil(log2(taps))) ULP of sum|x|/|divisor|, for the value and, with dx for x, the tangent.
// Where a cell is infinite or NaN, so is the average: no tolerance.
inline Array<Real> average_tolerance(const Check& c, int32_t type, const Array<Real>& x) {
  const Array<Real> scale = spec::sum_of_magnitudes(c.pool, x);
  Array<Real> tolerance = spec::filled<Real>(c.out(), 0);
  spec::for_each_output(c.layout, [&](const spec::Window& window, int64_t, int64_t output) {
    const Real magnitude = spec::at(scale, output);
    spec::at(tolerance, output) =
        std::isfinite(magnitude) ? (1 + ceil_log2(taps_of(c.layout, window))) * ulp(type, magnitude)
                                 : 0;
  });
  return tolerance;
}

// (2 + ceil(log2(outputs that cover the cell))) ULP of the sum of |g/divisor| that reach it.
inline Array<Real> average_vjp_tolerance(const Check& c, const Array<Real>& g) {
  Array<Real> scale = spec::filled<Real>(c.in(), 0);
  Array<int64_t> covering = spec::filled<int64_t>(c.in(), 0);
  spec::for_each_output(c.layout, [&](const spec::Window& window, int64_t input, int64_t output) {
    if (window.cells.empty()) return;
    const Real share =
        std::fabs(spec::at(g, output) / static_cast<Real>(spec::divisor_of(c.pool, window)));
    for (const spec::Window::Cell& cell : window.cells) {
      spec::at(scale, input + cell.offset) += share;
      ++spec::at(covering, input + cell.offset);
    }
  });
  for (size_t i = 0; i < scale.data.size(); ++i) {
    scale.data[i] = std::isfinite(scale.data[i])
                        ? (2 + ceil_log2(covering.data[i])) * ulp(c.type(), scale.data[i])
                        : 0;
  }
  return scale;
}

// Finite magnitudes whose sums stay within the accumulator.
inline DataRange average_range(int32_t type) {
  DataRange range;
  range.largest = type == NDPOOL_F64 ? 1e280 : 1e30;
  return range;
}

// An average of floats in another float type: sums in the wider of both, one rounding.
template <class Out, class T>
void check_float_average_as(Check* c, int32_t out_type) {
  const Array<T> x = random_array<T>(&c->rng, c->type(), c->in(), average_range(c->type()));
  const Array<Real> exact_x = converted<Real>(x);
  const Forward<Out> got = c->engine.template forward<T, Out>(x, c->out(), false, false);
  expect_close("y", out_type, got.y, spec::forward(c->pool, exact_x),
               average_tolerance(*c, out_type, exact_x));
}

template <class T>
void check_float_average(Check* c) {
  const int32_t out_type = output_type(c->problem);
  if (out_type != c->type()) {
    return out_type == NDPOOL_F64 ? check_float_average_as<double, T>(c, out_type)
                                  : check_float_average_as<float, T>(c, out_type);
  }
  const DataRange range = average_range(c->type());
  const Array<T> x = random_array<T>(&c->rng, c->type(), c->in(), range);
  const Array<Real> exact_x = converted<Real>(x);
  const Forward<T> got = c->engine.forward(x, c->out(), false, false);
  expect_close("y", c->type(), got.y, spec::forward(c->pool, exact_x),
               average_tolerance(*c, c->type(), exact_x));

  const Array<T> dx = random_array<T>(&c->rng, c->type(), c->in(), range);
  const Array<Real> exact_dx = converted<Real>(dx);
  const bool want_y = c->rng.percent(50);
  const auto [dy, y] = c->engine.jvp(x, dx, c->out(), want_y);
  expect_close("dy", c->type(), dy, spec::jvp(c->pool, exact_x, exact_dx),
               average_tolerance(*c, c->type(), exact_dx));
  if (want_y) expect_same("y of jvp", y, got.y);

  const Array<T> g = random_array<T>(&c->rng, c->type(), c->out(), range);
  const Array<Real> exact_g = converted<Real>(g);
  const Array<T> gradient = c->engine.vjp(c->rng.percent(50) ? &x : nullptr, g, c->in());
  expect_close("dx", c->type(), gradient, spec::vjp(c->pool, exact_x, exact_g),
               average_vjp_tolerance(*c, exact_g));
  if (c->rng.percent(2)) c->engine.template expect_no_derivatives<T>(c->in(), c->out(), true);
}

template <class Out, class T>
void check_integer_average_as(Check* c, const Array<T>& x) {
  const Forward<Out> got = c->engine.template forward<T, Out>(x, c->out(), false, false);
  if constexpr (std::is_same_v<Out, float>) {
    const int32_t out = output_type(c->problem);
    if (is_small_float(out)) {
      const Array<double> wanted = spec::average_as<double>(c->pool, x);
      Array<float> once = spec::filled<float>(wanted.shape, 0);
      for (size_t i = 0; i < once.data.size(); ++i) {
        once.data[i] = round_double_to(out, wanted.data[i]);
      }
      expect_same("y", got.y, once);
      return;
    }
  }
  expect_same("y", got.y, spec::average_as<Out>(c->pool, x));
}

template <class T>
void check_integer_average(Check* c) {
  const Array<T> x = random_array<T>(&c->rng, c->type(), c->in());
  const auto wide_enough = [&]<class Out>(Out) {
    if constexpr (sizeof(Out) >= sizeof(T)) check_integer_average_as<Out>(c, x);
  };
  switch (output_type(c->problem)) {
    case NDPOOL_F16:
    case NDPOOL_BF16:
    case NDPOOL_F32:
      return check_integer_average_as<float>(c, x);
    case NDPOOL_F64:
      return check_integer_average_as<double>(c, x);
    case NDPOOL_I8:
      return wide_enough(int8_t{});
    case NDPOOL_U8:
      return wide_enough(uint8_t{});
    case NDPOOL_I16:
      return wide_enough(int16_t{});
    case NDPOOL_U16:
      return wide_enough(uint16_t{});
    case NDPOOL_I32:
      return wide_enough(int32_t{});
    case NDPOOL_U32:
      return wide_enough(uint32_t{});
    case NDPOOL_I64:
      return wide_enough(int64_t{});
    default:
      return wide_enough(uint64_t{});
  }
}

template <class T>
void check_average(Check* c) {
  if constexpr (std::is_floating_point_v<T>) {
    check_float_average<T>(c);
  } else {
    check_integer_average<T>(c);
    if (c->rng.percent(5)) c->engine.template expect_no_derivatives<T>(c->in(), c->out(), false);
  }
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_CHECK_AVERAGE_H_
