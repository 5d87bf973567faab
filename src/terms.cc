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
// (or cells) are computed again in f64, then tap by tap: by themselves where they are few. Which
// way an output goes thus follows from its own window, never from the cut.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "lone_windows.h"
#include "operations.h"
#include "smooth_planes.h"
#include "term_boxes.h"
#include "term_worker.h"

namespace ndpool {
namespace {

// Small squares in f32, band by band. all(band) where many lanes of it are `wrong`, and
// again(part of a row) for single ones.
template <class Wrong, class All, class Again>
void run_planes(const SmoothPlanes& planes, Arena* arena, TaskQueue* queue, GapCount costs,
                Wrong wrong, All all, Again again) {
  constexpr int64_t kMostLanes = 128;  // of a part, so that it finds room in a box
  SmoothPlanes::Worker w(planes, arena, !queue);
  if (!queue) return;
  const int64_t lanes = planes.row_lanes();
  planes.tasks().each_band(queue, [&](int64_t plane, Range rows) {
    if (planes.run(plane, rows, &w)) return;
    GapCount count = costs;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const float* from = planes.row_of(plane, row);
      each_gap_of_row(from, lanes, wrong, [&](Range gap) { count.add(gap.size()); });
    }
    if (!count.are_few(rows.size() * lanes)) return all(planes.box_of(plane, rows, {0, lanes}));
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      each_gap_of_row(planes.row_of(plane, row), lanes, wrong, [&](Range gap) {
        for (int64_t i = gap.begin; i < gap.end; i += kMostLanes) {
          again(planes.box_of(plane, {row, row + 1}, {i, std::min(gap.end, i + kMostLanes)}));
        }
      });
    }
  });
  planes.finish();
}

// Forward, and with dx and dy the tangent as well; y may be left out then.
class TermsJob : public Job {
 public:
  TermsJob(const Plan& plan, const ArrayArg& x, const ArrayArg& dx, const ArrayArg& y,
           const ArrayArg& dy, int64_t box_cells)
      : plan_(plan),
        with_y_(y.size != nullptr),
        with_dy_(dy.size != nullptr),
        x_(plan.rank, x),
        dx_(plan.rank, with_dy_ ? dx : x),
        y_(plan.rank, with_y_ ? y : dy),
        dy_(plan.rank, with_dy_ ? dy : y),
        box_cells_(box_cells),
        tasks_(plan, with_y_ ? y : dy, true, box_cells) {
    if (!with_dy_) planes_.emplace(plan, x, nullptr, y);
  }

  bool possible() const { return tasks_.possible(); }
  int64_t total() const { return in_planes() ? planes_->tasks().total() : tasks_.total(); }
  int64_t grain() const { return in_planes() ? planes_->tasks().grain() : tasks_.grain(); }
  double effort() const { return in_planes() ? 1 : tasks_.effort(); }

  void work(Arena* arena, TaskQueue* queue) const override {
    TermWorker worker(plan_, tasks_, arena);
    Tangents tangents{};
    if (with_dy_) {
      tangents.cells = arena->take<double>(tasks_.most_elements());
      tangents.sums = arena->take<double>(tasks_.most_elements());
    }
    LoneWindows lone(plan_, x_, arena);
    if (in_planes()) {
      const auto all = [&](const TermBox& outputs) {
        const TermTasks boxes(plan_, outputs.array(nullptr, sizeof(float)), true, box_cells_);
        for (int64_t i = 0; i < boxes.total(); ++i) run(&worker, tangents, &lone, boxes.at(i));
      };
      const auto is_nan = [](float y) { return y != y; };
      const auto again = [&](const TermBox& gap) { run_gap(&worker, tangents, &lone, gap); };
      run_planes(*planes_, arena, queue, costs(lone), is_nan, all, again);
    } else if (queue) {
      for (Range range; queue->take(&range);) {
        for (int64_t i = range.begin; i < range.end; ++i) {
          run(&worker, tangents, &lone, tasks_.at(i));
        }
      }
    }
    finish(&worker, tangents, &lone);
  }

 private:
  struct Tangents {
    double *cells, *sums;
  };

  bool in_planes() const { return planes_ && planes_->possible(); }

  static GapCount costs(const LoneWindows& lone) {
    return lone.possible() ? GapCount::of_windows() : GapCount::of_boxes();
  }

  void run(TermWorker* worker, const Tangents& tangents, LoneWindows* lone,
           const TermBox& outputs) const {
    if (with_y_ && worker->first) {
      worker->sum_floats(x_, worker->reach(outputs), outputs, worker->first);
      const int64_t n = outputs.elements(plan_.rank);
      const bool done = plan_.kernels->real->smooth_logarithms32(n, plan_.beta, worker->first);
      if (!with_dy_ && (done || worker->is_mostly_first(n, costs(*lone)))) {
        y_.store(outputs, worker->store<float>(), worker->first);
        if (done) return;
        return worker->each_gap(outputs,
                                [&](const TermBox& gap) { run_gap(worker, tangents, lone, gap); });
      }
    }
    run_again(worker, tangents, outputs, with_y_ && worker->first);
  }

  // Some outputs of a row: window by window if these have few taps. finish() after the last.
  void run_gap(TermWorker* worker, const Tangents& tangents, LoneWindows* lone,
               const TermBox& gap) const {
    if (!lone->possible()) return run_again(worker, tangents, gap, false);
    int row = plan_.rank - 1;  // the axis that the row lies on
    while (row > 0 && gap.size[row] == 1) --row;
    int64_t at[kMaxAxes];
    std::copy(gap.start, gap.start + plan_.rank, at);
    for (; at[row] < gap.start[row] + gap.size[row]; ++at[row]) {
      lone->add(at);
      if (lone->full()) finish(worker, tangents, lone);
    }
  }
  void finish(TermWorker* worker, const Tangents& tangents, LoneWindows* lone) const {
    lone->finish(y_, [&](const int64_t* at) {
      TermBox box;
      for (int axis = 0; axis < plan_.rank; ++axis) box.set(axis, {at[axis], at[axis] + 1});
      run_again(worker, tangents, box, false);
    });
  }

  // In f64, and tap by tap where that does not do either; y that is there in f32 is kept.
  void run_again(TermWorker* worker, const Tangents& tangents, const TermBox& outputs,
                 bool has_first) const {
    const TermBox cells = worker->reach(outputs);
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
                      with_dy_ ? dx_.part(cells) : ArrayArg{}, again_y, again_dy, nullptr,
                      kFewTapLanes);
      if (with_y_) worker->take_again(outputs, again_y, worker->other, y);
      if (with_dy_) worker->take_again(outputs, again_dy, worker->other, dy);
    }
    if (with_y_) {
      if (has_first) worker->take_first(n, y);
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
  int64_t box_cells_;
  TermTasks tasks_;
  std::optional<SmoothPlanes> planes_;  // y alone
};

class TermsVjpJob : public Job {
 public:
  TermsVjpJob(const Plan& plan, const ArrayArg& x, const ArrayArg& g, const ArrayArg& dx,
              int64_t box_cells)
      : plan_(plan),
        x_(plan.rank, x),
        g_(plan.rank, g),
        dx_(plan.rank, dx),
        box_cells_(box_cells),
        tasks_(plan, dx, false, box_cells),
        planes_(plan, x, &g, dx) {}

  bool possible() const { return tasks_.possible(); }
  int64_t total() const { return planes_.possible() ? planes_.tasks().total() : tasks_.total(); }
  int64_t grain() const { return planes_.possible() ? planes_.tasks().grain() : tasks_.grain(); }
  double effort() const { return planes_.possible() ? 1 : tasks_.effort(); }

  void work(Arena* arena, TaskQueue* queue) const override {
    TermWorker worker(plan_, tasks_, arena);
    if (planes_.possible()) {
      const auto all = [&](const TermBox& target) {
        const TermTasks boxes(plan_, target.array(nullptr, sizeof(float)), false, box_cells_);
        for (int64_t i = 0; i < boxes.total(); ++i) run(&worker, boxes.at(i));
      };
      const auto is_wrong = [](float dx) { return !std::isfinite(dx); };
      const auto again = [&](const TermBox& target) { run_again(&worker, target, false); };
      return run_planes(planes_, arena, queue, GapCount::of_boxes(), is_wrong, all, again);
    }
    if (!queue) return;
    for (Range range; queue->take(&range);) {
      for (int64_t i = range.begin; i < range.end; ++i) run(&worker, tasks_.at(i));
    }
  }

 private:
  void run(TermWorker* worker, const TermBox& target) const {
    const TermBox outputs = reached(target);
    const int64_t n = target.elements(plan_.rank);
    if (outputs.elements(plan_.rank) == 0) {
      std::memset(worker->other, 0, static_cast<size_t>(n) * sizeof(double));
      return dx_.store(target, worker->store(), worker->other);
    }
    if (worker->first) {
      const bool done = try_floats(worker, worker->reach(outputs), outputs, target);
      if (done || worker->is_mostly_first(n, GapCount::of_boxes())) {
        dx_.store(target, worker->store<float>(), worker->first);
        if (done) return;
        return worker->each_gap(target, [&](const TermBox& gap) { run_again(worker, gap, false); });
      }
    }
    run_again(worker, target, worker->first != nullptr);
  }

  // In f64, and tap by tap where that does not do either; what is there in f32 is kept.
  void run_again(TermWorker* worker, const TermBox& target, bool has_first) const {
    const TermBox outputs = reached(target), cells = worker->reach(outputs);
    const int64_t n = target.elements(plan_.rank), m = outputs.elements(plan_.rank);
    double* gradient = worker->other;
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
      windows_vjp(plan_, worker->exec(), x_.part(cells), g_.part(outputs), {}, again, nullptr,
                  kFewTapLanes);
      worker->take_again(target, again, worker->cells, gradient);
    }
    if (has_first) worker->take_first(n, gradient);
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
    TermBox both{};
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
  int64_t box_cells_;
  TermTasks tasks_;
  SmoothPlanes planes_;
};

// So many threads as stay within the memory that a call may take.
int threads_within(const Job& job, const Exec& exec) {
  constexpr size_t kMostBytes = size_t{1} << 20, kMostPerThread = size_t{64} << 10;
  Arena counting;
  job.work(&counting, nullptr);
  const size_t over = counting.used() > kMostPerThread ? counting.used() - kMostPerThread : 1;
  return static_cast<int>(
      std::clamp<size_t>(kMostBytes / over, 1, static_cast<size_t>(exec.threads)));
}

// Runs the job that make(cells of a box) gives, with the boxes that are done soonest; false if none
// is possible.
template <class Make>
bool run_boxes_of(const Exec& exec, Make make, int32_t* code, ndpool_error* error) {
  int64_t best = 0;
  double shortest = 0;
  for (int64_t cells = kBoxCells; cells >= kFewBoxCells; cells /= 2) {
    const auto job = make(cells);
    if (!job.possible() || !fits_scratch(job, exec)) continue;
    const double time = job.effort() / threads_within(job, exec);
    if (best == 0 || time < shortest) best = cells, shortest = time;
    if (exec.threads == 1) break;  // larger boxes are never slower
  }
  if (best == 0) return false;
  const auto job = make(best);
  Exec few = exec;
  few.threads = threads_within(job, exec);
  *code = run_job(job, job.total(), job.grain(), few, error);
  return true;
}

}  // namespace

int32_t terms_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                      const ArrayArg& y, const ArrayArg& dy, ndpool_error* error) {
  const auto make = [&](int64_t cells) { return TermsJob(plan, x, dx, y, dy, cells); };
  int32_t code = NDPOOL_OK;
  if (plan.sums && run_boxes_of(exec, make, &code, error)) return code;
  return windows_forward(plan, exec, x, dx, y, dy, error);
}

int32_t terms_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                  const ArrayArg& dx, ndpool_error* error) {
  const auto make = [&](int64_t cells) { return TermsVjpJob(plan, x, g, dx, cells); };
  int32_t code = NDPOOL_OK;
  if (plan.sums && run_boxes_of(exec, make, &code, error)) return code;
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
    if (!job.possible()) return;
    Arena arena;
    job.work(&arena, nullptr);
    bytes = std::max(bytes, arena.used());
  };
  count(TermsJob(plan, x, x, y, y, kBoxCells));
  count(TermsJob(plan, x, {}, y, {}, kBoxCells));
  count(TermsVjpJob(plan, x, y, x, kBoxCells));
  return bytes;
}

}  // namespace ndpool
