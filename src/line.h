// One axis as a reduction sees it: for each output, the sources it takes. Forward, outputs are
// pooled outputs and sources are cells. Transposed (the derivative of a sum), outputs are cells and
// sources are the pooled outputs whose windows hold them.
#ifndef NDPOOL_SRC_LINE_H_
#define NDPOOL_SRC_LINE_H_

#include <algorithm>
#include <cstdint>

#include "ndpool/axis.hpp"

namespace ndpool {

using Axis = geometry::Axis<int64_t>;

// Taps lead … lead+count-1 of an output are present, at sources first, first+step, …
struct Span {
  int64_t first, count, step, lead;
  int64_t last() const { return first + (count - 1) * step; }
};

// A half-open range.
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

// The outputs whose windows may hold cells `cells`.
inline Range outputs_of(const Axis& axis, Range cells) {
  if (cells.size() <= 0) return {};
  if (axis.adaptive) {
    const auto low = axis.cover_of(cells.begin), high = axis.cover_of(cells.end - 1);
    return {low.first, high.first + high.count};
  }
  const int64_t low =
      geometry::ceil_div(cells.begin + axis.pad_lo - axis.extent() + 1, axis.stride);
  const int64_t high = (cells.end - 1 + axis.pad_lo) / axis.stride;
  return {std::max<int64_t>(low, 0), std::min(high + 1, axis.outputs)};
}

class Line {
 public:
  Line() = default;
  Line(const Axis& axis, bool transposed) : axis_(&axis), transposed_(transposed) {}

  Span span(int64_t output) const {
    if (transposed_) {
      const auto cover = axis_->cover_of(output);
      return {cover.first, cover.count, cover.step, cover.lead};
    }
    const auto window = axis_->window_of(output);
    return {window.first, window.cells, window.step, window.lead};
  }

  // Uniform: tap t of output o is source origin() + o*spacing() + t*step(), present iff that source
  // exists. Otherwise each output has a span of its own.
  bool uniform() const { return !axis_->adaptive && (!transposed_ || axis_->stride == 1); }
  int64_t spacing() const { return axis_->stride; }
  int64_t step() const { return transposed_ ? axis_->dilation / axis_->common : axis_->dilation; }
  int64_t origin() const {
    return transposed_ ? axis_->pad_lo - (axis_->extent() - 1) : -axis_->pad_lo;
  }

  bool transposed() const { return transposed_; }
  // After how many outputs the pattern of taps repeats, moved on; 0: never.
  int64_t period() const { return axis_->adaptive ? 0 : transposed_ ? axis_->stride : 1; }
  // Not adaptive: the taps of an output as if the sources had no end, tap 0 first.
  Span unclipped(int64_t output) const {
    if (!transposed_) return {origin() + output * spacing(), axis_->window, step(), 0};
    const int64_t place = output + axis_->pad_lo, step = axis_->dilation / axis_->common;
    if (place % axis_->common != 0) return {0, 0, step, 0};
    const int64_t low = geometry::ceil_div(place - (axis_->extent() - 1), axis_->stride);
    const int64_t root = axis_->cover_root(output);
    const int64_t begin = root + geometry::ceil_div(low - root, step) * step;
    const int64_t high = geometry::floor_div(place, axis_->stride);
    return {begin, high < begin ? 0 : (high - begin) / step + 1, step, 0};
  }

  int64_t sources() const { return transposed_ ? axis_->outputs : axis_->cells; }
  int64_t outputs() const { return transposed_ ? axis_->cells : axis_->outputs; }

  // An upper bound of the tap numbers of any output, plus one.
  int64_t taps() const {
    if (!transposed_) return axis_->window;
    if (axis_->adaptive) return geometry::make_adaptive(axis_->outputs, axis_->cells).axis.window;
    return std::min(axis_->window, axis_->extent() / axis_->stride + 1);
  }

  // About how many sources lie between the first taps of neighbouring outputs.
  int64_t pace() const {
    if (uniform()) return spacing();
    return std::max<int64_t>(1, sources() / outputs());
  }
  // How far a window reaches, in sources.
  int64_t reach() const {
    const int64_t taps_minus_one = taps() - 1;
    return taps_minus_one * (axis_->adaptive ? 1 : step()) + 1;
  }

  // A range of sources that holds all that the outputs take (none: empty).
  Range sources_of(Range outputs) const {
    if (outputs.size() <= 0) return {};
    if (uniform()) {
      const int64_t begin = origin() + outputs.begin * spacing();
      const int64_t end = origin() + (outputs.end - 1) * spacing() + (taps() - 1) * step() + 1;
      return {std::max<int64_t>(begin, 0), std::min(end, sources())};
    }
    // Spans move to the right, but single ones may be absent (cells that no window covers).
    Range range{INT64_MAX, 0};
    for (int64_t o = outputs.begin; o < outputs.end; ++o) {
      const Span s = span(o);
      if (s.count == 0) continue;
      range.begin = std::min(range.begin, s.first);
      range.end = std::max(range.end, s.last() + 1);
    }
    return range.end == 0 ? Range{} : range;
  }

  // Uniform lines: the outputs within `among` whose tap t is present.
  Range present(int64_t tap, Range among) const {
    const int64_t at = origin() + tap * step();
    const int64_t begin = geometry::ceil_div(-at, spacing());
    const int64_t end = geometry::floor_div(sources() - 1 - at, spacing()) + 1;
    return {std::max(begin, among.begin), std::min(end, among.end)};
  }

 private:
  const Axis* axis_ = nullptr;
  bool transposed_ = false;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_LINE_H_
