// Gradients from the input, tap by tap: smooth max, Lp, and max and min under ties all and split.
#include <algorithm>

#include "boxes.h"
#include "call.h"
#include "operations.h"
#include "window_ops.h"

namespace ndpool {
namespace {

// VJP (or HVP, with v) from the input, by any of the window operations.
template <class Op>
class WindowVjpJob : public Job {
 public:
  using T = typename Op::Lane;

  WindowVjpJob(const Plan& plan, const Space& space, const Bound* arrays, bool second,
               int64_t tap_lanes)
      : plan_(plan),
        space_(space),
        x_(arrays[0]),
        g_(arrays[1]),
        dx_(arrays[2]),
        v_(second ? &arrays[3] : nullptr),
        tap_lanes_(tap_lanes) {
    for (int i = 0; i < plan.pooled; ++i) lines_[i] = Line(plan.axes[i], false);
    const int last = plan.pooled - 1;
    cut_ = choose_tap_cut(space, lines_[last], plan.axes[last].outputs, tap_lanes);
  }

  BoxTasks tasks() const { return BoxTasks(plan_, space_, dx_, cut_.inner, kTapBox * tap_lanes_); }

  void work(Arena* arena, TaskQueue* queue) const override {
    const BoxTasks boxes = tasks();
    Op op(plan_, space_, lines_, cut_, arena);
    GradientBox<T> box(space_, boxes.largest(), arena);
    const int64_t lanes = cut_.outputs * cut_.inner;
    const Buffers b{arena->take<T>(lanes), arena->take<T>(lanes), arena->take<T>(lanes), {}};
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const BoxTask task = boxes.at(i);
        box.start(task);
        each_row(task, plan_.pooled,
                 [&](const int64_t* across) { row(task, across, &op, &box, b); });
        box.store(dx_, plan_.kernels->convert->store[kLaneNumber<T>][plan_.type]);
      }
    }
  }

 private:
  struct Buffers {
    T *g, *sent, *mean;
    mutable SameRow same;
  };

  void row(const BoxTask& task, const int64_t* across, Op* op, GradientBox<T>* box,
           const Buffers& b) const {
    const int last = plan_.pooled - 1;
    const LoadFn load = plan_.kernels->convert->load[plan_.type][kLaneNumber<T>];
    WindowRow<T> row{across, {}, task.inner, {}};
    row.sources[0] = {&x_, plane_of(space_, x_, task), load};
    if (v_) row.sources[1] = {v_, plane_of(space_, *v_, task), load};
    const Range outputs = task.outputs[last];
    for (int64_t begin = outputs.begin; begin < outputs.end; begin += cut_.outputs) {
      row.outputs = {begin, std::min(outputs.end, begin + cut_.outputs)};
      if (!b.same(task, across, plan_.pooled, row.outputs)) {
        op->measure(row);
        int64_t position[kMaxPooled];
        std::copy(across, across + last, position);
        position[last] = begin;
        load({1, row.outputs.size(), task.inner, 0, g_.pooled[last], g_.inner},
             position_of(g_, plane_of(space_, g_, task), plan_.pooled, position), b.g);
        op->set_gradient(row.lanes(), b.g);
        if (v_) op->tangent(row, b.mean);
      }
      op->walk().each(
          across, row.outputs, row.inner, row.sources, v_ ? 2 : 1, true,
          [&](const TapRun<T>& run) { send(run, op, box, b); }, task.cells);
    }
  }

  void send(const TapRun<T>& run, Op* op, GradientBox<T>* box, const Buffers& b) const {
    T* to = box->row(run.position);
    if (!to) return;
    if constexpr (requires { op->second(run, b.mean, b.sent); }) {
      if (v_) {
        op->second(run, b.mean, b.sent);
      } else {
        op->gradient(run, b.sent);
      }
    } else {
      op->gradient(run, b.sent);
    }
    const Range cells = box->last();
    const int64_t inner = box->inner();
    for (int64_t o = 0; o < run.outputs; ++o) {
      const int64_t cell = run.source + o * run.spacing;
      if (cell < cells.begin || cell >= cells.end) continue;
      T* at = to + (cell - cells.begin) * inner;
      for (int64_t c = 0; c < inner; ++c) at[c] += b.sent[o * inner + c];
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound &x_, &g_, &dx_;
  const Bound* v_;
  int64_t tap_lanes_;
  Line lines_[kMaxPooled];
  TapCut cut_;
};

}  // namespace

int32_t windows_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                    const ArrayArg& v, const ArrayArg& dx, ndpool_error* error, int64_t tap_lanes) {
  const ArrayArg args[4] = {x, g, dx, v};
  const bool second = v.data != nullptr;
  Space space;
  Bound bound[4];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, second ? 4 : 3, 2, &space, bound);
  const auto go = [&](const auto& job) { return run_boxes(job, exec, error); };
  if (plan.op == NDPOOL_SMOOTH_MAX) {
    return go(WindowVjpJob<SmoothOp>(plan, space, bound, second, tap_lanes));
  }
  if (plan.op == NDPOOL_LP) {
    return go(WindowVjpJob<LpOp>(plan, space, bound, second, tap_lanes));
  }
  if (plan.type == NDPOOL_F64) {
    return go(WindowVjpJob<TiesOp<double>>(plan, space, bound, false, tap_lanes));
  }
  return go(WindowVjpJob<TiesOp<float>>(plan, space, bound, false, tap_lanes));
}

}  // namespace ndpool
