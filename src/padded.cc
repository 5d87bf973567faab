#include "padded.h"

#include <algorithm>
#include <cstring>

namespace ndpool {
namespace {

constexpr int64_t kStepBytes = 8 * 1024;  // of a buffer that steps go through
constexpr int64_t kRowBytes = 8 * 1024;
constexpr int64_t kRingBytes = 64 * 1024;
constexpr int64_t kAcrossBytes = 80 * 1024;  // of rows that are reduced across together
constexpr int64_t kResultBytes = 32 * 1024;
constexpr int64_t kMostBytes = 180 * 1024;  // of all buffers but results
constexpr int64_t kRecentRows = 8;
constexpr int64_t kUncounted = 5;    // rows
constexpr int64_t kMostSlides = 32;  // rows of sums that are made together
constexpr int64_t kRowsAhead = 16;   // that cells are fetched before sums need them

int64_t pieces(int64_t whole, int64_t piece) { return (whole + piece - 1) / piece; }

// How many rows of a level are needed.
int64_t ring_rows(int64_t taps, int levels, int level) {
  const int64_t rows = int64_t{1} << 2 * level, rest = taps & (rows - 1);
  const int64_t parts = level == levels ? taps >> 2 * level : taps >> 2 * level & 3;
  return 1 + std::max(level < levels ? 3 * rows : 0, parts > 0 ? rest + (parts - 1) * rows : 0);
}

// Rows of so many lanes are so far apart: long ones begin with a cache line, but not where they
// would meet in the same few sets.
int64_t pitch_of(int64_t lanes, int64_t size) {
  const int64_t per_line = 64 / size;
  const int64_t pitch = lanes < 8 * per_line ? lanes : pieces(lanes, per_line) * per_line;
  return pitch * size % 512 == 0 ? pitch + per_line : pitch;
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
  cut.levels = std::max(sum_levels(taps), taps < 4 ? 0 : 1);
  if (std::max(cut.levels, sum_levels(line.taps())) > SlideRow::kMostLevels) return cut;
  if (reach > kMostBytes) return cut;
  cut.inner = std::min<int64_t>(space.inner, kMostInner);
  cut.native = r.native && cut.inner == space.inner && r.source->pooled[last] == cut.inner * size;
  const int64_t position = cut.inner * size;
  for (int level = 1; level <= cut.levels && r.sum; ++level) {
    cut.ring_rows += ring_rows(taps, cut.levels, level);
  }
  const int64_t kept = r.sum ? cut.ring_rows : cut.native ? 0 : 2 * taps;
  const int64_t room = std::min({kRowBytes, kRingBytes / std::max<int64_t>(kept, 1),
                                 r.sum ? kRowBytes : kAcrossBytes / taps}) /
                       position;
  // Some times the reach at least, so that what neighbouring cuts share is less than what is new.
  cut.outputs = std::min(outputs, std::max({int64_t{1}, 3 * reach, room - reach}));
  cut.outputs = pieces(outputs, pieces(outputs, cut.outputs));
  const int64_t places = std::min(cut.outputs + reach, line.sources()) * cut.inner;
  // An odd number of cache lines, so that rows of a ring do not meet in the same few sets.
  const int64_t per_line = 64 / size;
  cut.row = (pieces(places, per_line) | 1) * per_line;
  cut.reduced = pitch_of((cut.outputs + reach) * cut.inner, size);
  cut.together = std::max<int64_t>(1, kStepBytes / (cut.reduced * size));
  const int64_t results = cut.outputs * cut.inner * size;
  cut.rows = std::clamp<int64_t>(kResultBytes / results, 1, rows);
  cut.block = cut.together;
  if (r.sum) {
    cut.block = std::max(cut.together, kResultBytes / (cut.reduced * size));
    if (last > 0) cut.block = std::min(cut.block, cut.native ? kMostSlides : kRecentRows);
  } else if (last > 0) {
    cut.block = std::clamp<int64_t>(kAcrossBytes / (cut.reduced * size), 1, std::min(taps, rows));
  }
  const auto bytes = [&] {
    if (last > 0 && !cut.native) cut.loaded = cut.block + (r.sum ? kRecentRows : taps - 1);
    const int64_t stepped = (r.sum ? 4 : 2) * cut.together * cut.reduced;
    return ((cut.ring_rows + cut.loaded + 1) * cut.row + cut.block * cut.reduced + stepped) * size;
  };
  // Sums of up to seven rows keep some of them that would not be needed: not counted.
  const int64_t extra = r.sum && last > 0 ? kUncounted * cut.row * size : 0;
  while (bytes() > kMostBytes + extra) {
    if (cut.block == 1 || last == 0) return cut;
    cut.block = pieces(cut.block, 2);
  }
  if (!r.sum && last > 0) {
    // Whole blocks, as equal as can be.
    cut.rows = std::min(rows, std::max<int64_t>(1, cut.rows / cut.block) * cut.block);
    cut.rows = pieces(rows, pieces(rows, cut.rows));
  }
  if (cut.rows == rows && cut.outputs == outputs && cut.inner == space.inner) {
    cut.planes = std::clamp<int64_t>(kStepBytes / (results * rows), 1, space.batch);
  }
  cut.possible = true;
  return cut;
}

Padded::Padded(const BandWork& work, const PaddedCut& cut, Arena* arena)
    : r_(*work.reduction),
      taps_(work.combine),
      numbers_(work.numbers),
      slide_(work.slide),
      extremes_(work.extremes),
      neighbours_{work.windows_along[0], work.windows_along[1]},
      wide_sums_(work.wide_sums),
      move_(work.move),
      cut_(cut),
      last_(r_.space->pooled - 1),
      row_(last_ - 1),
      size_(static_cast<int64_t>(lane_size(r_.lane))) {
  if (!cut.possible) return;
  const auto take = [&](int64_t elements) {
    return static_cast<char*>(arena->take(elements, static_cast<size_t>(size_)));
  };
  const auto take_rows = [&](int64_t elements) {
    constexpr int64_t kAround = NeighbourRows::kAround;
    char* const memory = take(elements + 2 * kAround);
    return memory ? memory + kAround * size_ : nullptr;
  };
  reduced_ = take_rows(cut.block * cut.reduced);
  loaded_ = take(cut.loaded * cut.row);
  const int buffers = r_.sum ? kBuffers : 2;
  for (int i = 0; i < buffers; ++i) buffers_[i] = take_rows(cut.together * cut.reduced);
  zeros_ = take(cut.row);
  if (zeros_) std::memset(zeros_, 0, static_cast<size_t>(cut.row * size_));
  const int64_t taps = row_ >= 0 ? r_.lines[row_].taps() : 1;
  if (r_.sum) {
    if (row_ >= 0) plan_rings(arena);
  } else {
    const int64_t places = cut.outputs + r_.lines[last_].reach();
    pads_ = arena->take<int32_t>(places);
    stand_ins_ = arena->take<int32_t>(places);
    rows_ = arena->take<const void*>(2 * cut.block + taps);
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
  columns.row_lanes = pitch_of(columns.places.size() * task.inner, size_);
  const int64_t distance = line.step() * task.inner;
  plan_steps(line.taps(), distance, neighbours_[0] && distance == 1 && target.position == 1);
  const bool pad = columns.cells.size() < columns.places.size();
  if (r_.sum && !columns.same_as(zeroed_)) {
    zeroed_ = columns;  // pads stay zeros until other columns are written over them
    if (pad) std::memset(reduced_, 0, static_cast<size_t>(cut_.block * columns.row_lanes * size_));
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
      along(columns, rows, at(values, p * target.plane), target.plane, target, false);
    }
    return;
  }
  for (int64_t p = 0; p < task.planes; ++p) {
    across(task, base + p * source.batch, columns, at(values, p * target.plane), target);
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
void Padded::across(const BandTask& task, const char* plane, const Columns& columns, char* to,
                    const BandTarget& target) {
  const Line& line = r_.lines[row_];
  const int64_t step = line.step(), rows = task.rows.size();
  for (int64_t begin = 0; begin < std::min(step, rows); ++begin) {
    const int64_t count = (rows - begin + step - 1) / step;
    const int64_t first = line.origin() + task.rows.begin + begin;
    const int64_t whole = (line.taps() - 1) * step;  // from the first tap to the last
    const bool goes_on =
        plane_ == plane && columns_.same_as(columns) && step == 1 && next_ == first + whole;
    if (!goes_on) {
      plane_ = plane;
      columns_ = columns;
      turn_ = 0;
      next_ = first;
    }
    char* const row = at(to, begin * target.row);
    if (r_.sum) {
      sums_across(plane, first, count, columns, row, target.row * step, target);
    } else {
      extremes_across(plane, first, count, columns, row, target.row * step, target);
    }
    next_ = first + whole + count * step;
  }
}

void Padded::sums_across(const char* plane, int64_t first, int64_t count, const Columns& columns,
                         char* to, int64_t to_row, const BandTarget& target) {
  const Line& line = r_.lines[row_];
  const int64_t step = line.step(), whole = (line.taps() - 1) * step;
  const bool any = columns.cells.size() > 0;
  while (next_ < first + whole) {
    int64_t rows = 0;
    for (; rows < cut_.block && next_ < first + whole; ++rows, next_ += step) {
      if (any) slide_on(plane, next_, columns, nullptr, slides_ + rows);
    }
    if (any) slide_(rows, slides_);
  }
  for (int64_t i = 0; i < count;) {
    const int64_t rows = std::min(cut_.block, count - i);
    for (int64_t k = 0; k < rows && any; ++k) {
      slide_on(plane, first + whole + (i + k) * step, columns, reduced_at(columns, k), slides_ + k);
    }
    if (any) slide_(rows, slides_);
    along(columns, rows, at(to, i * to_row), to_row, target, false);
    i += rows;
  }
}

void Padded::extremes_across(const char* plane, int64_t first, int64_t count,
                             const Columns& columns, char* to, int64_t to_row,
                             const BandTarget& target) {
  if (columns.cells.size() <= 0) return;
  const Line& line = r_.lines[row_];
  const int64_t step = line.step(), shared = line.taps() - 1;
  // The number of the first row, if rows are loaded: the last of them are there still.
  const int64_t number = std::max<int64_t>(0, turn_ - shared);
  const auto row = [&](int64_t i) -> const char* {
    if (cut_.native) return row_at(plane, first + i * step, columns, nullptr);
    char* const slot = at(loaded_, (number + i) % cut_.loaded * cut_.row);
    if (number + i < turn_) return slot;
    ++turn_;
    return row_at(plane, first + i * step, columns, slot);
  };
  ExtremeRows e;
  e.lanes = columns.cells.size() * columns.inner;
  e.taps = line.taps();
  e.x = rows_;
  e.dst = reduced_at(columns, 0);
  e.dst_row = columns.row_lanes;
  int64_t known = 0;
  for (int64_t i = 0; i < count; i += e.rows) {
    e.rows = pieces(count - i, pieces(count - i, cut_.block));
    e.ahead = cut_.native ? e.rows : 0;
    for (; known < e.rows + shared + e.ahead; ++known) rows_[known] = row(i + known);
    const bool nan = extremes_(e);
    std::copy(rows_ + e.rows, rows_ + known, rows_);
    known -= e.rows;
    along(columns, e.rows, at(to, i * to_row), to_row, target, !nan);
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
  if (cut_.native) {
    return from + (columns.cells.begin - source.box[last_].begin) * source.pooled[last_];
  }
  load_row(from, columns, buffer);
  return buffer;
}

// One row further; the windows that end there, if asked for.
void Padded::slide_on(const char* plane, int64_t place, const Columns& columns, char* to,
                      SlideRow* row) {
  SlideRow& s = *row;
  s.lanes = columns.cells.size() * columns.inner;
  char* const buffer = cut_.native ? nullptr : at(loaded_, turn_ % cut_.loaded * cut_.row);
  const char* const x = row_at(plane, place, columns, buffer);
  s.x = x;
  const bool far = cut_.native && r_.lines[row_].step() == 1;
  s.ahead = far ? row_at(plane, place + kRowsAhead, columns, nullptr) : x;
  rings_[0].row[rings_[0].next] = rings_[0].row[rings_[0].next + kRecentRows] = x;
  for (int t = 0; t < 3; ++t) s.recent[t] = turn_ < 3 - t ? zeros_ : rings_[0].at(3 - t);
  for (s.levels = 0; s.levels < cut_.levels && turn_ + 1 >= int64_t{4} << 2 * s.levels;) {
    const int level = s.levels++;
    for (int t = 0; t < 3 && level > 0; ++t) {
      s.old[level][t] = rings_[level].at(int64_t{3 - t} << 2 * level);
    }
    s.slot[level] = rings_[level + 1].slot();
  }
  s.dst = to;
  s.own = window_.own;
  s.parts = to ? window_.parts : 0;
  for (int i = 0; i < s.parts; ++i) {
    s.part[i].rows = window_.part[i].rows;
    for (int t = 0; t < 4; ++t) s.part[i].row[t] = rings_[part_level_[i]].at(part_back_[i][t]);
  }
  ++turn_;
  for (int level = 0; level <= cut_.levels; ++level) rings_[level].advance();
}

// Where the rows of all levels are, and those of which windows are joined: from the last on.
void Padded::plan_rings(Arena* arena) {
  slides_ = arena->take<SlideRow>(cut_.block);
  const int64_t taps = r_.lines[row_].taps();
  int64_t back = 0;
  for (int level = 0; level <= cut_.levels; ++level) {
    Ring& ring = rings_[level];
    ring.rows = level == 0 ? kRecentRows : ring_rows(taps, cut_.levels, level);
    ring.row = arena->take<const char*>(2 * ring.rows);
    if (level > 0) {
      ring.row_bytes = cut_.row * size_;
      ring.memory = arena->take<char>(ring.rows * ring.row_bytes);
      for (int64_t i = 0; i < 2 * ring.rows && ring.row; ++i) {
        ring.row[i] = ring.memory + i % ring.rows * ring.row_bytes;
      }
    }
    const int64_t rows = int64_t{1} << 2 * level;
    const int64_t count = level == cut_.levels ? taps >> 2 * level : taps >> 2 * level & 3;
    if (level == 0) {
      window_.own = static_cast<int>(count);
      back = count;
      continue;
    }
    for (int joined = 1; joined <= 4; joined *= 2) {
      if ((count & joined) == 0) continue;
      const int part = window_.parts++;
      part_level_[part] = level;
      window_.part[part].rows = joined;
      for (int t = 0; t < 4; ++t) part_back_[part][t] = back + std::max(0, joined - 1 - t) * rows;
      back += joined * rows;
    }
  }
}

}  // namespace ndpool
