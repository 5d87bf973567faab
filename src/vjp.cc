// Gradients sent to cells. The input is cut into boxes whose gradients fit the cache; each box
// takes the outputs that reach it, in row-major order, and adds what they send: one order for every
// cut.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "call.h"
#include "operations.h"
#include "rows.h"
#include "status.h"
#include "window_ops.h"
#include "winner.h"

namespace ndpool {
namespace {

// One box: a plane, a part of its inner elements, and a range of cells on each pooled axis.
struct BoxTask {
  int64_t outer = 0, batch = 0, inner_begin = 0, inner = 1;
  Range cells[kMaxPooled];
  Range outputs[kMaxPooled];  // those that reach the cells

  int64_t elements(int pooled) const {
    int64_t n = inner;
    for (int i = 0; i < pooled; ++i) n *= cells[i].size();
    return n;
  }
};

class BoxTasks {
 public:
  BoxTasks(const Plan& plan, const Space& space, const Bound& dx, int64_t inner)
      : plan_(plan), space_(space), dx_(dx), inner_(inner) {
    int64_t room = std::max<int64_t>(1, kBoxElements / inner);
    total_ = space.outer_total() * space.batch * inner_pieces();
    for (int i = space.pooled - 1; i >= 0; --i) {
      const int64_t size = dx.box[i].size();
      side_[i] = std::max<int64_t>(1, std::min(size, room));
      room = std::max<int64_t>(1, room / side_[i]);
      total_ *= pieces(i);
      elements_ *= side_[i];
    }
  }

  int64_t total() const { return total_; }
  int64_t grain() const { return std::max<int64_t>(1, 4096 / largest()); }
  int64_t largest() const { return elements_ * inner_; }  // elements of a box

  BoxTask at(int64_t task) const {
    BoxTask t;
    for (int i = space_.pooled - 1; i >= 0; --i) {
      t.cells[i].begin = dx_.box[i].begin + task % pieces(i) * side_[i];
      t.cells[i].end = std::min(dx_.box[i].end, t.cells[i].begin + side_[i]);
      t.outputs[i] = outputs_of(plan_.axes[i], t.cells[i]);
      task /= pieces(i);
    }
    t.inner_begin = task % inner_pieces() * inner_;
    t.inner = std::min(inner_, space_.inner - t.inner_begin);
    task /= inner_pieces();
    t.batch = task % space_.batch;
    t.outer = task / space_.batch;
    return t;
  }

 private:
  int64_t pieces(int i) const { return (dx_.box[i].size() + side_[i] - 1) / side_[i]; }
  int64_t inner_pieces() const { return (space_.inner + inner_ - 1) / inner_; }

  const Plan& plan_;
  const Space& space_;
  const Bound& dx_;
  int64_t inner_, total_ = 1, elements_ = 1;
  int64_t side_[kMaxPooled];
};

char* plane_of(const Space& space, const Bound& array, const BoxTask& task) {
  return outer_address(space, array, task.outer) + task.batch * array.batch +
         task.inner_begin * array.inner;
}

char* position_of(const Bound& array, char* plane, int pooled, const int64_t* position) {
  for (int i = 0; i < pooled; ++i) plane += (position[i] - array.box[i].begin) * array.pooled[i];
  return plane;
}

// Calls f(across) for each row of outputs of a box, in row-major order.
template <class F>
void each_row(const BoxTask& task, int pooled, F f) {
  int64_t across[kMaxPooled]{};
  for (int i = 0; i < pooled; ++i) {
    if (task.outputs[i].size() <= 0) return;
    across[i] = task.outputs[i].begin;
  }
  for (;;) {
    f(across);
    int level = pooled - 2;
    for (; level >= 0; --level) {
      if (++across[level] < task.outputs[level].end) break;
      across[level] = task.outputs[level].begin;
    }
    if (level < 0) return;
  }
}

// The gradients of one box, added up in lanes of T and stored when complete.
template <class T>
class GradientBox {
 public:
  GradientBox(const Space& space, int64_t elements, Arena* arena)
      : space_(space), sums_(arena->take<T>(elements)) {}

  void start(const BoxTask& task) {
    task_ = &task;
    std::memset(sums_, 0, static_cast<size_t>(task.elements(space_.pooled)) * sizeof(T));
  }
  // Lanes of the row of cells at `position` on the axes before the last; nullptr: not in the box.
  T* row(const int64_t* position) const {
    int64_t at = 0;
    for (int i = 0; i + 1 < space_.pooled; ++i) {
      const Range cells = task_->cells[i];
      if (position[i] < cells.begin || position[i] >= cells.end) return nullptr;
      at = at * cells.size() + position[i] - cells.begin;
    }
    return sums_ + at * task_->cells[space_.pooled - 1].size() * task_->inner;
  }
  Range last() const { return task_->cells[space_.pooled - 1]; }
  int64_t inner() const { return task_->inner; }

  void store(const Bound& dx, StoreFn put) const {
    const int last_axis = space_.pooled - 1;
    char* plane = plane_of(space_, dx, *task_);
    const Strided shape{1, last().size(), inner(), 0, dx.pooled[last_axis], dx.inner};
    const int64_t row_lanes = last().size() * inner();
    int64_t position[kMaxPooled];
    for (int i = 0; i < space_.pooled; ++i) position[i] = task_->cells[i].begin;
    for (const T* from = sums_;; from += row_lanes) {
      put(shape, from, row_lanes, position_of(dx, plane, space_.pooled, position));
      int level = last_axis - 1;
      for (; level >= 0; --level) {
        if (++position[level] < task_->cells[level].end) break;
        position[level] = task_->cells[level].begin;
      }
      if (level < 0) return;
    }
  }

 private:
  const Space& space_;
  T* sums_;
  const BoxTask* task_ = nullptr;
};

// VJP (or HVP, with v) from the input, by any of the window operations.
template <class Op>
class WindowVjpJob : public Job {
 public:
  using T = typename Op::Lane;

  WindowVjpJob(const Plan& plan, const Space& space, const Bound* arrays, bool second)
      : plan_(plan),
        space_(space),
        x_(arrays[0]),
        g_(arrays[1]),
        dx_(arrays[2]),
        v_(second ? &arrays[3] : nullptr) {
    for (int i = 0; i < plan.pooled; ++i) lines_[i] = Line(plan.axes[i], false);
    cut_ = choose_tap_cut(space, lines_[plan.pooled - 1], plan.axes[plan.pooled - 1].outputs);
  }

  BoxTasks tasks() const { return BoxTasks(plan_, space_, dx_, cut_.inner); }

  void work(Arena* arena, TaskQueue* queue) const override {
    const BoxTasks boxes = tasks();
    Op op(plan_, space_, lines_, cut_, arena);
    GradientBox<T> box(space_, boxes.largest(), arena);
    const int64_t lanes = cut_.outputs * cut_.inner;
    Buffers b{arena->take<T>(lanes), arena->take<T>(lanes), arena->take<T>(lanes)};
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const BoxTask task = boxes.at(i);
        box.start(task);
        each_row(task, plan_.pooled,
                 [&](const int64_t* across) { row(task, across, &op, &box, b); });
        box.store(dx_, plan_.kernels->convert->store[lane()][plan_.type]);
      }
    }
  }

 private:
  struct Buffers {
    T *g, *sent, *mean;
  };

  static int lane() { return static_cast<int>(sizeof(T) == 4 ? Lane::f32 : Lane::f64); }

  void row(const BoxTask& task, const int64_t* across, Op* op, GradientBox<T>* box,
           const Buffers& b) const {
    const int last = plan_.pooled - 1;
    const LoadFn load = plan_.kernels->convert->load[plan_.type][lane()];
    WindowRow<T> row{across, {}, task.inner, {}};
    row.sources[0] = {&x_, plane_of(space_, x_, task), load};
    if (v_) row.sources[1] = {v_, plane_of(space_, *v_, task), load};
    const Range outputs = task.outputs[last];
    for (int64_t begin = outputs.begin; begin < outputs.end; begin += cut_.outputs) {
      row.outputs = {begin, std::min(outputs.end, begin + cut_.outputs)};
      op->measure(row);
      int64_t position[kMaxPooled];
      std::copy(across, across + last, position);
      position[last] = begin;
      load({1, row.outputs.size(), task.inner, 0, g_.pooled[last], g_.inner},
           position_of(g_, plane_of(space_, g_, task), plan_.pooled, position), b.g);
      op->set_gradient(row.lanes(), b.g);
      if (v_) mean(op, row, b.mean);
      op->walk().each(across, row.outputs, row.inner, row.sources, v_ ? 2 : 1, true,
                      [&](const TapRun<T>& run) { send(run, op, box, b); });
    }
  }

  static void mean(Op* op, const WindowRow<T>& row, T* out) { op->tangent(row, out); }

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
  Line lines_[kMaxPooled];
  TapCut cut_;
};

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

// VJP of max and min from the compact argmax alone.
template <class T>
class ArgmaxVjpJob : public Job {
 public:
  ArgmaxVjpJob(const Plan& plan, const Space& space, const Bound* arrays)
      : plan_(plan),
        space_(space),
        g_(arrays[0]),
        argmax_(arrays[1]),
        dx_(arrays[2]),
        inner_(std::min<int64_t>(space.inner, 256)) {}

  BoxTasks tasks() const { return BoxTasks(plan_, space_, dx_, inner_); }

  void work(Arena* arena, TaskQueue* queue) const override {
    const BoxTasks boxes = tasks();
    GradientBox<T> box(space_, boxes.largest(), arena);
    T* g = arena->take<T>(inner_);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) {
        const BoxTask task = boxes.at(i);
        box.start(task);
        each_row(task, plan_.pooled, [&](const int64_t* across) { row(task, across, box, g); });
        box.store(dx_, plan_.kernels->convert->store[lane()][plan_.type]);
      }
    }
  }

 private:
  static int lane() { return static_cast<int>(sizeof(T) == 4 ? Lane::f32 : Lane::f64); }

  void row(const BoxTask& task, const int64_t* across, const GradientBox<T>& box, T* g) const {
    const int last = plan_.pooled - 1;
    const LoadFn load = plan_.kernels->convert->load[plan_.type][lane()];
    WinnerRow windows(plan_, across);
    int64_t output[kMaxPooled], position[kMaxPooled];
    std::copy(across, across + last, output);
    for (int64_t o = task.outputs[last].begin; o < task.outputs[last].end; ++o) {
      windows.enter_output(o);
      if (!windows.has_cells()) continue;
      output[last] = o;
      load({1, 1, task.inner, 0, 0, g_.inner},
           position_of(g_, plane_of(space_, g_, task), plan_.pooled, output), g);
      const char* taps =
          position_of(argmax_, plane_of(space_, argmax_, task), plan_.pooled, output);
      for (int64_t c = 0; c < task.inner; ++c) {
        if (!windows.decode(read_argmax(taps + c * argmax_.inner, plan_.argmax_type), position))
          continue;
        T* to = box.row(position);
        const Range cells = box.last();
        if (!to || position[last] < cells.begin || position[last] >= cells.end) continue;
        to[(position[last] - cells.begin) * task.inner + c] += g[c];
      }
    }
  }

  const Plan& plan_;
  const Space& space_;
  const Bound &g_, &argmax_, &dx_;
  int64_t inner_;
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
    strides[axis] = argmax.strides ? argmax.strides[axis] : row_major;
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

template <class Job>
int32_t run_boxes(const Job& job, const Exec& exec, ndpool_error* error) {
  const BoxTasks tasks = job.tasks();
  return run_job(job, tasks.total(), tasks.grain(), exec, error);
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
  if (plan.type == NDPOOL_F64)
    return run_boxes(ArgmaxVjpJob<double>(plan, space, bound), exec, error);
  return run_boxes(ArgmaxVjpJob<float>(plan, space, bound), exec, error);
}

int32_t windows_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                    const ArrayArg& v, const ArrayArg& dx, ndpool_error* error) {
  const ArrayArg args[4] = {x, g, dx, v};
  const bool second = v.data != nullptr;
  Space space;
  Bound bound[4];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, second ? 4 : 3, 2, &space, bound);
  const auto go = [&](const auto& job) { return run_boxes(job, exec, error); };
  if (plan.op == NDPOOL_SMOOTH_MAX) return go(WindowVjpJob<SmoothOp>(plan, space, bound, second));
  if (plan.op == NDPOOL_LP) return go(WindowVjpJob<LpOp>(plan, space, bound, second));
  if (plan.type == NDPOOL_F64) return go(WindowVjpJob<TiesOp<double>>(plan, space, bound, false));
  return go(WindowVjpJob<TiesOp<float>>(plan, space, bound, false));
}

}  // namespace ndpool
