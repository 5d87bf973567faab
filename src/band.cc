#include "band.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 16384;  // of reduced rows, so that all buffers stay in the cache
constexpr int64_t kMostBytes = 32768;  // of any other buffer
constexpr int64_t kVectorBytes = 32;   // lanes narrower than this are not worth a row of their own
constexpr int64_t kMostWinnerTaps = 64;
constexpr int64_t kFlatTaps = 16;  // up to here one list beats across and along
constexpr int64_t kMostPeriod = 64;
constexpr int64_t kOverread = 1;  // elements that paired loads may read after the last tap

int64_t fit(int64_t room, int64_t most) { return std::clamp<int64_t>(room, 1, most); }

int64_t sources_for(const Line& line, int64_t outputs) {
  return (outputs - 1) * (line.pace() + !line.uniform()) + line.reach() + 1;
}

}  // namespace

void BandWork::choose_cut(int64_t rows, int64_t outputs) {
  const Reduction& r = *reduction;
  const Space& space = *r.space;
  const int last = space.pooled - 1;
  const Line& line = r.lines[last];
  const int64_t size = static_cast<int64_t>(lane_size(r.lane));
  cut = {};
  if (!combine || line.taps() > TapList::kMost / 2 || line.period() > kMostPeriod) return;
  int64_t across = 1, before = 1;
  for (int level = 0; level < last; ++level) {
    const Line& other = r.lines[level];
    if (other.taps() > TapList::kMost / 2 || other.period() > kMostPeriod) return;
    across *= other.taps();
    if (level + 1 < last) before *= other.taps();
    if (across > TapList::kMost / 2) return;
  }
  const int64_t taps = across * line.taps();
  if (winners && (taps > kMostWinnerTaps || (size == 1 && taps > 256))) return;
  const Line* row_line = last > 0 ? &r.lines[last - 1] : nullptr;
  const auto rows_in = [&](int64_t count) {
    return before * (row_line ? sources_for(*row_line, count) : 1);
  };

  if (space.inner * size >= kVectorBytes) {
    const bool flat = winners || taps <= kFlatTaps;
    const int64_t room = (flat ? kBandBytes : kMostBytes) / size;
    cut.inner = std::min(space.inner, std::max<int64_t>(kVectorBytes / size, room / line.reach()));
    if (line.reach() * cut.inner > 2 * room) return;
    cut.outputs = fit((room / cut.inner - line.reach()) / line.pace() + 1, outputs);
    if (flat) {
      cut.outputs = fit(room / cut.inner, outputs);
      if (cut.outputs == outputs) cut.rows = fit(room / (cut.inner * outputs), rows);
    }
    cut.results = cut.rows * cut.outputs * cut.inner;
    const int64_t positions = sources_for(line, cut.outputs) * cut.inner;
    if (!flat) cut.reduced = positions;
    if (!r.native) {
      while (cut.rows > 1 && rows_in(cut.rows) * positions * size > kMostBytes) cut.rows /= 2;
      cut.loaded = rows_in(cut.rows) * positions;
      if (cut.loaded * size > 4 * kMostBytes) return;
    }
    cut.form = flat ? BandForm::direct : BandForm::wide;
    return;
  }

  const int64_t inner = space.inner;
  cut.inner = inner;
  if (line.reach() * inner * size > kBandBytes / 2) return;
  const int64_t room = kBandBytes / (inner * size);
  cut.outputs = fit((room - line.reach()) / (line.pace() + !line.uniform()), outputs);
  cut.tabled = line.period() == 0 ||
               (!line.transposed() && line.spacing() > 1 && outputs * inner * size < kVectorBytes);
  if (!cut.tabled && !line.transposed() && line.spacing() <= 2) {
    const bool neighbours = inner == 1 && (line.taps() == 2 || line.taps() == 3) &&
                            line.step() == 1 && !last_winner && (winners || line.spacing() == 2);
    if (neighbours) cut.along = static_cast<int>(line.taps());
    cut.paired = neighbours && line.spacing() == 2;
    cut.fused = fused && !winners && (cut.paired || line.spacing() == 1);
  }
  const int64_t row_lanes = (sources_for(line, cut.outputs) + 1) * inner;
  // Of one row: what it is taken apart into.
  const int64_t period = std::max<int64_t>(1, line.period());
  const int64_t phases = line.transposed() ? period : std::min(line.spacing(), line.taps());
  const int64_t in_phase = line.transposed() ? cut.outputs / period + 1
                                             : cut.outputs + line.reach() / line.spacing() + 1;
  const bool whole = line.transposed() ? period == 1 : line.spacing() == 1;
  const int64_t apart = (cut.tabled ? line.taps() * cut.outputs
                         : whole    ? 0
                                    : phases * in_phase) *
                        inner;
  const auto lanes_of = [&](int64_t planes, int64_t count) {
    const int64_t prepared = planes * rows_in(count);
    cut.reduced = (winners ? prepared : planes * count) * row_lanes;
    cut.split = (winners ? prepared : planes * count) * apart;
    cut.loaded = r.native ? 0 : prepared * row_lanes;
    cut.results = planes * count * cut.outputs * inner;
    const int64_t most = std::max({cut.reduced, cut.split / 2, cut.loaded / 2}) * size;
    return most <= (winners ? 2 : 1) * kBandBytes;
  };
  cut.rows = fit(room * inner / row_lanes, rows);
  while (cut.rows > 1 && !lanes_of(1, cut.rows)) --cut.rows;
  if (cut.rows == rows && cut.outputs == outputs) {
    cut.planes = fit(room * inner / (row_lanes * rows), space.batch);
    while (cut.planes > 1 && !lanes_of(cut.planes, cut.rows)) --cut.planes;
  }
  lanes_of(cut.planes, cut.rows);
  if (std::max(cut.loaded, cut.split) * size > 4 * kMostBytes) return;
  cut.form = BandForm::narrow;
}

Band::Band(const BandWork& work, Arena* arena)
    : w_(work),
      r_(*work.reduction),
      last_(r_.space->pooled - 1),
      row_(last_ - 1),
      size_(static_cast<int64_t>(lane_size(r_.lane))) {
  const auto take = [&](int64_t elements) {
    return static_cast<char*>(arena->take(elements, static_cast<size_t>(size_)));
  };
  loaded_ = take(w_.cut.loaded + kOverread);
  reduced_ = take(w_.cut.reduced + kOverread);
  split_ = take(w_.cut.split);
  if (w_.cut.tabled) table_ = arena->take<int32_t>(r_.lines[last_].taps() * w_.cut.outputs);
  if (r_.divide_by && r_.divide_by->uniform() == 0) divisors_ = take(w_.cut.loaded);
  const Line& line = r_.lines[last_];
  if (w_.cut.form != BandForm::narrow || w_.cut.tabled || line.transposed()) return;
  if (w_.cut.fused) {
    const int64_t positions = sources_for(line, w_.cut.outputs);
    for (char*& row : fused_rows_) {
      row = take(positions * r_.space->inner + kOverread);
      if (row) std::memset(row, 0, static_cast<size_t>(positions * r_.space->inner * size_));
    }
    pad_lanes_ = arena->take<int32_t>(2 * positions * r_.space->inner);
  }
  for (int64_t t = 0; t < line.taps(); ++t) {
    const int64_t start = t * line.step() % line.spacing();
    int phase = 0;
    while (phase < phases_ && starts_[phase] != start) ++phase;
    if (phase == phases_) starts_[phases_++] = start;
    phase_of_[t] = phase;
    furthest_[phase] = t * line.step() / line.spacing();
  }
}

int64_t Band::split_row(int64_t outputs) const {
  const Line& line = r_.lines[last_];
  if (w_.cut.tabled) return line.taps() * outputs * inner_;
  return phases_ * (outputs + (line.reach() - 1) / line.spacing()) * inner_;
}

void Band::run(const BandTask& task, const char* base, const BandTarget& target) {
  inner_ = task.inner;
  for (int level = 0; level < row_; ++level) {
    before_[level] = r_.lines[level].span(task.across[level]);
  }
  const View view = r_.native ? source(task, base) : load(task, base);
  if (w_.cut.form == BandForm::direct) return direct(task, view, target);
  if (w_.winners) return find_winners(task, view, target);
  const Line& line = r_.lines[last_];
  const bool padded = w_.cut.form == BandForm::narrow && !w_.cut.tabled;
  const Range all{0, line.sources()};
  const Range reached = hull(line, task.outputs);
  const Range cells = clipped(clipped(reached, all), r_.source->box[last_]);
  if (w_.cut.fused) return fused(task, view, reached, cells, target);
  const View rows = across(task, view, padded ? reached : cells, cells, padded);
  if (w_.cut.form == BandForm::wide) return along_runs(task, rows, target);
  if (line.transposed() && !w_.cut.tabled) return along_phases(task, rows, target);
  along(task, split(rows, task.planes, task.rows.size(), task.outputs), target);
}

// Rows where they lie.
Band::View Band::source(const BandTask&, const char* base) const {
  const Bound& source = *r_.source;
  View v;
  v.data = base;
  v.plane = source.batch / size_;
  for (int level = 0; level < row_; ++level) {
    const int64_t stride = source.pooled[level] / size_;
    v.before += (before_[level].first - source.box[level].begin) * stride;
    v.distance[level] = before_[level].step * stride;
  }
  if (row_ >= 0) {
    v.row = source.pooled[row_] / size_;
    v.first_row = source.box[row_].begin;
  }
  v.position = source.pooled[last_] / size_;
  v.first = source.box[last_].begin;
  return v;
}

// Rows as lanes without gaps: planes × taps of the axes before × rows × positions × inner.
Band::View Band::load(const BandTask& task, const char* base) {
  const Bound& source = *r_.source;
  const Range rows =
      row_ >= 0 ? clipped(hull(r_.lines[row_], task.rows), source.box[row_]) : Range{0, 1};
  const Range cells = clipped(hull(r_.lines[last_], task.outputs), source.box[last_]);
  View v;
  v.data = loaded_;
  v.position = inner_;
  v.first = cells.begin;
  v.row = cells.size() * inner_;
  v.first_row = rows.begin;
  v.plane = rows.size() * v.row;
  int64_t taps[kMaxPooled]{};
  for (int level = row_ - 1; level >= 0; --level) {
    v.distance[level] = v.plane;
    v.plane *= before_[level].count;
    if (before_[level].count == 0) return v;
  }
  const int64_t row_stride = row_ >= 0 ? source.pooled[row_] : 0;
  const Strided shape{rows.size(), cells.size(),         inner_,
                      row_stride,  source.pooled[last_], source.inner};
  char* to = loaded_;
  for (int64_t p = 0; p < task.planes; ++p) {
    const char* plane =
        base + p * source.batch + (cells.begin - source.box[last_].begin) * source.pooled[last_];
    if (row_ >= 0) plane += (rows.begin - source.box[row_].begin) * row_stride;
    for (bool more = true; more;) {
      const char* from = plane;
      for (int level = 0; level < row_; ++level) {
        const Span& s = before_[level];
        from += (s.first + taps[level] * s.step - source.box[level].begin) * source.pooled[level];
      }
      r_.load(shape, from, to);
      if (divisors_) {
        int64_t position[kMaxPooled];
        for (int level = 0; level < row_; ++level) {
          position[level] = before_[level].first + taps[level] * before_[level].step;
        }
        divide_rows(to, position, rows, cells);
      }
      to += rows.size() * v.row * size_;
      more = false;
      for (int level = row_ - 1; level >= 0 && !more; --level) {
        more = ++taps[level] < before_[level].count;
        if (!more) taps[level] = 0;
      }
    }
  }
  if (r_.divide_by && !divisors_) {
    r_.kernels->scale[static_cast<int>(r_.lane)](task.planes * v.plane, loaded_,
                                                 r_.divide_by->uniform());
  }
  return v;
}

// Loaded rows over the divisors of the outputs that they are.
void Band::divide_rows(char* block, int64_t* position, Range rows, Range cells) {
  const int64_t lanes = cells.size() * inner_;
  for (int64_t row = rows.begin; row < rows.end; ++row, block += lanes * size_) {
    if (row_ >= 0) position[row_] = row;
    const int64_t across = r_.divide_by->across(position);
    int64_t lane = 0;
    for (int64_t cell = cells.begin; cell < cells.end; ++cell) {
      const int64_t divisor = r_.divide_by->of(across, cell);
      for (int64_t c = 0; c < inner_; ++c, ++lane) {
        if (r_.lane == Lane::f32) {
          static_cast<float*>(divisors_)[lane] = static_cast<float>(divisor);
        } else {
          static_cast<double*>(divisors_)[lane] = static_cast<double>(divisor);
        }
      }
    }
    r_.kernels->divide[static_cast<int>(r_.lane)](1, lanes, block, lanes, divisors_);
  }
}

// Runs of rows: f(run) with the list of taps of all axes but the last, starting at the run's first.
template <class F>
void Band::each_row_run(const BandTask& task, const View& view, F f) {
  const auto with = [&](const Run& run) {
    int64_t taps = run.taps;
    list_.start();
    for (int level = 0; level < row_; ++level) {
      const Span& s = before_[level];
      taps *= s.count;
      if (s.count > 0) list_.repeat(s.count, s.lead, view.distance[level], r_.weight[level]);
    }
    if (row_ >= 0 && run.taps > 0) list_.repeat(run.taps, run.lead, run.step * view.row, 0);
    f(run, taps > 0);
  };
  if (row_ < 0) return with({0, 1, 1, 0, 0, 1, 1, 0});
  each_run(r_.lines[row_], task.rows, with);
}

Band::View Band::across(const BandTask& task, const View& view, Range positions, Range cells,
                        bool pad) {
  const int64_t extra = w_.cut.tabled && r_.sum ? 1 : 0;  // a lane of zeros for absent taps
  View rows;
  rows.data = reduced_;
  rows.row = (positions.size() + extra) * inner_;
  rows.plane = task.rows.size() * rows.row;
  rows.position = inner_;
  rows.first = positions.begin;
  rows.first_row = task.rows.begin;
  const int64_t skipped = (cells.begin - positions.begin) * inner_;
  const bool packed = view.position == inner_;
  bool in_place = false;
  each_row_run(task, view, [&](const Run& run, bool any) {
    TapRows t;
    list_.give(&t);
    const char* src = at(view.data, view.before + (run.source - view.first_row) * view.row +
                                        (cells.begin - view.first) * view.position);
    if (row_ < 0) src = at(view.data, view.before + (cells.begin - view.first) * view.position);
    if (any && t.taps == 1 && run.count == task.rows.size() && positions.size() == cells.size() &&
        extra == 0 && packed && !(w_.cut.paired && w_.cut.along == 3)) {
      in_place = true;
      rows.data = src;
      rows.row = run.pace * view.row;
      rows.plane = view.plane;
      return;
    }
    char* to = at(reduced_, (run.first - task.rows.begin) * rows.row + skipped);
    if (!any) {
      for (int64_t p = 0; p < task.planes; ++p) {
        for (int64_t i = 0; i < run.count; ++i) {
          std::memset(at(to, p * rows.plane + i * run.every * rows.row), 0,
                      static_cast<size_t>(cells.size() * inner_ * size_));
        }
      }
      return;
    }
    t.src = src;
    t.src_plane = view.plane;
    t.src_row = run.pace * view.row;
    t.dst = to;
    t.dst_plane = rows.plane;
    t.dst_row = run.every * rows.row;
    t.planes = task.planes;
    t.rows = run.count;
    t.lanes = cells.size() * inner_;
    if (packed) return w_.combine(t);
    // A part of the channels: position by position.
    t.lanes = inner_;
    for (int64_t c = 0; c < cells.size(); ++c) {
      t.src = at(src, c * view.position);
      t.dst = at(to, c * inner_);
      w_.combine(t);
    }
  });
  if (pad && !in_place) {
    fill_pads(reduced_, task.planes * task.rows.size(), rows.row, positions, cells);
  }
  for (int64_t r = 0; extra != 0 && r < task.planes * task.rows.size(); ++r) {
    std::memset(at(reduced_, (r + 1) * rows.row - inner_), 0, static_cast<size_t>(inner_ * size_));
  }
  return rows;
}

// Calls f(pad, cell) for each position without a cell: a cell of the same windows. Repeating that
// does not change a max or min.
template <class F>
void Band::each_pad(Range positions, Range cells, F f) const {
  const int64_t step = r_.lines[last_].step(), end = r_.lines[last_].sources();
  const auto inside = [&](int64_t cell) { return std::clamp(cell, cells.begin, cells.end - 1); };
  for (int64_t p = positions.begin; p < std::min<int64_t>(0, positions.end); ++p) {
    f(p, inside(p + geometry::ceil_div(-p, step) * step));
  }
  for (int64_t p = std::max(end, positions.begin); p < positions.end; ++p) {
    f(p, inside(p - geometry::ceil_div(p - end + 1, step) * step));
  }
}

// Pads of sums are zeros.
void Band::fill_pads(char* rows, int64_t count, int64_t row_lanes, Range positions,
                     Range cells) const {
  const size_t group = static_cast<size_t>(inner_ * size_);
  each_pad(positions, cells, [&](int64_t pad, int64_t cell) {
    char* to = at(rows, (pad - positions.begin) * inner_);
    const char* from = at(rows, (cell - positions.begin) * inner_);
    for (int64_t r = 0; r < count; ++r, to += row_lanes * size_, from += row_lanes * size_) {
      if (r_.sum) {
        std::memset(to, 0, group);
      } else {
        std::memcpy(to, from, group);
      }
    }
  });
}

// Row by row through rows that stay in the cache.
void Band::fused(const BandTask& task, const View& view, Range positions, Range cells,
                 const BandTarget& target) {
  const Line& line = r_.lines[last_];
  FusedRows f;
  f.cells_at = (cells.begin - positions.begin) * inner_;
  for (int i = 0; i < FusedRows::kRows; ++i) f.rows[i] = fused_rows_[i];
  f.divisor = target.divisor;
  int32_t* const to = pad_lanes_;
  int32_t* const from = pad_lanes_ + sources_for(line, w_.cut.outputs) * inner_;
  each_pad(positions, cells, [&](int64_t pad, int64_t cell) {
    for (int64_t c = 0; c < inner_; ++c) {
      const int64_t lane = (pad - positions.begin) * inner_ + c;
      if (r_.sum) {
        // Rows are as long as the last band's, which may have had cells here.
        for (char* row : fused_rows_) std::memset(at(row, lane), 0, static_cast<size_t>(size_));
        continue;
      }
      to[f.pads] = static_cast<int32_t>(lane);
      from[f.pads++] = static_cast<int32_t>((cell - positions.begin) * inner_ + c);
    }
  });
  f.pad_to = to;
  f.pad_from = from;
  TapList along;
  list_along(view, &along);
  along.give(&f.along);
  f.along.lanes = task.outputs.size() * inner_;
  f.along.along = w_.cut.along;
  f.along.dst_plane = target.plane;
  const int64_t lanes = cells.size() * inner_;
  each_row_run(task, view, [&](const Run& run, bool any) {
    list_.give(&f.across);
    const int64_t r = run.first - task.rows.begin;
    f.across.lanes = lanes;
    f.across.planes = task.planes;
    f.across.rows = run.count;
    f.across.src = at(view.data, view.before + (cells.begin - view.first) * view.position +
                                     (row_ < 0 ? 0 : run.source - view.first_row) * view.row);
    f.across.src_plane = view.plane;
    f.across.src_row = run.pace * view.row;
    f.along.dst = at(target.values, r * target.row);
    f.along.dst_row = run.every * target.row;
    if (target.stream_to) {
      f.staged = f.along.dst;
      f.stream_to = at(target.stream_to, r * target.row);
    }
    if (any && target.stream_to && task.planes > 1) {
      // Rows of a run lie together in one plane only.
      FusedRows one = f;
      one.across.planes = 1;
      for (int64_t p = 0; p < task.planes; ++p) {
        one.across.src = at(f.across.src, p * view.plane);
        one.along.dst = at(f.along.dst, p * target.plane);
        one.staged = one.along.dst;
        one.stream_to = at(f.stream_to, p * target.plane);
        w_.fused(one);
      }
      return;
    }
    if (any) return w_.fused(f);
    TapRows none = f.along;
    none.planes = task.planes;
    none.rows = run.count;
    clear(none);
  });
}

void Band::fill_table(Range outputs, Range cells) {
  if (table_of_.begin == outputs.begin && table_of_.end == outputs.end) return;
  table_of_ = outputs;
  const Line& line = r_.lines[last_];
  const int64_t taps = line.taps(), count = outputs.size();
  for (int64_t i = 0; i < count; ++i) {
    const Span s = line.span(outputs.begin + i);
    for (int64_t t = 0; t < taps; ++t) {
      const bool present = t >= s.lead && t < s.lead + s.count;
      const int64_t near = std::clamp(t, s.lead, s.lead + s.count - 1);
      const int64_t cell = r_.sum && !present ? cells.end : s.first + (near - s.lead) * s.step;
      table_[t * count + i] = static_cast<int32_t>(cell - cells.begin);
    }
  }
}

// Rows of a view taken apart, so that neighbouring outputs find each of their taps side by side.
// Layout: planes × rows × phases × outputs × inner; by table, taps × planes × rows × outputs ×
// inner (winners: as phases).
Band::View Band::split(const View& view, int64_t planes, int64_t rows, Range outputs) {
  const Line& line = r_.lines[last_];
  if (w_.cut.paired || (!w_.cut.tabled && line.spacing() == 1)) return view;
  SplitRows s;
  int64_t starts[TapList::kMost], counts[TapList::kMost];
  const int64_t count = outputs.size();
  const auto kernel = w_.move->split[std::countr_zero(static_cast<uint64_t>(size_))];
  View v;
  v.data = split_;
  v.first_row = view.first_row;
  v.position = inner_;
  s.inner = inner_;
  s.starts = starts;
  s.counts = counts;
  if (w_.cut.tabled) {
    const Range all{0, line.sources()};
    fill_table(outputs, clipped(clipped(hull(line, outputs), all), r_.source->box[last_]));
    s.phases = static_cast<int>(line.taps());
    s.table = table_;
    for (int i = 0; i < s.phases; ++i) counts[i] = count;
    v.row = count * inner_;
    s.phase = planes * rows * v.row;
    if (w_.winners) {
      s.phase = v.row;
      v.row *= s.phases;
    }
    v.plane = rows * v.row;
    s.dst_row = v.row;
    if (count == 1 && !w_.winners && view.plane == rows * view.row) {
      // One output a row: rows take the place of outputs.
      for (int i = 0; i < s.phases; ++i) {
        starts[i] = table_[i];
        counts[i] = planes * rows;
      }
      s.table = nullptr;
      s.step = view.row / inner_;
      s.src = view.data;
      s.dst = split_;
      kernel(s);
      v.phase = s.phase;
      return v;
    }
  } else {
    s.step = line.spacing();
    s.phases = phases_;
    s.starts = starts_;
    for (int i = 0; i < phases_; ++i) counts[i] = count + furthest_[i];
    v.row = split_row(count);
    s.phase = v.row / phases_;
    v.plane = rows * v.row;
    s.dst_row = v.row;
  }
  s.rows = rows;
  s.src_row = view.row;
  for (int64_t p = 0; p < planes; ++p) {
    s.src = at(view.data, p * view.plane);
    s.dst = at(split_, p * v.plane);
    kernel(s);
  }
  v.phase = s.phase;
  return v;
}

// The taps of the last axis in rows that were split (or not), put into a list.
void Band::list_along(const View& view, TapList* list) const {
  const Line& line = r_.lines[last_];
  const int taps = static_cast<int>(line.taps());
  list->start();
  if (w_.cut.along != 0) return;
  list->repeat(taps, 0, 0, r_.weight[last_]);
  for (int t = 0; t < taps; ++t) {
    if (w_.cut.tabled) {
      list->move(t, t * view.phase);
    } else {
      list->move(t, phase_of_[t] * view.phase + t * line.step() / line.spacing() * inner_);
    }
  }
}

// All outputs of a row have all their taps: rows were padded, or taken apart by table.
void Band::along(const BandTask& task, const View& view, const BandTarget& target) {
  list_along(view, &list_);
  TapRows t;
  list_.give(&t);
  t.src = view.data;
  t.src_plane = view.plane;
  t.src_row = view.row;
  t.dst = target.values;
  t.dst_plane = target.plane;
  t.dst_row = target.row;
  t.planes = task.planes;
  t.rows = task.rows.size();
  t.lanes = task.outputs.size() * inner_;
  t.along = w_.cut.along;
  if (w_.cut.tabled && target.row == t.lanes && target.plane == t.rows * t.lanes) {
    t.lanes *= t.planes * t.rows;
    t.planes = t.rows = 1;
  }
  w_.combine(t);
}

// Transposed lines, each phase of the outputs by itself; rows were padded.
void Band::along_phases(const BandTask& task, const View& view, const BandTarget& target) {
  const Line& line = r_.lines[last_];
  const int64_t period = line.period(), rows = task.rows.size();
  int64_t starts[kMostPeriod], counts[kMostPeriod];
  const int64_t phase_lanes = ((task.outputs.size() - 1) / period + 1) * inner_;
  for (int64_t phase = 0; phase < period; ++phase) {
    const int64_t begin = task.outputs.begin + phase;
    starts[phase] = phase;
    counts[phase] = (task.outputs.size() - phase + period - 1) / period;
    if (begin >= task.outputs.end) {
      counts[phase] = 0;
      continue;
    }
    const Span s = line.unclipped(begin);
    TapRows t;
    t.planes = task.planes;
    t.rows = rows;
    t.lanes = counts[phase] * inner_;
    if (period == 1) {
      t.dst = target.values;
      t.dst_plane = target.plane;
      t.dst_row = target.row;
    } else {
      t.dst = at(split_, phase * phase_lanes);
      t.dst_row = period * phase_lanes;
      t.dst_plane = rows * t.dst_row;
    }
    if (s.count == 0) {
      for (int64_t r = 0; r < task.planes * rows; ++r) {
        std::memset(at(t.dst, r / rows * t.dst_plane + r % rows * t.dst_row), 0,
                    static_cast<size_t>(t.lanes * size_));
      }
      continue;
    }
    list_.start();
    list_.repeat(s.count, 0, s.step * inner_, 0);
    list_.give(&t);
    t.src = at(view.data, (s.first - view.first) * inner_);
    t.src_plane = view.plane;
    t.src_row = view.row;
    w_.combine(t);
  }
  if (period == 1) return;
  SplitRows join;
  join.rows = rows;
  join.inner = inner_;
  join.step = period;
  join.phases = static_cast<int>(period);
  join.phase = phase_lanes;
  join.starts = starts;
  join.counts = counts;
  join.src_row = period * phase_lanes;
  join.dst_row = target.row;
  for (int64_t p = 0; p < task.planes; ++p) {
    join.src = at(split_, p * rows * join.src_row);
    join.dst = at(target.values, p * target.plane);
    w_.move->join[std::countr_zero(static_cast<uint64_t>(size_))](join);
  }
}

// Channels in lanes: outputs are rows of them.
void Band::along_runs(const BandTask& task, const View& view, const BandTarget& target) {
  each_run(r_.lines[last_], task.outputs, [&](const Run& run) {
    char* to = at(target.values, (run.first - task.outputs.begin) * target.position);
    for (int64_t r = 0; r < task.rows.size(); ++r) {
      TapRows t;
      t.dst = at(to, r * target.row);
      t.dst_row = run.every * target.position;
      t.rows = run.count;
      t.lanes = inner_;
      if (run.taps == 0) {
        clear(t);
        continue;
      }
      list_.start();
      list_.repeat(run.taps, run.lead, run.step * inner_, 0);
      list_.give(&t);
      t.src = at(view.data, r * view.row + (run.source - view.first) * inner_);
      t.src_row = run.pace * inner_;
      w_.combine(t);
    }
  });
}

void Band::clear(const TapRows& t) const {
  for (int64_t p = 0; p < t.planes; ++p) {
    for (int64_t r = 0; r < t.rows; ++r) {
      std::memset(at(t.dst, p * t.dst_plane + r * t.dst_row), 0,
                  static_cast<size_t>(t.lanes * size_));
    }
  }
}

// Channels in lanes, all taps of a window in one list.
void Band::direct(const BandTask& task, const View& view, const BandTarget& target) {
  const auto rows = [&](const Run& row) {
    each_run(r_.lines[last_], task.outputs, [&](const Run& run) {
      TapRows t;
      t.lanes = inner_;
      t.planes = row.count;
      t.rows = run.count;
      const int64_t r = row.first - task.rows.begin, o = run.first - task.outputs.begin;
      t.dst = at(target.values, r * target.row + o * target.position);
      t.dst_plane = row.every * target.row;
      t.dst_row = run.every * target.position;
      bool any = run.taps > 0 && row.taps > 0;
      for (int level = 0; level < row_; ++level) any = any && before_[level].count > 0;
      if (!any) return clear(t);
      list_.start();
      const auto repeat_row = [&] {
        if (row_ >= 0) list_.repeat(row.taps, row.lead, row.step * view.row, r_.weight[row_]);
      };
      const auto repeat_before = [&](int level) {
        const Span& s = before_[level];
        list_.repeat(s.count, s.lead, view.distance[level], r_.weight[level]);
      };
      const auto repeat_last = [&] {
        list_.repeat(run.taps, run.lead, run.step * view.position, r_.weight[last_]);
      };
      if (w_.winners) {
        // In row-major order: the last axis moves fastest.
        repeat_last();
        repeat_row();
        for (int level = row_ - 1; level >= 0; --level) repeat_before(level);
        if (w_.last_winner) list_.reverse();
      } else {
        for (int level = 0; level < row_; ++level) repeat_before(level);
        repeat_row();
        repeat_last();
      }
      list_.give(&t);
      t.src = at(view.data, view.before + (row_ < 0 ? 0 : row.source - view.first_row) * view.row +
                                (run.source - view.first) * view.position);
      t.src_plane = row.pace * view.row;
      t.src_row = run.pace * view.position;
      t.index = at(target.index, r * target.index_row + o * target.index_position);
      t.index_plane = row.every * target.index_row;
      t.index_row = run.every * target.index_position;
      w_.combine(t);
    });
  };
  if (row_ < 0) return rows({0, 1, 1, 0, 0, 1, 1, 0});
  each_run(r_.lines[row_], task.rows, rows);
}

// Rows in lanes: each row of cells is padded and taken apart once, then all taps of the windows are
// compared in row-major order.
void Band::find_winners(const BandTask& task, View view, const BandTarget& target) {
  const Line& line = r_.lines[last_];
  const Bound& source = *r_.source;
  const Range rows =
      row_ >= 0 ? clipped(clipped(hull(r_.lines[row_], task.rows), {0, r_.lines[row_].sources()}),
                          source.box[row_])
                : Range{0, 1};
  const Range reached = hull(line, task.outputs);
  const Range cells = clipped(clipped(reached, {0, line.sources()}), source.box[last_]);
  const bool pad = !w_.cut.tabled && reached.size() != cells.size();
  // The rows to prepare, in the order of memory: planes × taps of the axes before × rows.
  int64_t groups = 1;
  View prepared;
  for (int level = row_ - 1; level >= 0; --level) {
    prepared.distance[level] = groups;
    groups *= before_[level].count;
  }
  const bool apart = w_.cut.tabled || (line.spacing() > 1 && !w_.cut.paired);
  const bool copied = pad || (w_.cut.paired && w_.cut.along == 3 && r_.native);
  const bool as_it_lies = !copied && !apart;
  const char* first = at(view.data, view.before + (cells.begin - view.first) * view.position +
                                        (row_ < 0 ? 0 : rows.begin - view.first_row) * view.row);
  if (as_it_lies) {
    prepared = view;
    prepared.data = first;
    prepared.before = 0;
  } else {
    const int64_t row_lanes = (pad ? reached.size() : cells.size()) * inner_;
    View one;
    for (int64_t g = 0; g < task.planes * groups; ++g) {
      const char* from = at(first, g / groups * view.plane);
      int64_t rest = g % groups;
      for (int level = 0; level < row_; ++level) {
        from = at(from, rest / prepared.distance[level] * view.distance[level]);
        rest %= prepared.distance[level];
      }
      one.data = from;
      one.row = view.row;
      if (copied) {
        char* to = at(reduced_, g * rows.size() * row_lanes);
        for (int64_t r = 0; r < rows.size(); ++r) {
          std::memcpy(at(to, r * row_lanes + (cells.begin - reached.begin) * inner_),
                      at(from, r * view.row), static_cast<size_t>(cells.size() * inner_ * size_));
        }
        fill_pads(to, rows.size(), row_lanes, reached, cells);
        one.data = to;
        one.row = row_lanes;
      }
      if (apart) {
        char* const all = split_;
        split_ = at(split_, g * split_row(task.outputs.size()) * rows.size());
        one = split(one, 1, rows.size(), task.outputs);
        split_ = all;
      }
    }
    prepared.data = apart ? split_ : reduced_;
    prepared.row = one.row;
    prepared.phase = one.phase;
    const int64_t group = rows.size() * prepared.row;
    for (int level = 0; level < row_; ++level) prepared.distance[level] *= group;
    prepared.plane = groups * group;
  }
  prepared.first_row = rows.begin;
  const auto find = [&](const Run& run) {
    list_along(prepared, &list_);
    if (row_ >= 0) list_.repeat(run.taps, run.lead, run.step * prepared.row, r_.weight[row_]);
    for (int level = row_ - 1; level >= 0; --level) {
      const Span& s = before_[level];
      list_.repeat(s.count, s.lead, prepared.distance[level], r_.weight[level]);
    }
    if (w_.last_winner) list_.reverse();
    const int64_t r = run.first - task.rows.begin;
    TapRows t;
    list_.give(&t);
    t.planes = task.planes;
    t.rows = run.count;
    t.lanes = task.outputs.size() * inner_;
    t.src = at(prepared.data, (row_ < 0 ? 0 : run.source - prepared.first_row) * prepared.row);
    t.src_plane = prepared.plane;
    t.src_row = run.pace * prepared.row;
    t.dst = at(target.values, r * target.row);
    t.dst_plane = target.plane;
    t.dst_row = run.every * target.row;
    t.index = at(target.index, r * target.index_row);
    t.index_plane = target.index_plane;
    t.index_row = run.every * target.index_row;
    t.along = w_.cut.along;
    t.paired = w_.cut.paired;
    w_.combine(t);
  };
  if (row_ < 0) {
    find({0, 1, 1, 0, 0, 1, 1, 0});
  } else {
    each_run(r_.lines[row_], task.rows, find);
  }
  if (pad || w_.cut.tabled) clamp_winners(task, target);
}

// A stand-in for an absent tap may have won in place of the cell that it repeats: the nearest of
// the same row of taps.
void Band::clamp_winners(const BandTask& task, const BandTarget& target) const {
  const Line& line = r_.lines[last_];
  const uint64_t taps = static_cast<uint64_t>(line.taps());
  const auto clamp = [&](auto* index, int64_t output, const Span& s) {
    using Number = std::remove_reference_t<decltype(*index)>;
    for (int64_t p = 0; p < task.planes; ++p) {
      for (int64_t r = 0; r < task.rows.size(); ++r) {
        Number* at = index + p * target.index_plane + r * target.index_row + output * inner_;
        for (int64_t c = 0; c < inner_; ++c) {
          const uint64_t tap = at[c] % taps;
          const uint64_t lead = static_cast<uint64_t>(s.lead);
          const uint64_t near = std::clamp(tap, lead, lead + static_cast<uint64_t>(s.count) - 1);
          at[c] = static_cast<Number>(at[c] - tap + near);
        }
      }
    }
  };
  for (int64_t o = task.outputs.begin; o < task.outputs.end; ++o) {
    const Span s = line.span(o);
    if (s.lead == 0 && s.count == line.taps()) {
      // Complete windows lie together.
      if (line.uniform()) o = std::max(o, line.present(line.taps() - 1, task.outputs).end - 1);
      continue;
    }
    const int64_t output = o - task.outputs.begin;
    switch (size_) {
      case 1:
        clamp(static_cast<uint8_t*>(target.index), output, s);
        break;
      case 2:
        clamp(static_cast<uint16_t*>(target.index), output, s);
        break;
      case 4:
        clamp(static_cast<uint32_t*>(target.index), output, s);
        break;
      default:
        clamp(static_cast<uint64_t*>(target.index), output, s);
    }
  }
}

}  // namespace ndpool
