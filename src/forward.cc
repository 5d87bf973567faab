// Forward and JVP of max, min and avg, and the VJP of avg: rows of outputs from a separable
// reduction.
#include <bit>
#include <cstring>

#include "band_job.h"
#include "call.h"
#include "channels.h"
#include "columns.h"
#include "finish.h"
#include "identity.h"
#include "operations.h"
#include "planes.h"
#include "reductions.h"
#include "repeat.h"
#include "rows.h"
#include "sheets.h"
#include "strips.h"
#include "whole.h"
#include "winner.h"
#include "winner_rows.h"

namespace ndpool {
namespace {

// Calls f(address offset of the element in bytes, row, output, lane) for each element of a task.
template <class F>
void each_element(const Strided& s, F f) {
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t p = 0; p < s.positions; ++p) {
      for (int64_t c = 0; c < s.inner; ++c) {
        f(r * s.row_stride + p * s.position_stride + c * s.inner_stride, r, p, c);
      }
    }
  }
}

// Max and min: values, and what the winning taps tell.
class ExtremeJob : public Job {
 public:
  ExtremeJob(const Plan& plan, const Space& space, const Bound& x, const Bound& target, Keep keep)
      : plan_(plan), space_(space), reduction_(extreme_reduction(plan, space, x, keep)) {
    reduction_.choose_cut(target.box[space.pooled - 1].size());
    const Cut& cut = reduction_.cut;
    tasks = RowTasks(space, target, cut.rows, cut.outputs, cut.inner);
  }

  const Bound* y = nullptr;
  const Bound* argmax = nullptr;
  const Bound* index = nullptr;
  const Bound* dx = nullptr;  // with dy: the tangent that the winners carry
  const Bound* dy = nullptr;
  RowTasks tasks;

  void work(Arena* arena, TaskQueue* queue) const override {
    Reducer reducer(reduction_, arena);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&reducer, tasks.at(i));
    }
  }

 private:
  void run(Reducer* reducer, const RowTask& task) const {
    const Place place{plane_address(space_, *reduction_.source, task), task.rows, task.inner,
                      task.across, task.outputs};
    Block block;
    const bool any = reducer->run(place, &block);
    if (any) store(task, block);
    if (!any || plan_.has_empty_windows) fill_empty(task);
  }

  void store(const RowTask& task, const Block& block) const {
    const ConvertKernels& convert = *plan_.kernels->convert;
    if (y) {
      const StoreFn put = is_half(plan_.type)
                              ? convert.store_key[plan_.type]
                              : convert.store[static_cast<int>(reduction_.lane)][plan_.type];
      put(row_shape(space_, *y, task), block.values, block.stride, row_address(space_, *y, task));
    }
    if (argmax) {
      const Lane lane = plan_.index_size == 8 ? Lane::u64 : Lane::u32;
      convert.store[static_cast<int>(lane)][plan_.argmax_type](row_shape(space_, *argmax, task),
                                                               block.index, block.index_stride,
                                                               row_address(space_, *argmax, task));
    }
    if (index) {
      char* to = row_address(space_, *index, task);
      each_winner(task, *index, block, [&](int64_t offset, int64_t, int64_t, const int64_t* at) {
        int64_t flat = 0;
        for (int i = 0; i < plan_.pooled; ++i)
          flat += at[i] * static_cast<int64_t>(plan_.flat_weight[i]);
        std::memcpy(to + offset, &flat, sizeof flat);
      });
    }
    if (dy) {
      char* to = row_address(space_, *dy, task);
      const char* from = plane_address(space_, *dx, task);
      each_winner(task, *dy, block, [&](int64_t offset, int64_t r, int64_t c, const int64_t* at) {
        const char* tangent = from + r * dx->batch + c * dx->inner;
        for (int i = 0; i < plan_.pooled; ++i) {
          tangent += (at[i] - dx->box[i].begin) * dx->pooled[i];
        }
        std::memcpy(to + offset, tangent, static_cast<size_t>(dx->element));
      });
    }
  }

  // f(offset in `target`, row, inner, position) for each output that has a cell.
  template <class F>
  void each_winner(const RowTask& task, const Bound& target, const Block& block, F f) const {
    WinnerRow winners(plan_, task.across);
    const Strided shape = row_shape(space_, target, task);
    int64_t position[kMaxPooled]{};
    for (int64_t p = 0; p < shape.positions; ++p) {
      winners.enter_output(task.outputs.begin + p);
      if (!winners.has_cells()) continue;
      for (int64_t r = 0; r < shape.rows; ++r) {
        for (int64_t c = 0; c < shape.inner; ++c) {
          const int64_t at = r * block.index_stride + p * shape.inner + c;
          const uint64_t number = plan_.index_size == 8
                                      ? static_cast<const uint64_t*>(block.index)[at]
                                      : static_cast<const uint32_t*>(block.index)[at];
          winners.decode(number, position);
          f(r * shape.row_stride + p * shape.position_stride + c * shape.inner_stride, r, c,
            position);
        }
      }
    }
  }

  void fill_empty(const RowTask& task) const {
    WinnerRow windows(plan_, task.across);
    const auto fill = [&](const Bound* array, auto write) {
      if (!array) return;
      char* to = row_address(space_, *array, task);
      each_element(row_shape(space_, *array, task),
                   [&](int64_t offset, int64_t, int64_t p, int64_t) {
                     windows.enter_output(task.outputs.begin + p);
                     if (!windows.has_cells()) write(to + offset);
                   });
    };
    fill(y, [&](char* to) { write_extreme(plan_.type, plan_.op == NDPOOL_MAX, to); });
    fill(argmax, [&](char* to) { std::memset(to, 0, static_cast<size_t>(argmax->element)); });
    fill(index, [&](char* to) { std::memset(to, 0xFF, sizeof(int64_t)); });
    fill(dy, [&](char* to) { std::memset(to, 0, static_cast<size_t>(dy->element)); });
  }

  const Plan& plan_;
  const Space& space_;
  Reduction reduction_;
};

// Sums of rows, divided: avg of x or of a tangent. Transposed, the VJP of avg (divided when
// loaded).
class SumJob : public Job {
 public:
  SumJob(const Plan& plan, const Space& space, const Bound& target, int target_type, bool tangent,
         Reduction reduction)
      : plan_(plan),
        space_(space),
        target_(target),
        type_(target_type),
        tangent_(tangent),
        reduction_(reduction) {
    reduction_.choose_cut(target.box[space.pooled - 1].size());
    const Cut& cut = reduction_.cut;
    tasks = RowTasks(space, target, cut.rows, cut.outputs, cut.inner);
  }

  RowTasks tasks;

  void work(Arena* arena, TaskQueue* queue) const override {
    Reducer reducer(reduction_, arena);
    const Cut& cut = reduction_.cut;
    const int64_t elements = cut.rows * cut.outputs * cut.inner;
    void* sums = arena->take(elements, lane_size(reduction_.lane));
    AverageFinish finish(plan_, type_, reduction_.lane, tangent_, cut.outputs * cut.inner, elements,
                         arena);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&reducer, sums, &finish, tasks.at(i));
    }
  }

 private:
  void run(Reducer* reducer, void* sums, AverageFinish* finish, const RowTask& task) const {
    const Place place{plane_address(space_, *reduction_.source, task), task.rows, task.inner,
                      task.across, task.outputs};
    const int64_t lanes = task.outputs.size() * task.inner;
    const Strided shape = row_shape(space_, target_, task);
    char* to = row_address(space_, target_, task);
    const size_t size = lane_size(reduction_.lane);
    Block block;
    if (!reducer->run(place, &block)) {
      std::memset(sums, 0, static_cast<size_t>(task.rows * lanes) * size);
      block = {sums, lanes, nullptr, 0, 0};
    }
    if (reduction_.divide_by) {
      const int lane = static_cast<int>(reduction_.lane);
      plan_.kernels->convert->store[lane][type_](shape, block.values, block.stride, to);
      return;
    }
    if (block.values != sums) {
      reduction_.kernels->gather[std::countr_zero(size)](task.rows, lanes, 1, 1, sums, lanes,
                                                         block.values, block.stride);
    }
    finish->store(shape, sums, plan_.counts.across(task.across), task.outputs, to);
  }

  const Plan& plan_;
  const Space& space_;
  const Bound& target_;
  int type_;
  bool tangent_;
  Reduction reduction_;
};

int32_t run_rows(const Job& job, const RowTasks& tasks, const Exec& exec, ndpool_error* error) {
  return run_job(job, tasks.total(), tasks.grain(), exec, error);
}

template <class Banded>
int32_t run_bands(const Banded& job, const Exec& exec, ndpool_error* error) {
  return run_job(job, job.tasks().total(), job.tasks().grain(), exec, error);
}

template <class PlaneJob>
int32_t run_planes(const PlaneJob& job, const Exec& exec, ndpool_error* error) {
  return run_job(job, job.tasks(), job.grain(), exec, error);
}

// Two jobs of one call: neither writes before there is room for both.
template <class Job>
int32_t run_both(const Job& one, const Job& other, const Exec& exec, ndpool_error* error) {
  Reservation first, second;
  const RowTasks &a = one.tasks, &b = other.tasks;
  if (int32_t code = first.make(one, a.total(), a.grain(), exec, error)) return code;
  if (int32_t code = second.make(other, b.total(), b.grain(), exec, error)) return code;
  const int32_t code = first.run(one, exec, error);
  return code ? code : second.run(other, exec, error);
}

}  // namespace

int32_t extreme_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& y,
                        const ArrayArg& argmax, const ArrayArg& index, ndpool_error* error) {
  ArrayArg args[4] = {x, y};
  int count = 2, at_argmax = -1, at_index = -1;
  if (argmax.data) args[at_argmax = count++] = argmax;
  if (index.data) args[at_index = count++] = index;
  Space space;
  Bound bound[4];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, count, 1, &space, bound);
  const auto array = [&](int at) { return at < 0 ? nullptr : &bound[at]; };
  const Keep of_argmax = plan.ties == NDPOOL_TIES_LAST ? Keep::last : Keep::first;
  // The index is always the first winner; an argmax that is not takes a pass of its own.
  const bool apart = argmax.data && index.data && of_argmax != Keep::first;
  if (!index.data) {
    const ColumnsJob columns(plan, space, bound[0], &bound[1], array(at_argmax));
    if (columns.possible() && fits_scratch(columns, exec)) return run_bands(columns, exec, error);
    const ChannelsJob channels(plan, space, bound[0], bound[1], array(at_argmax));
    if (channels.possible()) return run_bands(channels, exec, error);
  }
  if (!index.data && !argmax.data) {
    const WholeJob whole(plan, space, bound[0], bound[1]);
    if (whole.possible() && fits_scratch(whole, exec)) return run_planes(whole, exec, error);
    const StripsJob strips(plan, space, bound[0], bound[1]);
    if (strips.possible() && fits_scratch(strips, exec)) return run_planes(strips, exec, error);
    const SheetsJob sheets(plan, space, From::x, bound[0], bound[1]);
    if (sheets.possible() && fits_scratch(sheets, exec)) return run_planes(sheets, exec, error);
  }
  if (!index.data) {
    const PlanesJob planes(plan, space, From::x, bound[0], &bound[1], array(at_argmax));
    if (planes.possible() && fits_scratch(planes, exec)) return run_planes(planes, exec, error);
  }
  if (!index.data && argmax.data) {
    const WinnerRowsJob rows(plan, space, bound[0], bound[1], bound[at_argmax]);
    if (rows.possible() && fits_scratch(rows, exec)) {
      return run_job(rows, rows.planes(), rows.grain(), exec, error);
    }
  }
  if (!index.data) {
    const BandJob band(plan, space, bound[0], &bound[1], array(at_argmax), of_argmax == Keep::last);
    if (band.possible() && fits_scratch(band, exec)) return run_bands(band, exec, error);
  }
  const Keep keep = index.data ? Keep::first : argmax.data ? of_argmax : Keep::values;
  ExtremeJob job(plan, space, bound[0], bound[1], keep);
  job.y = &bound[1];
  job.index = array(at_index);
  if (!apart) job.argmax = array(at_argmax);
  if (!apart) return run_rows(job, job.tasks, exec, error);
  ExtremeJob second(plan, space, bound[0], bound[1], of_argmax);
  second.argmax = array(at_argmax);
  return run_both(job, second, exec, error);
}

int32_t extreme_jvp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                    const ArrayArg& y, const ArrayArg& dy, ndpool_error* error) {
  const ArrayArg args[4] = {x, dx, dy, y};
  Space space;
  Bound bound[4];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, y.data ? 4 : 3, 2, &space, bound);
  ExtremeJob job(plan, space, bound[0], bound[2],
                 plan.ties == NDPOOL_TIES_LAST ? Keep::last : Keep::first);
  job.dx = &bound[1];
  job.dy = &bound[2];
  if (y.data) job.y = &bound[3];
  return run_rows(job, job.tasks, exec, error);
}

int32_t average(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& y,
                const ArrayArg& dx, const ArrayArg& dy, ndpool_error* error) {
  struct Pass {
    Space space;
    Bound bound[2];
    Pass(const Plan& of, const ArrayArg& from, const ArrayArg& to) {
      const ArrayArg args[2] = {from, to};
      bind_arrays(of.rank, of.is_pooled.get(), args, 2, 1, &space, bound);
    }
    SumJob job(const Plan& of, bool tangent) const {
      return SumJob(of, space, bound[1], of.out_type, tangent,
                    sum_reduction(of, space, bound[0], of.sum_lane));
    }
  };
  if (!dy.data || !y.data) {
    const Pass pass(plan, y.data ? x : dx, y.data ? y : dy);
    if (!plan.has_empty_windows) {
      const ColumnsJob columns(plan, pass.space, pass.bound[0], &pass.bound[1], nullptr);
      if (columns.possible() && fits_scratch(columns, exec)) {
        return run_bands(columns, exec, error);
      }
      const ChannelsJob channels(plan, pass.space, pass.bound[0], pass.bound[1], nullptr);
      if (channels.possible()) return run_bands(channels, exec, error);
      const WholeJob whole(plan, pass.space, pass.bound[0], pass.bound[1]);
      if (whole.possible() && fits_scratch(whole, exec)) return run_planes(whole, exec, error);
      const StripsJob strips(plan, pass.space, pass.bound[0], pass.bound[1]);
      if (strips.possible() && fits_scratch(strips, exec)) return run_planes(strips, exec, error);
      const SheetsJob sheets(plan, pass.space, From::x, pass.bound[0], pass.bound[1]);
      if (sheets.possible() && fits_scratch(sheets, exec)) return run_planes(sheets, exec, error);
      const PlanesJob planes(plan, pass.space, From::x, pass.bound[0], &pass.bound[1]);
      if (planes.possible() && fits_scratch(planes, exec)) return run_planes(planes, exec, error);
      const BandJob band(plan, pass.space, pass.bound[1], plan.out_type,
                         sum_reduction(plan, pass.space, pass.bound[0], plan.sum_lane));
      if (band.possible() && fits_scratch(band, exec)) return run_bands(band, exec, error);
    }
    const SumJob job = pass.job(plan, !y.data);
    return run_rows(job, job.tasks, exec, error);
  }
  const Pass values(plan, x, y), tangents(plan, dx, dy);
  return run_both(values.job(plan, false), tangents.job(plan, true), exec, error);
}

int32_t average_vjp(const Plan& plan, const Exec& exec, const ArrayArg& g, const ArrayArg& dx,
                    ndpool_error* error) {
  // dx comes first, because its memory is larger: where windows are whole axes, g looks as if it
  // had its channels last.
  const ArrayArg args[2] = {dx, g};
  Space space;
  Bound bound[2];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 2, 0, &space, bound);
  const ColumnsJob columns(plan, space, bound[1], bound[0]);
  if (columns.possible() && fits_scratch(columns, exec)) return run_bands(columns, exec, error);
  const SheetsJob sheets(plan, space, From::g, bound[1], bound[0]);
  if (sheets.possible() && fits_scratch(sheets, exec)) return run_planes(sheets, exec, error);
  const PlanesJob planes(plan, space, From::g, bound[1], &bound[0]);
  if (planes.possible() && fits_scratch(planes, exec)) return run_planes(planes, exec, error);
  const RepeatJob repeat(plan, space, bound[1], bound[0]);
  if (repeat.possible() && fits_scratch(repeat, exec)) {
    return run_job(repeat, repeat.tasks(), repeat.grain(), exec, error);
  }
  const Reduction reduction = transposed_sum(plan, space, bound[1], float_lane(plan.type));
  const BandJob band(plan, space, bound[0], plan.type, reduction);
  if (band.possible() && fits_scratch(band, exec)) return run_bands(band, exec, error);
  const SumJob job(plan, space, bound[0], plan.type, true, reduction);
  return run_rows(job, job.tasks, exec, error);
}

}  // namespace ndpool
