// Bands: which tap wins, with rows in lanes.
#include <algorithm>
#include <cstring>
#include <type_traits>

#include "band.h"

namespace ndpool {

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
  if (w_.cut.tabled) fill_table(task.outputs, cells);
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
