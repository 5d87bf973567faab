// From gradients of outputs to gradients of cells.
#ifndef NDPOOL_TINY_BACKWARD_HPP_
#define NDPOOL_TINY_BACKWARD_HPP_

#include <stdint.h>

#include "ndpool/tiny/axes.hpp"
#include "ndpool/tiny/forward.hpp"
#include "ndpool/tiny/mask.hpp"
#include "ndpool/tiny/number.hpp"

namespace ndpool::tiny::detail {

// ---- Max and min --------------------------------------------------------------------------

// Calls visit(full) for each output of the axes from A on, in row-major order. `starts`: on each
// axis, where the first tap of its window lies; `full`: all taps are cells.
template <int A, int Rank, class Visit>
void each_start(const Axes<Rank>& axes, int32_t* starts, bool full, const Visit& visit) {
  if constexpr (A == Rank) {
    visit(full);
  } else {
    const Axis& axis = axes.axis[A];
    starts[A] = -axis.pad_lo;
    for (int32_t o = 0; o < axis.outputs; ++o, starts[A] += axis.stride) {
      const bool full_here = axes.full_begin[A] <= o && o < axes.full_end[A];
      each_start<A + 1>(axes, starts, full && full_here, visit);
    }
  }
}

// Where tap `tap` of a window lies in its plane, along the axes up to A.
template <int A, int Rank>
int32_t cell_of(const Axes<Rank>& axes, const int32_t* starts, uint32_t tap) {
  const Axis& axis = axes.axis[A];
  if constexpr (A == 0) {
    return (starts[0] + static_cast<int32_t>(tap) * axis.dilation) * axes.cell_step[0];
  } else {
    const auto taps = static_cast<uint32_t>(axis.window);
    const auto own = static_cast<int32_t>(tap % taps);
    return (starts[A] + own * axis.dilation) * axes.cell_step[A] +
           cell_of<A - 1>(axes, starts, tap / taps);
  }
}

// Whether that tap is a cell.
template <int A, int Rank>
bool is_cell(const Axes<Rank>& axes, const int32_t* starts, uint32_t tap) {
  const Axis& axis = axes.axis[A];
  const auto taps = static_cast<uint32_t>(axis.window);
  const int32_t place = starts[A] + static_cast<int32_t>(tap % taps) * axis.dilation;
  if (place < 0 || place >= axis.cells) return false;
  if constexpr (A == 0) {
    return true;
  } else {
    return is_cell<A - 1>(axes, starts, tap / taps);
  }
}

// Whether each entry of the mask names a cell of its window.
template <int Rank>
bool names_cells(const Axes<Rank>& axes, MaskReader mask) {
  const auto taps = static_cast<uint32_t>(axes.taps());
  bool good = true;
  int32_t starts[Rank];
  for (int32_t plane = axes.outer; plane > 0; --plane) {
    each_start<0>(axes, starts, true, [&](bool full) {
      for (int32_t lane = axes.inner; lane > 0; --lane) {
        const uint32_t tap = mask.next();
        if (tap >= taps || (!full && !is_cell<Rank - 1>(axes, starts, tap))) good = false;
      }
    });
  }
  return good;
}

// Adds each gradient to the cell that won, in row-major order of the outputs.
template <int Rank>
void scatter(const Axes<Rank>& axes, MaskReader mask, const float* gy, float* gx) {
  int32_t starts[Rank];
  for (int32_t plane = axes.outer; plane > 0; --plane, gx += axes.plane_cells()) {
    each_start<0>(axes, starts, true, [&](bool) {
      for (int32_t lane = 0; lane < axes.inner; ++lane) {
        gx[cell_of<Rank - 1>(axes, starts, mask.next()) + lane] += *gy++;
      }
    });
  }
}

// ---- Average ----------------------------------------------------------------------------------

// Writes `share` to each cell of one window, from axis A on.
template <int A, int Rank>
void give(const Axes<Rank>& axes, const Window* windows, float share, float* gx) {
  if constexpr (A == Rank) {
    *gx = share;
  } else {
    const Window& window = windows[A];
    for (int32_t i = 0, cell = window.first; i < window.cells; ++i, cell += window.step) {
      give<A + 1>(axes, windows, share, gx + cell * axes.cell_step[A]);
    }
  }
}

// Windows that share no cell: each gives its gradient / divisor away. gx holds zeros.
template <int Rank>
void give_all(const Axes<Rank>& axes, Divisors divisors, const float* gy, float* gx) {
  Window windows[Rank]{};
  for (int32_t plane = axes.outer; plane > 0; --plane, gx += axes.plane_cells()) {
    const auto give_window = [&] {
      const int32_t taps = divisors.of<Rank>(windows);
      for (int32_t lane = 0; lane < axes.inner; ++lane) {
        give<0>(axes, windows, Number<float>::divide(*gy++, taps), gx + lane);
      }
    };
    each_output<0, Rank>(axes, windows, give_window);
  }
}

// The sum, over the outputs whose windows hold a cell, of gradient / divisor: axes are added one
// after the other, the first first. `taps`: the product of what the axes after A contribute.
template <class Sum, int A, int Rank>
float gathered(const Axes<Rank>& axes, const Cover* covers, Divisors divisors, const float* gy,
               int32_t taps) {
  const Cover& cover = covers[A];
  Sum sum(cover.lead);
  for (int32_t i = 0, o = cover.first; i < cover.count; ++i, o += cover.step) {
    const int32_t own = divisors.given != 0 ? 1 : divisors.taps(axes.window(A, o));
    const float* at = gy + o * axes.output_step[A];
    if constexpr (A == 0) {
      sum.add(Number<float>::divide(*at, taps * own));
    } else {
      sum.add(gathered<Sum, A - 1>(axes, covers, divisors, at, taps * own));
    }
  }
  return sum.total();
}

// Calls visit() for each cell of the axes from `A` on, with the outputs that hold it in `covers`.
template <int A, int Rank, class Visit>
void each_cell(const Axes<Rank>& axes, Cover* covers, Visit& visit) {
  if constexpr (A == Rank) {
    visit();
  } else {
    for (int32_t i = 0; i < axes.axis[A].cells; ++i) {
      covers[A] = axes.axis[A].sliding_cover_of(i);
      each_cell<A + 1>(axes, covers, visit);
    }
  }
}

// Windows that overlap: each cell gathers from those that hold it.
template <class Sum, int Rank>
void gather_all(const Axes<Rank>& axes, Divisors divisors, const float* gy, float* gx) {
  const int32_t taps = divisors.given != 0 ? divisors.given : 1;
  for (int32_t plane = 0; plane < axes.outer; ++plane, gy += axes.plane_outputs()) {
    Cover covers[Rank];
    auto gather = [&] {
      for (int32_t lane = 0; lane < axes.inner; ++lane) {
        *gx++ = gathered<Sum, Rank - 1>(axes, covers, divisors, gy + lane, taps);
      }
    };
    each_cell<0>(axes, covers, gather);
  }
}

}  // namespace ndpool::tiny::detail

#endif  // NDPOOL_TINY_BACKWARD_HPP_
