// Average: the sum of the cells over a divisor.
#pragma once

#include "ndpool/spec/windows.hpp"

namespace ndpool::spec {

// What the sum of a window is divided by: the given divisor; else its cells, and its pads if they
// are to be counted. Never overhang. (Adaptive and global windows have cells only.)
inline int64_t divisor_of(const Pool& pool, const Window& window) {
  if (pool.divisor) return *pool.divisor;
  return static_cast<int64_t>(window.cells.size()) + (pool.count_include_pad ? window.pads : 0);
}

// sum / divisor as an integer: to nearest, halves away from zero, saturating.
template <class Out>
Out divide_to_integer(Wide sum, int64_t divisor) {
  const bool negative = (sum < 0) != (divisor < 0);
  const Wide a = sum < 0 ? -sum : sum;
  const Wide d = divisor < 0 ? -Wide{divisor} : Wide{divisor};
  Wide quotient = a / d;
  if (2 * (a % d) >= d) ++quotient;
  if (negative) quotient = -quotient;
  if (quotient < Wide{std::numeric_limits<Out>::lowest()})
    return std::numeric_limits<Out>::lowest();
  if (quotient > Wide{std::numeric_limits<Out>::max()}) return std::numeric_limits<Out>::max();
  return static_cast<Out>(quotient);
}

// sum / divisor in a floating type, rounded once, to nearest, halves to even. Built-in types are
// served by long division in binary; types of more than 128 bits hold the sum exactly, so that
// their own division rounds once.
template <class Out>
Out divide_to_real(Wide sum, int64_t divisor) {
  const bool negative = (sum < 0) != (divisor < 0);
  const UnsignedWide a = static_cast<UnsignedWide>(sum < 0 ? -sum : sum);
  const UnsignedWide d = static_cast<UnsignedWide>(divisor < 0 ? -Wide{divisor} : Wide{divisor});
  constexpr int kDigits = std::numeric_limits<Out>::digits;
  if constexpr (kReal<Out> && kDigits <= 64) {
    if (a == 0) return Out(0);
    // quotient * 2^exponent + what `remainder` still holds; two bits more than the type has: the
    // one that decides, and one that says whether anything lies below it.
    constexpr UnsignedWide kEnough = UnsignedWide{1} << (kDigits + 1);
    UnsignedWide quotient = a / d;
    UnsignedWide remainder = a % d;
    int exponent = 0;
    while (quotient < kEnough) {
      remainder *= 2;
      quotient = 2 * quotient + (remainder >= d ? 1 : 0);
      if (remainder >= d) remainder -= d;
      --exponent;
    }
    bool below = remainder != 0;
    while (quotient >= 2 * kEnough) {
      below = below || quotient % 2 != 0;
      quotient /= 2;
      ++exponent;
    }
    if (below) quotient |= 1;
    const auto decisive = static_cast<int>(quotient % 4);  // the bit that decides, the bit below
    quotient /= 4;
    if (decisive == 3 || (decisive == 2 && quotient % 2 != 0)) ++quotient;
    const Out magnitude = std::ldexp(static_cast<Out>(quotient), exponent + 2);
    return negative ? -magnitude : magnitude;
  } else {
    const Out high = Out(static_cast<uint64_t>(a >> 64));
    const Out low = Out(static_cast<uint64_t>(a));
    const Out half_word = Out(uint64_t{1} << 32);
    const Out magnitude = (high * half_word * half_word + low) / Out(static_cast<uint64_t>(d));
    return negative ? Out(-magnitude) : magnitude;
  }
}

// The average of one window in the result's type. Integers are summed exactly; others in `Out`.
// The window is not empty.
template <class Out, class T>
Out average_of(const Pool& pool, const Window& window, const Array<T>& x, int64_t input) {
  const int64_t divisor = divisor_of(pool, window);
  if constexpr (std::numeric_limits<T>::is_integer) {
    Wide sum = 0;
    for (const Window::Cell& cell : window.cells) sum += Wide{at(x, input + cell.offset)};
    if constexpr (std::numeric_limits<Out>::is_integer) {
      return divide_to_integer<Out>(sum, divisor);
    } else {
      return divide_to_real<Out>(sum, divisor);
    }
  } else {
    static_assert(!std::numeric_limits<Out>::is_integer, "floats average to floats");
    Out sum(0);
    for (const Window::Cell& cell : window.cells) {
      sum += static_cast<Out>(at(x, input + cell.offset));
    }
    return Out(sum / Out(divisor));
  }
}

// Averages in another type than the input's: integers to any type, floats to floats.
// An empty window is NaN, so a result type without NaN refuses it.
template <class Out, class T>
Array<Out> average_as(const Pool& pool, const Array<T>& x) {
  using Limits = std::numeric_limits<Out>;
  if (pool.op != Op::avg) throw Error("average_as is for avg");
  if (std::is_same_v<T, bool> || std::is_same_v<Out, bool>) throw Error("bool has no average");
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  empty_window(pool, layout, Limits::has_quiet_NaN);
  Array<Out> result = filled<Out>(layout.output, Out(0));
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    at(result, output) = count_terms(pool, window) == 0 ? Out(Limits::quiet_NaN())
                                                        : average_of<Out>(pool, window, x, input);
  });
  return result;
}

// The tangent of an average is the average of the tangent; 0 for an empty window.
template <class T>
Array<T> average_jvp(const Pool& pool, const Layout& layout, const Array<T>& dx) {
  empty_window(pool, layout, std::numeric_limits<T>::has_quiet_NaN);
  Array<T> result = filled<T>(layout.output, T(0));
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    if (count_terms(pool, window) == 0) return;
    at(result, output) = average_of<T>(pool, window, dx, input);
  });
  return result;
}

// The gradient of an average goes to each cell of the window, divided by the same divisor.
template <class T>
Array<T> average_vjp(const Pool& pool, const Layout& layout, const Array<T>& g) {
  empty_window(pool, layout, std::numeric_limits<T>::has_quiet_NaN);
  Array<T> result = filled<T>(layout.input, T(0));
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    if (window.cells.empty()) return;
    const T share = at(g, output) / T(divisor_of(pool, window));
    for (const Window::Cell& cell : window.cells) at(result, input + cell.offset) += share;
  });
  return result;
}

// The sum of |x| over |divisor| of each window: what the error of an average is measured by.
// 0 for an empty window.
template <class T>
Array<T> sum_of_magnitudes(const Pool& pool, const Array<T>& x) {
  using std::abs;
  const Layout layout = make_layout(pool, x.shape);
  check_array("x", x, layout.input);
  Array<T> result = filled<T>(layout.output, T(0));
  for_each_output(layout, [&](const Window& window, int64_t input, int64_t output) {
    if (window.cells.empty()) return;
    T sum(0);
    for (const Window::Cell& cell : window.cells) sum += abs(at(x, input + cell.offset));
    at(result, output) = sum / T(abs(T(divisor_of(pool, window))));
  });
  return result;
}

}  // namespace ndpool::spec
