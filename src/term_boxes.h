// What terms.cc cuts a call into: boxes of the target by the axes of the array, with the outputs
// and cells that they need, and the way of such boxes between arrays and f64 scratch.
#ifndef NDPOOL_SRC_TERM_BOXES_H_
#define NDPOOL_SRC_TERM_BOXES_H_

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"
#include "layout.h"
#include "line.h"
#include "plan.h"

namespace ndpool {

// The most cells of a box. Larger boxes leave the second-level cache; smaller ones meet more cells
// of wide windows twice, but take less memory, of which many threads have little.
inline constexpr int64_t kBoxCells = 16384, kFewBoxCells = 1024;
// Channels that come last are cut into so many pieces of the cells of a box, to leave room for
// rows.
inline constexpr int64_t kBoxPieces = 256;

// A box of an array by its axes, row-major without gaps.
struct TermBox {
  int64_t start[kMaxAxes], size[kMaxAxes];

  int64_t elements(int rank) const {
    int64_t n = 1;
    for (int axis = 0; axis < rank; ++axis) n *= size[axis];
    return n;
  }
  void set(int axis, Range range) {
    start[axis] = range.begin;
    size[axis] = range.size();
  }
  Range on(int axis) const { return {start[axis], start[axis] + size[axis]}; }
  ArrayArg array(void* data, size_t element) const {
    return {static_cast<char*>(data), nullptr, size, start, static_cast<int64_t>(element)};
  }
};

// The most cells that `outputs` neighbouring windows of an axis reach, and the most outputs that
// reach into `cells` neighbouring cells. aligned: cells are as many as some strides, from the first
// tap of a window on.
inline int64_t most_cells(const Axis& axis, int64_t outputs) {
  const int64_t reach = axis.adaptive
                            ? geometry::mul_div(outputs, axis.cells, axis.outputs).quotient + 3
                            : (outputs - 1) * axis.stride + axis.extent();
  return std::min(axis.cells, reach);
}
inline int64_t most_outputs(const Axis& axis, int64_t cells, bool aligned) {
  const int64_t last = aligned ? cells - axis.stride : cells - 1;
  const int64_t reach = axis.adaptive
                            ? geometry::mul_div(cells, axis.outputs, axis.cells).quotient + 3
                            : (last + axis.extent() - 1) / axis.stride + 1;
  return std::min(axis.outputs, reach);
}

// Calls visit(place, elements before it) for each place of the axes before the last three of a box,
// in row-major order.
template <class Visit>
void each_piece(int rank, const TermBox& box, Visit visit) {
  const int lead = std::max(0, rank - 3);
  int64_t piece = 1, at[kMaxAxes];
  for (int axis = lead; axis < rank; ++axis) piece *= box.size[axis];
  std::copy(box.start, box.start + rank, at);
  for (int64_t done = 0;; done += piece) {
    visit(at, done);
    int axis = lead - 1;
    for (; axis >= 0; --axis) {
      if (++at[axis] < box.start[axis] + box.size[axis]) break;
      at[axis] = box.start[axis];
    }
    if (axis < 0) return;
  }
}

// An array of a call, with its strides spelt out, and rows of a box of it as f64.
class TermArray {
 public:
  TermArray(int rank, const ArrayArg& a) : rank_(rank), arg_(a) {
    int64_t row_major = a.element;
    for (int axis = rank - 1; axis >= 0; --axis) {
      stride_[axis] = a.strides ? a.strides[axis] : row_major;
      row_major *= a.size[axis];
    }
  }

  // The part of the array that a box covers, as an argument.
  ArrayArg part(const TermBox& box) const {
    return {address(box.start), stride_, box.size, box.start, arg_.element};
  }

  // The last three axes of a box of the array.
  Strided shape_of(const TermBox& box) const {
    const auto on = [&](int from_last) { return rank_ - from_last; };
    Strided shape;
    shape.inner = box.size[on(1)];
    shape.inner_stride = stride_[on(1)];
    if (rank_ >= 2) shape.positions = box.size[on(2)], shape.position_stride = stride_[on(2)];
    if (rank_ >= 3) shape.rows = box.size[on(3)], shape.row_stride = stride_[on(3)];
    return shape;
  }
  int64_t stride(int axis) const { return stride_[axis]; }
  char* address(const int64_t* at) const {
    char* to = arg_.data;
    for (int axis = 0; axis < rank_; ++axis) {
      to += (at[axis] - (arg_.start ? arg_.start[axis] : 0)) * stride_[axis];
    }
    return to;
  }

  template <class T>
  void load(const TermBox& box, LoadFn get, T* to) const {
    const Strided shape = shape_of(box);
    each_piece(rank_, box,
               [&](const int64_t* at, int64_t done) { get(shape, address(at), to + done); });
  }
  // f(elements that lie side by side, how many came before, how many they are) for all of a box of
  // an array of T.
  template <class T, class F>
  void each_run(const TermBox& box, F f) const {
    const Strided s = shape_of(box);
    const bool inner = s.inner == 1 || s.inner_stride == int64_t{sizeof(T)};
    const bool rows = inner && s.position_stride == s.inner * int64_t{sizeof(T)};
    const int64_t count = rows ? s.positions * s.inner : inner ? s.inner : 1;
    each_piece(rank_, box, [&](const int64_t* at, int64_t done) {
      const char* piece = address(at);
      for (int64_t r = 0; r < s.rows; ++r) {
        for (int64_t i = 0; i < s.positions * s.inner; i += count, done += count) {
          const char* from = piece + r * s.row_stride + i / s.inner * s.position_stride +
                             i % s.inner * s.inner_stride;
          f(reinterpret_cast<const T*>(from), done, count);
        }
      }
    });
  }
  template <class T>
  void store(const TermBox& box, StoreFn put, const T* from) const {
    const Strided shape = shape_of(box);
    each_piece(rank_, box, [&](const int64_t* at, int64_t done) {
      put(shape, from + done, shape.positions * shape.inner, address(at));
    });
  }

 private:
  int rank_;
  ArrayArg arg_;
  int64_t stride_[kMaxAxes];
};

// The target of a call, y or dx, cut into boxes. Those of dx begin where windows do: cells of a
// window that is cut apart are needed by all of its boxes.
class TermTasks {
 public:
  TermTasks(const Plan& plan, const ArrayArg& target, bool forward, int64_t box_cells)
      : plan_(plan) {
    const bool* is_pooled = plan.is_pooled.get();
    const auto axis_at = [&](int i) -> const Axis& { return plan.even_axes[i]; };
    // Of n elements of the target, the outputs and the cells that they need: the most of any.
    const auto reach = [&](int axis, int i, int64_t n, int64_t unit) {
      if (!is_pooled[axis]) return n;
      const int64_t outputs = forward ? n : most_outputs(axis_at(i), n, unit > 1);
      n = std::min(n, std::max<int64_t>(1, whole_.size[axis]));  // some strides may be more
      return std::max({n, outputs, most_cells(axis_at(i), outputs)});
    };
    for (int axis = 0, i = 0; axis < plan.rank; ++axis) {
      const int64_t begin = target.start ? target.start[axis] : 0;
      whole_.set(axis, {begin, begin + target.size[axis]});
      const int64_t least = reach(axis, i, 1, 1);
      if (least > box_cells / elements_) {
        possible_ = false;
        return;
      }
      elements_ *= least;
      const int64_t most =
          std::max<int64_t>(1, std::max(plan.shape[static_cast<size_t>(axis)],
                                        plan.output_shape[static_cast<size_t>(axis)]));
      most_elements_ = most > box_cells / most_elements_ ? box_cells : most_elements_ * most;
      i += is_pooled[axis];
    }
    int i = plan.pooled;
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      i -= is_pooled[axis];
      int64_t most = std::max<int64_t>(1, whole_.size[axis]);
      if (!is_pooled[axis] && i > 0) most = std::min(most, box_cells / kBoxPieces);
      const int64_t others = elements_ / reach(axis, i, 1, 1);
      // Room for more than one window on the axes before this one.
      int64_t room = box_cells / others;
      for (int before = axis - 1, k = i; before >= 0; --before) {
        if (!is_pooled[before]) continue;
        --k;
        const int64_t least = reach(before, k, 1, 1),
                      all = reach(before, k, whole_.size[before], 1);
        room /= std::clamp<int64_t>(all / std::max<int64_t>(1, least), 1, 3);
      }
      const auto fits = [&](int64_t n, int64_t unit) { return reach(axis, i, n, unit) <= room; };
      int64_t unit = 1;
      if (!forward && is_pooled[axis] && !axis_at(i).adaptive) {
        const int64_t stride = axis_at(i).stride;
        if (stride <= most && fits(stride, stride)) unit = stride;
        skipped_[axis] = (whole_.start[axis] + axis_at(i).pad_lo) % unit;
      }
      int64_t low = 1, high = (most + skipped_[axis] + unit - 1) / unit;
      while (low < high) {  // the largest that fits
        const int64_t middle = low + (high - low + 1) / 2;
        if (fits(middle * unit, unit)) {
          low = middle;
        } else {
          high = middle - 1;
        }
      }
      step_[axis] = low * unit;
      elements_ = others * reach(axis, i, step_[axis], unit);
      total_ *= pieces(axis);
    }
  }

  bool possible() const { return possible_; }
  int64_t total() const { return total_; }
  int64_t grain() const { return std::max<int64_t>(1, 8192 / elements_); }
  // How much is computed for each element of the target.
  double effort() const {
    double target = 1;
    for (int axis = 0; axis < plan_.rank; ++axis) target *= static_cast<double>(step_[axis]);
    return static_cast<double>(elements_) / target;
  }
  // The most elements of a box of the target, of the outputs and of the cells that it needs: of any
  // tile of the plan's arrays, so that all of them find room in the same scratch.
  int64_t most_elements() const { return most_elements_; }

  TermBox at(int64_t task) const {
    TermBox box;
    for (int axis = plan_.rank - 1; axis >= 0; --axis) {
      const Range whole = whole_.on(axis);
      const int64_t piece = task % pieces(axis);
      const int64_t begin = whole.begin - skipped_[axis] + piece * step_[axis];
      box.set(axis, {std::max(whole.begin, begin), std::min(whole.end, begin + step_[axis])});
      task /= pieces(axis);
    }
    return box;
  }

 private:
  int64_t pieces(int axis) const {
    return (skipped_[axis] + whole_.size[axis] + step_[axis] - 1) / step_[axis];
  }

  const Plan& plan_;
  TermBox whole_;
  int64_t step_[kMaxAxes];
  int64_t skipped_[kMaxAxes]{};  // before the target, from where the first box would begin
  int64_t elements_ = 1, most_elements_ = 1, total_ = 1;
  bool possible_ = true;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_TERM_BOXES_H_
