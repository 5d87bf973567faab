#include "window_ops.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace ndpool {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T>
bool beats(T a, T b, bool max) {
  if (a != a) return b == b;
  return max ? a > b : a < b;
}

}  // namespace

template <class T>
WindowOp<T>::WindowOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut,
                      Arena* arena)
    : plan_(plan), walk_(space, lines, cut, kMaxSources, *plan.kernels->combine, arena) {
  const int64_t lanes = cut.outputs * cut.inner;
  tree_.prepare(arena, static_cast<uint64_t>(plan.box_taps), lanes, sizeof(T), 0,
                plan.kernels->combine->sum[kLaneNumber<T>]);
  zeros_ = arena->take<T>(lanes);
}

template <class T>
template <class F>
const T* WindowOp<T>::tree_sum(const WindowRow<T>& row, int sources, F leaf) {
  const int64_t lanes = row.lanes();
  tree_.start(1, lanes, 0);
  Buffer open{};  // the leaf of the tap under way; adaptive windows hand it over in parts
  uint64_t next = 0;
  const auto close = [&] {
    if (open.values) tree_.push({open.values, lanes, nullptr, 0, 0});
  };
  walk_.each(row.across, row.outputs, row.inner, row.sources, sources, false,
             [&](const TapRun<T>& run) {
               if (!open.values || run.number >= next) {
                 close();
                 tree_.skip(run.number - next);
                 next = run.number + 1;
                 open = tree_.leaf();
                 if (run.n != lanes) {
                   std::memset(open.values, 0, static_cast<size_t>(lanes) * sizeof(T));
                 }
               }
               leaf(run, static_cast<T*>(open.values) + run.lane);
             });
  close();
  if (!tree_.empty()) return static_cast<const T*>(tree_.finish().values);
  std::memset(zeros_, 0, static_cast<size_t>(lanes) * sizeof(T));
  return zeros_;
}

// ---- Smooth max ---------------------------------------------------------------------------------

SmoothOp::SmoothOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut,
                   Arena* arena)
    : WindowOp(plan, space, lines, cut, arena) {
  const int64_t lanes = cut.outputs * cut.inner;
  for (double** array : {&pivot_, &sum_, &rest_, &count_, &pads_, &terms_, &weight_, &pad_term_}) {
    *array = arena->take<double>(lanes);
  }
}

// How many pads count as zeros, and how many terms there are, in each window of the row.
void SmoothOp::count_terms(const WindowRow<double>& row) {
  const int last = plan_.pooled - 1;
  double cells = 1, counted = 1;
  for (int level = 0; level < last; ++level) {
    const auto w = plan_.axes[level].window_of(row.across[level]);
    cells *= static_cast<double>(w.cells);
    counted *= static_cast<double>(w.counted);
  }
  for (int64_t i = 0; i < row.lanes(); ++i) {
    const auto w = plan_.axes[last].window_of(row.outputs.begin + i / row.inner);
    const double present = cells * static_cast<double>(w.cells);
    const double all = counted * static_cast<double>(w.counted);
    terms_[i] = plan_.counts.include_pad ? all : present;
    pads_[i] = terms_[i] - present;
  }
}

void SmoothOp::measure(const WindowRow<double>& row) {
  const int64_t lanes = row.lanes();
  const bool max = plan_.beta > 0;
  count_terms(row);
  // A counted pad is a term like any other: the pivot starts from it where there is one.
  for (int64_t i = 0; i < lanes; ++i) pivot_[i] = 0, count_[i] = pads_[i];
  walk_.each(row.across, row.outputs, row.inner, row.sources, 1, false,
             [&](const TapRun<double>& run) {
               for (int64_t i = 0; i < run.n; ++i) {
                 const int64_t lane = run.lane + i;
                 const double x = run.cells[0][i];
                 if (count_[lane] == 0 || beats(x, pivot_[lane], max)) pivot_[lane] = x;
                 count_[lane] = 1;
               }
             });
  const RealKernels& real = *plan_.kernels->real;
  // Pads equal to the pivot count with it; others add their share below.
  for (int64_t i = 0; i < lanes; ++i) count_[i] = 0;
  std::memset(zeros_, 0, static_cast<size_t>(lanes) * sizeof(double));
  real.smooth_term(lanes, zeros_, pivot_, plan_.beta, pad_term_, count_);
  for (int64_t i = 0; i < lanes; ++i) count_[i] *= pads_[i];
  const double* terms = tree_sum(row, 1, [&](const TapRun<double>& run, double* leaf) {
    real.smooth_term(run.n, run.cells[0], pivot_ + run.lane, plan_.beta, leaf, count_ + run.lane);
  });
  for (int64_t i = 0; i < lanes; ++i) {
    const double others = terms[i] + (pads_[i] > 0 ? pads_[i] * pad_term_[i] : 0);
    rest_[i] = others + (count_[i] - 1);
    sum_[i] = others + count_[i];
    if (std::fabs(pivot_[i]) == kInfinity) sum_[i] = count_[i];
  }
}

void SmoothOp::value(int64_t lanes, double* y) const {
  double* logs = nullptr;
  if (plan_.mean) {
    logs = pad_term_;  // no longer needed
    for (int64_t i = 0; i < lanes; ++i) logs[i] = std::log(terms_[i]);
  }
  plan_.kernels->real->smooth_finish(lanes, pivot_, rest_, plan_.beta, logs, y);
  for (int64_t i = 0; i < lanes; ++i) {
    if (terms_[i] == 0) y[i] = plan_.beta > 0 ? -kInfinity : kInfinity;
  }
}

void SmoothOp::tangent(const WindowRow<double>& row, double* dy) {
  const double* sum = tree_sum(row, 2, [&](const TapRun<double>& run, double* leaf) {
    plan_.kernels->real->smooth_weight(run.n, run.cells[0], pivot_ + run.lane, sum_ + run.lane,
                                       plan_.beta, leaf);
    for (int64_t i = 0; i < run.n; ++i) leaf[i] *= run.cells[1][i];
  });
  std::memcpy(dy, sum, static_cast<size_t>(row.lanes()) * sizeof(double));
}

void SmoothOp::set_gradient(int64_t, const double* g) { g_ = g; }

void SmoothOp::gradient(const TapRun<double>& run, double* out) {
  plan_.kernels->real->smooth_weight(run.n, run.cells[0], pivot_ + run.lane, sum_ + run.lane,
                                     plan_.beta, out);
  for (int64_t i = 0; i < run.n; ++i) out[i] *= g_[run.lane + i];
}

void SmoothOp::second(const TapRun<double>& run, const double* mean, double* out) {
  plan_.kernels->real->smooth_weight(run.n, run.cells[0], pivot_ + run.lane, sum_ + run.lane,
                                     plan_.beta, weight_);
  for (int64_t i = 0; i < run.n; ++i) {
    const int64_t lane = run.lane + i;
    const double spread = run.cells[1][i] - mean[lane];
    const double change = weight_[i] * spread, slope = g_[lane] * plan_.beta;
    const bool none = std::fabs(pivot_[lane]) == kInfinity || change == 0;
    // Whichever order stays within range: the factors may be far apart.
    out[i] = none ? 0 : std::isfinite(slope) ? slope * change : change * plan_.beta * g_[lane];
  }
}

// ---- Lp -----------------------------------------------------------------------------------------

LpOp::LpOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut, Arena* arena)
    : WindowOp(plan, space, lines, cut, arena) {
  const int64_t lanes = cut.outputs * cut.inner;
  for (double** array : {&largest_, &sum_, &ratio_, &log_ratio_, &u_, &power_})
    *array = arena->take<double>(lanes);
  first_ = arena->take<uint64_t>(lanes);
}

void LpOp::measure(const WindowRow<double>& row) {
  const int64_t lanes = row.lanes();
  for (int64_t i = 0; i < lanes; ++i) largest_[i] = 0, first_[i] = UINT64_MAX;
  walk_.each(row.across, row.outputs, row.inner, row.sources, 1, false,
             [&](const TapRun<double>& run) {
               for (int64_t i = 0; i < run.n; ++i) {
                 const int64_t lane = run.lane + i;
                 const double size = std::fabs(run.cells[0][i]);
                 if (!beats(size, largest_[lane], true)) continue;
                 largest_[lane] = size;
                 first_[lane] = run.number;
               }
             });
  if (plan_.p == kInfinity) {
    for (int64_t i = 0; i < lanes; ++i) ratio_[i] = 1, log_ratio_[i] = 0;
    return;
  }
  const double* sum = tree_sum(row, 1, [&](const TapRun<double>& run, double* leaf) {
    plan_.kernels->real->lp_term(run.n, run.cells[0], largest_ + run.lane, plan_.p, leaf);
  });
  for (int64_t i = 0; i < lanes; ++i) {
    sum_[i] = sum[i];
    log_ratio_[i] = std::log(sum[i]) / plan_.p;
    ratio_[i] = plan_.p == 1   ? sum[i]
                : plan_.p == 2 ? std::sqrt(sum[i])
                               : std::pow(sum[i], 1 / plan_.p);
  }
}

double LpOp::value_at(int64_t lane) const {
  const double largest = largest_[lane];
  if (largest == 0 || largest != largest || largest == kInfinity) return largest;
  if (std::isfinite(ratio_[lane])) return largest * ratio_[lane];
  return std::exp(std::log(largest) + std::log(sum_[lane]) / plan_.p);
}

void LpOp::value(int64_t lanes, double* y) const {
  for (int64_t i = 0; i < lanes; ++i) y[i] = value_at(i);
}

// The derivative of y in each cell of the run.
void LpOp::direction(const TapRun<double>& run, double* u) {
  if (plan_.p == 2) {
    for (int64_t i = 0; i < run.n; ++i) {
      const int64_t lane = run.lane + i;
      const double x = run.cells[0][i], largest = largest_[lane];
      const double share =
          largest == kInfinity ? (std::fabs(x) == kInfinity) : std::fabs(x) / largest;
      u[i] = largest == 0 ? 0 : std::copysign(share, x) / ratio_[lane];
    }
    return;
  }
  if (plan_.p != kInfinity) {
    plan_.kernels->real->lp_power(run.n, run.cells[0], largest_ + run.lane, log_ratio_ + run.lane,
                                  plan_.p - 1, true, u);
    return;
  }
  for (int64_t i = 0; i < run.n; ++i) {
    const int64_t lane = run.lane + i;
    const double x = run.cells[0][i];
    u[i] = first_[lane] == run.number ? (x > 0) - (x < 0) : 0;
    if (largest_[lane] != largest_[lane]) u[i] = largest_[lane];
  }
}

void LpOp::tangent(const WindowRow<double>& row, double* dy) {
  const double* sum = tree_sum(row, 2, [&](const TapRun<double>& run, double* leaf) {
    direction(run, leaf);
    for (int64_t i = 0; i < run.n; ++i) leaf[i] *= run.cells[1][i];
  });
  std::memcpy(dy, sum, static_cast<size_t>(row.lanes()) * sizeof(double));
}

void LpOp::set_gradient(int64_t, const double* g) { g_ = g; }

void LpOp::gradient(const TapRun<double>& run, double* out) {
  direction(run, out);
  for (int64_t i = 0; i < run.n; ++i) out[i] *= g_[run.lane + i];
}

void LpOp::second(const TapRun<double>& run, const double* mean, double* out) {
  direction(run, u_);
  const double exponent = plan_.p - 2;
  plan_.kernels->real->lp_power(run.n, run.cells[0], largest_ + run.lane, log_ratio_ + run.lane,
                                exponent, false, power_);
  for (int64_t i = 0; i < run.n; ++i) {
    const int64_t lane = run.lane + i;
    const double y = value_at(lane), v = run.cells[1][i];
    if (y != y) {
      out[i] = y;
    } else if (y == 0 || y == kInfinity || plan_.p == 1 || plan_.p == kInfinity || g_[lane] == 0) {
      out[i] = 0;
    } else {
      // 0^(p-2) at a zero cell; a zero tangent (or gradient) gives 0 even where that is infinite.
      const double at_zero = exponent == 0 ? 1 : exponent > 0 ? 0 : kInfinity;
      const double power = run.cells[0][i] == 0 ? at_zero : power_[i];
      const double bend = v == 0 ? 0 : power * v;
      const double change = bend - u_[i] * mean[lane];
      // Whichever order stays within range: the factors may be far apart.
      const double slope = g_[lane] * (plan_.p - 1), scale = slope / y;
      out[i] = change == 0 ? 0 : std::isfinite(scale) ? scale * change : slope * change / y;
    }
  }
}

// ---- Max and min under ties ---------------------------------------------------------------------

template <class T>
TiesOp<T>::TiesOp(const Plan& plan, const Space& space, const Line* lines, const TapCut& cut,
                  Arena* arena)
    : WindowOp<T>(plan, space, lines, cut, arena) {
  const int64_t lanes = cut.outputs * cut.inner;
  best_ = arena->take<T>(lanes);
  share_ = arena->take<T>(lanes);
  count_ = arena->take<double>(lanes);
  started_ = arena->take<bool>(lanes);
}

template <>
const WinnerKernels<float>& TiesOp<float>::winners() const {
  return *plan_.kernels->winners32;
}
template <>
const WinnerKernels<double>& TiesOp<double>::winners() const {
  return *plan_.kernels->winners64;
}

template <class T>
void TiesOp<T>::measure(const WindowRow<T>& row) {
  const bool max = this->plan_.op == NDPOOL_MAX;
  for (int64_t i = 0; i < row.lanes(); ++i) started_[i] = false, count_[i] = 0, best_[i] = 0;
  this->walk_.each(row.across, row.outputs, row.inner, row.sources, 1, false,
                   [&](const TapRun<T>& run) {
                     for (int64_t i = 0; i < run.n; ++i) {
                       const int64_t lane = run.lane + i;
                       const T x = run.cells[0][i];
                       if (!started_[lane] || beats(x, best_[lane], max)) best_[lane] = x;
                       started_[lane] = true;
                     }
                   });
  if (this->plan_.ties != NDPOOL_TIES_SPLIT) return;
  this->walk_.each(row.across, row.outputs, row.inner, row.sources, 1, false,
                   [&](const TapRun<T>& run) {
                     winners().count(run.n, run.cells[0], best_ + run.lane, count_ + run.lane);
                   });
}

template <class T>
void TiesOp<T>::value(int64_t lanes, T* y) const {
  const T infinity = std::numeric_limits<T>::infinity();
  for (int64_t i = 0; i < lanes; ++i) {
    y[i] = started_[i] ? best_[i] : this->plan_.op == NDPOOL_MAX ? -infinity : infinity;
  }
}

template <class T>
void TiesOp<T>::tangent(const WindowRow<T>& row, T* dy) {
  std::memset(dy, 0, static_cast<size_t>(row.lanes()) * sizeof(T));
  this->walk_.each(
      row.across, row.outputs, row.inner, row.sources, 2, false, [&](const TapRun<T>& run) {
        winners().add(run.n, run.cells[0], best_ + run.lane, run.cells[1], dy + run.lane);
      });
  if (this->plan_.ties != NDPOOL_TIES_SPLIT) return;
  for (int64_t i = 0; i < row.lanes(); ++i) {
    if (started_[i]) dy[i] /= static_cast<T>(count_[i]);
  }
}

template <class T>
void TiesOp<T>::set_gradient(int64_t lanes, const T* g) {
  const bool split = this->plan_.ties == NDPOOL_TIES_SPLIT;
  for (int64_t i = 0; i < lanes; ++i) {
    share_[i] = split && started_[i] ? g[i] / static_cast<T>(count_[i]) : g[i];
  }
}

template <class T>
void TiesOp<T>::gradient(const TapRun<T>& run, T* out) {
  winners().share(run.n, run.cells[0], best_ + run.lane, share_ + run.lane, out);
}

template class WindowOp<float>;
template class WindowOp<double>;
template class TiesOp<float>;
template class TiesOp<double>;

}  // namespace ndpool
