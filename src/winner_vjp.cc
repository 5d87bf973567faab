// Gradients of max and min with one winner per window (ties first and last).
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "boxes.h"
#include "call.h"
#include "operations.h"
#include "reductions.h"
#include "rows.h"
#include "status.h"
#include "winner.h"

namespace ndpool {
namespace {

uint64_t read_argmax(const char* at, int type) {
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  switch (type) {
    case NDPOOL_U8:
      return std::memcpy(&u8, at, 1), u8;
    case NDPOOL_U16:
      return std::memcpy(&u16, at, 2), u16;
    case NDPOOL_U32:
      return std::memcpy(&u32, at, 4), u32;
    default:
      return std::memcpy(&u64, at, 8), u64;
  }
}

// VJP of max and min with one winner per window: its tap comes from the compact argmax, or is found
// in x.
template <class T>
class WinnerVjpJob : public Job {
 public:
  WinnerVjpJob(const Plan& plan, const Space& space, const Bound& g, const Bound& dx,
               const Bound* argmax, const Bound* x)
      : plan_(plan), space_(space), g_(g), dx_(dx), argmax_(argmax) {
    if (x) {
      const Keep keep = plan.ties == NDPOOL_TIES_LAST ? Keep::last : Keep::first;
      search_ = extreme_reduction(plan, space, *x, keep);
      search_.choose_cut(plan.axes[plan.pooled - 1].outputs);
      inner_ = search_.cut.inner;
      outputs_ = search_.cut.outputs;
    } else {
      inner_ = std::min<int64_t>(space.inner, 256);
      outputs_ = std::min(plan.axes[plan.pooled - 1].outputs, 1024 / inner_);
    }
  }

  BoxTasks tasks() const { return BoxTasks(plan_, space_, dx_, inner_); }

  void work(Arena* arena, TaskQueue* queue) const override {
    const BoxTasks boxes = tasks();
    Worker w{GradientBox<T>(space_, boxes.largest(), arena),
             arena->take<T>(outputs_ * inner_),
             arena->take<uint64_t>(outputs_ * inner_),
             std::nullopt,
             {}};
    if (!argmax_) w.reducer.emplace(search_, arena);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const BoxTask task = boxes.at(i);
        w.box.start(task);
        each_row(task, plan_.pooled, [&](const int64_t* across) { row(task, across, &w); });
        w.box.store(dx_, plan_.kernels->convert->store[kLaneNumber<T>][plan_.type]);
      }
    }
  }

 private:
  struct Worker {
    GradientBox<T> box;
    T* g;
    uint64_t* taps;
    std::optional<Reducer> reducer;
    SameRow same;
    bool any = false;  // some output of the row holds a cell
  };

  void row(const BoxTask& task, const int64_t* across, Worker* w) const {
    const int last = plan_.pooled - 1;
    const Range outputs = task.outputs[last];
    int64_t first[kMaxPooled];
    std::copy(across, across + last, first);
    for (int64_t begin = outputs.begin; begin < outputs.end; begin += outputs_) {
      const Range part{begin, std::min(outputs.end, begin + outputs_)};
      first[last] = begin;
      if (!w->same(task, across, plan_.pooled, part))
        w->any = read_taps(task, across, first, part, w);
      if (!w->any) continue;
      plan_.kernels->convert->load[plan_.type][kLaneNumber<T>](
          {1, part.size(), task.inner, 0, g_.pooled[last], g_.inner},
          position_of(g_, plane_of(space_, g_, task), plan_.pooled, first), w->g);
      scatter(task, across, part, w);
    }
  }

  // The winning taps of some outputs of a row; false if none of them holds a cell.
  bool read_taps(const BoxTask& task, const int64_t* across, const int64_t* first, Range part,
                 Worker* w) const {
    const int last = plan_.pooled - 1;
    const int64_t lanes = part.size() * task.inner;
    if (argmax_) {
      const char* at = position_of(*argmax_, plane_of(space_, *argmax_, task), plan_.pooled, first);
      for (int64_t i = 0; i < lanes; ++i) {
        w->taps[i] = read_argmax(
            at + i / task.inner * argmax_->pooled[last] + i % task.inner * argmax_->inner,
            plan_.argmax_type);
      }
      return true;
    }
    Block found;
    const Place place{plane_of(space_, *search_.source, task), 1, task.inner, across, part};
    if (!w->reducer->run(place, &found)) return false;
    for (int64_t i = 0; i < lanes; ++i) {
      w->taps[i] = plan_.index_size == 8 ? static_cast<const uint64_t*>(found.index)[i]
                                         : static_cast<const uint32_t*>(found.index)[i];
    }
    return true;
  }

  void scatter(const BoxTask& task, const int64_t* across, Range part, Worker* w) const {
    const int last = plan_.pooled - 1;
    WinnerRow windows(plan_, across);
    const Range cells = w->box.last();
    int64_t position[kMaxPooled];
    for (int64_t o = 0; o < part.size(); ++o) {
      windows.enter_output(part.begin + o);
      if (!windows.has_cells()) continue;
      for (int64_t c = 0; c < task.inner; ++c) {
        const int64_t lane = o * task.inner + c;
        if (!windows.decode(w->taps[lane], position)) continue;
        T* to = w->box.row(position);
        if (!to || position[last] < cells.begin || position[last] >= cells.end) continue;
        to[(position[last] - cells.begin) * task.inner + c] += w->g[lane];
      }
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &dx_;
  const Bound* argmax_;
  Reduction search_;
  int64_t inner_ = 1, outputs_ = 1;
};

// Whether all tap numbers name cells of their windows. Nothing is written.
class ArgmaxCheckJob : public Job {
 public:
  ArgmaxCheckJob(const Plan& plan, const Space& space, const Bound& argmax)
      : tasks(space, argmax, 1, argmax.box[plan.pooled - 1].size(), space.inner),
        plan_(plan),
        space_(space),
        argmax_(argmax) {}

  RowTasks tasks;
  bool good() const { return good_.load(std::memory_order_relaxed); }

  void work(Arena*, TaskQueue* queue) const override {
    if (!queue) return;
    for (Range range; good() && queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) check(tasks.at(i));
    }
  }

 private:
  void check(const RowTask& task) const {
    WinnerRow windows(plan_, task.across);
    const char* row = row_address(space_, argmax_, task);
    const Strided shape = row_shape(space_, argmax_, task);
    int64_t position[kMaxPooled];
    for (int64_t p = 0; p < shape.positions; ++p) {
      windows.enter_output(task.outputs.begin + p);
      if (!windows.has_cells()) continue;
      for (int64_t c = 0; c < shape.inner; ++c) {
        const char* at = row + p * shape.position_stride + c * shape.inner_stride;
        if (!windows.decode(read_argmax(at, plan_.argmax_type), position)) {
          good_.store(false, std::memory_order_relaxed);
        }
      }
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound& argmax_;
  mutable std::atomic<bool> good_{true};
};

// Finds the first tap number, in row-major order, that names no cell.
int32_t report_bad_argmax(const Plan& plan, const ArrayArg& argmax, ndpool_error* error) {
  const size_t rank = static_cast<size_t>(plan.rank);
  std::vector<int64_t> at(rank, 0), strides(rank);
  int64_t row_major = argmax.element;
  for (size_t axis = rank; axis-- > 0;) {
    const int64_t stride = argmax.strides ? argmax.strides[axis] : row_major;
    strides[axis] = argmax.size[axis] == 1 ? 0 : stride;
    row_major *= argmax.size[axis];
  }
  const char* memory = argmax.data;
  for (int64_t element = 0;; ++element) {
    int64_t output[kMaxPooled], position[kMaxPooled];
    for (int i = 0; i < plan.pooled; ++i) {
      const int number = plan.axis_number[i];
      output[i] = at[static_cast<size_t>(number)] + (argmax.start ? argmax.start[number] : 0);
    }
    WinnerRow windows(plan, output);
    windows.enter_output(output[plan.pooled - 1]);
    const uint64_t tap = read_argmax(memory, plan.argmax_type);
    if (windows.has_cells() && !windows.decode(tap, position)) {
      return fail(error, Message::bad_argmax, -1,
                  {static_cast<int64_t>(tap), element, plan.box_taps});
    }
    for (size_t axis = rank; axis-- > 0;) {
      memory += strides[axis];
      if (++at[axis] < argmax.size[axis]) break;
      memory -= strides[axis] * argmax.size[axis];
      at[axis] = 0;
    }
  }
}

}  // namespace

int32_t argmax_vjp(const Plan& plan, const Exec& exec, const ArrayArg& argmax, const ArrayArg& g,
                   const ArrayArg& dx, ndpool_error* error) {
  const ArrayArg args[3] = {g, argmax, dx};
  Space space;
  Bound bound[3];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 3, 2, &space, bound);
  const ArgmaxCheckJob check(plan, space, bound[1]);
  if (int32_t code = run_job(check, check.tasks.total(), check.tasks.grain(), exec, error))
    return code;
  if (!check.good()) return report_bad_argmax(plan, argmax, error);
  if (plan.type == NDPOOL_F64) {
    return run_boxes(WinnerVjpJob<double>(plan, space, bound[0], bound[2], &bound[1], nullptr),
                     exec, error);
  }
  return run_boxes(WinnerVjpJob<float>(plan, space, bound[0], bound[2], &bound[1], nullptr), exec,
                   error);
}

int32_t winner_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                   const ArrayArg& dx, ndpool_error* error) {
  const ArrayArg args[3] = {x, g, dx};
  Space space;
  Bound bound[3];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 3, 2, &space, bound);
  if (plan.type == NDPOOL_F64) {
    return run_boxes(WinnerVjpJob<double>(plan, space, bound[1], bound[2], nullptr, &bound[0]),
                     exec, error);
  }
  return run_boxes(WinnerVjpJob<float>(plan, space, bound[1], bound[2], nullptr, &bound[0]), exec,
                   error);
}

}  // namespace ndpool
