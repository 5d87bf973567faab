// The geometry of one pooled axis: how many outputs, and which cells each window holds.
//
// Pure integers, constexpr, C++17, nothing included but <stdint.h>: the desktop engine and the
// micro-controller profile use this same file. `Int` is the signed integer to compute in (int64_t
// on hosts, int32_t on small targets); no expression here can overflow for an axis that make_*
// accepted.
#ifndef NDPOOL_AXIS_HPP_
#define NDPOOL_AXIS_HPP_

#include <stdint.h>

namespace ndpool::geometry {

enum class Rounding : uint8_t { floor, ceil, exact };
enum class Padding : uint8_t { given, same, same_lower };

// Why an axis is refused; `none` means accepted.
enum class Fault : uint8_t {
  none,
  empty_axis,       // the pooled axis has no cell
  bad_window,       // window < 1
  bad_stride,       // stride < 1
  bad_dilation,     // dilation < 1
  bad_padding,      // padding < 0
  bad_output_size,  // adaptive to < 1 outputs
  overflow,         // (window-1)*dilation+1, or the padded size, does not fit Int
  no_output,        // the window does not fit the padded axis
  remainder,        // exact: windows do not tile the padded axis
};

// a + b and a * b for a, b >= 0; false when the result does not fit.
template <class Int>
constexpr bool checked_add(Int a, Int b, Int* sum) {
  return !__builtin_add_overflow(a, b, sum);
}
template <class Int>
constexpr bool checked_mul(Int a, Int b, Int* product) {
  return !__builtin_mul_overflow(a, b, product);
}

template <class Int>
constexpr Int ceil_div(Int a, Int b) {  // b > 0, any a
  return a > 0 ? (a - 1) / b + 1 : -(-a / b);
}
template <class Int>
constexpr Int floor_div(Int a, Int b) {  // b > 0, any a
  return a >= 0 ? a / b : -((-a - 1) / b) - 1;
}

template <class Int>
struct Quotient {
  Int quotient, remainder;
};

// a*b divided by c, for a, b >= 0 and c > 0 with a quotient that fits. Bit by bit where a*b does
// not fit 64 bits, so that no wider integer is needed.
template <class Int>
constexpr Quotient<Int> mul_div_wide(Int a, Int b, Int c) {
  Int product = 0;
  if (checked_mul(a, b, &product)) return {product / c, product % c};
  uint64_t quotient = 0, rest = 0;  // rest < c < 2^63, so that doubling it cannot wrap
  const uint64_t whole = static_cast<uint64_t>(b / c), part = static_cast<uint64_t>(b % c);
  for (int bit = 62; bit >= 0; --bit) {
    quotient *= 2, rest *= 2;
    if (rest >= static_cast<uint64_t>(c)) rest -= static_cast<uint64_t>(c), ++quotient;
    if (static_cast<uint64_t>(a) >> bit & 1) {
      quotient += whole, rest += part;
      if (rest >= static_cast<uint64_t>(c)) rest -= static_cast<uint64_t>(c), ++quotient;
    }
  }
  return {static_cast<Int>(quotient), static_cast<Int>(rest)};
}
template <class Int>
constexpr Quotient<Int> mul_div(Int a, Int b, Int c) {
  if constexpr (sizeof(Int) < sizeof(int64_t)) {
    const int64_t product = static_cast<int64_t>(a) * b;
    return {static_cast<Int>(product / c), static_cast<Int>(product % c)};
  } else {
    return mul_div_wide(a, b, c);
  }
}

// The smallest x >= 0 with low <= a*x mod m <= high, for 0 <= a < m and 0 < low <= high < m; -1 if
// there is none. As Euclid does it, in about as many steps.
template <class Int>
constexpr Int first_within(Int a, Int m, Int low, Int high) {
  if (a == 0) return -1;
  if (a > m - a) {  // going back by m - a
    return first_within(static_cast<Int>(m - a), m, static_cast<Int>(m - high),
                        static_cast<Int>(m - low));
  }
  const Int direct = ceil_div(low, a);
  if (direct <= high / a) return direct;
  // a*x lies between m*rounds + low and m*rounds + high, and no multiple of a between those two.
  const Int step = m % a == 0 ? 0 : a - m % a;
  const Int rounds = first_within(step, a, static_cast<Int>(low % a), static_cast<Int>(high % a));
  if (rounds < 0) return -1;
  const auto whole = mul_div(m, rounds, a);
  return whole.quotient + ceil_div(static_cast<Int>(whole.remainder + low), a);
}

// The window of one output: taps `lead`, lead+1, … lead+cells-1 are cells, at first, first+step, …
// `counted` taps are cells or pads; the rest of the window's taps are overhang.
template <class Int>
struct Window {
  Int first, cells, step, lead, counted;
};

// The outputs whose windows hold one cell: first, first+step, … (`count` of them). `lead` more of
// that progression lie before output 0.
template <class Int>
struct Cover {
  Int first, count, step, lead;
};

// One accepted axis. For adaptive and global axes window and counts vary and `window` is the
// largest.
template <class Int>
struct Axis {
  Int cells = 1;    // n, the input size
  Int outputs = 1;  // O
  Int window = 1, stride = 1, dilation = 1, pad_lo = 0, pad_hi = 0;
  bool adaptive = false;
  // For cover(): stride/dilation in lowest terms, and the inverse of the stride modulo the
  // dilation.
  Int common = 1, inverse = 0;

  constexpr Int extent() const { return (window - 1) * dilation + 1; }

  // Cells after the last window that no window covers.
  constexpr Int dropped() const {
    if (adaptive) return 0;
    const Int last_end = (outputs - 1) * stride - pad_lo;  // of a window of one tap
    return cells - last_end > extent() ? cells - last_end - extent() : 0;
  }

  constexpr Window<Int> window_of(Int output) const {
    if (adaptive) {
      const Int begin = mul_div(output, cells, outputs).quotient;
      const auto end = mul_div(static_cast<Int>(output + 1), cells, outputs);
      const Int count = end.quotient + (end.remainder != 0) - begin;
      return {begin, count, 1, 0, count};
    }
    return sliding_window_of(output);
  }

  // The same for an axis that is known not to be adaptive: small targets link nothing else.
  constexpr Window<Int> sliding_window_of(Int output) const {
    const Int start = output * stride - pad_lo;
    const Int lead = start < 0 ? ceil_div(static_cast<Int>(-start), dilation) : 0;
    const Int end = taps_before(start, cells), counted = taps_before(start, cells + pad_hi);
    if (end <= lead) return {0, 0, dilation, lead, counted};
    return {start + lead * dilation, end - lead, dilation, lead, counted};
  }

  // Outputs o with cell + pad_lo - o*stride in {0, dilation, …} are the root modulo
  // dilation/common (if common divides cell + pad_lo; else there are none).
  constexpr Int cover_root(Int cell) const {
    const Int step = dilation / common, place = cell + pad_lo;
    return step == 1 ? 0
                     : mul_div(static_cast<Int>(place / common % step), inverse, step).remainder;
  }

  constexpr Cover<Int> cover_of(Int cell) const {
    if (adaptive) {
      const Int begin = mul_div(cell, outputs, cells).quotient;
      const auto end = mul_div(static_cast<Int>(cell + 1), outputs, cells);
      return {begin, end.quotient + (end.remainder != 0) - begin, 1, 0};
    }
    return sliding_cover_of(cell);
  }

  constexpr Cover<Int> sliding_cover_of(Int cell) const {
    const Int step = dilation / common, place = cell + pad_lo;
    if (place % common != 0) return {0, 0, step, 0};
    const Int root = cover_root(cell);
    const Int low = ceil_div(static_cast<Int>(place - (extent() - 1)), stride);
    const Int high = place / stride < outputs - 1 ? place / stride : outputs - 1;
    const Int begin = root + ceil_div(static_cast<Int>(low - root), step) * step;
    const Int lead = begin < 0 ? ceil_div(static_cast<Int>(-begin), step) : 0;
    const Int first = begin + lead * step;
    return {first, first > high ? 0 : (high - first) / step + 1, step, lead};
  }

  // Whether some window has no cell, and the first such output.
  constexpr bool has_empty_window(Int* output) const {
    if (adaptive) return false;
    // Windows that start before cell 0 lie wholly in the padding (then the first does), or step
    // over the data with a dilation larger than it.
    *output = 0;
    if (sliding_window_of(0).cells == 0) return true;
    if (pad_lo > 0 && dilation > cells) {
      // The first tap of the first window that is not before cell 0; it is a cell.
      const Int place = (dilation - pad_lo % dilation) % dilation;
      const Int first =
          first_within(static_cast<Int>(stride % dilation), dilation,
                       static_cast<Int>(cells - place), static_cast<Int>(dilation - 1 - place));
      *output = first;
      if (first >= 0 && first < outputs && first < ceil_div(pad_lo, stride)) return true;
    }
    *output = ceil_div(static_cast<Int>(cells + pad_lo), stride);  // the first that starts beyond
    return *output < outputs;
  }

 private:
  // Taps of a window at `start` that lie before `end`.
  constexpr Int taps_before(Int start, Int end) const {
    if (start >= end) return 0;
    const Int taps = (end - 1 - start) / dilation + 1;
    return taps < window ? taps : window;
  }
};

template <class Int>
struct Made {
  Fault fault = Fault::none;
  Axis<Int> axis{};
  Int remainder = 0;  // of Fault::remainder; the axis then holds the floor geometry
};

namespace detail {

template <class Int>
constexpr Int gcd(Int a, Int b) {
  while (b != 0) {
    const Int rest = a % b;
    a = b, b = rest;
  }
  return a;
}

// The inverse of a modulo m, for a and m without common factor (m > 1).
template <class Int>
constexpr Int inverse_modulo(Int a, Int m) {
  Int r0 = m, r1 = a % m, t0 = 0, t1 = 1;
  while (r1 != 0) {
    const Int q = r0 / r1;
    const Int r2 = r0 - q * r1, t2 = t0 - q * t1;
    r0 = r1, r1 = r2, t0 = t1, t1 = t2;
  }
  return t0 < 0 ? t0 + m : t0;
}

template <class Int>
constexpr void prepare_cover(Axis<Int>* axis) {
  axis->common = gcd(axis->stride, axis->dilation);
  const Int step = axis->dilation / axis->common;
  if (step > 1) axis->inverse = inverse_modulo(static_cast<Int>(axis->stride / axis->common), step);
}

}  // namespace detail

// An axis of windows that slide. Padding::same and same_lower choose lo and hi themselves.
template <class Int>
constexpr Made<Int> make_windowed(Int cells, Int window, Int stride, Int dilation, Int lo, Int hi,
                                  Rounding rounding = Rounding::floor,
                                  Padding padding = Padding::given) {
  if (cells < 1) return {Fault::empty_axis};
  if (window < 1) return {Fault::bad_window};
  if (stride < 1) return {Fault::bad_stride};
  if (dilation < 1) return {Fault::bad_dilation};
  if (lo < 0 || hi < 0) return {Fault::bad_padding};
  // Half of Int's range is left free, so that sums of two sizes below need no further check.
  constexpr Int kLimit = Int{1} << (8 * sizeof(Int) - 2);
  Int extent = 0, padded = 0;
  if (!checked_mul(static_cast<Int>(window - 1), dilation, &extent) || extent >= kLimit) {
    return {Fault::overflow};
  }
  ++extent;
  if (padding != Padding::given) {
    const Int outputs = ceil_div(cells, stride);
    Int span = 0;  // from the first cell of the first window to the last of the last
    if (!checked_add(static_cast<Int>((outputs - 1) * stride), extent, &span)) {
      return {Fault::overflow};
    }
    const Int total = span > cells ? span - cells : 0;
    lo = padding == Padding::same ? total / 2 : total - total / 2;
    hi = total - lo;
  }
  if (!checked_add(cells, lo, &padded) || !checked_add(padded, hi, &padded) || padded > kLimit) {
    return {Fault::overflow};
  }

  Made<Int> made;
  made.axis.cells = cells;
  made.axis.window = window;
  made.axis.stride = stride;
  made.axis.dilation = dilation;
  made.axis.pad_lo = lo;
  made.axis.pad_hi = hi;
  detail::prepare_cover(&made.axis);
  if (padded < extent) {
    // Ceil rounding lets one window overhang, if it reaches past its stride by less than the
    // overhang.
    if (rounding != Rounding::ceil || extent - padded >= stride) return {Fault::no_output};
    made.axis.outputs = 1;
    return made;
  }
  const Int rest = (padded - extent) % stride;
  made.axis.outputs = (padded - extent) / stride + 1;
  if (rounding == Rounding::exact && rest != 0) {
    made.fault = Fault::remainder;
    made.remainder = rest;
  }
  if (rounding == Rounding::ceil) {
    if (rest != 0) ++made.axis.outputs;
    // The last window must not start beyond the data and its left padding.
    if (made.axis.outputs - 1 > (cells + lo - 1) / stride) --made.axis.outputs;
  }
  return made;
}

// Windows [floor(i*n/O), ceil((i+1)*n/O)).
template <class Int>
constexpr Made<Int> make_adaptive(Int cells, Int outputs) {
  if (cells < 1) return {Fault::empty_axis};
  if (outputs < 1) return {Fault::bad_output_size};
  Made<Int> made;
  made.axis.cells = cells;
  made.axis.outputs = outputs;
  made.axis.adaptive = true;
  // The largest window: n/O cells, one more at each end that can fall inside a cell.
  const Int rest = cells % outputs;
  made.axis.window = cells / outputs + (rest == 0 ? 0 : outputs % rest == 0 ? 1 : 2);
  return made;
}

// One window, the whole axis.
template <class Int>
constexpr Made<Int> make_global(Int cells) {
  return make_adaptive(cells, Int{1});
}

}  // namespace ndpool::geometry

#endif  // NDPOOL_AXIS_HPP_
