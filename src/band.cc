// Bands: what is common to all forms, and those with channels in lanes.
#include "band.h"

#include <algorithm>
#include <cstring>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kMostFetched = 4096;  // bytes ahead, for a row
constexpr int kFewWinnerTaps = 4;
constexpr int64_t kMostNear = 8192;  // bytes of all rows that are fetched with a window
constexpr int64_t kOverread = 3;     // elements that kernels may read after the last tap

}  // namespace

Band::Band(const BandWork& work, Arena* arena)
    : w_(work),
      r_(*work.reduction),
      last_(r_.space->pooled - 1),
      row_(last_ - 1),
      size_(static_cast<int64_t>(lane_size(r_.lane))),
      far_(r_.native && is_beyond_caches(*r_.space, *r_.source)) {
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
    if (w_.cut.flat) {
      const int64_t flat = kFlatBytes / size_ + 2 * line.reach();
      flat_ = take(flat);
      if (flat_) std::memset(flat_, 0, static_cast<size_t>(flat * size_));
    }
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
  if (w_.cut.tabled) fill_table(task.outputs, cells);
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
  const int64_t extra = w_.cut.tabled && r_.sum && absent_ ? 1 : 0;  // a lane of zeros
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
    const int64_t fresh = t.rows > 1 ? t.src_row : t.src_plane;
    if (packed && r_.native && fresh * size_ <= kMostFetched) t.fetch = std::max<int64_t>(0, fresh);
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
  if (w_.cut.spaced) f.along.spacing = line.spacing();
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
    if (far_ && row_ > 0 && rows_in_one_piece(view)) {
      // The slabs behind those of these windows, one after another.
      const Span& slabs = before_[row_ - 1];
      const int64_t fresh = std::min(r_.lines[row_ - 1].pace(), slabs.count);
      f.across.next = at(f.across.src, slabs.count * view.distance[row_ - 1] +
                                           (fresh - 1) * (run.source - view.first_row) * view.row);
      f.across.fetch_next = fresh * std::min(run.pace, run.taps) * view.row;
    }
    f.along.dst = at(target.values, r * target.row);
    f.along.dst_row = run.every * target.row;
    // Long rows that go past the caches gain nothing: memory is what they wait for.
    const bool gains = !target.stream_to || lanes * size_ < kShortRow;
    const bool flat = flat_ && gains && f.across.src_row == lanes && f.along.dst_row == lanes &&
                      f.along.lanes == lanes && lanes == line.sources();
    f.flat = flat ? flat_ : nullptr;
    f.flat_lanes = kFlatBytes / size_;
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
      if (far_ && rows_in_one_piece(view) && inner_ == r_.space->inner) {
        // The rows behind those of this row of windows, one after another: memory reads them faster
        // than several at once.
        const int64_t fresh = std::min(r_.lines[row_].pace(), row.taps);
        const int64_t behind = row.source - view.first_row + (row.taps - 1) * row.step + 1;
        t.next = at(view.data, view.before + behind * view.row +
                                   fresh * (run.source - view.first) * view.position);
        t.fetch_next = fresh * std::min(run.pace, run.taps) * view.position;
        // Winners of more taps wait for arithmetic.
        const bool waits = !w_.winners || t.taps <= kFewWinnerTaps;
        if (waits && row.taps * t.src_row * size_ <= kMostNear) {
          t.near_rows = static_cast<int>(row.taps);
          t.near_distance = row.step * view.row;
        }
      }
      if (!w_.winners && r_.sum) t.divisor = target.divisor;
      t.finished = target.finished;
      w_.combine(t);
    });
  };
  if (row_ < 0) return rows({0, 1, 1, 0, 0, 1, 1, 0});
  each_run(r_.lines[row_], task.rows, rows);
}

}  // namespace ndpool
