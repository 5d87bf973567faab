// From cells to outputs: the winners of windows, or their averages.
//
// Outputs are made a line at a time: all outputs of the last axis (and their channels, if these
// come last) for one place on the axes before. Lines of cells are reached through line_of(r), the
// address of row r of the first axis, because a stream keeps its rows in a ring. A stream of one
// axis has no line axis: its rows are single places, and `kLead`, the number of axes before the
// line, is 1.
#ifndef NDPOOL_TINY_FORWARD_HPP_
#define NDPOOL_TINY_FORWARD_HPP_

#include <stdint.h>

#include "ndpool/tiny/axes.hpp"
#include "ndpool/tiny/mask.hpp"
#include "ndpool/tiny/number.hpp"

namespace ndpool::tiny::detail {

// What turns a sum into an average: the taps that count, or a number given.
struct Divisors {
  int32_t given = 0;  // 0: none
  bool pads_count = true;

  constexpr int32_t taps(const Window& window) const {
    return pads_count ? window.counted : window.cells;
  }
  template <int Rank>
  constexpr int32_t of(const Window* windows) const {
    if (given != 0) return given;
    int32_t product = 1;
    for (int a = 0; a < Rank; ++a) product *= taps(windows[a]);
    return product;
  }
};

// What all lines of a call share.
template <class T>
struct Finish {
  T low, high;  // outputs are cut to this range
  bool cuts;    // whether the range leaves anything out
  Divisors divisors;
};

// ---- Max and min: each tap is laid over the line, and stays where it wins ---------------------

// Outputs of a line, `lanes` at each of `places`, one after the other in y; their cells are
// `lane_step` and `place_step` apart.
struct Run {
  int32_t places, lanes, lane_step, place_step;
};

// Most of the time is spent in these two loops, so they are written for compilers that optimise for
// size. `run` has at least one output.
template <Op op, class T, class Mask>
void lay(Run run, bool is_first, const T* x, T* y, uint32_t tap, const Mask& mask) {
  const int32_t step = run.lane_step;
  T* const first = y;
  int32_t place = 0;
  do {
    int32_t at = place, left = run.lanes;
    if (is_first) {
      do {
        *y = x[at];
        mask.put(static_cast<int32_t>(y - first), tap);
        at += step, ++y;
      } while (--left > 0);
    } else {
      do {
        const T value = x[at];
        if (beats<op>(value, *y, mask.last())) {
          *y = value;
          mask.put(static_cast<int32_t>(y - first), tap);
        }
        at += step, ++y;
      } while (--left > 0);
    }
    place += run.place_step;
  } while (--run.places > 0);
}

// Lays taps `tap`, tap+1, … of the last axis over the line y. `x`: cell 0 of the line. Which
// outputs a tap is a cell for is a range that moves down from tap to tap; those that it reaches
// before any earlier tap did take it as their first.
template <Op op, class T, int Rank, class Mask>
void lay_line(const Axes<Rank>& axes, bool is_first, const T* x, T* y, uint32_t tap,
              const Mask& mask) {
  const Axis& axis = axes.axis[Rank - 1];
  const int32_t lanes = axes.inner, stride = axis.stride, outputs = axis.outputs;
  const int32_t last = (outputs - 1) * stride;
  int32_t reached = outputs, shift = -axis.pad_lo;  // output o has its tap at o*stride + shift
  for (int32_t t = axis.window; t > 0; --t, ++tap, shift += axis.dilation) {
    const int32_t beyond = axis.cells - shift;
    int32_t from = shift < 0 ? (-shift - 1) / stride + 1 : 0, to = outputs;
    if (last >= beyond) to = beyond > 0 ? (beyond - 1) / stride + 1 : 0;
    const int32_t begin = from;
    for (bool first = is_first;; first = false) {
      const int32_t until = first && reached < to ? reached : to;
      if (from < until) {
        const int32_t count = until - from, step = count > 1 ? stride * lanes : 0;
        lay<op>(lanes == 1 ? Run{1, count, count > 1 ? stride : 0, 0} : Run{count, lanes, 1, step},
                first, x + (from * stride + shift) * lanes, y + from * lanes, tap,
                mask.from(from * lanes));
        from = until;
      }
      if (!first) break;
    }
    reached = begin;
  }
}

// Lays the cells of one window of the axes from A to kLead-1, each a line, over y.
template <Op op, int kLead, int A, class T, int Rank, class Mask>
void lay_lines(const Axes<Rank>& axes, const Window* windows, bool is_first, const T* x, T* y,
               uint32_t tap, const Mask& mask) {
  if constexpr (A < kLead) {
    const Window& window = windows[A];
    tap = tap * static_cast<uint32_t>(axes.axis[A].window) + static_cast<uint32_t>(window.lead);
    for (int32_t i = 0, cell = window.first; i < window.cells; ++i, ++tap, cell += window.step) {
      lay_lines<op, kLead, A + 1>(axes, windows, is_first && i == 0, x + cell * axes.cell_step[A],
                                  y, tap, mask);
    }
  } else if constexpr (kLead < Rank) {
    lay_line<op>(axes, is_first, x, y, tap * static_cast<uint32_t>(axes.axis[A].window), mask);
  } else {
    lay<op>(Run{1, axes.inner, 1, 0}, is_first, x, y, tap, mask);
  }
}

// ---- Averages: window by window ---------------------------------------------------------------

// The sum of the cells of one window along axes A, A-1, … 0: axes are added one after the other,
// the first first.
template <class Sum, int A, int Rank, class LineOf>
auto sum_of(const Axes<Rank>& axes, const Window* windows, const LineOf& line_of, int32_t offset) {
  const Window window = windows[A];
  Sum sum(window.lead);
  int32_t row = window.first;
  for (int32_t i = window.cells; i > 0; --i) {
    if constexpr (A == 0) {
      sum.add(line_of(row)[offset]);
      row += window.step;
    } else {
      sum.add(sum_of<Sum, A - 1>(axes, windows, line_of, offset));
      offset += window.step * axes.cell_step[A];
    }
  }
  return sum.total();
}

// ---- One row of outputs -----------------------------------------------------------------------

// From the start of a row to the first cell of a window, along the axes from A on.
template <int A, int Rank>
constexpr int32_t offset_of(const Axes<Rank>& axes, const Window* windows) {
  if constexpr (A < Rank) {
    return windows[A].first * axes.cell_step[A] + offset_of<A + 1>(axes, windows);
  } else {
    return 0;
  }
}

// All averages of output `output` of axis 0, to y on.
template <class Sum, class T, int Rank, class LineOf>
void average_row(const Axes<Rank>& axes, const LineOf& line_of, int32_t output,
                 const Finish<T>& finish, T* y) {
  Window windows[Rank]{};
  windows[0] = axes.window(0, output);
  auto average = [&] {
    const int32_t taps = finish.divisors.template of<Rank>(windows);
    int32_t first = offset_of<1>(axes, windows);
    for (int32_t lane = axes.inner; lane > 0; --lane, ++first) {
      const auto sum = sum_of<Sum, Rank - 1>(axes, windows, line_of, first);
      *y++ = clamped(Number<T>::divide(sum, taps), finish.low, finish.high);
    }
  };
  each_output<1, Rank>(axes, windows, average);
}

// All winners of output `output` of axis 0, to y on; with kLead = 0 there is no such axis, and
// `output` is 0.
template <Op op, int kLead, class T, int Rank, class LineOf, class Mask>
void best_row(const Axes<Rank>& axes, const LineOf& line_of, int32_t output,
              const Finish<T>& finish, T* y, Mask mask) {
  const int32_t line = kLead < Rank ? axes.axis[Rank - 1].outputs * axes.inner : axes.inner;
  Window windows[Rank]{};
  if constexpr (kLead > 0) windows[0] = axes.window(0, output);
  auto find = [&] {
    if constexpr (kLead == 0) {
      lay_lines<op, kLead, 0>(axes, windows, true, line_of(0), y, 0, mask);
    } else {
      const Window& rows = windows[0];
      uint32_t tap = static_cast<uint32_t>(rows.lead);
      for (int32_t i = 0, row = rows.first; i < rows.cells; ++i, ++tap, row += rows.step) {
        lay_lines<op, kLead, 1>(axes, windows, i == 0, line_of(row), y, tap, mask);
      }
    }
    for (int32_t i = 0; i < line && finish.cuts; ++i) {
      y[i] = clamped(y[i], finish.low, finish.high);
    }
    y += line;
    mask = mask.from(line);
  };
  each_output<kLead == 0 ? 0 : 1, kLead>(axes, windows, find);
}

}  // namespace ndpool::tiny::detail

#endif  // NDPOOL_TINY_FORWARD_HPP_
