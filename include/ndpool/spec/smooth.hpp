// Smooth max: y = pivot + log(sum of exp(beta*(x - pivot))) / beta.
#pragma once

#include "ndpool/spec/windows.hpp"

namespace ndpool::spec {

// log(1 + r) for r >= 0 that keeps its relative accuracy where r is small, for any type that has
// log: the error of rounding 1 + r cancels between the two factors.
template <class T>
T log_of_one_plus(const T& r) {
  using std::log;
  const T sum = T(1) + r;
  if (sum == T(1)) return r;
  return T(log(sum) * (r / T(sum - T(1))));
}

// One window of smooth max: its value, and how much each cell weighs in it.
template <class T>
struct SmoothWindow {
  T pivot, log_sum, y;
  bool infinite = false;
  std::vector<T> terms;    // the cells, then zeros for the pads that count
  std::vector<T> weights;  // of the same

  // Looks at one window, which is not empty.
  void look(const Pool& pool, const Window& window, const Array<T>& x, int64_t input) {
    using std::exp;
    using std::log;
    const T beta = static_cast<T>(pool.beta);
    terms.clear();
    for (const Window::Cell& cell : window.cells) terms.push_back(at(x, input + cell.offset));
    if (pads_count(pool)) terms.insert(terms.end(), static_cast<size_t>(window.pads), T(0));
    const T count = static_cast<T>(static_cast<int64_t>(terms.size()));
    infinite = false;
    log_sum = T(0);

    for (const T& term : terms) {
      if (!is_nan(term)) continue;
      pivot = y = log_sum = term;
      weights.assign(terms.size(), term);
      return;
    }
    size_t best = 0;  // the largest term; for soft min, the smallest
    for (size_t i = 1; i < terms.size(); ++i) {
      if (pool.beta > 0 ? terms[i] > terms[best] : terms[i] < terms[best]) best = i;
    }
    pivot = terms[best];
    if (is_infinite(pivot)) {
      infinite = true;
      y = pivot;
      T equals(0);
      for (const T& term : terms) equals += T(term == pivot ? 1 : 0);
      weights.clear();
      for (const T& term : terms) weights.push_back(term == pivot ? T(T(1) / equals) : T(0));
      return;
    }
    // The pivot's own term is exp(0) = 1, so the sum is 1 + the others.
    T others(0);
    weights.assign(terms.size(), T(1));
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i == best) continue;
      weights[i] = terms[i] - pivot;
      weights[i] = is_infinite(weights[i]) ? T(0) : T(exp(T(beta * weights[i])));
      others += weights[i];
    }
    for (T& weight : weights) weight /= T(1) + others;
    log_sum = log_of_one_plus(others);
    y = pivot + log_sum / beta;
    if (pool.mean) y -= T(log(count)) / beta;
  }
};

// What smooth max of nothing is: minus infinity, or plus infinity for soft min.
template <class T>
T smooth_identity(const Pool& pool) {
  const T infinity = std::numeric_limits<T>::infinity();
  return pool.beta > 0 ? T(-infinity) : infinity;
}

// Calls visit(window, smooth, input, output) for every output whose window is not empty.
template <class T, class Visit>
void for_each_smooth(const Pool& pool, const Layout& layout, const Array<T>& x, Visit visit) {
  empty_window(pool, layout, std::numeric_limits<T>::has_infinity);
  SmoothWindow<T> smooth;
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    if (count_terms(pool, window) == 0) return;
    smooth.look(pool, window, x, input);
    visit(window, static_cast<const SmoothWindow<T>&>(smooth), input, output);
  });
}

template <class T>
Array<T> smooth_forward(const Pool& pool, const Layout& layout, const Array<T>& x) {
  Array<T> result = filled<T>(layout.output, smooth_identity<T>(pool));
  for_each_smooth(pool, layout, x,
                  [&](const Window&, const SmoothWindow<T>& smooth, int64_t, int64_t output) {
                    at(result, output) = smooth.y;
                  });
  return result;
}

// The weighted sum of the cells' tangents. Pads weigh too, but have no tangent.
template <class T>
T weighted_sum(const Window& window, const SmoothWindow<T>& smooth, const Array<T>& dx,
               int64_t input) {
  T sum(0);
  for (size_t i = 0; i < window.cells.size(); ++i) {
    sum += smooth.weights[i] * at(dx, input + window.cells[i].offset);
  }
  return sum;
}

template <class T>
Array<T> smooth_jvp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& dx) {
  Array<T> result = filled<T>(layout.output, T(0));
  for_each_smooth(
      pool, layout, x,
      [&](const Window& window, const SmoothWindow<T>& smooth, int64_t input, int64_t output) {
        at(result, output) = weighted_sum(window, smooth, dx, input);
      });
  return result;
}

template <class T>
Array<T> smooth_vjp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& g) {
  Array<T> result = filled<T>(layout.input, T(0));
  for_each_smooth(
      pool, layout, x,
      [&](const Window& window, const SmoothWindow<T>& smooth, int64_t input, int64_t output) {
        for (size_t i = 0; i < window.cells.size(); ++i) {
          at(result, input + window.cells[i].offset) += at(g, output) * smooth.weights[i];
        }
      });
  return result;
}

// The derivative of <v, vjp(x, g)> in x: g*beta*w*(v - weighted sum of v). 0 at an infinite pivot.
template <class T>
Array<T> smooth_hvp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& g,
                    const Array<T>& v) {
  Array<T> result = filled<T>(layout.input, T(0));
  for_each_smooth(
      pool, layout, x,
      [&](const Window& window, const SmoothWindow<T>& smooth, int64_t input, int64_t output) {
        if (smooth.infinite) return;
        const T centre = weighted_sum(window, smooth, v, input);
        for (size_t i = 0; i < window.cells.size(); ++i) {
          const int64_t place = input + window.cells[i].offset;
          at(result, place) +=
              at(g, output) * T(pool.beta) * smooth.weights[i] * T(at(v, place) - centre);
        }
      });
  return result;
}

// max(|pivot|, |log(sum)/beta|, |y|) of each output: what the error of smooth max is measured by.
// 0 for an empty window.
template <class T>
Array<T> smooth_scale(const Pool& pool, const Array<T>& x) {
  using std::abs;
  if (pool.op != Op::smooth_max) throw Error("smooth_scale is for smooth_max");
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  Array<T> result = filled<T>(layout.output, T(0));
  for_each_smooth(pool, layout, x,
                  [&](const Window&, const SmoothWindow<T>& smooth, int64_t, int64_t output) {
                    T scale = abs(smooth.pivot);
                    const T logarithm = abs(T(smooth.log_sum / T(pool.beta)));
                    const T value = abs(smooth.y);
                    if (logarithm > scale) scale = logarithm;
                    if (value > scale) scale = value;
                    at(result, output) = scale;
                  });
  return result;
}

}  // namespace ndpool::spec
