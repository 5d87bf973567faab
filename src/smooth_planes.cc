#include "smooth_planes.h"

#include <algorithm>
#include <cstring>

#include "contiguous.h"
#include "kernels/move.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 16 * 1024, kMostLanes = 1024, kFewRows = 4;

}  // namespace

SmoothPlanes::SmoothPlanes(const Plan& plan, const ArrayArg& x, const ArrayArg* g,
                           const ArrayArg& target)
    : plan_(plan),
      gradient_(g != nullptr),
      x_(plan.rank, x),
      g_(plan.rank, g ? *g : x),
      target_(plan.rank, target) {
  choose(x, g, target);
}

// Whether planes are whole, without gaps, and aligned.
bool SmoothPlanes::is_plain(const ArrayArg& array, bool of_cells) const {
  constexpr int64_t kSize = sizeof(float);
  const int64_t lanes = of_cells ? shape_.cells : shape_.outputs;
  const int64_t rows = of_cells ? plan_.axes[0].cells : plan_.axes[0].outputs;
  const auto stride = [&](int axis) {
    if (array.strides) return array.strides[axis];
    int64_t row_major = array.element;
    for (int i = plan_.rank - 1; i > axis; --i) row_major *= array.size[i];
    return row_major;
  };
  for (int axis = 0; axis < plan_.rank; ++axis) {
    if (stride(axis) % kSize != 0) return false;
    if (!plan_.is_pooled[static_cast<size_t>(axis)]) continue;
    if (array.start && array.start[axis] != 0) return false;
  }
  return reinterpret_cast<uintptr_t>(array.data) % alignof(float) == 0 &&
         array.size[row_axis_] == rows && array.size[lane_axis_] == lanes &&
         stride(lane_axis_) == kSize && stride(row_axis_) == lanes * kSize;
}

void SmoothPlanes::choose(const ArrayArg& x, const ArrayArg* g, const ArrayArg& target) {
  if (!plan_.sums32 || !plan_.kernels->smooth_rows || plan_.type != NDPOOL_F32 ||
      plan_.pooled != 2 || plan_.has_empty_windows ||
      plan_.algorithm != NDPOOL_ALGORITHM_AUTOMATIC) {
    return;
  }
  const Axis &down = plan_.axes[0], &along = plan_.axes[1];
  for (const Axis* axis : {&down, &along}) {
    if (axis->adaptive || axis->dilation != 1 || axis->window < 2 || axis->window > 3 ||
        axis->stride > 2 || axis->window != along.window || axis->stride != along.stride) {
      return;
    }
  }
  row_axis_ = plan_.axis_number[0];
  lane_axis_ = plan_.axis_number[1];
  shape_.taps = static_cast<int>(along.window);
  shape_.spacing = along.stride;
  shape_.beta = plan_.beta;
  shape_.pad = along.pad_lo;
  shape_.cells = along.cells;
  shape_.outputs = along.outputs;
  // Parts of vectors are slow.
  const bool wide = along.cells >= 16 * along.stride && along.outputs >= 8;
  if (!wide || along.cells > kMostLanes || along.outputs > kMostLanes) return;
  if (!is_plain(x, true) || !is_plain(target, gradient_) || (g && !is_plain(*g, false))) return;
  int64_t planes = 1;
  for (int axis = 0; axis < plan_.rank; ++axis) {
    const int64_t begin = target.start ? target.start[axis] : 0;
    whole_.set(axis, {begin, begin + target.size[axis]});
    if (!plan_.is_pooled[static_cast<size_t>(axis)]) planes *= target.size[axis];
  }
  const int64_t behind = SmoothRows::kSlack;
  const int64_t places = std::max((along.cells - 1 + along.pad_lo) / along.stride + 1,
                                  along.outputs + (along.window - 1) / along.stride);
  shape_.apart = places + 2 * behind;
  shape_.term_row = shape_.apart * along.stride;
  shape_.quotient_row = behind + places + 2 * behind;
  const int64_t row = row_lanes() * int64_t{sizeof(float)};
  const int64_t rows = gradient_ ? down.cells : down.outputs;
  const int64_t term_rows = gradient_ ? 1 : along.stride;
  rows_ =
      std::max(kFewRows, kBandBytes / (row + term_rows * shape_.term_row * int64_t{sizeof(float)}));
  rows_ = std::min(rows_, rows);
  tasks_ = PlaneTasks(planes, rows, row_lanes(), rows_);
  const auto bytes = [planes](int64_t lanes, const Axis& axis, bool of_cells) {
    return static_cast<size_t>(planes * lanes * (of_cells ? axis.cells : axis.outputs)) *
           sizeof(float);
  };
  streaming_ = is_streamed(bytes(along.cells, down, true), bytes(row_lanes(), down, gradient_));
  possible_ = true;
}

int64_t SmoothPlanes::quotient_rows() const {
  return gradient_ ? (rows_ + shape_.taps - 2) / shape_.spacing + 2 : 0;
}
int64_t SmoothPlanes::term_rows() const {
  const int64_t outputs = gradient_ ? quotient_rows() : rows_;
  return (outputs - 1) * shape_.spacing + shape_.taps + (gradient_ ? shape_.spacing : 0);
}

SmoothPlanes::Worker::Worker(const SmoothPlanes& planes, Arena* arena, bool counts)
    : room(arena->take<float>(planes.streaming_ ? planes.rows_ * planes.row_lanes() : 0)),
      terms(arena->take<float>(planes.term_rows() * planes.shape_.term_row)),
      quotients(arena->take<float>(planes.quotient_rows() * planes.shape_.quotient_row)),
      pads{arena->take<float>(planes.shape_.quotient_row),
           arena->take<float>(planes.shape_.quotient_row)},
      present(arena->take<double>(planes.shape_.outputs)),
      counted(arena->take<double>(planes.shape_.outputs)) {
  if (counts) return;
  const auto clear = [](float* lanes, int64_t n) {
    std::memset(lanes, 0, static_cast<size_t>(n) * sizeof(float));
  };
  clear(terms, planes.term_rows() * planes.shape_.term_row);
  clear(quotients, planes.quotient_rows() * planes.shape_.quotient_row);
  for (float* lanes : pads) clear(lanes, planes.shape_.quotient_row);
  for (int64_t o = 0; o < planes.shape_.outputs; ++o) {
    const auto window = planes.plan_.axes[1].window_of(o);
    present[o] = static_cast<double>(window.cells);
    counted[o] = static_cast<double>(window.counted);
    const double taps = static_cast<double>(planes.shape_.taps);
    pads[0][o] = static_cast<float>(taps * counted[o] - taps * present[o]);
  }
}

TermBox SmoothPlanes::box_of(int64_t plane, Range rows, Range along) const {
  TermBox box;
  for (int axis = plan_.rank - 1; axis >= 0; --axis) {
    if (axis == row_axis_ || axis == lane_axis_) {
      box.set(axis, axis == row_axis_ ? rows : along);
      continue;
    }
    const int64_t at = whole_.start[axis] + plane % whole_.size[axis];
    plane /= whole_.size[axis];
    box.set(axis, {at, at + 1});
  }
  return box;
}

char* SmoothPlanes::plane_of(const TermArray& array, int64_t plane) const {
  const TermBox box = box_of(plane, {0, 1}, {0, 1});
  return array.address(box.start);
}

const float* SmoothPlanes::row_of(int64_t plane, int64_t row) const {
  return reinterpret_cast<const float*>(plane_of(target_, plane)) + row * row_lanes();
}

void SmoothPlanes::keep(Range needed, int64_t row, float* lanes, Range* held) {
  const int64_t begin = std::clamp(needed.begin, held->begin, held->end);
  std::memmove(lanes, lanes + (begin - held->begin) * row,
               static_cast<size_t>((held->end - begin) * row) * sizeof(float));
  held->begin = begin;
  if (held->begin == held->end) *held = {needed.begin, needed.begin};
}

void SmoothPlanes::find_terms(int64_t plane, Range needed, Worker* w) const {
  Range& held = w->held_terms;
  keep(needed, shape_.term_row, w->terms, &held);
  const auto lanes_of = [&](int64_t row) {
    return w->terms + (row - held.begin) * shape_.term_row;
  };
  const int64_t end = std::max(held.end, needed.end);
  // Rows of cells that there are; before and behind them lie some without terms.
  const int64_t first = std::clamp<int64_t>(0, held.end, end);
  const int64_t last = std::clamp(plan_.axes[0].cells, first, end);
  const auto clear = [&](int64_t begin, int64_t behind) {
    std::memset(lanes_of(begin), 0,
                static_cast<size_t>((behind - begin) * shape_.term_row) * sizeof(float));
  };
  clear(held.end, first);
  clear(last, end);
  const float* x = reinterpret_cast<const float*>(plane_of(x_, plane)) + first * shape_.cells;
  plan_.kernels->smooth_rows->terms(shape_, last - first, x, lanes_of(first));
  held.end = end;
}

const float* SmoothPlanes::pads_of(int64_t output, Worker* w) const {
  if (!plan_.counts.include_pad || plan_.all_full) return nullptr;
  const auto window = plan_.axes[0].window_of(output);
  if (window.cells == shape_.taps) return w->pads[0];
  if (window.cells != w->pads_cells || window.counted != w->pads_counted) {
    const double cells = static_cast<double>(window.cells);
    const double taps = static_cast<double>(window.counted);
    for (int64_t o = 0; o < shape_.outputs; ++o) {
      w->pads[1][o] = static_cast<float>(taps * w->counted[o] - cells * w->present[o]);
    }
    w->pads_cells = window.cells;
    w->pads_counted = window.counted;
  }
  return w->pads[1];
}

template <class F>
void SmoothPlanes::each_kind(Range outputs, Worker* w, F f) const {
  const Axis& down = plan_.axes[0];
  // Windows that are whole downwards lie side by side.
  const auto is_whole = [&](int64_t o) {
    const int64_t start = o * down.stride - down.pad_lo;
    return start >= 0 && start + down.window <= down.cells;
  };
  for (int64_t o = outputs.begin; o < outputs.end;) {
    int64_t end = o + 1;
    if (is_whole(o)) {
      while (end < outputs.end && is_whole(end)) ++end;
    }
    const int64_t row = o * down.stride - down.pad_lo - w->held_terms.begin;
    f(Range{o, end}, w->terms + row * shape_.term_row, pads_of(o, w));
    o = end;
  }
}

void SmoothPlanes::find_quotients(int64_t plane, Range needed, Worker* w) const {
  Range& held = w->held_quotients;
  keep(needed, shape_.quotient_row, w->quotients, &held);
  const auto row_at = [&](int64_t row) {
    return w->quotients + (row - held.begin) * shape_.quotient_row;
  };
  const int64_t end = std::max(held.end, needed.end);
  const int64_t first = std::clamp<int64_t>(0, held.end, end);
  const int64_t last = std::clamp(plan_.axes[0].outputs, first, end);
  const auto clear = [&](int64_t begin, int64_t behind) {
    std::memset(row_at(begin), 0,
                static_cast<size_t>((behind - begin) * shape_.quotient_row) * sizeof(float));
  };
  clear(held.end, first);
  clear(last, end);
  const auto* g = reinterpret_cast<const float*>(plane_of(g_, plane));
  each_kind({first, last}, w, [&](Range outputs, const float* terms, const float* pads) {
    plan_.kernels->smooth_rows->quotients(shape_, outputs.size(), terms, pads,
                                          g + outputs.begin * shape_.outputs,
                                          row_at(outputs.begin) + SmoothRows::kSlack);
  });
  held.end = end;
}

bool SmoothPlanes::run(int64_t plane, Range rows, Worker* w) const {
  const Axis& down = plan_.axes[0];
  if (w->plane != plane || w->next != rows.begin) w->held_terms = w->held_quotients = {};
  w->plane = plane;
  w->next = rows.end;
  float* const target =
      reinterpret_cast<float*>(plane_of(target_, plane)) + rows.begin * row_lanes();
  float* lanes = streaming_ ? w->room : target;
  const auto cells_of = [&](Range outputs) {
    return Range{outputs.begin * down.stride - down.pad_lo,
                 (outputs.end - 1) * down.stride - down.pad_lo + down.window};
  };
  bool good = true;
  if (gradient_) {
    // The outputs that would hold these cells, and those of them that there are.
    const Range hold{geometry::ceil_div(rows.begin + down.pad_lo - (down.window - 1), down.stride),
                     (rows.end - 1 + down.pad_lo) / down.stride + 1};
    const Range given{std::max<int64_t>(hold.begin, 0), std::min(hold.end, down.outputs)};
    Range cells = rows;
    if (given.size() > 0) {
      const Range reached = cells_of(given);
      cells = {std::min(cells.begin, reached.begin), std::max(cells.end, reached.end)};
    }
    find_terms(plane, cells, w);
    find_quotients(plane, hold, w);
    for (int64_t row = rows.begin; row < rows.end; ++row, lanes += shape_.cells) {
      const int64_t place = row + down.pad_lo, output = place / down.stride;
      const float* quotients = w->quotients + SmoothRows::kSlack +
                               (output - w->held_quotients.begin) * shape_.quotient_row;
      const float* terms = w->terms + (row - w->held_terms.begin) * shape_.term_row;
      good &= plan_.kernels->smooth_rows->gradients(shape_, static_cast<int>(place % down.stride),
                                                    quotients, terms, lanes);
    }
  } else {
    find_terms(plane, cells_of(rows), w);
    each_kind(rows, w, [&](Range outputs, const float* terms, const float* pads) {
      good &= plan_.kernels->smooth_rows->logarithms(
          shape_, outputs.size(), terms, pads,
          lanes + (outputs.begin - rows.begin) * shape_.outputs);
    });
  }
  if (streaming_) {
    const size_t bytes = static_cast<size_t>(rows.size() * row_lanes()) * sizeof(float);
    if (good) {
      plan_.kernels->move->stream(w->room, target, bytes);
    } else {
      std::memcpy(target, w->room, bytes);  // to be read again
    }
  }
  return good;
}

void SmoothPlanes::finish() const {
  if (streaming_) plan_.kernels->move->flush();
}

}  // namespace ndpool
