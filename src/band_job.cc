#include "band_job.h"

#include <bit>

#include "contiguous.h"
#include "reductions.h"

namespace ndpool {
namespace {

constexpr int64_t kFewTaps = 4;   // on an axis: no gain from doubling
constexpr int64_t kFewSums = 32;  // on all axes

// Whether doubling in padded planes is likely to beat bands.
bool wants_padding(const Reduction& r, const BandCut& cut) {
  const int last = r.space->pooled - 1;
  // Channels that do not fit one piece of a row are converted piece by piece, which takes longer
  // than some taps.
  int64_t taps = 0;
  for (int level = 0; level <= last; ++level) taps += r.lines[level].taps();
  const bool in_pieces = r.sum && !r.native && r.space->inner > kMostInner;
  if (in_pieces && taps <= kFewSums) return false;
  if (cut.form == BandForm::none || cut.form == BandForm::wide) return true;
  const bool short_rows =
      cut.outputs * cut.inner * static_cast<int64_t>(lane_size(r.lane)) < kShortRow;
  bool few = true;
  for (int level = 0; level <= last; ++level) few = few && r.lines[level].taps() <= kFewTaps;
  if (cut.flat) return !few;
  return !few || (cut.form == BandForm::narrow && last > 0 && short_rows);
}

}  // namespace

BandJob::BandJob(const Plan& plan, const Space& space, const Bound& x, const Bound* y,
                 const Bound* argmax, bool last_winner)
    : plan_(plan),
      space_(space),
      y_(y),
      type_(plan.type),
      argmax_(argmax),
      reduction_(extreme_reduction(plan, space, x, Keep::values)) {
  const Extreme extreme = plan.op == NDPOOL_MAX ? kMax : kMin;
  const int lane = static_cast<int>(reduction_.lane);
  const TapKernels& taps = *plan.kernels->taps;
  if (!argmax) {
    work_.fused = taps.extreme_rows[extreme][lane];
    work_.numbers = taps.numbers[extreme][lane];
    work_.extremes = plan.kernels->slide->extreme[extreme][lane];
    if (reduction_.lane == Lane::f32) {
      work_.windows_along[0] = plan.kernels->neighbours->numbers[extreme];
      work_.windows_along[1] = plan.kernels->neighbours->anything[extreme];
    }
  }
  choose((argmax ? plan.kernels->winner_taps->find : taps.extreme)[extreme][lane],
         argmax != nullptr, last_winner);
}

BandJob::BandJob(const Plan& plan, const Space& space, const Bound& target, int type,
                 const Reduction& reduction)
    : plan_(plan),
      space_(space),
      y_(&target),
      type_(type),
      argmax_(nullptr),
      reduction_(reduction),
      finish_(!reduction.divide_by) {
  work_.fused = plan.kernels->taps->sum_rows[static_cast<int>(reduction.lane)];
  work_.slide = plan.kernels->slide->sum[static_cast<int>(reduction.lane)];
  if (reduction.lane == Lane::f32) {
    work_.windows_along[0] = work_.windows_along[1] = plan.kernels->neighbours->sum;
    work_.wide_sums = plan.kernels->neighbours->wide_sums;
  }
  choose(plan.kernels->taps->sum[static_cast<int>(reduction.lane)], false, false);
}

void BandJob::choose(TapsFn combine, bool winners, bool last_winner) {
  if (plan_.has_empty_windows && !reduction_.sum) return;
  if (plan_.algorithm == NDPOOL_ALGORITHM_ROWS) return;
  const Bound& target = y_ ? *y_ : *argmax_;
  const int last = space_.pooled - 1;
  work_.reduction = &reduction_;
  work_.combine = combine;
  work_.move = plan_.kernels->move;
  work_.winners = winners;
  work_.last_winner = last_winner;
  const int64_t rows = last > 0 ? target.box[last - 1].size() : 1;
  work_.choose_cut(rows, target.box[last].size());
  BandCut& cut = work_.cut;
  const bool automatic = plan_.algorithm == NDPOOL_ALGORITHM_AUTOMATIC;
  const bool doubling = plan_.algorithm == NDPOOL_ALGORITHM_DOUBLING;
  if (!winners && (doubling || (automatic && wants_padding(reduction_, cut)))) {
    padded_ = choose_padded(reduction_, rows, target.box[last].size());
  }
  if (padded_.possible) {
    cut = {};
    cut.planes = padded_.planes;
    cut.rows = padded_.rows;
    cut.outputs = padded_.outputs;
    cut.inner = padded_.inner;
    cut.results = cut.planes * cut.rows * cut.outputs * cut.inner;
  }
  if (!possible()) return;
  tasks_ =
      BandTasks(space_, target, cut.planes, cut.rows, cut.outputs, cut.inner, padded_.possible);
  if (!y_ || is_half(type_) || native_lane(type_) != reduction_.lane) return;
  if (reduction_.sum && !is_float(type_)) return;
  if (!rows_in_lanes(space_, *y_)) return;
  streaming_ = is_streamed(space_, *reduction_.source, *y_) &&
               bands_in_one_piece(space_, *y_, cut.planes, cut.rows, cut.outputs, cut.inner);
  if (finish_) divisor_ = plan_.counts.uniform();
  const bool finished = !finish_ || divisor_ != 0;
  in_place_ = !streaming_ && finished;
  divides_ = padded_.possible || work_.cut.fused ||
             (work_.cut.form == BandForm::direct && !plan_.has_empty_windows);
  paced_ = streaming_ && finished && !padded_.possible && work_.cut.form == BandForm::direct;
}

std::string BandJob::describe() const {
  std::string text;
  if (padded_.possible) {
    text =
        "doubling: windows of 1, 2, 4 ... taps at every place, sliding down the rows, then along "
        "rows (stride 1, and windows of many taps or short rows: taps are shared)";
  } else if (work_.cut.form == BandForm::direct) {
    text = "bands: channels in lanes, all taps of a window in one list (few taps, channels last)";
  } else if (work_.cut.form == BandForm::wide) {
    text =
        "bands: channels in lanes, across each pooled axis in turn, then along the last (channels "
        "last, more taps than one list is good for)";
  } else if (work_.cut.fused) {
    text = "bands: row by row, across into a row that stays in the cache, then along it";
    if (work_.cut.paired) text += ", every second lane";
    if (work_.cut.spaced) text += ", windows turned in groups";
    text += " (few taps: each cell is read once)";
  } else {
    text = "bands: across, rows taken apart by ";
    text += work_.cut.tabled ? "a table of positions" : "the phases of the stride";
    text += ", then along (few taps, a stride that leaves lanes unused)";
  }
  text += "; " + std::to_string(work_.cut.planes) + " x " + std::to_string(work_.cut.rows) + " x " +
          std::to_string(work_.cut.outputs * work_.cut.inner) +
          " outputs at a time (planes x rows x lanes)";
  if (streaming_) text += "; results go past the caches";
  return text;
}

BandJob::Worker::Worker(const BandJob& job, Arena* arena)
    : band(job.work_, arena),
      padded(job.work_, job.padded_, arena),
      results(arena->take(job.in_place_ || job.paced_ ? 0 : job.work_.cut.results,
                          lane_size(job.reduction_.lane))),
      staged(arena, job.paced_ ? job.work_.cut.results * job.y_->element : 0),
      index(arena->take(job.argmax_ ? job.work_.cut.results : 0, lane_size(job.reduction_.lane))),
      finish(job.plan_, job.type_, job.reduction_.lane, false,
             job.finish_ ? job.work_.cut.outputs * job.work_.cut.inner : 0,
             job.finish_ ? job.work_.cut.results : 0, arena) {}

void BandJob::work(Arena* arena, TaskQueue* queue) const {
  Worker worker(*this, arena);
  if (!queue) return;
  for (Range range; queue->take(&range);) run_tasks(range, &worker);
}

void BandJob::run_tasks(Range range, Worker* worker) const {
  BandTask task = tasks_.at(range.begin);
  for (int64_t i = range.begin; i < range.end; ++i) {
    run(task, worker);
    tasks_.advance(&task);
  }
  worker->staged.flush(*plan_.kernels->move);
  if (streaming_ && !paced_) plan_.kernels->move->flush();
}

void BandJob::run(const BandTask& task, Worker* worker) const {
  const int last = space_.pooled - 1;
  const int64_t row = task.outputs.size() * task.inner;
  BandTarget target;
  target.index = worker->index;
  target.position = target.index_position = task.inner;
  target.row = target.index_row = row;
  target.plane = target.index_plane = row * task.rows.size();
  target.values = worker->results;
  if (in_place_) {
    const int64_t size = y_->element;
    target.values = band_address(space_, *y_, task);
    target.plane = y_->batch / size;
    target.row = last > 0 ? y_->pooled[last - 1] / size : 0;
    target.position = y_->pooled[last] / size;
  }
  if (divides_) target.divisor = divisor_;
  Finished left = worker->staged.finished();
  if (paced_) {
    target.values = worker->staged.room(nullptr);
    target.finished = &left;
  }
  if (streaming_ && work_.cut.fused && (!finish_ || divisor_ != 0)) {
    target.stream_to = band_address(space_, *y_, task);
  }
  const char* base = plane_address(space_, *reduction_.source, task);
  if (padded_.possible) {
    worker->padded.run(task, base, target);
  } else {
    worker->band.run(task, base, target);
    if (divisor_ != 0 && !divides_) divide(task, target);
  }
  if (paced_) {
    if (left.bytes > 0) plan_.kernels->move->stream(left.from, left.to, left.bytes);
    const int64_t lanes = task.planes * task.rows.size() * row;
    worker->staged.finish(band_address(space_, *y_, task), lanes * y_->element);
  }
  if (!target.stream_to) put(task, worker);
}

// Sums over the one divisor, where they are.
void BandJob::divide(const BandTask& task, const BandTarget& target) const {
  const auto scale = plan_.kernels->combine->scale[static_cast<int>(reduction_.lane)];
  const int64_t size = static_cast<int64_t>(lane_size(reduction_.lane));
  int64_t groups = task.outputs.size(), rows = task.rows.size(), planes = task.planes;
  int64_t lanes = task.inner;
  // What lies side by side is divided in one go.
  const auto join = [&](int64_t* count, int64_t distance) {
    if (distance != lanes && *count != 1) return false;
    lanes *= *count;
    *count = 1;
    return true;
  };
  if (join(&groups, target.position) && join(&rows, target.row)) join(&planes, target.plane);
  for (int64_t i = 0; i < planes * rows * groups; ++i) {
    const int64_t at = i / (rows * groups) * target.plane + i / groups % rows * target.row +
                       i % groups * target.position;
    scale(lanes, static_cast<char*>(target.values) + at * size, divisor_);
  }
}

Strided BandJob::shape_in(const Bound& array, const BandTask& task) const {
  const int last = space_.pooled - 1;
  const int64_t row_stride = last > 0 ? array.pooled[last - 1] : 0;
  return {task.rows.size(), task.outputs.size(), task.inner,
          row_stride,       array.pooled[last],  array.inner};
}

// What is not in its array yet.
void BandJob::put(const BandTask& task, Worker* worker) const {
  const int64_t row = task.outputs.size() * task.inner;
  const ConvertKernels& convert = *plan_.kernels->convert;
  const size_t size = lane_size(reduction_.lane);
  const int64_t plane = task.rows.size() * row * static_cast<int64_t>(size);
  if (argmax_) {
    constexpr Lane kIndex[] = {Lane::u8, Lane::u16, Lane::u32, Lane::u64};
    const StoreFn store =
        convert.store[static_cast<int>(kIndex[std::countr_zero(size)])][plan_.argmax_type];
    char* to = band_address(space_, *argmax_, task);
    for (int64_t p = 0; p < task.planes; ++p) {
      store(shape_in(*argmax_, task), static_cast<char*>(worker->index) + p * plane, row,
            to + p * argmax_->batch);
    }
  }
  if (!y_ || in_place_ || paced_) return;
  char* to = band_address(space_, *y_, task);
  char* from = static_cast<char*>(worker->results);
  if (finish_ && divisor_ == 0) return put_averages(task, worker, to);
  if (streaming_) {
    plan_.kernels->move->stream(from, to, static_cast<size_t>(task.planes * plane));
    return;
  }
  const bool key = !reduction_.sum && is_half(type_);
  const StoreFn store =
      key ? convert.store_key[type_] : convert.store[static_cast<int>(reduction_.lane)][type_];
  for (int64_t p = 0; p < task.planes; ++p) {
    store(shape_in(*y_, task), from + p * plane, row, to + p * y_->batch);
  }
}

void BandJob::put_averages(const BandTask& task, Worker* worker, char* to) const {
  AverageFinish& finish = worker->finish;
  const int last = space_.pooled - 1;
  const int64_t row = task.outputs.size() * task.inner, rows = task.planes * task.rows.size();
  const int64_t row_bytes = row * static_cast<int64_t>(lane_size(reduction_.lane));
  char* const from = static_cast<char*>(worker->results);
  if (streaming_ && finish.uniform()) {
    finish.divide(rows, task.inner, from, 0, task.outputs);
  } else {
    int64_t across[kMaxPooled];
    for (int level = 0; level + 1 < last; ++level) across[level] = task.across[level];
    const int64_t row_count = task.rows.size();
    const auto divisor_at = [&](int64_t r) {
      if (last > 0) across[last - 1] = task.rows.begin + r;
      return finish.uniform() ? 0 : plan_.counts.across(across);
    };
    for (int64_t r = 0; r < row_count;) {
      // Rows with the same divisor go together.
      const int64_t begin = r, divisor = divisor_at(r);
      do ++r;
      while (r < row_count && divisor_at(r) == divisor);
      for (int64_t p = 0; p < task.planes; ++p) {
        char* sums = from + (p * row_count + begin) * row_bytes;
        if (streaming_) {
          finish.divide(r - begin, task.inner, sums, divisor, task.outputs);
          continue;
        }
        Strided shape = shape_in(*y_, task);
        shape.rows = r - begin;
        finish.store(shape, sums, divisor, task.outputs,
                     to + p * y_->batch + begin * shape.row_stride);
      }
    }
  }
  if (streaming_) {
    plan_.kernels->move->stream(from, to, static_cast<size_t>(rows * row_bytes));
  }
}

}  // namespace ndpool
