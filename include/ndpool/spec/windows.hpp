// Windows: where they lie, which taps they have, and which of those are cells.
//
// Everything here is found by looking at positions one by one, never by a closed form (adaptive
// windows excepted, which are defined by one).
#pragma once

#include "ndpool/spec/pool.hpp"

namespace ndpool::spec {

// What counting finds out about one windowed axis.
struct AxisCount {
  int64_t outputs;
  int64_t dropped;  // positions between the end of the last window and the end of the data
  int64_t pad_lo, pad_hi;
};

// Counts the windows of one axis of n cells, and the cells behind the last of them.
// Window o occupies [o*stride, o*stride + extent) of the padded axis. floor counts the windows
// that fit; ceil lets a window overhang by less than a stride, but leaves out the last one if it
// starts behind the data; exact wants the last window to end where the padded axis does.
inline AxisCount count_axis(int64_t n, int64_t window, int64_t stride, int64_t dilation,
                            int64_t pad_lo, int64_t pad_hi, Rounding rounding,
                            Padding padding = Padding::given) {
  if (n < 1) throw Error("the axis has " + std::to_string(n) + " cells: pooling needs one or more");
  if (window < 1) throw Error("window " + std::to_string(window) + " is less than 1");
  if (stride < 1) throw Error("stride " + std::to_string(stride) + " is less than 1");
  if (dilation < 1) throw Error("dilation " + std::to_string(dilation) + " is less than 1");

  constexpr Wide kLargest = std::numeric_limits<int64_t>::max();
  const Wide extent = Wide{window - 1} * dilation + 1;  // from the first tap to the last
  if (extent > kLargest) {
    throw Error("window " + std::to_string(window) + " with dilation " + std::to_string(dilation) +
                " is longer than 64 bits can count");
  }

  if (padding != Padding::given) {
    // A window for every stride that begins on the axis, and as much padding as the last one needs.
    Wide last_start = 0;
    while (last_start + stride < n) last_start += stride;
    const Wide total = std::max<Wide>(last_start + extent - n, 0);
    const Wide lesser = total / 2;
    const Wide greater = total - lesser;
    pad_lo = static_cast<int64_t>(padding == Padding::same ? lesser : greater);
    pad_hi = static_cast<int64_t>(padding == Padding::same ? greater : lesser);
  }
  if (pad_lo < 0 || pad_hi < 0) {
    throw Error("padding (" + std::to_string(pad_lo) + ", " + std::to_string(pad_hi) +
                ") is negative");
  }

  const Wide data_end = Wide{pad_lo} + n;
  const Wide padded_end = data_end + pad_hi;
  if (padded_end > kLargest) throw Error("the padded axis is longer than 64 bits can count");

  const Wide overhang = rounding == Rounding::ceil ? stride - 1 : 0;
  Wide outputs = 0;
  while (outputs * stride + extent <= padded_end + overhang) ++outputs;
  if (rounding == Rounding::ceil && outputs > 0 && (outputs - 1) * stride >= data_end) --outputs;
  if (outputs == 0) {
    throw Error("no window fits: " + std::to_string(n) + " cells with padding (" +
                std::to_string(pad_lo) + ", " + std::to_string(pad_hi) +
                ") are shorter than window " + std::to_string(window) + " with dilation " +
                std::to_string(dilation));
  }

  const Wide end = (outputs - 1) * stride + extent;
  int64_t dropped = 0;
  for (Wide position = end; position < data_end; ++position) ++dropped;
  if (rounding == Rounding::exact && end != padded_end) {
    throw Error("windows of " + std::to_string(window) + " at stride " + std::to_string(stride) +
                " leave a remainder of " + std::to_string(static_cast<int64_t>(padded_end - end)) +
                " and drop " + std::to_string(dropped) + " cells");
  }
  return {static_cast<int64_t>(outputs), dropped, pad_lo, pad_hi};
}

// One pooled axis. A global axis is an adaptive one with one output.
struct Axis {
  size_t place = 0;  // in the array's shape
  bool adaptive = false;
  int64_t n = 0, outputs = 0;
  int64_t window = 1, stride = 1, dilation = 1, pad_lo = 0, pad_hi = 0;  // windowed only

  // The cells of adaptive window o are [floor(o*n/outputs), ceil((o+1)*n/outputs)).
  [[nodiscard]] int64_t adaptive_begin(int64_t o) const {
    return static_cast<int64_t>(Wide{o} * n / outputs);
  }
  [[nodiscard]] int64_t adaptive_end(int64_t o) const {
    return static_cast<int64_t>(((Wide{o} + 1) * n + outputs - 1) / outputs);
  }

  // How many taps window o has along this axis.
  [[nodiscard]] int64_t taps(int64_t o) const {
    return adaptive ? adaptive_end(o) - adaptive_begin(o) : window;
  }

  // Where tap t of window o lies; cell 0 is at 0, so the padding before it is at -pad_lo ... -1.
  [[nodiscard]] int64_t position(int64_t o, int64_t t) const {
    return adaptive ? adaptive_begin(o) + t : o * stride - pad_lo + t * dilation;
  }
};

// A pool that has met a shape: everything about it that does not depend on the data.
struct Layout {
  Shape input, output;     // whole arrays
  std::vector<Axis> axes;  // the pooled axes, in array order, as are the next four
  Shape outputs;           // windows along each
  Shape box;               // size of the largest window
  Shape input_step;        // elements from one position to the next, in the whole input,
  Shape index_step;        // among the pooled axes of the input alone,
  Shape output_step;       // and in the whole output
  struct Plane {
    int64_t input, output;  // where its first element lies
  };
  std::vector<Plane> planes;  // one for each position on the axes that are not pooled
};

// Element i of an argument that has one number per axis, or none.
inline int64_t argument(const char* name, const Shape& values, const Pool& pool, size_t i,
                        std::optional<int64_t> otherwise) {
  if (values.empty() && otherwise) return *otherwise;
  if (values.size() != pool.axes.size()) {
    throw Error(std::string(name) + " has " + std::to_string(values.size()) + " numbers for " +
                std::to_string(pool.axes.size()) + " axes");
  }
  return values[i];
}

// The geometry of axes[i] of the pool.
inline Axis make_axis(const Pool& pool, size_t i, const Shape& shape) {
  Axis axis;
  axis.place = static_cast<size_t>(pool.axes[i]);
  axis.n = shape[axis.place];
  if (pool.mode == Mode::windowed) {
    axis.window = argument("window", pool.window, pool, i, std::nullopt);
    axis.stride = argument("stride", pool.stride, pool, i, axis.window);
    axis.dilation = argument("dilation", pool.dilation, pool, i, 1);
    const bool given = pool.padding == Padding::given;
    const AxisCount count = count_axis(axis.n, axis.window, axis.stride, axis.dilation,
                                       given ? argument("pad_lo", pool.pad_lo, pool, i, 0) : 0,
                                       given ? argument("pad_hi", pool.pad_hi, pool, i, 0) : 0,
                                       pool.rounding, pool.padding);
    axis.outputs = count.outputs;
    axis.pad_lo = count.pad_lo;
    axis.pad_hi = count.pad_hi;
  } else {
    const bool global = pool.mode == Mode::global;
    axis.adaptive = true;
    axis.outputs = global ? 1 : argument("output_size", pool.output_size, pool, i, std::nullopt);
    if (axis.n < 1) throw Error("the axis has no cells: pooling needs one or more");
    if (axis.outputs < 1)
      throw Error("output_size " + std::to_string(axis.outputs) + " is below 1");
  }
  return axis;
}

// Elements from one position to the next along each axis of a row-major array.
inline Shape steps(const Shape& shape) {
  Shape result(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    result[i - 1] = result[i] * std::max<int64_t>(shape[i], 1);
  return result;
}

// Joins a pool and a shape, or refuses them.
inline Layout make_layout(const Pool& pool, const Shape& shape) {
  check_operation(pool);
  elements(shape);
  Layout layout;
  layout.input = shape;
  layout.output = shape;
  if (pool.axes.empty()) throw Error("no axis to pool over");
  for (size_t i = 0; i < pool.axes.size(); ++i) {
    const int number = pool.axes[i];
    if (number < 0 || static_cast<size_t>(number) >= shape.size()) {
      throw Error("axis " + std::to_string(number) + " is not an axis of shape " + text(shape));
    }
    if (std::count(pool.axes.begin(), pool.axes.end(), number) > 1) {
      throw Error("axis " + std::to_string(number) + " is named more than once");
    }
    try {
      layout.axes.push_back(make_axis(pool, i, shape));
    } catch (const Error& error) {
      throw Error("axis " + std::to_string(number) + ": " + error.what());
    }
  }
  std::sort(layout.axes.begin(), layout.axes.end(),
            [](const Axis& a, const Axis& b) { return a.place < b.place; });

  for (const Axis& axis : layout.axes) layout.output[axis.place] = axis.outputs;
  elements(layout.output);
  const Shape input_steps = steps(shape);
  const Shape output_steps = steps(layout.output);
  Shape pooled;
  Shape rest = shape;  // with the pooled axes reduced to their first position
  for (const Axis& axis : layout.axes) {
    int64_t largest = 0;
    for (int64_t o = 0; o < (axis.adaptive ? axis.outputs : 1); ++o) {
      largest = std::max(largest, axis.taps(o));
    }
    layout.box.push_back(largest);
    layout.outputs.push_back(axis.outputs);
    layout.input_step.push_back(input_steps[axis.place]);
    layout.output_step.push_back(output_steps[axis.place]);
    pooled.push_back(axis.n);
    rest[axis.place] = 1;
  }
  elements(layout.box);
  layout.index_step = steps(pooled);

  if (elements(rest) > 0) {
    Shape position(rest.size(), 0);
    do {
      Layout::Plane plane{0, 0};
      for (size_t i = 0; i < rest.size(); ++i) {
        plane.input += position[i] * input_steps[i];
        plane.output += position[i] * output_steps[i];
      }
      layout.planes.push_back(plane);
    } while (next_position(position, rest));
  }
  return layout;
}

// One tap of a window: what it is, its position on the pooled axes (cell 0 is at 0), and its
// row-major number in the box of the largest window.
struct Tap {
  enum Kind { cell, pad, overhang } kind;
  Shape position;
  int64_t number;
};

// Calls visit(tap) for each tap of the window at a position of the output, in row-major order.
// A tap is a cell if it lies inside the data along every axis; else overhang if it lies beyond the
// declared padding along some axis; else a pad.
template <class Visit>
void for_each_tap(const Layout& layout, const Shape& output, Visit visit) {
  const size_t rank = layout.axes.size();
  Shape taps(rank);
  Shape t(rank, 0);
  for (size_t i = 0; i < rank; ++i) taps[i] = layout.axes[i].taps(output[i]);
  Tap tap{Tap::cell, Shape(rank), 0};
  do {
    tap.kind = Tap::cell;
    tap.number = 0;
    for (size_t i = 0; i < rank; ++i) {
      const Axis& axis = layout.axes[i];
      const int64_t position = axis.position(output[i], t[i]);
      tap.position[i] = position;
      tap.number = tap.number * layout.box[i] + t[i];
      if (position >= axis.n + axis.pad_hi) {
        tap.kind = Tap::overhang;
      } else if ((position < 0 || position >= axis.n) && tap.kind == Tap::cell) {
        tap.kind = Tap::pad;
      }
    }
    visit(static_cast<const Tap&>(tap));
  } while (next_position(t, taps));
}

// The part of a window that pooling looks at: its cells in row-major order, and how many pads.
struct Window {
  struct Cell {
    int64_t offset;  // in the whole input, from the start of the plane
    int64_t index;   // flat, among the pooled axes of the input
    int64_t number;  // of its tap, in the box of the largest window
  };
  Shape output;       // which window: its position on the pooled axes of the output
  int64_t place = 0;  // of its result in the whole output, from the start of the plane
  std::vector<Cell> cells;
  int64_t pads = 0;
};

// Calls visit(window) for every window of one plane, in row-major order.
template <class Visit>
void for_each_window(const Layout& layout, Visit visit) {
  Window window;
  window.output.assign(layout.axes.size(), 0);
  do {
    window.place = 0;
    for (size_t i = 0; i < layout.axes.size(); ++i) {
      window.place += window.output[i] * layout.output_step[i];
    }
    window.cells.clear();
    window.pads = 0;
    for_each_tap(layout, window.output, [&](const Tap& tap) {
      if (tap.kind == Tap::pad) ++window.pads;
      if (tap.kind != Tap::cell) return;
      Window::Cell cell{0, 0, tap.number};
      for (size_t i = 0; i < tap.position.size(); ++i) {
        cell.offset += tap.position[i] * layout.input_step[i];
        cell.index += tap.position[i] * layout.index_step[i];
      }
      window.cells.push_back(cell);
    });
    visit(static_cast<const Window&>(window));
  } while (next_position(window.output, layout.outputs));
}

// Calls visit(window, input, output) for every output: `input` is where the plane of the window
// starts in the input, `output` is where its result belongs. Outputs of one plane come in row-major
// order; planes take turns window by window, which no result can tell, as planes share nothing.
template <class Visit>
void for_each_output(const Layout& layout, Visit visit) {
  for_each_window(layout, [&](const Window& window) {
    for (const Layout::Plane& plane : layout.planes) {
      visit(window, plane.input, plane.output + window.place);
    }
  });
}

// Whether pads are terms of the operation: zeros that take part. In max and min they are absent.
inline bool pads_count(const Pool& pool) {
  switch (pool.op) {
    case Op::avg:
      return pool.count_include_pad || pool.divisor.has_value();
    case Op::smooth_max:
      return pool.count_include_pad;
    case Op::lp:
      return true;
    default:
      return false;
  }
}

// The number of taps that count; a window of none is empty.
inline int64_t count_terms(const Pool& pool, const Window& window) {
  return static_cast<int64_t>(window.cells.size()) + (pads_count(pool) ? window.pads : 0);
}

// Refuses problems with an empty window, unless the policy is the operation's identity and the
// type of the result can express it. Called before any work.
inline void empty_window(const Pool& pool, const Layout& layout, bool has_identity) {
  if (pool.empty == Empty::identity && has_identity) return;
  for_each_window(layout, [&](const Window& window) {
    if (count_terms(pool, window) > 0) return;
    throw Error("the window at output " + text(window.output) + " of the pooled axes has no cell" +
                (pool.empty == Empty::identity ? ", and the type has no identity for it" : ""));
  });
}

// The shape of the result: pooled axes have their number of windows (1 if global), others stay.
inline Shape output_shape(const Pool& pool, const Shape& shape) {
  return make_layout(pool, shape).output;
}

// The size of the largest window along each pooled axis, in array order.
inline Shape box(const Pool& pool, const Shape& shape) { return make_layout(pool, shape).box; }

// All taps of one window, in row-major order. `output` is its position on the pooled axes of the
// result, in array order.
inline std::vector<Tap> taps(const Pool& pool, const Shape& shape, const Shape& output) {
  const Layout layout = make_layout(pool, shape);
  bool inside = output.size() == layout.outputs.size();
  for (size_t i = 0; inside && i < output.size(); ++i) {
    inside = output[i] >= 0 && output[i] < layout.outputs[i];
  }
  if (!inside) throw Error("there is no output " + text(output) + " in " + text(layout.outputs));
  std::vector<Tap> result;
  for_each_tap(layout, output, [&](const Tap& tap) { result.push_back(tap); });
  return result;
}

// The number of taps that count (cells, and pads where they do) of each window.
inline Array<int64_t> terms(const Pool& pool, const Shape& shape) {
  const Layout layout = make_layout(pool, shape);
  Array<int64_t> result = filled<int64_t>(layout.output, 0);
  for_each_output(layout, [&](const Window& window, int64_t, int64_t output) {
    at(result, output) = count_terms(pool, window);
  });
  return result;
}

}  // namespace ndpool::spec
