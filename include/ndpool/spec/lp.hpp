// Lp: y = (sum of |x|^p)^(1/p).
#pragma once

#include "ndpool/spec/windows.hpp"

namespace ndpool::spec {

template <class T>
T sign(const T& x) {
  return T(x > T(0) ? 1 : (x < T(0) ? -1 : 0));
}

// base^exponent for base >= 0, with 0^0 = 1 and 0^negative = infinity said outright, since not
// every type's own pow says so.
template <class T>
T power(const T& base, const T& exponent) {
  using std::pow;
  if (exponent == T(0)) return T(1);
  if (exponent == T(1)) return base;
  if (exponent == T(2)) return T(base * base);
  if (base != T(0)) return T(pow(base, exponent));
  return exponent > T(0) ? T(0) : T(std::numeric_limits<T>::infinity());
}

// One window of Lp: its value, and the slope of the value in each cell.
template <class T>
struct LpWindow {
  T y;
  bool nan = false, infinite = false;
  std::vector<T> ratios;  // |x|/y of each cell, where y is neither 0 nor infinite
  std::vector<T> slopes;  // sign(x) * (|x|/y)^(p-1), 0 where x or y is 0

  // Finds y and the ratios of one window. Pads are zeros, which add nothing.
  void look(const Pool& pool, const Window& window, const Array<T>& x, int64_t input) {
    using std::abs;
    const bool hard = std::isinf(pool.p);
    const size_t count = window.cells.size();
    nan = infinite = false;
    ratios.assign(count, T(0));

    T largest(0);
    for (const Window::Cell& cell : window.cells) {
      const T value = at(x, input + cell.offset);
      const T magnitude = abs(value);
      if (is_nan(value)) {
        nan = true;
        y = value;
        return;
      }
      if (magnitude > largest) largest = magnitude;
    }
    y = largest;
    if (largest == T(0)) return;
    infinite = is_infinite(largest);

    // Divided by the largest, no power overflows, and one of them is 1. Infinite cells are equals
    // before which the finite ones vanish.
    T sum(0);
    for (size_t i = 0; i < count; ++i) {
      const T magnitude = abs(at(x, input + window.cells[i].offset));
      ratios[i] = infinite ? T(magnitude == largest ? 1 : 0) : T(magnitude / largest);
      if (!hard) sum += power(ratios[i], T(pool.p));
    }
    const T root = hard ? T(1) : power(sum, T(T(1) / T(pool.p)));
    y = largest * root;
    for (T& ratio : ratios) ratio /= root;
  }

  // Finds the slopes; look() has been called for the same window.
  void look_at_slopes(const Pool& pool, const Window& window, const Array<T>& x, int64_t input) {
    slopes.assign(window.cells.size(), nan ? y : T(0));
    if (nan) return;
    for (size_t i = 0; i < slopes.size(); ++i) {
      const T direction = sign(at(x, input + window.cells[i].offset));
      if (ratios[i] == T(0)) continue;
      if (!std::isinf(pool.p)) {
        slopes[i] = direction * power(ratios[i], T(T(pool.p) - T(1)));
      } else if (ratios[i] == T(1)) {
        slopes[i] = direction;
        break;  // the first cell with |x| = y carries it alone
      }
    }
  }
};

// Calls visit(window, lp, input, output) for every output, with the slopes where they are wanted.
// (No window of Lp is empty unless it is all overhang, and ceil rounding never starts one there.)
template <class T, class Visit>
void for_each_lp(const Pool& pool, const Layout& layout, const Array<T>& x, bool with_slopes,
                 Visit visit) {
  empty_window(pool, layout, true);
  LpWindow<T> lp;
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    lp.look(pool, window, x, input);
    if (with_slopes) lp.look_at_slopes(pool, window, x, input);
    visit(window, static_cast<const LpWindow<T>&>(lp), input, output);
  });
}

template <class T>
Array<T> lp_forward(const Pool& pool, const Layout& layout, const Array<T>& x) {
  Array<T> result = filled<T>(layout.output, T(0));
  for_each_lp(pool, layout, x, false,
              [&](const Window&, const LpWindow<T>& lp, int64_t, int64_t output) {
                at(result, output) = lp.y;
              });
  return result;
}

// The sum of slope * tangent over the cells.
template <class T>
T slope_sum(const Window& window, const LpWindow<T>& lp, const Array<T>& dx, int64_t input) {
  T sum(0);
  for (size_t i = 0; i < window.cells.size(); ++i) {
    sum += lp.slopes[i] * at(dx, input + window.cells[i].offset);
  }
  return sum;
}

template <class T>
Array<T> lp_jvp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& dx) {
  Array<T> result = filled<T>(layout.output, T(0));
  for_each_lp(pool, layout, x, true,
              [&](const Window& window, const LpWindow<T>& lp, int64_t input, int64_t output) {
                at(result, output) = slope_sum(window, lp, dx, input);
              });
  return result;
}

template <class T>
Array<T> lp_vjp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& g) {
  Array<T> result = filled<T>(layout.input, T(0));
  for_each_lp(pool, layout, x, true,
              [&](const Window& window, const LpWindow<T>& lp, int64_t input, int64_t output) {
                for (size_t i = 0; i < window.cells.size(); ++i) {
                  at(result, input + window.cells[i].offset) += at(g, output) * lp.slopes[i];
                }
              });
  return result;
}

// The derivative of <v, vjp(x, g)> in x: g*(p-1)/y * ((|x|/y)^(p-2)*v - slope*sum of slope*v).
// 0 at y = 0, y infinite, p = 1 and p = infinity; NaN where the window holds NaN. A cell of 0 with
// p < 2 has an infinite power: where v or g is 0 the product that is derived is constantly 0, so
// 0 times that power is 0.
template <class T>
Array<T> lp_hvp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& g,
                const Array<T>& v) {
  const T p = static_cast<T>(pool.p);
  const bool flat = pool.p == 1 || std::isinf(pool.p);
  Array<T> result = filled<T>(layout.input, T(0));
  for_each_lp(pool, layout, x, true,
              [&](const Window& window, const LpWindow<T>& lp, int64_t input, int64_t output) {
                const T gradient = at(g, output);
                if (!lp.nan && (flat || lp.infinite || lp.y == T(0) || gradient == T(0))) return;
                const T factor = gradient * T(p - T(1)) / lp.y;  // NaN where the window holds NaN
                const T along = slope_sum(window, lp, v, input);
                for (size_t i = 0; i < window.cells.size(); ++i) {
                  const int64_t place = input + window.cells[i].offset;
                  const T tangent = at(v, place);
                  const T own =
                      tangent == T(0) ? T(0) : T(power(lp.ratios[i], T(p - T(2))) * tangent);
                  at(result, place) += factor * T(own - lp.slopes[i] * along);
                }
              });
  return result;
}

}  // namespace ndpool::spec
