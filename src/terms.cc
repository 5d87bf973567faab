// Smooth max and Lp by terms of cells: each cell's term is computed once and summed over windows as
// an average is, so that the cost does not grow with the window.
//
//   smooth max:  S = sum of exp(beta*x)     y = log(S)/beta     slope = exp(beta*x)   factor = 1/S
//   Lp:          S = sum of |x|^p           y = S^(1/p)         slope = sign(x)*|x|^(p-1)
//                                                               factor = S^(1/p-1)
//   dy = factor * sum of slope*dx           dx = slope * sum of factor*g
//
// In f64, for inputs of at most 32 bits; smooth max first in f32, where its range and its digits
// are enough. Terms that are too large or too small become NaN, and so do all sums that they enter;
// where y would be so small that log(S) has too few digits, it becomes NaN as well. Those outputs
// (or cells) are taken from the way tap by tap. Which way an output goes thus follows from its own
// window, never from the cut.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "operations.h"
#include "term_boxes.h"

namespace ndpool {
namespace {

// Scratch and steps that the way forward and the way back share.
class TermWorker {
 public:
  TermWorker(const Plan& plan, const TermTasks& tasks, Arena* arena)
      : plan_(plan), real_(*plan.kernels->real) {
    cells = arena->take<double>(tasks.most_elements());
    sums = arena->take<double>(tasks.most_elements());
    other = arena->take<double>(tasks.most_elements());
    if (plan.sums32) first = arena->take<float>(tasks.most_elements());
    const int64_t last = plan.output_shape.back();
    lasts_ = arena->take<double>(2 * std::min(last, tasks.most_elements()));
    exec_.scratch_bytes = plan.sums_scratch;
    exec_.scratch = arena->take<char>(static_cast<int64_t>(plan.sums_scratch));
  }

  double *cells, *sums, *other;
  float* first = nullptr;  // results in f32, NaN where that does not do; if that is tried

  bool smooth() const { return plan_.op == NDPOOL_SMOOTH_MAX; }

  const Exec& exec() const { return exec_; }
  template <class T = double>
  LoadFn load() const {
    return plan_.kernels->convert->load[plan_.type][kLaneNumber<T>];
  }
  template <class T = double>
  StoreFn store() const {
    return plan_.kernels->convert->store[kLaneNumber<T>][plan_.type];
  }
  // The memory of a buffer, for floats.
  static float* floats(double* buffer) { return static_cast<float*>(static_cast<void*>(buffer)); }

  // The cells that a box of outputs reaches.
  TermBox reach(const TermBox& outputs) const {
    TermBox box;
    for (int axis = 0, i = 0; axis < plan_.rank; ++axis) {
      const bool pooled = plan_.is_pooled[static_cast<size_t>(axis)];
      box.set(axis, pooled ? cells_of(plan_.axes[i++], outputs.on(axis)) : outputs.on(axis));
    }
    return box;
  }

  // sums = the sums of terms over windows, pads included where they count; cells = the terms, or
  // the slopes.
  enum class Keep : uint8_t { terms, slopes };
  void sum(const TermArray& x, const TermBox& of_cells, const TermBox& outputs, Keep keep) {
    const int64_t n = of_cells.elements(plan_.rank);
    if (n > 0) {
      const bool apart = keep == Keep::slopes && !smooth();
      double* terms = apart ? other : cells;
      x.load(of_cells, load(), terms);
      if (smooth()) {
        real_.smooth_cells(n, plan_.beta, terms);
      } else {
        real_.lp_cells(n, plan_.p, terms, apart ? cells : nullptr);
      }
      average(*plan_.sums, exec_, of_cells.array(terms, sizeof(double)),
              outputs.array(sums, sizeof(double)), {}, {}, nullptr);
    } else {
      std::memset(sums, 0, static_cast<size_t>(outputs.elements(plan_.rank)) * sizeof(double));
    }
    if (smooth() && plan_.counts.include_pad && !plan_.all_full) add_pads(outputs, sums);
  }
  // The same in f32, for smooth max.
  void sum_floats(const TermArray& x, const TermBox& of_cells, const TermBox& outputs, float* to) {
    const int64_t n = of_cells.elements(plan_.rank);
    if (n > 0) {
      float* terms = floats(cells);
      if (plan_.type == NDPOOL_F32) {
        x.each_run<float>(of_cells, [&](const float* from, int64_t done, int64_t count) {
          real_.smooth_cells32(count, plan_.beta, from, terms + done);
        });
      } else {
        x.load(of_cells, load<float>(), terms);
        real_.smooth_cells32(n, plan_.beta, terms, terms);
      }
      average(*plan_.sums32, exec_, of_cells.array(terms, sizeof(float)),
              outputs.array(to, sizeof(float)), {}, {}, nullptr);
    } else {
      std::memset(to, 0, static_cast<size_t>(outputs.elements(plan_.rank)) * sizeof(float));
    }
    if (plan_.counts.include_pad && !plan_.all_full) add_pads(outputs, to);
  }

  // y in place of its sum; false if any is NaN.
  bool finish(int64_t n) const {
    return smooth() ? real_.smooth_logarithms(n, plan_.beta, sums)
                    : real_.lp_roots(n, plan_.p, sums);
  }
  // Of sums: what derivatives are multiplied by; 0 where there is no term.
  void find_factors(int64_t n, double* factors) const {
    if (!smooth()) return real_.lp_factors(n, plan_.p, sums, factors);
    for (int64_t i = 0; i < n; ++i) factors[i] = sums[i] == 0 ? 0 : 1 / sums[i];
  }

  // Where there is a result in f32, it counts.
  void take_first(int64_t n, double* values) const {
    for (int64_t i = 0; first && i < n; ++i) {
      if (first[i] == first[i]) values[i] = static_cast<double>(first[i]);
    }
  }
  // Where values are NaN, those of `from` take their place. `room`: as many elements.
  void take_again(const TermBox& box, const ArrayArg& from, double* room, double* values) const {
    TermArray(plan_.rank, from).load(box, load(), room);
    const int64_t n = box.elements(plan_.rank);
    for (int64_t i = 0; i < n; ++i) {
      if (values[i] != values[i]) values[i] = room[i];
    }
  }

 private:
  // f(the first element of a row of outputs, the products of cells and of counted taps over the
  // axes before the last).
  template <class F>
  void each_row(const TermBox& outputs, F f) const {
    const int last = plan_.rank - 1;
    int64_t at[kMaxAxes];
    std::copy(outputs.start, outputs.start + plan_.rank, at);
    for (int64_t done = 0;; done += outputs.size[last]) {
      double present = 1, counted = 1;
      for (int axis = 0, i = 0; axis < last; ++axis) {
        if (!plan_.is_pooled[static_cast<size_t>(axis)]) continue;
        const auto window = plan_.axes[i++].window_of(at[axis]);
        present *= static_cast<double>(window.cells);
        counted *= static_cast<double>(window.counted);
      }
      f(done, present, counted);
      int axis = last - 1;
      for (; axis >= 0; --axis) {
        if (++at[axis] < outputs.start[axis] + outputs.size[axis]) break;
        at[axis] = outputs.start[axis];
      }
      if (axis < 0) return;
    }
  }

  // The same factors along the last axis: cells, then counted taps.
  const double* along(const TermBox& outputs) const {
    const int last = plan_.rank - 1;
    const int64_t n = outputs.size[last];
    const bool pooled = plan_.is_pooled[static_cast<size_t>(last)];
    for (int64_t i = 0; i < n; ++i) {
      lasts_[i] = lasts_[n + i] = 1;
      if (!pooled) continue;
      const auto window = plan_.axes[plan_.pooled - 1].window_of(outputs.start[last] + i);
      lasts_[i] = static_cast<double>(window.cells);
      lasts_[n + i] = static_cast<double>(window.counted);
    }
    return lasts_;
  }

  // A pad is a zero, and exp(beta*0) is 1. Windows without pads lie side by side; those at the ends
  // of the last axis may have none, too, if their taps step over the padding.
  template <class T>
  void add_pads(const TermBox& outputs, T* to) {
    const int64_t n = outputs.size[plan_.rank - 1];
    const double *present_along = along(outputs), *counted_along = present_along + n;
    int64_t head = 0;
    while (head < n && present_along[head] != counted_along[head]) ++head;
    int64_t tail = head;
    while (tail < n && present_along[tail] == counted_along[tail]) ++tail;
    each_row(outputs, [&](int64_t begin_of_row, double present, double counted) {
      T* row = to + begin_of_row;
      const auto add = [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          row[i] += static_cast<T>(counted * counted_along[i] - present * present_along[i]);
        }
      };
      add(0, head);
      if (present != counted) add(head, tail);
      add(tail, n);
    });
  }

  const Plan& plan_;
  const RealKernels& real_;
  double* lasts_;
  Exec exec_;
};

// Forward, and with dx and dy the tangent as well; y may be left out then.
class TermsJob : public Job {
 public:
  TermsJob(const Plan& plan, const ArrayArg& x, const ArrayArg& dx, const ArrayArg& y,
           const ArrayArg& dy)
      : plan_(plan),
        with_y_(y.size != nullptr),
        with_dy_(dy.size != nullptr),
        x_(plan.rank, x),
        dx_(plan.rank, with_dy_ ? dx : x),
        y_(plan.rank, with_y_ ? y : dy),
        dy_(plan.rank, with_dy_ ? dy : y),
        tasks_(plan, with_y_ ? y : dy, true) {}

  const TermTasks& tasks() const { return tasks_; }

  void work(Arena* arena, TaskQueue* queue) const override {
    TermWorker worker(plan_, tasks_, arena);
    Tangents tangents{};
    if (with_dy_) {
      tangents.cells = arena->take<double>(tasks_.most_elements());
      tangents.sums = arena->take<double>(tasks_.most_elements());
    }
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&worker, tangents, tasks_.at(i));
    }
  }

 private:
  struct Tangents {
    double *cells, *sums;
  };

  void run(TermWorker* worker, const Tangents& tangents, const TermBox& outputs) const {
    const TermBox cells = worker->reach(outputs);
    if (with_y_ && worker->first) {
      worker->sum_floats(x_, cells, outputs, worker->first);
      const int64_t n = outputs.elements(plan_.rank);
      const bool done = plan_.kernels->real->smooth_logarithms32(n, plan_.beta, worker->first);
      if (done && !with_dy_) return y_.store(outputs, worker->store<float>(), worker->first);
    }
    worker->sum(x_, cells, outputs, with_dy_ ? TermWorker::Keep::slopes : TermWorker::Keep::terms);
    const int64_t n = outputs.elements(plan_.rank);
    double *y = worker->sums, *dy = tangents.sums;
    bool complete = true;
    if (with_dy_) complete = sum_tangents(*worker, tangents, cells, outputs);
    if (with_y_) complete &= worker->finish(n);
    if (!complete) {
      const size_t element = type_size(plan_.type);
      const ArrayArg again_y = with_y_ ? outputs.array(worker->cells, element) : ArrayArg{};
      const ArrayArg again_dy = with_dy_ ? outputs.array(tangents.cells, element) : ArrayArg{};
      windows_forward(plan_, worker->exec(), x_.part(cells),
                      with_dy_ ? dx_.part(cells) : ArrayArg{}, again_y, again_dy, nullptr);
      if (with_y_) worker->take_again(outputs, again_y, worker->other, y);
      if (with_dy_) worker->take_again(outputs, again_dy, worker->other, dy);
    }
    if (with_y_) {
      worker->take_first(n, y);
      y_.store(outputs, worker->store(), y);
    }
    if (with_dy_) dy_.store(outputs, worker->store(), dy);
  }

  // The tangents of the outputs; false if some are NaN.
  bool sum_tangents(const TermWorker& worker, const Tangents& tangents, const TermBox& cells,
                    const TermBox& outputs) const {
    const int64_t n = cells.elements(plan_.rank), m = outputs.elements(plan_.rank);
    if (n > 0) {
      dx_.load(cells, worker.load(), tangents.cells);
      for (int64_t i = 0; i < n; ++i) tangents.cells[i] *= worker.cells[i];
      average(*plan_.sums, worker.exec(), cells.array(tangents.cells, sizeof(double)),
              outputs.array(tangents.sums, sizeof(double)), {}, {}, nullptr);
    }
    bool complete = true;
    worker.find_factors(m, worker.other);
    for (int64_t i = 0; i < m; ++i) {
      const double factor = worker.other[i];
      const double dy = n > 0 && factor != 0 ? tangents.sums[i] * factor : 0;
      tangents.sums[i] = dy;
      complete &= dy == dy;
    }
    return complete;
  }

  const Plan& plan_;
  bool with_y_, with_dy_;
  TermArray x_, dx_, y_, dy_;
  TermTasks tasks_;
};

class TermsVjpJob : public Job {
 public:
  TermsVjpJob(const Plan& plan, const ArrayArg& x, const ArrayArg& g, const ArrayArg& dx)
      : plan_(plan),
        x_(plan.rank, x),
        g_(plan.rank, g),
        dx_(plan.rank, dx),
        tasks_(plan, dx, false) {}

  const TermTasks& tasks() const { return tasks_; }

  void work(Arena* arena, TaskQueue* queue) const override {
    TermWorker worker(plan_, tasks_, arena);
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&worker, tasks_.at(i));
    }
  }

 private:
  void run(TermWorker* worker, const TermBox& target) const {
    const TermBox outputs = reached(target), cells = worker->reach(outputs);
    const int64_t n = target.elements(plan_.rank), m = outputs.elements(plan_.rank);
    double* gradient = worker->other;
    if (m == 0) {
      std::memset(gradient, 0, static_cast<size_t>(n) * sizeof(double));
      dx_.store(target, worker->store(), gradient);
      return;
    }
    if (worker->first && try_floats(worker, cells, outputs, target)) {
      return dx_.store(target, worker->store<float>(), worker->first);
    }
    worker->sum(x_, cells, outputs, TermWorker::Keep::slopes);
    // other = g, then the products with it in place of the factors, then what each cell gathers.
    worker->find_factors(m, worker->sums);
    g_.load(outputs, worker->load(), worker->other);
    for (int64_t i = 0; i < m; ++i) worker->sums[i] *= worker->other[i];
    average_vjp(*plan_.sums, worker->exec(), outputs.array(worker->sums, sizeof(double)),
                target.array(gradient, sizeof(double)), nullptr);
    const bool complete =
        multiply(cells, target, worker->cells, gradient, plan_.kernels->real->multiply);
    if (!complete) {
      const ArrayArg again = target.array(worker->sums, type_size(plan_.type));
      windows_vjp(plan_, worker->exec(), x_.part(cells), g_.part(outputs), {}, again, nullptr);
      worker->take_again(target, again, worker->cells, gradient);
    }
    worker->take_first(n, gradient);
    dx_.store(target, worker->store(), gradient);
  }

  // The gradient in f32; false if that does not do for all cells.
  bool try_floats(TermWorker* worker, const TermBox& cells, const TermBox& outputs,
                  const TermBox& target) const {
    float *factors = worker->floats(worker->sums), *g = worker->floats(worker->other);
    worker->sum_floats(x_, cells, outputs, factors);
    g_.load(outputs, worker->load<float>(), g);
    const int64_t m = outputs.elements(plan_.rank);
    plan_.kernels->real->smooth_quotients32(m, g, factors);
    average_vjp(*plan_.sums32, worker->exec(), outputs.array(factors, sizeof(float)),
                target.array(worker->first, sizeof(float)), nullptr);
    return multiply(cells, target, worker->floats(worker->cells), worker->first,
                    plan_.kernels->real->multiply32);
  }

  // gradient *= slope; false if some became NaN. Cells that no window reaches have gradient
  // 0, and a tile of x need not hold them.
  template <class T>
  bool multiply(const TermBox& cells, const TermBox& target, T* slope, T* gradient,
                bool (*by)(int64_t, const T*, T*)) const {
    TermBox both;
    for (int axis = 0; axis < plan_.rank; ++axis) {
      const Range a = cells.on(axis), b = target.on(axis);
      both.set(axis, {std::max(a.begin, b.begin), std::min(a.end, b.end)});
      if (both.size[axis] <= 0) return true;
    }
    const TermArray from(plan_.rank, cells.array(slope, sizeof(T)));
    const TermArray to(plan_.rank, target.array(gradient, sizeof(T)));
    const Strided f = from.shape_of(both), t = to.shape_of(both);
    bool complete = true;
    // Rows that lie side by side in both are one.
    const auto joined = [&](const Strided& s) {
      return s.position_stride == s.inner * int64_t{sizeof(T)};
    };
    const int64_t together = joined(f) && joined(t) ? f.positions : 1;
    each_piece(plan_.rank, both, [&](const int64_t* at, int64_t) {
      const char* slopes = from.address(at);
      char* gradients = to.address(at);
      for (int64_t r = 0; r < f.rows; ++r) {
        for (int64_t p = 0; p < f.positions; p += together) {
          complete &=
              by(together * f.inner,
                 reinterpret_cast<const T*>(slopes + r * f.row_stride + p * f.position_stride),
                 reinterpret_cast<T*>(gradients + r * t.row_stride + p * t.position_stride));
        }
      }
    });
    return complete;
  }

  TermBox reached(const TermBox& target) const {
    TermBox box;
    for (int axis = 0, i = 0; axis < plan_.rank; ++axis) {
      const bool pooled = plan_.is_pooled[static_cast<size_t>(axis)];
      Range range = pooled ? outputs_of(plan_.axes[i++], target.on(axis)) : target.on(axis);
      if (range.size() < 0) range.end = range.begin;
      box.set(axis, range);
    }
    return box;
  }

  const Plan& plan_;
  TermArray x_, g_, dx_;
  TermTasks tasks_;
};

template <class Job>
bool can_run(const Job& job, const Exec& exec) {
  return job.tasks().possible() && fits_scratch(job, exec);
}
template <class Job>
int32_t run(const Job& job, const Exec& exec, ndpool_error* error) {
  return run_job(job, job.tasks().total(), job.tasks().grain(), exec, error);
}

}  // namespace

int32_t terms_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                      const ArrayArg& y, const ArrayArg& dy, ndpool_error* error) {
  if (plan.sums) {
    const TermsJob job(plan, x, dx, y, dy);
    if (can_run(job, exec)) return run(job, exec, error);
  }
  return windows_forward(plan, exec, x, dx, y, dy, error);
}

int32_t terms_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                  const ArrayArg& dx, ndpool_error* error) {
  if (plan.sums) {
    const TermsVjpJob job(plan, x, g, dx);
    if (can_run(job, exec)) return run(job, exec, error);
  }
  return windows_vjp(plan, exec, x, g, {}, dx, error);
}

size_t terms_bytes(const Plan& plan) {
  if (!plan.sums) return 0;
  ArrayArg x, y;
  x.size = plan.shape.data();
  y.size = plan.output_shape.data();
  x.element = y.element = static_cast<int64_t>(type_size(plan.type));
  size_t bytes = 0;
  const auto count = [&](const auto& job) {
    if (!job.tasks().possible()) return;
    Arena arena;
    job.work(&arena, nullptr);
    bytes = std::max(bytes, arena.used());
  };
  count(TermsJob(plan, x, x, y, y));
  count(TermsVjpJob(plan, x, y, x));
  return bytes;
}

}  // namespace ndpool
