#include "padded.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ndpool {
namespace {

constexpr int64_t kStepTaps = 4;
constexpr int64_t kStepBytes = 12 * 1024;      // of a buffer that steps go through
constexpr int64_t kMostStepBytes = 64 * 1024;  // of very high strips
constexpr int64_t kReducedBytes = 64 * 1024;

// The cell that stands in for a place outside the data: one of the same windows.
int64_t stand_in(const Line& line, int64_t place, Range cells) {
  const int64_t step = line.step(), end = line.sources();
  int64_t cell = place;
  if (place < 0) cell = place + geometry::ceil_div(-place, step) * step;
  if (place >= end) cell = place - geometry::ceil_div(place - end + 1, step) * step;
  return std::clamp(cell, cells.begin, cells.end - 1);
}

Range within(Range range, Range box) {
  return {std::max(range.begin, box.begin), std::min(range.end, box.end)};
}

}  // namespace

PaddedCut choose_padded(const Reduction& r, int64_t rows, int64_t outputs) {
  PaddedCut cut;
  const Space& space = *r.space;
  const int last = space.pooled - 1;
  const Line& line = r.lines[last];
  if (space.pooled > 2 || r.divide_by || r.lane == Lane::i128) return cut;
  for (int level = 0; level <= last; ++level) {
    if (!r.lines[level].uniform() || r.lines[level].spacing() != 1) return cut;
  }
  const int64_t size = static_cast<int64_t>(lane_size(r.lane));
  const int64_t reach = line.reach() - 1, row_reach = last > 0 ? r.lines[0].reach() - 1 : 0;
  cut.inner = std::min<int64_t>(space.inner, 64);
  // Twice the reach at least, so that what neighbouring cuts share is no more than what is new.
  cut.outputs = std::min(outputs, std::max(2 * reach, kStepBytes / (size * cut.inner)));
  const int64_t row = (cut.outputs + reach) * cut.inner * size;
  if (row > kReducedBytes / 2) return cut;
  cut.rows = std::min({rows, kReducedBytes / row, std::max<int64_t>(2 * row_reach, 32)});
  const int64_t high = cut.rows + row_reach;
  cut.strip = std::clamp<int64_t>(kStepBytes / (high * cut.inner * size), 1, cut.outputs + reach);
  // Whole cache lines of columns, where there are as many.
  const int64_t line_of = std::max<int64_t>(1, 64 / (cut.inner * size));
  if (cut.strip < cut.outputs + reach) {
    cut.strip = std::max(cut.strip / line_of, int64_t{1}) * line_of;
  }
  const int64_t strip = high * cut.strip * cut.inner;
  if (strip * size > kMostStepBytes) return cut;
  if (cut.rows == rows && cut.outputs == outputs && cut.inner == space.inner) {
    cut.planes = std::clamp<int64_t>(kStepBytes / (row * rows), 1, space.batch);
  }
  cut.reduced = cut.planes * cut.rows * row / size;
  cut.stepped = std::max({strip, row / size, kStepBytes / size});
  cut.possible = true;
  return cut;
}

Padded::Padded(const BandWork& work, const PaddedCut& cut, Arena* arena)
    : r_(*work.reduction),
      taps_(work.combine),
      move_(work.move),
      cut_(cut),
      last_(r_.space->pooled - 1),
      row_(last_ - 1),
      size_(static_cast<int64_t>(lane_size(r_.lane))) {
  if (!cut.possible) return;
  const auto take = [&](int64_t elements) {
    return static_cast<char*>(arena->take(elements, static_cast<size_t>(size_)));
  };
  reduced_ = take(cut.reduced);
  strip_ = take(cut.stepped);
  steps_[0] = take(cut.stepped);
  steps_[1] = take(cut.stepped);
  if (r_.sum) {
    steps_[2] = take(cut.stepped);
  } else {
    const int64_t row = (cut.outputs + r_.lines[last_].reach()) * cut.inner;
    pads_ = arena->take<int32_t>(row);
    stand_ins_ = arena->take<int32_t>(row);
  }
}

void Padded::run(const BandTask& task, const char* base, const BandTarget& target) {
  const Bound& source = *r_.source;
  const Line& line = r_.lines[last_];
  const int64_t inner = task.inner, rows = task.rows.size();
  const int64_t first = line.origin() + task.outputs.begin;
  const Range places{first, first + task.outputs.size() + line.reach() - 1};
  const Range cells = within(places, source.box[last_]);
  const int64_t row_lanes = places.size() * inner, plane_lanes = rows * row_lanes;
  const int64_t begin = (cells.begin - places.begin) * inner, all = task.planes * rows;
  if (r_.sum && cells.size() < places.size()) {
    std::memset(reduced_, 0, static_cast<size_t>(all * row_lanes * size_));
  }
  for (int64_t p = 0; p < task.planes && cells.size() > 0; ++p) {
    across(task, base + p * source.batch, places, cells, at(reduced_, p * plane_lanes + begin));
  }
  if (!r_.sum && cells.size() < places.size()) {
    find_pads(places, cells, inner);
    move_->repeat[std::countr_zero(static_cast<uint64_t>(size_))](all, row_lanes, reduced_,
                                                                  pad_count_, pads_, stand_ins_);
  }
  const bool packed = target.position == inner || task.outputs.size() == 1;
  const int64_t together = std::max<int64_t>(1, cut_.stepped / row_lanes);
  for (int64_t p = 0; p < task.planes; ++p) {
    for (int64_t r = 0; r < rows; r += together) {
      TapRows out;
      out.rows = std::min(together, rows - r);
      out.lanes = (packed ? task.outputs.size() : 1) * inner;
      out.src_row = row_lanes;
      out.dst = at(target.values, p * target.plane + r * target.row);
      out.dst_row = target.row;
      if (!packed) {
        // The channels of one output at a time.
        out.planes = task.outputs.size();
        out.src_plane = inner;
        out.dst_plane = target.position;
      }
      reduce(line.taps(), line.step() * inner, at(reduced_, p * plane_lanes + r * row_lanes),
             out.rows * row_lanes, out);
    }
  }
}

// Reduces the columns `cells` of one plane across, strip by strip, to rows at `to`.
void Padded::across(const BandTask& task, const char* plane, Range places, Range cells, char* to) {
  const Bound& source = *r_.source;
  const int64_t inner = task.inner, row_lanes = places.size() * inner;
  Range rows{0, 1}, row_cells{0, 1};
  int64_t taps = 1, distance = 1;
  if (row_ >= 0) {
    const Line& line = r_.lines[row_];
    rows.begin = line.origin() + task.rows.begin;
    rows.end = rows.begin + task.rows.size() + line.reach() - 1;
    row_cells = within(rows, source.box[row_]);
    taps = line.taps();
    distance = line.step();
    plane += (row_cells.begin - source.box[row_].begin) * source.pooled[row_];
  }
  plane += (cells.begin - source.box[last_].begin) * source.pooled[last_];
  for (int64_t c = 0; c < cells.size(); c += cut_.strip) {
    const int64_t positions = std::min(cut_.strip, cells.size() - c);
    const int64_t lanes = positions * inner;
    fill_strip(plane + c * source.pooled[last_], rows, row_cells, positions, inner);
    TapRows out;
    out.rows = task.rows.size();
    out.lanes = lanes;
    out.src_row = lanes;
    out.dst = at(to, c * inner);
    out.dst_row = row_lanes;
    reduce(taps, distance * lanes, strip_, rows.size() * lanes, out);
  }
}

// Rows of a strip of columns, those outside the data included: zeros for sums, rows of the same
// windows for max and min.
void Padded::fill_strip(const char* from, Range rows, Range row_cells, int64_t positions,
                        int64_t inner) {
  const Bound& source = *r_.source;
  const int64_t lanes = positions * inner;
  const size_t row_bytes = static_cast<size_t>(lanes * size_);
  if (row_cells.size() > 0) {
    const Strided shape{
        row_cells.size(),     positions,   inner, row_ >= 0 ? source.pooled[row_] : 0,
        source.pooled[last_], source.inner};
    r_.load(shape, from, at(strip_, (row_cells.begin - rows.begin) * lanes));
  }
  const auto pad = [&](int64_t row) {
    char* to = at(strip_, (row - rows.begin) * lanes);
    if (r_.sum || row_cells.size() <= 0) {
      std::memset(to, 0, row_bytes);
    } else {
      const int64_t cell = stand_in(r_.lines[row_], row, row_cells);
      std::memcpy(to, at(strip_, (cell - rows.begin) * lanes), row_bytes);
    }
  };
  for (int64_t row = rows.begin; row < std::min(rows.end, row_cells.begin); ++row) pad(row);
  for (int64_t row = std::max(rows.begin, row_cells.end); row < rows.end; ++row) pad(row);
}

void Padded::find_pads(Range places, Range cells, int64_t inner) {
  pad_count_ = 0;
  const auto pad = [&](int64_t place) {
    const int64_t cell = stand_in(r_.lines[last_], place, cells);
    for (int64_t c = 0; c < inner; ++c) {
      pads_[pad_count_] = static_cast<int32_t>((place - places.begin) * inner + c);
      stand_ins_[pad_count_++] = static_cast<int32_t>((cell - places.begin) * inner + c);
    }
  };
  for (int64_t place = places.begin; place < cells.begin; ++place) pad(place);
  for (int64_t place = cells.end; place < places.end; ++place) pad(place);
}

void Padded::reduce(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out) {
  if (r_.sum) {
    sums(taps, distance, from, lanes, out);
  } else {
    extremes(taps, distance, from, lanes, out);
  }
}

// One step with the taps in list_; returns where its result is.
const char* Padded::step(const char* from, int64_t lanes, char* to) {
  TapRows t;
  list_.give(&t);
  t.lanes = lanes;
  t.src = from;
  t.dst = to;
  taps_(t);
  return to;
}

void Padded::extremes(int64_t taps, int64_t distance, const char* from, int64_t lanes,
                      TapRows out) {
  int steps = 1;
  for (int64_t most = kStepTaps; most < taps; most *= kStepTaps) ++steps;
  for (int64_t width = 1;; --steps) {
    // As many taps in each step; the last may overlap.
    int64_t count = 1;
    for (int64_t reached = 0; reached < taps && count <= kStepTaps; ++count) {
      reached = width;
      for (int i = 0; i < steps; ++i) reached *= count;
      if (reached >= taps) break;
    }
    const int64_t next = std::min(count * width, taps);
    list_.start();
    list_.repeat(count, 0, width * distance, 0);
    list_.move(static_cast<int>(count) - 1, (next - width) * distance);
    if (next == taps) {
      list_.give(&out);
      out.src = from;
      taps_(out);
      return;
    }
    lanes -= (next - width) * distance;
    from = step(from, lanes, steps_[0]);
    std::swap(steps_[0], steps_[1]);
    width = next;
  }
}

// From the smallest power of two in `taps` to the largest; steps_[2] holds what was joined so far.
void Padded::sums(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out) {
  const int64_t whole = lanes - (taps - 1) * distance;
  bool any = false;
  for (int64_t width = 1;; width *= 2) {
    if (taps & width) {
      // This part of the window begins after those of the larger powers.
      const char* part = at(from, (taps & ~(2 * width - 1)) * distance);
      list_.start();
      if (any) {
        list_.repeat(2, 0, 0, 0);
        list_.move(1, (steps_[2] - part) / size_);
      }
      if (2 * width > taps) {
        list_.give(&out);
        out.src = part;
        taps_(out);
        return;
      }
      step(part, whole, any ? steps_[0] : steps_[2]);
      if (any) std::swap(steps_[0], steps_[2]);
      any = true;
    }
    list_.start();
    list_.repeat(2, 0, width * distance, 0);
    lanes -= width * distance;
    from = step(from, lanes, steps_[0]);
    std::swap(steps_[0], steps_[1]);
  }
}

}  // namespace ndpool
