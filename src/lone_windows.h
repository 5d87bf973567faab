// Single windows of smooth max of f32 that need f64, of few taps: their cells lie side by side in
// lanes, a row of lanes for each tap, so that kernels and the order of addition are those of boxes.
#ifndef NDPOOL_SRC_LONE_WINDOWS_H_
#define NDPOOL_SRC_LONE_WINDOWS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "arena.h"
#include "kernels/kernels.h"
#include "plan.h"
#include "term_boxes.h"

namespace ndpool {

class LoneWindows {
 public:
  LoneWindows(const Plan& plan, const TermArray& x, Arena* arena)
      : plan_(plan),
        x_(x),
        terms_(arena->take<double>(kMostTaps * kMost)),
        at_(arena->take<int64_t>(plan.rank * kMost)) {
    if (!possible()) return;
    for (int64_t tap = 0; tap < plan.box_taps; ++tap) {
      place_[tap] = 0;
      for (int i = 0; i < plan.pooled; ++i) {
        const Axis& axis = plan.axes[i];
        own_[tap][i] = tap / static_cast<int64_t>(plan.tap_weight[i]) % axis.window;
        place_[tap] += own_[tap][i] * step_of(axis) * x.stride(plan.axis_number[i]);
      }
    }
  }

  bool possible() const {
    return plan_.op == NDPOOL_SMOOTH_MAX && plan_.type == NDPOOL_F32 &&
           plan_.box_taps <= kMostTaps && plan_.pooled <= kMostAxes;
  }
  bool full() const { return count_ == kMost; }

  // The window of the output at `at`, by the axes of the array.
  void add(const int64_t* at) {
    std::copy(at, at + plan_.rank, at_ + count_ * plan_.rank);
    int64_t cell[kMaxAxes];
    std::copy(at, at + plan_.rank, cell);
    double present = 1, counted = 1;
    int64_t before = 0;  // bytes from the first tap to the first cell
    Range taps[kMostAxes];
    bool whole = true;
    for (int i = 0; i < plan_.pooled; ++i) {
      const int axis = plan_.axis_number[i];
      const auto w = plan_.axes[i].window_of(at[axis]);
      present *= static_cast<double>(w.cells);
      counted *= static_cast<double>(w.counted);
      cell[axis] = w.first;
      before += w.lead * step_of(plan_.axes[i]) * x_.stride(axis);
      taps[i] = {w.lead, w.lead + w.cells};
      whole = whole && w.cells == plan_.axes[i].window;
    }
    pads_[count_] = plan_.counts.include_pad ? counted - present : 0;
    const char* first = x_.address(cell);
    for (int64_t tap = 0; tap < plan_.box_taps; ++tap) {
      bool is_cell = present != 0;
      for (int i = 0; i < plan_.pooled && !whole; ++i) {
        is_cell = is_cell && own_[tap][i] >= taps[i].begin && own_[tap][i] < taps[i].end;
      }
      is_cell_[tap][count_] = is_cell;
      float value = 0;
      if (is_cell) std::memcpy(&value, first + (place_[tap] - before), sizeof value);
      terms_[tap * kMost + count_] = static_cast<double>(value);
    }
    ++count_;
  }

  // y of those that were added; f(output) where f64 does not do either.
  template <class F>
  void finish(const TermArray& y, F f) {
    if (count_ == 0) return;
    const RealKernels& real = *plan_.kernels->real;
    for (int64_t tap = 0; tap < plan_.box_taps; ++tap) {
      double* row = terms_ + tap * kMost;
      real.smooth_cells(count_, plan_.beta, row);
      for (int64_t w = 0; w < kMost; ++w) row[w] = w < count_ && is_cell_[tap][w] ? row[w] : 0;
    }
    int64_t rows = plan_.box_taps;
    for (int i = 0; i < plan_.pooled; ++i) {
      rows /= plan_.axes[i].window;
      add_taps(terms_, plan_.axes[i].window, rows * kMost);
    }
    for (int64_t w = 0; w < count_; ++w) terms_[w] += pads_[w];
    real.smooth_logarithms(count_, plan_.beta, terms_);
    for (int64_t w = 0; w < count_; ++w) {
      const int64_t* at = at_ + w * plan_.rank;
      if (terms_[w] == terms_[w]) {
        const float value = static_cast<float>(terms_[w]);
        std::memcpy(y.address(at), &value, sizeof value);
      } else {
        f(at);
      }
    }
    count_ = 0;
  }

 private:
  static constexpr int64_t kMostTaps = 32, kMost = 16;
  static constexpr int kMostAxes = 4;

  // Cells between the taps of a window that has more than one of them.
  static int64_t step_of(const Axis& axis) {
    if (axis.adaptive) return 1;
    return axis.dilation < axis.cells ? axis.dilation : 0;
  }

  // The sum of `taps` blocks of lanes, in the order of Tree.
  static void add_taps(double* block, int64_t taps, int64_t lanes) {
    if (taps == 1) return;
    const auto first = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(taps - 1)));
    add_taps(block, first, lanes);
    add_taps(block + first * lanes, taps - first, lanes);
    for (int64_t i = 0; i < lanes; ++i) block[i] += block[first * lanes + i];
  }

  const Plan& plan_;
  const TermArray& x_;
  double* terms_;
  int64_t* at_;
  int64_t count_ = 0;
  double pads_[kMost];
  bool is_cell_[kMostTaps][kMost];
  int64_t own_[kMostTaps][kMostAxes], place_[kMostTaps];  // of taps, from the first of a window
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_LONE_WINDOWS_H_
