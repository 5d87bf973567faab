// The divisor of an average: how many taps of a window count, or the number given.
#ifndef NDPOOL_SRC_COUNTS_H_
#define NDPOOL_SRC_COUNTS_H_

#include <cstdint>

#include "line.h"

namespace ndpool {

struct Counts {
  const Axis* axes = nullptr;
  int pooled = 0;
  bool include_pad = true;
  int64_t divisor = 0;  // 0: none given

  int64_t along(int axis, int64_t output) const {
    const auto window = axes[axis].window_of(output);
    return include_pad ? window.counted : window.cells;
  }
  // The divisor of all windows, if they have the same; else 0.
  int64_t uniform() const {
    if (divisor != 0) return divisor;
    int64_t product = 1;
    for (int i = 0; i < pooled; ++i) {
      const Axis& axis = axes[i];
      const int64_t first = along(i, 0);
      const bool same = axis.adaptive
                            ? axis.cells % axis.outputs == 0
                            : first == axis.window && along(i, axis.outputs - 1) == axis.window;
      if (!same) return 0;
      product *= first;
    }
    return product;
  }
  // The product over all axes but the last; with a given divisor, that number.
  int64_t across(const int64_t* outputs) const {
    if (divisor != 0) return divisor;
    int64_t product = 1;
    for (int axis = 0; axis + 1 < pooled; ++axis) product *= along(axis, outputs[axis]);
    return product;
  }
  // The divisor of one output, from across() of its row.
  int64_t of(int64_t across, int64_t last_output) const {
    return divisor != 0 ? divisor : across * along(pooled - 1, last_output);
  }
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_COUNTS_H_
