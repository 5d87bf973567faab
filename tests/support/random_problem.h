// Random problems: every operation, mode, policy and type, ranks 1 to 6, small arrays.
#ifndef NDPOOL_TESTS_SUPPORT_RANDOM_PROBLEM_H_
#define NDPOOL_TESTS_SUPPORT_RANDOM_PROBLEM_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "ndpool/ndpool.h"
#include "src/problem.h"
#include "tests/support/bridge.h"
#include "tests/support/engine.h"
#include "tests/support/rng.h"

namespace ndpool::test {

struct Limits {
  int64_t elements = 2000;   // of the input
  int64_t work = 6000;       // taps of all windows
  int64_t window = 6;        // taps along one axis, most of the time
  int refused_percent = 10;  // problems that need not be acceptable
  bool empty_axes = true;    // now and then an axis of 0 that is not pooled
  bool mostly_small = true;  // most arrays far smaller than `elements`
};

class ProblemSource {
 public:
  ProblemSource(uint64_t seed, const Limits& limits) : rng_(seed), seed_(seed), limits_(limits) {}

  // A problem of one of the operations. Candidates are drawn until the definition accepts one whose
  // work is within the limits; a share of them is let through unseen.
  Problem draw(std::initializer_list<int32_t> ops) {
    const int32_t op = rng_.pick(ops);
    const bool any = rng_.percent(limits_.refused_percent);
    for (;;) {
      Problem problem = candidate(op);
      if (any && rng_.percent(60)) spoil(&problem);
      if (any && too_large(problem)) continue;
      const Judgement judgement =
          judge(problem, to_pool(problem), static_cast<double>(limits_.work));
      if (!judgement.too_large && (any || judgement.refusal.empty())) return problem;
    }
  }

 private:
  Problem candidate(int32_t op) {
    Problem problem;
    problem.op = op;
    problem.seed = seed_;
    draw_type(&problem);
    draw_shape(&problem);
    draw_axes(&problem);
    if (rng_.percent(70)) {
      draw_windows(&problem);
    } else if (rng_.percent(60)) {
      draw_adaptive(&problem);
    } else {
      problem.mode = NDPOOL_GLOBAL;
      name_axes(&problem, true);
    }
    draw_policies(&problem);
    if (!targets().empty() && rng_.percent(70)) {
      problem.target =
          targets()[static_cast<size_t>(rng_.below(static_cast<int64_t>(targets().size())))];
    }
    if (rng_.percent(40)) problem.algorithm = static_cast<int32_t>(rng_.below(4));
    if (rng_.percent(40)) {
      problem.order.resize(problem.shape.size());
      std::iota(problem.order.begin(), problem.order.end(), 0);
      rng_.shuffle(&problem.order);
    }
    return problem;
  }

  void draw_type(Problem* problem) {
    const bool floats_only = problem->op == NDPOOL_SMOOTH_MAX || problem->op == NDPOOL_LP;
    if (floats_only || rng_.percent(60)) {
      problem->type =
          rng_.pick<int32_t>({NDPOOL_F16, NDPOOL_BF16, NDPOOL_F32, NDPOOL_F32, NDPOOL_F64});
      if (problem->op == NDPOOL_AVG && rng_.percent(15)) {
        problem->out_type = static_cast<int32_t>(rng_.between(NDPOOL_F16, NDPOOL_F64));
      }
      return;
    }
    problem->type = static_cast<int32_t>(
        rng_.between(NDPOOL_I8, problem->op == NDPOOL_AVG ? NDPOOL_U64 : NDPOOL_BOOL));
    if (problem->op != NDPOOL_AVG || rng_.percent(50)) return;
    do {
      problem->out_type = static_cast<int32_t>(rng_.between(NDPOOL_F16, NDPOOL_U64));
    } while (!types_exist(*problem));
  }

  void draw_shape(Problem* problem) {
    const int64_t rank = rng_.pick<int64_t>({1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5, 6});
    int64_t budget = limits_.elements;
    if (limits_.mostly_small) {
      budget = rng_.pick<int64_t>({24, 60, 60, 120, 120, 300, limits_.elements});
    }
    const int64_t cap = rng_.pick<int64_t>({3, 6, 12, 40, budget});
    problem->shape.assign(static_cast<size_t>(rank), 1);
    std::vector<size_t> places(static_cast<size_t>(rank));
    std::iota(places.begin(), places.end(), size_t{0});
    rng_.shuffle(&places);
    for (const size_t place : places) {
      const int64_t n = rng_.between(1, std::max<int64_t>(1, std::min(cap, budget)));
      problem->shape[place] = n;
      budget /= n;
    }
    // Many small planes, channels first: they are pooled side by side.
    if (rank > 1 && limits_.elements >= 1000 && rng_.percent(6)) {
      for (int64_t& n : problem->shape) n = std::min<int64_t>(n, rank > 3 ? 4 : 9);
      problem->shape[0] = rng_.between(8, 40);
    }
  }

  void draw_axes(Problem* problem) {
    const auto rank = static_cast<int64_t>(problem->shape.size());
    axes_.resize(static_cast<size_t>(rank));
    std::iota(axes_.begin(), axes_.end(), 0);
    if (rng_.percent(50)) rng_.shuffle(&axes_);
    // The last ones, so that without a shuffle the axes need not be named.
    axes_.erase(axes_.begin(), axes_.begin() + rng_.below(rank));
    if (limits_.empty_axes && rng_.percent(2)) {
      const size_t place = static_cast<size_t>(rng_.below(rank));
      if (std::find(axes_.begin(), axes_.end(), static_cast<int64_t>(place)) == axes_.end()) {
        problem->shape[place] = 0;
      }
    }
  }

  // Writes the axes down, unless the numbers of the window say which they are.
  void name_axes(Problem* problem, bool always) {
    const auto rank = static_cast<int64_t>(problem->shape.size());
    bool last = true;
    for (size_t i = 0; i < axes_.size(); ++i) {
      last = last && axes_[i] == rank - static_cast<int64_t>(axes_.size() - i);
    }
    if (!always && last && rng_.percent(70)) return;
    for (const int64_t axis : axes_) problem->axes.push_back(rng_.percent(20) ? axis - rank : axis);
  }

  int64_t cells(const Problem& problem, size_t i) const {
    return problem.shape[static_cast<size_t>(axes_[i])];
  }

  void draw_windows(Problem* problem) {
    const size_t d = axes_.size();
    const bool dilated = rng_.percent(25);
    const bool strided = rng_.percent(75);
    const int padded = static_cast<int>(rng_.pick({0, 0, 1, 1, 2}));  // 2: lo and hi differ
    problem->rounding = rng_.pick<int32_t>({NDPOOL_FLOOR, NDPOOL_FLOOR, NDPOOL_CEIL, NDPOOL_EXACT});
    for (size_t i = 0; i < d; ++i) {
      const int64_t n = cells(*problem, i);
      int64_t k = rng_.between(1, rng_.percent(90) ? std::min(limits_.window, n + 1) : n + 2);
      const int64_t dilation = dilated ? rng_.between(1, 3) : 1;
      const int64_t extent = (k - 1) * dilation + 1;
      const int64_t lo = padded == 0 ? 0 : rng_.below(rng_.percent(90) ? extent : extent + 3);
      const int64_t hi = padded < 2 ? lo : rng_.below(rng_.percent(90) ? extent : extent + 3);
      if (extent > n + lo + hi) k = 1;
      problem->window.push_back(k);
      problem->dilation.push_back(dilation);
      problem->stride.push_back(rng_.between(1, 4));
      problem->pad_lo.push_back(lo);
      problem->pad_hi.push_back(hi);
      if (problem->rounding == NDPOOL_EXACT && rng_.percent(80)) fit_stride(problem, n + lo + hi);
    }
    name_axes(problem, false);
    if (!strided) problem->stride.clear();
    if (!dilated) problem->dilation.clear();
    if (padded < 2) problem->pad_hi.clear();
    if (padded == 0) problem->pad_lo.clear();
    if (rng_.percent(15)) {
      problem->padding = rng_.pick<int32_t>({NDPOOL_PADDING_SAME, NDPOOL_PADDING_SAME_LOWER});
      problem->pad_lo.clear();
      problem->pad_hi.clear();
    }
    if (!problem->axes.empty() && rng_.percent(30)) problem->window.resize(1);
    if (!problem->stride.empty() && rng_.percent(30)) problem->stride.resize(1);
    if (!problem->dilation.empty() && rng_.percent(30)) problem->dilation.resize(1);
    if (!problem->pad_lo.empty() && rng_.percent(30)) {
      problem->pad_lo.resize(1);
      if (padded == 2) problem->pad_hi.resize(1);
    }
  }

  // Makes the last stride one that leaves no remainder.
  static void fit_stride(Problem* problem, int64_t padded) {
    const int64_t extent = (problem->window.back() - 1) * problem->dilation.back() + 1;
    while ((padded - extent) % problem->stride.back() != 0) --problem->stride.back();
  }

  void draw_adaptive(Problem* problem) {
    problem->mode = NDPOOL_ADAPTIVE;
    for (size_t i = 0; i < axes_.size(); ++i) {
      const int64_t n = cells(*problem, i);
      problem->output_size.push_back(rng_.percent(10) ? NDPOOL_KEEP : rng_.between(1, n + 2));
    }
    name_axes(problem, false);
    if (!problem->axes.empty() && rng_.percent(20)) problem->output_size.resize(1);
  }

  // What the operation has: ties, counting, divisor, beta, p, and windows without a cell.
  void draw_policies(Problem* problem) {
    if (rng_.percent(35)) problem->empty = NDPOOL_EMPTY_IDENTITY;
    switch (problem->op) {
      case NDPOOL_MAX:
      case NDPOOL_MIN:
        problem->ties = static_cast<int32_t>(rng_.between(NDPOOL_TIES_FIRST, NDPOOL_TIES_SPLIT));
        break;
      case NDPOOL_AVG:
        problem->count_include_pad = rng_.percent(60);
        if (rng_.percent(20)) {
          problem->divisor = rng_.pick<int64_t>({1, 2, 3, 5, 7, 100, -1, -4, 1 << 20});
        }
        break;
      case NDPOOL_SMOOTH_MAX:
        problem->count_include_pad = rng_.percent(60);
        problem->mean = rng_.percent(30);
        problem->beta = rng_.pick({1.0, 1.0, 2.5, 0.1, 10.0, 1e-3, 1e3, 1e20, 1e-20, 1e60});
        if (rng_.percent(50)) problem->beta = rng_.unit() * 4 + 0.01;
        if (rng_.percent(30)) problem->beta = -problem->beta;
        break;
      default:
        problem->p = rng_.pick({1.0, 2.0, 3.0, 4.0, 0.5, 1.5, 2.5, 7.25, 0.1, 30.0, 1000.0, 1e-2,
                                std::numeric_limits<double>::infinity()});
        if (rng_.percent(20)) problem->p = rng_.unit() * 6 + 0.2;
    }
  }

  // Puts one value in that no pooling has, or that the operation does not have.
  void spoil(Problem* problem) {
    const auto rank = static_cast<int64_t>(problem->shape.size());
    Shape* const lists[] = {&problem->window, &problem->stride, &problem->dilation,
                            &problem->pad_lo, &problem->pad_hi, &problem->output_size};
    switch (rng_.below(8)) {
      case 0:
      case 1: {
        Shape& list = *lists[rng_.below(6)];
        if (!list.empty()) list[0] = rng_.pick<int64_t>({0, -1, 50, INT64_MIN + 1});
        break;
      }
      case 2:
        if (!problem->axes.empty())
          problem->axes.back() = rng_.pick({rank, -rank - 1, problem->axes[0]});
        break;
      case 3:
        problem->shape[static_cast<size_t>(rng_.below(rank))] = 0;
        break;
      case 4: {
        Shape& list = *lists[rng_.below(6)];
        if (list.size() > 1) list.push_back(list[0]);
        break;
      }
      case 5:
        problem->divisor.reset();
        if (problem->op == NDPOOL_AVG) problem->divisor = 0;
        break;
      case 6:
        if (problem->op == NDPOOL_SMOOTH_MAX)
          problem->beta = rng_.pick<double>({0.0, NAN, HUGE_VAL});
        if (problem->op == NDPOOL_LP) problem->p = rng_.pick<double>({0.0, NAN, -1.0});
        break;
      default:
        problem->type = static_cast<int32_t>(rng_.between(NDPOOL_F16, NDPOOL_BOOL));
        problem->out_type = rng_.pick<int32_t>({NDPOOL_SAME_TYPE, NDPOOL_BOOL, NDPOOL_I8});
    }
  }

  // Numbers of spoilt problems that the spec would count through one by one for too long.
  static bool too_large(const Problem& problem) {
    const auto large = [](int64_t n) { return n > 5000; };
    return std::any_of(problem.output_size.begin(), problem.output_size.end(), large);
  }

  Rng rng_;
  uint64_t seed_;
  Limits limits_;
  std::vector<int64_t> axes_;  // of the candidate, in argument order
};

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_RANDOM_PROBLEM_H_
