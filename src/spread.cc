#include "spread.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 16384;
constexpr int64_t kVectorBytes = 32;
constexpr int64_t kMostWindows = 32;  // that hold a cell: beyond, sending gradients costs less
constexpr int64_t kMostCellPeriod = 16;

int64_t sources_for(const Line& line, int64_t cells) {
  return (cells - 1) / line.period() + line.reach() + 2;
}

// Whether two arrays can be read where they lie, as lanes of `size` bytes and as bytes, at the same
// distances.
bool alike(const Space& space, const Bound& lanes, const Bound& bytes, int64_t size) {
  if (lanes.element != size || !rows_in_lanes(space, lanes) || !rows_in_lanes(space, bytes)) {
    return false;
  }
  bool same = lanes.batch == bytes.batch * size;
  for (int i = 0; i < space.pooled; ++i) same = same && lanes.pooled[i] == bytes.pooled[i] * size;
  return same;
}

// The tap of window `output` that is `cell`.
int64_t tap_of(const Axis& axis, int64_t cell, int64_t output) {
  return (cell + axis.pad_lo - output * axis.stride) / axis.dilation;
}

}  // namespace

SpreadJob::Worker::Worker(const SpreadJob& job, Arena* arena) {
  const auto take = [&](int64_t elements) {
    return static_cast<char*>(arena->take(elements, static_cast<size_t>(job.size_)));
  };
  g = take(job.loaded_);
  taps = arena->take<char>(job.loaded_);
  apart = take(job.apart_);
  results = take(job.in_place_ ? 0 : job.results_);
}

struct SpreadJob::Source {
  const char* g = nullptr;     // of plane 0, at the first of `rows` and of `reached`
  const char* taps = nullptr;  // winners, in bytes that lie as the lanes of g do
  Span before[kMaxPooled];     // windows on the axes before the last two
  Range rows{0, 1};            // loaded windows on the last but one
  Range reached, windows;      // on the last: places in a row, and those of them that are windows
  int64_t position = 1, row = 0, plane = 0, distance[kMaxPooled]{};  // elements
  bool any = true;
};

SpreadJob::SpreadJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
                     const Bound& dx)
    : plan_(plan),
      space_(space),
      g_(g),
      argmax_(argmax),
      dx_(dx),
      last_(space.pooled - 1),
      row_(last_ - 1),
      lane_(float_lane(plan.type)),
      size_(static_cast<int64_t>(lane_size(lane_))) {
  for (int i = 0; i <= last_; ++i) lines_[i] = Line(plan.even_axes[i], true);
  choose_cut();
}

void SpreadJob::choose_cut() {
  if (plan_.algorithm == NDPOOL_ALGORITHM_ROWS) return;
  int64_t windows = 1, before = 1;
  for (int i = 0; i <= last_; ++i) {
    const int64_t period = lines_[i].period();
    if (period == 0 || period > kMostCellPeriod || lines_[i].taps() > kMostWindows) return;
    windows *= lines_[i].taps();
    if (i < row_) before *= lines_[i].taps();
  }
  if (windows > kMostWindows || plan_.has_empty_windows || plan_.argmax_type != NDPOOL_U8) return;
  const Line& line = lines_[last_];
  const int64_t cells = dx_.box[last_].size(), all_rows = row_ >= 0 ? dx_.box[row_].size() : 1;
  wide_ = space_.inner * size_ >= kVectorBytes;
  inner_ = std::min(space_.inner, kBandBytes / size_ / 4);
  const int64_t room = kBandBytes / (size_ * inner_);
  cells_ = std::clamp<int64_t>(room, 1, cells);
  if (cells_ == cells) rows_ = std::clamp<int64_t>(room / cells, 1, all_rows);
  if (rows_ == all_rows && cells_ == cells) {
    planes_ = std::clamp<int64_t>(room / (cells * rows_), 1, space_.batch);
  }
  const int64_t row = sources_for(line, cells_) * inner_;
  loaded_ = planes_ * before * (row_ >= 0 ? sources_for(lines_[row_], rows_) : 1) * row;
  const Range reached = hull(line, dx_.box[last_]);
  const bool inside = reached.begin >= 0 && reached.end <= line.sources();
  read_in_place_ = (wide_ || inside) && alike(space_, g_, argmax_, size_);
  if (read_in_place_) loaded_ = 0;
  if (loaded_ * size_ > 8 * kBandBytes) return;
  results_ = planes_ * rows_ * cells_ * inner_;
  if (!wide_ && line.period() > 1) {
    apart_ = planes_ * rows_ * line.period() * ((cells_ - 1) / line.period() + 1) * inner_;
  }
  tasks_ = BandTasks(space_, dx_, planes_, rows_, cells_, inner_);
  possible_ = true;
  if (is_half(plan_.type) || !rows_in_lanes(space_, dx_)) return;
  streaming_ = is_beyond_caches(space_, dx_) &&
               bands_in_one_piece(space_, dx_, planes_, rows_, cells_, inner_);
  in_place_ = !streaming_;
}

void SpreadJob::work(Arena* arena, TaskQueue* queue) const {
  Worker worker(*this, arena);
  if (!queue) return;
  for (Range range; queue->take(&range);) run_tasks(range, &worker);
  if (streaming_) plan_.kernels->move->flush();
}

void SpreadJob::run_tasks(Range range, Worker* w) const {
  BandTask task = tasks_.at(range.begin);
  for (int64_t i = range.begin; i < range.end; ++i) {
    run(task, w);
    tasks_.advance(&task);
  }
}

void SpreadJob::run(const BandTask& task, Worker* w) const {
  const Source source = read_in_place_ ? in_place(task) : load(task, w);
  if (in_place_) w->results = band_address(space_, dx_, task);
  if (wide_) {
    channels(task, source, w);
  } else if (!pairs(task, source, w)) {
    phases(task, source, w);
  }
  if (!in_place_) put(task, w);
}

// Gradients and tap numbers of the windows that a band needs, as lanes: planes × windows of the
// axes before × rows × places × inner. Places that are no windows have gradient 0.
SpreadJob::Source SpreadJob::load(const BandTask& task, Worker* w) const {
  Source s;
  const Line& line = lines_[last_];
  s.reached = hull(line, task.outputs);
  s.windows = clipped(s.reached, {0, line.sources()});
  if (wide_) s.reached = s.windows;
  s.position = task.inner;
  s.row = s.reached.size() * task.inner;
  if (row_ >= 0) s.rows = clipped(hull(lines_[row_], task.rows), {0, lines_[row_].sources()});
  s.any = s.windows.size() > 0 && s.rows.size() > 0;
  s.plane = s.rows.size() * s.row;
  for (int level = row_ - 1; level >= 0; --level) {
    s.before[level] = lines_[level].span(task.across[level]);
    s.distance[level] = s.plane;
    s.plane *= s.before[level].count;
    s.any = s.any && s.before[level].count > 0;
  }
  if (!s.any) return s;
  if (s.windows.size() < s.reached.size()) {
    std::memset(w->g, 0, static_cast<size_t>(task.planes * s.plane * size_));
    std::memset(w->taps, 0, static_cast<size_t>(task.planes * s.plane));
  }
  const ConvertKernels& convert = *plan_.kernels->convert;
  load_array(g_, convert.load[plan_.type][static_cast<int>(lane_)], size_, task, s, w->g);
  load_array(argmax_, convert.load[NDPOOL_U8][static_cast<int>(Lane::u8)], 1, task, s, w->taps);
  s.g = w->g;
  s.taps = w->taps;
  return s;
}

// The same windows, where they lie.
SpreadJob::Source SpreadJob::in_place(const BandTask& task) const {
  Source s;
  const auto origin = [&](const Bound& array) {
    const char* at = plane_address(space_, array, task);
    for (int level = 0; level < row_; ++level) at += s.before[level].first * array.pooled[level];
    for (int level = 0; level <= last_; ++level) {
      at -= array.box[level].begin * array.pooled[level];
    }
    return at;
  };
  for (int level = 0; level < row_; ++level) {
    s.before[level] = lines_[level].span(task.across[level]);
    s.distance[level] = s.before[level].step * argmax_.pooled[level];
    s.any = s.any && s.before[level].count > 0;
  }
  s.g = origin(g_);
  s.taps = origin(argmax_);
  s.row = row_ >= 0 ? argmax_.pooled[row_] : 0;
  s.plane = argmax_.batch;
  s.position = space_.inner;
  return s;
}

void SpreadJob::load_array(const Bound& array, LoadFn kernel, int64_t size, const BandTask& task,
                           const Source& s, char* to) const {
  const bool whole = s.windows.size() == s.reached.size();
  const int64_t row_stride = row_ >= 0 ? array.pooled[row_] : 0;
  const Strided shape{whole ? s.rows.size() : 1, s.windows.size(), task.inner, row_stride,
                      array.pooled[last_],       array.inner};
  const char* base = plane_address(space_, array, task) +
                     (s.windows.begin - array.box[last_].begin) * array.pooled[last_];
  if (row_ >= 0) base += (s.rows.begin - array.box[row_].begin) * row_stride;
  int64_t windows[kMaxPooled]{};
  to += (s.windows.begin - s.reached.begin) * task.inner * size;
  for (int64_t p = 0; p < task.planes; ++p) {
    for (bool more = true; more;) {
      const char* from = base + p * array.batch;
      for (int level = 0; level < row_; ++level) {
        const Span& span = s.before[level];
        from += (span.first + windows[level] * span.step - array.box[level].begin) *
                array.pooled[level];
      }
      for (int64_t r = 0; r < s.rows.size(); r += shape.rows) {
        kernel(shape, from + r * row_stride, to + r * s.row * size);
      }
      to += s.rows.size() * s.row * size;
      more = false;
      for (int level = row_ - 1; level >= 0 && !more; --level) {
        more = ++windows[level] < s.before[level].count;
        if (!more) windows[level] = 0;
      }
    }
  }
}

// The windows in row-major order, which is the order of addition.
void SpreadJob::list(const BandTask& task, const Source& s, const Run& row, const Run& last,
                     TapList* list) const {
  list->start();
  const auto repeat = [&](int axis, int64_t cell, int64_t first, int64_t count, int64_t distance) {
    const Axis& a = plan_.even_axes[axis];
    const uint64_t weight = plan_.tap_weight[axis];
    // Later windows hold the cell at an earlier tap.
    list->repeat(count, 0, distance,
                 uint64_t{0} - weight * static_cast<uint64_t>(a.stride / a.common));
    list->add(weight * static_cast<uint64_t>(tap_of(a, cell, first)));
  };
  repeat(last_, last.first, last.source, last.taps, last.step * s.position);
  if (row_ >= 0) repeat(row_, row.first, row.source, row.taps, row.step * s.row);
  for (int level = row_ - 1; level >= 0; --level) {
    const Span& span = s.before[level];
    repeat(level, task.across[level], span.first, span.count, s.distance[level]);
  }
}

// What a kernel call for two runs reads.
TapRows SpreadJob::rows_of(const BandTask& task, const Source& s, const Run& row, const Run& last,
                           TapList* taps) const {
  TapRows t;
  if (!s.any || row.taps == 0 || last.taps == 0) {
    t.taps = 0;
    return t;
  }
  list(task, s, row, last, taps);
  taps->give(&t);
  const int64_t first = (row_ >= 0 ? row.source - s.rows.begin : 0) * s.row +
                        (last.source - s.reached.begin) * s.position;
  t.src = s.g + first * size_;
  t.index = const_cast<char*>(s.taps) + first;
  return t;
}

void SpreadJob::clear(const TapRows& t) const {
  for (int64_t p = 0; p < t.planes; ++p) {
    for (int64_t r = 0; r < t.rows; ++r) {
      std::memset(at(t.dst, p * t.dst_plane + r * t.dst_row), 0,
                  static_cast<size_t>(t.lanes * size_));
    }
  }
}

namespace {

constexpr Run kNoRow{0, 1, 1, 0, 0, 1, 1, 0};

}  // namespace

// Stride 2: both phases in one go. False if this is not the case.
bool SpreadJob::pairs(const BandTask& task, const Source& s, Worker* w) const {
  const Line& line = lines_[last_];
  const int64_t cells = task.outputs.size();
  if (line.period() != 2 || task.inner != 1 || cells < 2 || !s.any) return false;
  Run last[2];
  for (int64_t phase = 0; phase < 2; ++phase) {
    const Span span = line.unclipped(task.outputs.begin + phase);
    if (span.count == 0) return false;
    last[phase] = {task.outputs.begin + phase,
                   (cells + 1 - phase) / 2,
                   2,
                   span.first,
                   1,
                   span.step,
                   span.count,
                   0};
  }
  const Layout out = layout_of(task);
  const auto row = [&](const Run& run) {
    TapRows t[2];
    for (int phase = 0; phase < 2; ++phase) {
      t[phase] = rows_of(task, s, run, last[phase], &w->lists[phase]);
      t[phase].planes = task.planes;
      t[phase].rows = run.count;
      t[phase].lanes = last[phase].count;
      t[phase].src_plane = s.plane;
      t[phase].src_row = run.pace * s.row;
    }
    t[0].dst = at(w->results, (row_ >= 0 ? run.first - task.rows.begin : 0) * out.row);
    t[0].dst_row = run.every * out.row;
    t[0].dst_plane = out.plane;
    if (run.taps > 0)
      return plan_.kernels->winner_taps->spread_pairs[lane_ == Lane::f64](t[0], t[1]);
    t[0].lanes = cells;
    clear(t[0]);
  };
  if (row_ < 0) {
    row(kNoRow);
  } else {
    each_run(lines_[row_], task.rows, row);
  }
  return true;
}

// Cells of a row in lanes: each phase of the stride by itself, then side by side again.
void SpreadJob::phases(const BandTask& task, const Source& s, Worker* w) const {
  const Line& line = lines_[last_];
  const int64_t period = line.period(), cells = task.outputs.size(), rows = task.rows.size();
  const int64_t phase_lanes = ((cells - 1) / period + 1) * task.inner;
  const Layout out = layout_of(task);
  int64_t starts[kMostCellPeriod], counts[kMostCellPeriod];
  for (int64_t phase = 0; phase < period; ++phase) {
    starts[phase] = phase;
    counts[phase] = phase < cells ? (cells - phase + period - 1) / period : 0;
    if (counts[phase] == 0) continue;
    const int64_t begin = task.outputs.begin + phase;
    const Span span = line.unclipped(begin);
    const Run last{begin, counts[phase], period, span.first, 1, span.step, span.count, 0};
    const auto row = [&](const Run& run) {
      TapRows t = rows_of(task, s, run, last, &w->lists[0]);
      const int64_t r = row_ >= 0 ? run.first - task.rows.begin : 0;
      t.planes = task.planes;
      t.rows = run.count;
      t.lanes = counts[phase] * task.inner;
      t.src_plane = s.plane;
      t.src_row = run.pace * s.row;
      if (period == 1) {
        t.dst = at(w->results, r * out.row);
        t.dst_row = run.every * out.row;
        t.dst_plane = out.plane;
      } else {
        t.dst_row = period * phase_lanes;
        t.dst = at(w->apart, r * t.dst_row + phase * phase_lanes);
        t.dst_plane = rows * t.dst_row;
        t.dst_row *= run.every;
      }
      if (t.taps == 0) return clear(t);
      plan_.kernels->winner_taps->spread[lane_ == Lane::f64](t);
    };
    if (row_ < 0) {
      row(kNoRow);
    } else {
      each_run(lines_[row_], task.rows, row);
    }
  }
  if (period == 1) return;
  SplitRows join;
  join.rows = rows;
  join.inner = task.inner;
  join.step = period;
  join.phases = static_cast<int>(period);
  join.phase = phase_lanes;
  join.starts = starts;
  join.counts = counts;
  join.src_row = period * phase_lanes;
  join.dst_row = out.row;
  for (int64_t p = 0; p < task.planes; ++p) {
    join.src = at(w->apart, p * rows * join.src_row);
    join.dst = at(w->results, p * out.plane);
    plan_.kernels->move->join[std::countr_zero(static_cast<uint64_t>(size_))](join);
  }
}

// Channels in lanes: cells are rows of them.
void SpreadJob::channels(const BandTask& task, const Source& s, Worker* w) const {
  const Layout out = layout_of(task);
  const auto row_run = [&](const Run& row) {
    each_run(lines_[last_], task.outputs, [&](const Run& last) {
      TapRows t = rows_of(task, s, row, last, &w->lists[0]);
      const int64_t r = row_ >= 0 ? row.first - task.rows.begin : 0;
      t.lanes = task.inner;
      t.rows = last.count;
      t.src_row = last.pace * s.position;
      t.dst_row = last.every * out.position;
      for (int64_t p = 0; p < task.planes; ++p) {
        TapRows plane = t;
        plane.planes = row.count;
        plane.src_plane = row.pace * s.row;
        plane.dst_plane = row.every * out.row;
        plane.dst = at(w->results, p * out.plane + r * out.row +
                                       (last.first - task.outputs.begin) * out.position);
        if (t.taps == 0) {
          clear(plane);
          continue;
        }
        plane.src = static_cast<const char*>(t.src) + p * s.plane * size_;
        plane.index = static_cast<char*>(t.index) + p * s.plane;
        plan_.kernels->winner_taps->spread[lane_ == Lane::f64](plane);
      }
    });
  };
  if (row_ < 0) return row_run(kNoRow);
  each_run(lines_[row_], task.rows, row_run);
}

// Where results go: dx itself, or a block without gaps.
SpreadJob::Layout SpreadJob::layout_of(const BandTask& task) const {
  if (in_place_) {
    return {dx_.batch / size_, row_ >= 0 ? dx_.pooled[row_] / size_ : 0, dx_.pooled[last_] / size_};
  }
  const int64_t row = task.outputs.size() * task.inner;
  return {task.rows.size() * row, row, task.inner};
}

void SpreadJob::put(const BandTask& task, Worker* w) const {
  const Layout block = layout_of(task);
  char* to = band_address(space_, dx_, task);
  if (streaming_) {
    plan_.kernels->move->stream(w->results, to,
                                static_cast<size_t>(task.planes * block.plane * size_));
    return;
  }
  const Strided shape{task.rows.size(),  task.outputs.size(),
                      task.inner,        row_ >= 0 ? dx_.pooled[row_] : 0,
                      dx_.pooled[last_], dx_.inner};
  const StoreFn store = plan_.kernels->convert->store[static_cast<int>(lane_)][plan_.type];
  for (int64_t p = 0; p < task.planes; ++p) {
    store(shape, at(w->results, p * block.plane), block.row, to + p * dx_.batch);
  }
}

}  // namespace ndpool
