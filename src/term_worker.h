// What one thread needs to turn boxes of cells into terms and sums: see terms.cc.
#ifndef NDPOOL_SRC_TERM_WORKER_H_
#define NDPOOL_SRC_TERM_WORKER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "arena.h"
#include "call.h"
#include "kernels/kernels.h"
#include "operations.h"
#include "plan.h"
#include "term_boxes.h"

namespace ndpool {

// f(range) for each run of lanes that are wrong.
template <class Wrong, class F>
void each_gap_of_row(const float* row, int64_t lanes, Wrong wrong, F f) {
  for (int64_t i = 0; i < lanes; ++i) {
    if (!wrong(row[i])) continue;
    const int64_t begin = i;
    while (i < lanes && wrong(row[i])) ++i;
    f(Range{begin, i});
  }
}

// Such runs: whether it takes less time to compute them one by one than all lanes together.
// Costs, in lanes: of a run, and of each lane of one.
class GapCount {
 public:
  GapCount(int64_t of_run, int64_t of_lane) : of_run_(of_run), of_lane_(of_lane) {}
  void add(int64_t lanes) { cost_ += of_run_ + of_lane_ * lanes; }
  bool are_few(int64_t lanes) const { return cost_ < lanes; }
  static GapCount of_boxes() { return {128, 1}; }
  static GapCount of_windows() { return {0, 6}; }

 private:
  int64_t of_run_, of_lane_, cost_ = 0;
};

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

  // Whether those that are NaN of n results in f32 are best computed by themselves.
  bool is_mostly_first(int64_t n, GapCount count) const {
    each_gap_of_row(first, n, is_nan, [&](Range gap) { count.add(gap.size()); });
    return count.are_few(n);
  }
  // f(box) for each run of them along the last axis of a box.
  template <class Visit>
  void each_gap(const TermBox& box, Visit visit) const {
    const int last = plan_.rank - 1;
    const int64_t lanes = box.size[last], n = box.elements(plan_.rank);
    for (int64_t done = 0; done < n; done += lanes) {
      TermBox gap_box;
      each_gap_of_row(first + done, lanes, is_nan, [&](Range gap) {
        int64_t row = done / lanes;
        for (int axis = last - 1; axis >= 0; --axis) {
          const int64_t at = box.start[axis] + row % box.size[axis];
          gap_box.set(axis, {at, at + 1});
          row /= box.size[axis];
        }
        gap_box.set(last, {box.start[last] + gap.begin, box.start[last] + gap.end});
        visit(gap_box);
      });
    }
  }
  // Where there is a result in f32, it counts.
  void take_first(int64_t n, double* values) const {
    for (int64_t i = 0; i < n; ++i) {
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
  static bool is_nan(float value) { return value != value; }

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

}  // namespace ndpool

#endif  // NDPOOL_SRC_TERM_WORKER_H_
