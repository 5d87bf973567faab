#include "padded.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ndpool {
namespace {

constexpr int64_t kStepTaps = 4;
constexpr int64_t kStepBytes = 8 * 1024;  // of a buffer that steps go through
constexpr int64_t kRowBytes = 8 * 1024;
constexpr int64_t kRingBytes = 64 * 1024;
constexpr int64_t kResultBytes = 32 * 1024;
constexpr int64_t kMostBytes = 180 * 1024;  // of all buffers but results

int64_t ring_rows(int levels) { return (int64_t{2} << levels) - 2; }

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
  const int64_t size = static_cast<int64_t>(lane_size(r.lane)), reach = line.reach() - 1;
  const int64_t taps = last > 0 ? r.lines[0].taps() : 1;
  cut.levels = static_cast<int>(std::bit_width(static_cast<uint64_t>(taps))) - 1;
  if (cut.levels > SlideRow::kMostLevels || reach > kMostBytes) return cut;
  cut.inner = std::min<int64_t>(space.inner, 64);
  const int64_t position = cut.inner * size, rings = ring_rows(cut.levels);
  const int64_t room = std::min(kRowBytes, kRingBytes / std::max<int64_t>(rings, 1)) / position;
  // Twice the reach at least, so that what neighbouring cuts share is no more than what is new.
  cut.outputs = std::min(outputs, std::max({int64_t{1}, 2 * reach, room - reach}));
  const int64_t places = std::min(cut.outputs + reach, line.sources()) * cut.inner;
  // An odd number of cache lines, so that rows of a ring do not meet in the same few sets.
  const int64_t per_line = 64 / size;
  cut.row = (((places + per_line - 1) / per_line) | 1) * per_line;
  const int64_t row = (cut.outputs + reach) * cut.inner;
  cut.together = std::max<int64_t>(1, kStepBytes / (row * size));
  cut.reduced = cut.together * row;
  if (((rings + 3) * cut.row + 5 * cut.reduced) * size > kMostBytes) return cut;
  const int64_t results = cut.outputs * cut.inner * size;
  cut.rows = std::clamp<int64_t>(kResultBytes / results, 1, rows);
  if (cut.rows == rows && cut.outputs == outputs && cut.inner == space.inner) {
    cut.planes = std::clamp<int64_t>(kStepBytes / (results * rows), 1, space.batch);
  }
  cut.possible = true;
  return cut;
}

Padded::Padded(const BandWork& work, const PaddedCut& cut, Arena* arena)
    : r_(*work.reduction),
      taps_(work.combine),
      slide_(work.slide),
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
  rings_ = take(ring_rows(cut.levels) * cut.row);
  for (char*& row : loaded_) row = take(cut.row);
  steps_[0] = take(cut.reduced);
  steps_[1] = take(cut.reduced);
  zeros_ = take(cut.row);
  if (zeros_) std::memset(zeros_, 0, static_cast<size_t>(cut.row * size_));
  if (r_.sum) {
    steps_[2] = take(cut.reduced);
    steps_[3] = take(cut.reduced);
  } else {
    const int64_t places = cut.outputs + r_.lines[last_].reach();
    pads_ = arena->take<int32_t>(places);
    stand_ins_ = arena->take<int32_t>(places);
  }
}

void Padded::run(const BandTask& task, const char* base, const BandTarget& target) {
  const Bound& source = *r_.source;
  const Line& line = r_.lines[last_];
  Columns columns;
  const int64_t first = line.origin() + task.outputs.begin;
  columns.places = {first, first + task.outputs.size() + line.reach() - 1};
  columns.cells = within(columns.places, source.box[last_]);
  columns.inner = task.inner;
  columns.row_lanes = columns.places.size() * task.inner;
  const bool pad = columns.cells.size() < columns.places.size();
  if (pad && r_.sum) {
    std::memset(reduced_, 0, static_cast<size_t>(cut_.together * columns.row_lanes * size_));
  }
  pad_count_ = 0;
  if (pad && !r_.sum) find_pads(columns);
  char* const values = static_cast<char*>(target.values);
  if (row_ < 0) {
    // Planes are rows.
    for (int64_t p = 0; p < task.planes; p += cut_.together) {
      const int64_t rows = std::min(cut_.together, task.planes - p);
      for (int64_t i = 0; i < rows && columns.cells.size() > 0; ++i) {
        load_row(base + (p + i) * source.batch, columns, reduced_at(columns, i));
      }
      along(columns, rows, at(values, p * target.plane), target.plane, target);
    }
    return;
  }
  for (int64_t p = 0; p < task.planes; ++p) {
    slide(task, base + p * source.batch, columns, at(values, p * target.plane), target);
  }
}

// The cells of the row at `row`, as lanes without gaps.
void Padded::load_row(const char* row, const Columns& columns, char* to) const {
  const Bound& source = *r_.source;
  r_.load({1, columns.cells.size(), columns.inner, 0, source.pooled[last_], source.inner},
          row + (columns.cells.begin - source.box[last_].begin) * source.pooled[last_], to);
}

// Where the cells of row i begin, after its pads.
char* Padded::reduced_at(const Columns& columns, int64_t i) const {
  return at(reduced_,
            i * columns.row_lanes + (columns.cells.begin - columns.places.begin) * columns.inner);
}

// Rows of outputs of one plane: across, and along whenever enough of them are there. Rows that are
// `step` apart share taps, others do not.
void Padded::slide(const BandTask& task, const char* plane, const Columns& columns, char* to,
                   const BandTarget& target) {
  const Line& line = r_.lines[row_];
  const int64_t step = line.step(), rows = task.rows.size();
  for (int64_t begin = 0; begin < std::min(step, rows); ++begin) {
    const int64_t count = (rows - begin + step - 1) / step;
    const int64_t first = line.origin() + task.rows.begin + begin;
    const int64_t whole = (line.taps() - 1) * step;  // from the first tap to the last
    const bool goes_on = plane_ == plane && columns_.places.begin == columns.places.begin &&
                         columns_.places.end == columns.places.end &&
                         columns_.inner == columns.inner && step == 1 && next_ == first + whole;
    if (!goes_on) {
      plane_ = plane;
      columns_ = columns;
      turn_ = 0;
      previous_ = nullptr;
      for (int64_t place = first; place < first + whole; place += step) {
        slide_on(plane, place, columns, nullptr);
      }
    }
    int64_t ready = 0, sent = 0;
    for (int64_t i = 0; i < count; ++i) {
      slide_on(plane, first + whole + i * step, columns, reduced_at(columns, ready++));
      if (ready < cut_.together && i + 1 < count) continue;
      along(columns, ready, at(to, (begin + sent * step) * target.row), target.row * step, target);
      sent += ready;
      ready = 0;
    }
    next_ = first + whole + count * step;
  }
}

// The cells of a row where they lie, or in a buffer; of a row outside the data zeros (sums), or a
// row of the same windows.
const char* Padded::row_at(const char* plane, int64_t place, const Columns& columns,
                           char* buffer) const {
  const Bound& source = *r_.source;
  const Range rows = source.box[row_];
  const bool inside = place >= rows.begin && place < rows.end;
  if (!inside && (r_.sum || rows.size() <= 0)) return zeros_;
  const int64_t row = inside ? place : stand_in(r_.lines[row_], place, rows);
  const char* from = plane + (row - rows.begin) * source.pooled[row_];
  if (r_.native && source.pooled[last_] == columns.inner * size_) {
    return from + (columns.cells.begin - source.box[last_].begin) * source.pooled[last_];
  }
  load_row(from, columns, buffer);
  return buffer;
}

// The windows that end at `place`, if asked for.
void Padded::slide_on(const char* plane, int64_t place, const Columns& columns, char* to) {
  if (columns.cells.size() <= 0) return;
  const uint64_t taps = static_cast<uint64_t>(r_.lines[row_].taps());
  if (cut_.levels == 0) {
    if (const char* row = row_at(plane, place, columns, to); row != to) {
      std::memcpy(to, row, static_cast<size_t>(columns.cells.size() * columns.inner * size_));
    }
    return;
  }
  SlideRow s;
  s.lanes = columns.cells.size() * columns.inner;
  s.x = row_at(plane, place, columns, loaded_[turn_ % 2]);
  s.previous = previous_ ? previous_ : s.x;
  previous_ = static_cast<const char*>(s.x);
  s.levels = cut_.levels;
  // The row of a level that is `back` rows old.
  const auto ring = [&](int level, uint64_t back) {
    const uint64_t size = uint64_t{1} << level;
    return at(rings_, static_cast<int64_t>(size - 2 + (turn_ - back) % size) * cut_.row);
  };
  for (int level = 1; level <= cut_.levels; ++level) s.slot[level] = ring(level, 0);
  s.dst = to;
  const uint64_t rest = taps - (uint64_t{1} << cut_.levels);
  if (rest != 0 && !r_.sum) s.part[s.parts++] = ring(cut_.levels, rest);
  if (rest != 0 && r_.sum) {
    s.start = (taps & 1) != 0 ? SlideRow::Start::x : SlideRow::Start::part;
    for (int level = 1; level <= cut_.levels; ++level) {
      const uint64_t size = uint64_t{1} << level;
      if (taps & size) s.part[s.parts++] = ring(level, taps & (size - 1));
    }
  }
  slide_(s);
  ++turn_;
}

void Padded::find_pads(const Columns& columns) {
  const auto pad = [&](int64_t place) {
    const int64_t cell = stand_in(r_.lines[last_], place, columns.cells);
    pads_[pad_count_] = static_cast<int32_t>(place - columns.places.begin);
    stand_ins_[pad_count_++] = static_cast<int32_t>(cell - columns.places.begin);
  };
  for (int64_t place = columns.places.begin; place < columns.cells.begin; ++place) pad(place);
  for (int64_t place = columns.cells.end; place < columns.places.end; ++place) pad(place);
}

void Padded::fill_pads(const Columns& columns, int64_t rows) {
  const int64_t inner = columns.inner;
  if (inner == 1) {
    move_->repeat[std::countr_zero(static_cast<uint64_t>(size_))](rows, columns.row_lanes, reduced_,
                                                                  pad_count_, pads_, stand_ins_);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    char* row = at(reduced_, r * columns.row_lanes);
    for (int64_t i = 0; i < pad_count_; ++i) {
      std::memcpy(at(row, pads_[i] * inner), at(row, stand_ins_[i] * inner),
                  static_cast<size_t>(inner * size_));
    }
  }
}

// `rows` rows of reduced_ along, to rows at `to`.
void Padded::along(const Columns& columns, int64_t rows, char* to, int64_t to_row,
                   const BandTarget& target) {
  const Line& line = r_.lines[last_];
  const int64_t inner = columns.inner;
  const int64_t outputs = columns.places.size() - line.reach() + 1;
  if (pad_count_ > 0) fill_pads(columns, rows);
  const bool packed = target.position == inner || outputs == 1;
  TapRows out;
  out.rows = rows;
  out.lanes = (packed ? outputs : 1) * inner;
  out.src_row = columns.row_lanes;
  out.dst = to;
  out.dst_row = to_row;
  if (!packed) {
    // The channels of one output at a time.
    out.planes = outputs;
    out.src_plane = inner;
    out.dst_plane = target.position;
  }
  reduce(line.taps(), line.step() * inner, reduced_, rows * columns.row_lanes, out);
  if (target.divisor == 0) return;
  for (int64_t i = 0; i < out.planes * rows; ++i) {
    r_.kernels->scale[static_cast<int>(r_.lane)](
        out.lanes, at(to, i / rows * out.dst_plane + i % rows * to_row), target.divisor);
  }
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

// From the smallest power of two in `taps` to the largest, two powers at a time: first the sums of
// so many taps at every place, then what of them is part of the window joins what was joined.
void Padded::sums(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out) {
  const int64_t whole = lanes - (taps - 1) * distance;
  char *joined = nullptr, *free = steps_[2];
  const char* narrow = from;
  for (int64_t width = 1;; width *= 2) {
    if (width > 1 && width == taps) return last_of_two(narrow, width / 2 * distance, out);
    if (width > 1) narrow = twice(narrow, width / 2 * distance, &lanes, steps_[0]);
    if (2 * width == taps) return last_of_two(narrow, width * distance, out);
    const char* wide = nullptr;
    if (2 * width <= taps) wide = twice(narrow, width * distance, &lanes, steps_[1]);
    // A part of the window begins after those of the larger powers.
    const char* parts[3];
    int count = 0;
    if (joined) parts[count++] = joined;
    if (taps & width) parts[count++] = at(narrow, (taps & ~(2 * width - 1)) * distance);
    width *= 2;
    if (taps & width) parts[count++] = at(wide, (taps & ~(2 * width - 1)) * distance);
    list_.start();
    if (count > 1) list_.repeat(count, 0, 0, 0);
    for (int i = 1; i < count; ++i) list_.move(i, (parts[i] - parts[0]) / size_);
    if (2 * width > taps) {
      list_.give(&out);
      out.src = parts[0];
      return taps_(out);
    }
    narrow = wide;
    if (count == (joined ? 1 : 0)) continue;
    step(parts[0], whole, free);
    free = joined ? joined : steps_[3];
    joined = joined == steps_[2] ? steps_[3] : steps_[2];
  }
}

// Of windows whose taps are a power of two.
void Padded::last_of_two(const char* from, int64_t distance, TapRows out) {
  list_.start();
  list_.repeat(2, 0, distance, 0);
  list_.give(&out);
  out.src = from;
  taps_(out);
}

// Sums of twice as many taps at every place.
const char* Padded::twice(const char* from, int64_t distance, int64_t* lanes, char* to) {
  list_.start();
  list_.repeat(2, 0, distance, 0);
  *lanes -= distance;
  return step(from, *lanes, to);
}

}  // namespace ndpool
