// Forward and JVP of max, min and avg, and the VJP of avg: rows of outputs from a separable
// reduction.
#include <cstring>

#include "call.h"
#include "identity.h"
#include "operations.h"
#include "reductions.h"
#include "rows.h"
#include "winner.h"

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
    Scratch scratch{};
    scratch.sums = arena->take(cut.rows * cut.outputs * cut.inner, lane_size(reduction_.lane));
    scratch.divisors = arena->take<int64_t>(cut.outputs);
    if (is_half(type_)) scratch.wide = arena->take<double>(cut.rows * cut.outputs * cut.inner);
    scratch.lanes = arena->take(cut.outputs * cut.inner, lane_size(reduction_.lane));
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&reducer, scratch, tasks.at(i));
    }
  }

 private:
  struct Scratch {
    void* sums;
    int64_t* divisors;
    void* lanes;
    double* wide;  // of f16 and bf16 results
  };

  void run(Reducer* reducer, const Scratch& scratch, const RowTask& task) const {
    const Place place{plane_address(space_, *reduction_.source, task), task.rows, task.inner,
                      task.across, task.outputs};
    const int64_t lanes = task.outputs.size() * task.inner;
    const int lane = static_cast<int>(reduction_.lane);
    const Strided shape = row_shape(space_, target_, task);
    char* to = row_address(space_, target_, task);
    const ConvertKernels& convert = *plan_.kernels->convert;
    Block block;
    if (!reducer->run(place, &block)) {
      std::memset(scratch.sums, 0,
                  static_cast<size_t>(task.rows * lanes) * lane_size(reduction_.lane));
      block = {scratch.sums, lanes, nullptr, 0, 0};
    }
    if (reduction_.divide_by) {
      convert.store[lane][type_](shape, block.values, block.stride, to);
      return;
    }
    const int64_t across = plan_.counts.across(task.across);
    for (int64_t p = 0; p < task.outputs.size(); ++p) {
      scratch.divisors[p] = plan_.counts.of(across, task.outputs.begin + p);
      // The average of an empty window is 0/0, but its tangent is 0.
      if (tangent_ && scratch.divisors[p] == 0) scratch.divisors[p] = 1;
    }
    if (!is_float(plan_.type)) {
      convert.finish[lane][type_](shape, block.values, block.stride, scratch.divisors, to);
      return;
    }
    if (block.values != scratch.sums) {
      plan_.kernels->combine->gather[reduction_.lane == Lane::f32 ? 2 : 3](
          task.rows, lanes, 1, 1, scratch.sums, lanes, block.values, block.stride);
    }
    for (int64_t i = 0; i < lanes; ++i) {
      const int64_t divisor = scratch.divisors[i / task.inner];
      if (reduction_.lane == Lane::f32) {
        static_cast<float*>(scratch.lanes)[i] = static_cast<float>(divisor);
      } else {
        static_cast<double*>(scratch.lanes)[i] = static_cast<double>(divisor);
      }
    }
    if (is_half(type_) && reduction_.lane == Lane::f32) {
      // In f64, so that the quotient is rounded once, to the half.
      for (int64_t i = 0; i < task.rows * lanes; ++i) {
        const int64_t output = i % lanes / task.inner;
        scratch.wide[i] = static_cast<double>(static_cast<const float*>(scratch.sums)[i]) /
                          static_cast<double>(scratch.divisors[output]);
      }
      convert.store[static_cast<int>(Lane::f64)][type_](shape, scratch.wide, lanes, to);
      return;
    }
    plan_.kernels->combine->divide[lane](task.rows, lanes, scratch.sums, lanes, scratch.lanes);
    convert.store[lane][type_](shape, scratch.sums, lanes, to);
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
  ArrayArg args[4] = {x};
  int count = 1, at_y = -1, at_argmax = -1, at_index = -1;
  if (y.data) args[at_y = count++] = y;
  if (argmax.data) args[at_argmax = count++] = argmax;
  if (index.data) args[at_index = count++] = index;
  Space space;
  Bound bound[4];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, count, 1, &space, bound);
  const auto array = [&](int at) { return at < 0 ? nullptr : &bound[at]; };
  const Keep of_argmax = plan.ties == NDPOOL_TIES_LAST ? Keep::last : Keep::first;
  const Bound& target = bound[1];
  // The index is always the first winner; an argmax that is not takes a pass of its own.
  const bool apart = argmax.data && index.data && of_argmax != Keep::first;
  const Keep keep = index.data ? Keep::first : argmax.data ? of_argmax : Keep::values;
  ExtremeJob job(plan, space, bound[0], target, keep);
  job.y = array(at_y);
  job.index = array(at_index);
  if (!apart) job.argmax = array(at_argmax);
  if (!apart) return run_rows(job, job.tasks, exec, error);
  ExtremeJob second(plan, space, bound[0], target, of_argmax);
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
    const SumJob job = pass.job(plan, !y.data);
    return run_rows(job, job.tasks, exec, error);
  }
  const Pass values(plan, x, y), tangents(plan, dx, dy);
  return run_both(values.job(plan, false), tangents.job(plan, true), exec, error);
}

int32_t average_vjp(const Plan& plan, const Exec& exec, const ArrayArg& g, const ArrayArg& dx,
                    ndpool_error* error) {
  const ArrayArg args[2] = {g, dx};
  Space space;
  Bound bound[2];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 2, 1, &space, bound);
  SumJob job(plan, space, bound[1], plan.type, true,
             transposed_sum(plan, space, bound[0], float_lane(plan.type)));
  return run_rows(job, job.tasks, exec, error);
}

}  // namespace ndpool
