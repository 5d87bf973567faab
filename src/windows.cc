// Forward and JVP of operations that go tap by tap: rows of outputs, one plane at a time.
#include "call.h"
#include "operations.h"
#include "rows.h"
#include "window_ops.h"

namespace ndpool {
namespace {

template <class Op>
class WindowJob : public Job {
 public:
  using T = typename Op::Lane;

  WindowJob(const Plan& plan, const Space& space, const Bound& x, const Bound& target,
            int64_t tap_lanes)
      : plan_(plan), space_(space), x_(x) {
    for (int i = 0; i < plan.pooled; ++i) lines_[i] = Line(plan.axes[i], false);
    const int last = plan.pooled - 1;
    cut_ = choose_tap_cut(space, lines_[last], target.box[last].size(), tap_lanes);
    tasks = RowTasks(space, target, 1, cut_.outputs, cut_.inner);
  }

  const Bound* y = nullptr;
  const Bound* dx = nullptr;
  const Bound* dy = nullptr;
  RowTasks tasks;

  void work(Arena* arena, TaskQueue* queue) const override {
    Op op(plan_, space_, lines_, cut_, arena);
    T* lanes = arena->take<T>(cut_.outputs * cut_.inner);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&op, lanes, tasks.at(i));
    }
  }

 private:
  void run(Op* op, T* lanes, const RowTask& task) const {
    const LoadFn load = plan_.kernels->convert->load[plan_.type][kLaneNumber<T>];
    const StoreFn store = plan_.kernels->convert->store[kLaneNumber<T>][plan_.type];
    WindowRow<T> row{task.across, task.outputs, task.inner, {}};
    row.sources[0] = {&x_, plane_address(space_, x_, task), load};
    op->measure(row);
    if (y) {
      op->value(row.lanes(), lanes);
      store(row_shape(space_, *y, task), lanes, row.lanes(), row_address(space_, *y, task));
    }
    if (dy) {
      row.sources[1] = {dx, plane_address(space_, *dx, task), load};
      op->tangent(row, lanes);
      store(row_shape(space_, *dy, task), lanes, row.lanes(), row_address(space_, *dy, task));
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound& x_;
  Line lines_[kMaxPooled];
  TapCut cut_;
};

template <class Op>
int32_t run(const Plan& plan, const Exec& exec, const Space& space, const Bound& x,
            const Bound& target, const Bound* dx, const Bound* y, const Bound* dy,
            int64_t tap_lanes, ndpool_error* error) {
  WindowJob<Op> job(plan, space, x, target, tap_lanes);
  job.y = y;
  job.dx = dx;
  job.dy = dy;
  return run_job(job, job.tasks.total(), job.tasks.grain(), exec, error);
}

}  // namespace

int32_t windows_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                        const ArrayArg& y, const ArrayArg& dy, ndpool_error* error,
                        int64_t tap_lanes) {
  ArrayArg args[4] = {x};
  int count = 1, at_dx = 0, at_y = 0, at_dy = 0;
  if (dx.data) args[at_dx = count++] = dx;
  if (y.data) args[at_y = count++] = y;
  if (dy.data) args[at_dy = count++] = dy;
  Space space;
  Bound bound[4];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, count, count - 1, &space, bound);
  const auto array = [&](int at) { return at == 0 ? nullptr : &bound[at]; };
  const auto go = plan.op == NDPOOL_SMOOTH_MAX ? run<SmoothOp>
                  : plan.op == NDPOOL_LP       ? run<LpOp>
                  : plan.type == NDPOOL_F64    ? run<TiesOp<double>>
                                               : run<TiesOp<float>>;
  return go(plan, exec, space, bound[0], bound[count - 1], array(at_dx), array(at_y), array(at_dy),
            tap_lanes, error);
}

}  // namespace ndpool
