// The geometry of all pooled axes of a layer, and where their cells lie in memory.
#ifndef NDPOOL_TINY_AXES_HPP_
#define NDPOOL_TINY_AXES_HPP_

#include <stdint.h>

#include "ndpool/axis.hpp"

namespace ndpool::tiny::detail {

using Axis = geometry::Axis<int32_t>;
using Window = geometry::Window<int32_t>;
using Cover = geometry::Cover<int32_t>;

// Arrays are (outer, axis 0, …, axis Rank-1, inner) in memory: channels lie in `outer` when they
// come first, in `inner` when they come last.
template <int Rank>
struct Axes {
  static constexpr int64_t kMostElements = int64_t{1} << 30;

  Axis axis[Rank]{};
  int32_t outer = 0, inner = 0;
  int32_t full_begin[Rank]{}, full_end[Rank]{};  // outputs whose taps are all cells
  int32_t cell_step[Rank]{};                     // elements from a cell to its neighbour
  int32_t output_step[Rank]{};                   // the same in arrays of outputs

  // Fills in all that follows from axis, outer and inner; false if an array is too large.
  constexpr bool complete() {
    // Zeros (no channel, no image) are left out: no product may be too large.
    int64_t cells = inner > 0 ? inner : 1, outputs = cells;
    for (int a = Rank - 1; a >= 0; --a) {
      const Axis& x = axis[a];
      full_begin[a] = geometry::ceil_div(x.pad_lo, x.stride);
      const int32_t room = x.cells + x.pad_lo - x.extent();
      const int32_t end = room < 0 ? 0 : room / x.stride + 1;
      full_end[a] = end < x.outputs ? end : x.outputs;
      cell_step[a] = static_cast<int32_t>(cells);
      output_step[a] = static_cast<int32_t>(outputs);
      cells *= x.cells, outputs *= x.outputs;
      if (cells > kMostElements || outputs > kMostElements) return false;
    }
    const int64_t planes = outer > 0 ? outer : 1;
    return cells * planes <= kMostElements && outputs * planes <= kMostElements;
  }

  constexpr bool empty() const { return outer == 0 || inner == 0; }
  constexpr int32_t input_size() const { return empty() ? 0 : outer * plane_cells(); }
  constexpr int32_t output_size() const { return empty() ? 0 : outer * plane_outputs(); }
  constexpr int32_t plane_cells() const { return axis[0].cells * cell_step[0]; }
  constexpr int32_t plane_outputs() const { return axis[0].outputs * output_step[0]; }

  // Of a window; 0 if they are too many to count.
  constexpr int32_t taps() const {
    int32_t taps = 1;
    for (int a = 0; a < Rank; ++a) {
      if (!geometry::checked_mul(taps, axis[a].window, &taps)) return 0;
    }
    return taps;
  }
  constexpr int32_t mask_width() const { return taps() <= 0x100 ? 1 : taps() <= 0x10000 ? 2 : 4; }

  // Whether sums of up to three terms are all there are: then adding in turn is adding by a tree.
  constexpr bool adds_in_turn() const {
    for (int a = 0; a < Rank; ++a) {
      if (axis[a].window > 3) return false;
    }
    return true;
  }
  // Windows that follow one another without overlap: no cell lies in two.
  constexpr bool disjoint() const {
    for (int a = 0; a < Rank; ++a) {
      if (axis[a].stride < axis[a].extent()) return false;
    }
    return true;
  }

  // Most windows hold cells alone, and need no division to be found.
  constexpr Window window(int a, int32_t output) const {
    const Axis& x = axis[a];
    if (full_begin[a] <= output && output < full_end[a]) {
      return {output * x.stride - x.pad_lo, x.window, x.dilation, 0, x.window};
    }
    Window window = x.sliding_window_of(output);
    if (window.cells < 2) window.step = 0;  // it may be larger than the array
    return window;
  }
};

// Calls visit() for each output of the axes from `A` to `kEnd`-1, in row-major order, with its
// windows in `windows`.
template <int A, int kEnd, int Rank, class Visit>
void each_output(const Axes<Rank>& axes, Window* windows, Visit& visit) {
  if constexpr (A >= kEnd) {
    visit();
  } else {
    for (int32_t o = 0; o < axes.axis[A].outputs; ++o) {
      if (axes.full_begin[A] < o && o < axes.full_end[A]) {
        windows[A].first += axes.axis[A].stride;  // full, like the one before
      } else {
        windows[A] = axes.window(A, o);
      }
      each_output<A + 1, kEnd>(axes, windows, visit);
    }
  }
}

}  // namespace ndpool::tiny::detail

#endif  // NDPOOL_TINY_AXES_HPP_
