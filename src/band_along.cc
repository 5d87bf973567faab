// Bands: the last axis.
#include <algorithm>
#include <bit>
#include <cstring>

#include "band.h"

namespace ndpool {

void Band::fill_table(Range outputs, Range cells) {
  if (table_of_.begin == outputs.begin && table_of_.end == outputs.end) return;
  table_of_ = outputs;
  absent_ = false;
  const Line& line = r_.lines[last_];
  const int64_t taps = line.taps(), count = outputs.size();
  for (int64_t i = 0; i < count; ++i) {
    const Span s = line.span(outputs.begin + i);
    absent_ = absent_ || s.count < taps;
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
    if (count == 1 && !w_.winners && view.plane == rows * view.row && view.row % inner_ == 0) {
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

}  // namespace ndpool
