// From the compact tap number of a winner to the cell it names.
#ifndef NDPOOL_SRC_WINNER_H_
#define NDPOOL_SRC_WINNER_H_

#include <cstdint>

#include "line.h"
#include "plan.h"

namespace ndpool {

// The windows of one row of outputs; decodes taps of each of its outputs.
class WinnerRow {
 public:
  // `across`: outputs on the pooled axes but the last.
  WinnerRow(const Plan& plan, const int64_t* across) : plan_(plan), last_(plan.pooled - 1) {
    for (int level = 0; level < last_; ++level) enter(level, across[level]);
  }
  void enter_output(int64_t output) { enter(last_, output); }

  // Whether the current window holds a cell at all.
  bool has_cells() const {
    for (int level = 0; level <= last_; ++level) {
      if (spans_[level].count == 0) return false;
    }
    return true;
  }

  // The position of tap `number` on each pooled axis; false if it is no cell of the window.
  bool decode(uint64_t number, int64_t* position) const {
    for (int level = 0; level <= last_; ++level) {
      const int64_t tap = static_cast<int64_t>(number / plan_.tap_weight[level]);
      number %= plan_.tap_weight[level];
      const Span& s = spans_[level];
      if (tap < s.lead || tap >= s.lead + s.count) return false;
      position[level] = s.first + (tap - s.lead) * s.step;
    }
    return true;
  }

 private:
  void enter(int level, int64_t output) {
    const auto w = plan_.axes[level].window_of(output);
    spans_[level] = {w.first, w.cells, w.step, w.lead};
  }

  const Plan& plan_;
  int last_;
  Span spans_[kMaxPooled];
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_WINNER_H_
