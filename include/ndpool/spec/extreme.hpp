// Max and min: the winning cells of each window, and the derivatives that follow them.
#pragma once

#include "ndpool/spec/windows.hpp"

namespace ndpool::spec {

template <class T>
struct MaxMin {
  Array<T> y;
  Array<int64_t> index;                // of the first winner, flat over the pooled axes; -1: none
  Array<int64_t> first_tap, last_tap;  // of the first and last winner, in the box; -1: none
};

// Whether a challenger takes the place of the champion. NaN wins over every number, in min too.
template <class T>
bool beats(Op op, const T& challenger, const T& champion) {
  if (is_nan(champion)) return false;
  if (is_nan(challenger)) return true;
  return op == Op::max ? challenger > champion : challenger < champion;
}

// Whether two values are equally good: all NaN are, and -0 is as good as +0.
template <class T>
bool equally_good(const T& a, const T& b) {
  return a == b || (is_nan(a) && is_nan(b));
}

using Cells = std::vector<Window::Cell>;

// The winning cells of a window, in row-major order. None if the window has no cell.
template <class T>
void find_winners(Op op, const Window& window, const Array<T>& x, int64_t input, Cells& winners) {
  winners.clear();
  for (const Window::Cell& cell : window.cells) {
    const T value = at(x, input + cell.offset);
    if (winners.empty()) {
      winners.push_back(cell);
      continue;
    }
    const T best = at(x, input + winners.front().offset);
    if (beats(op, value, best)) {
      winners.assign(1, cell);
    } else if (equally_good(value, best)) {
      winners.push_back(cell);
    }
  }
}

// Leaves the winners that carry the derivative: the first, the last, or all.
inline void keep_carriers(Ties ties, Cells& winners) {
  if (winners.empty()) return;
  if (ties == Ties::first) winners.assign(1, Window::Cell(winners.front()));
  if (ties == Ties::last) winners.assign(1, Window::Cell(winners.back()));
}

// What max or min of nothing is: the value that every other value beats or equals.
template <class T>
T extreme_identity(Op op) {
  using Limits = std::numeric_limits<T>;
  if constexpr (Limits::has_infinity) {
    return op == Op::max ? T(-Limits::infinity()) : T(Limits::infinity());
  } else {
    return op == Op::max ? Limits::lowest() : Limits::max();
  }
}

// Unbounded exact types have no such value.
template <class T>
inline constexpr bool kHasExtremeIdentity =
    std::numeric_limits<T>::has_infinity || std::numeric_limits<T>::is_bounded;

// Values and winners of max or min pooling. The index names the first winner whatever `ties` is.
template <class T>
MaxMin<T> max_min(const Pool& pool, const Array<T>& x) {
  if (pool.op != Op::max && pool.op != Op::min) throw Error("max_min is for max and min");
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  empty_window(pool, layout, kHasExtremeIdentity<T>);
  const Array<int64_t> none = filled<int64_t>(layout.output, -1);
  MaxMin<T> result{filled<T>(layout.output, T()), none, none, none};
  Cells winners;
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    find_winners(pool.op, window, x, input, winners);
    if (winners.empty()) {
      at(result.y, output) = extreme_identity<T>(pool.op);
      return;
    }
    at(result.y, output) = at(x, input + winners.front().offset);
    at(result.index, output) = winners.front().index;
    at(result.first_tap, output) = winners.front().number;
    at(result.last_tap, output) = winners.back().number;
  });
  return result;
}

// The tangent of max or min: that of the first or last winner, or the sum (all) or mean (split) of
// the winners' tangents. 0 for an empty window.
template <class T>
Array<T> extreme_jvp(const Pool& pool, const Layout& layout, const Array<T>& x,
                     const Array<T>& dx) {
  empty_window(pool, layout, kHasExtremeIdentity<T>);
  Array<T> result = filled<T>(layout.output, T(0));
  Cells winners;
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    find_winners(pool.op, window, x, input, winners);
    if (winners.empty()) return;
    keep_carriers(pool.ties, winners);
    T sum = at(dx, input + winners.front().offset);
    for (size_t i = 1; i < winners.size(); ++i) sum += at(dx, input + winners[i].offset);
    if (pool.ties == Ties::split) sum /= T(static_cast<int64_t>(winners.size()));
    at(result, output) = sum;
  });
  return result;
}

// The gradient of max or min: each output's goes to the first or last winner, to every winner
// (all), or in equal parts to every winner (split).
template <class T>
Array<T> extreme_vjp(const Pool& pool, const Layout& layout, const Array<T>& x, const Array<T>& g) {
  empty_window(pool, layout, kHasExtremeIdentity<T>);
  Array<T> result = filled<T>(layout.input, T(0));
  Cells winners;
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    find_winners(pool.op, window, x, input, winners);
    if (winners.empty()) return;
    keep_carriers(pool.ties, winners);
    T share = at(g, output);
    if (pool.ties == Ties::split) share /= T(static_cast<int64_t>(winners.size()));
    for (const Window::Cell& cell : winners) at(result, input + cell.offset) += share;
  });
  return result;
}

}  // namespace ndpool::spec
