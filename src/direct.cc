// Max, min and avg of a few cells, window by window: on small arrays choosing bands and taking rows
// apart costs more than pooling. No scratch, one thread, the same bits.
#include "direct.h"

#include <cstdint>

namespace ndpool {
namespace {

constexpr int64_t kMostTaps = 384;    // of all windows together
constexpr int64_t kMostOutputs = 64;  // of a row

// One output of an axis.
struct Place {
  int64_t first, cells, step, counted;
};

Place place_of(const Axis& axis, const Counts& counts, int64_t output) {
  const int64_t start = output * axis.stride - axis.pad_lo;
  if (!axis.adaptive && start >= 0 && start + axis.extent() <= axis.cells) {
    return {start, axis.window, axis.dilation, axis.window};  // without a division
  }
  const auto window = axis.window_of(output);
  const int64_t counted = counts.include_pad ? window.counted : window.cells;
  return {window.first, window.cells, window.step, counted};
}

// NaN beats every number, and the first NaN every other.
template <bool kMax, class T>
T best_of(const T* plane, int64_t width, const Place& rows, const Place& lanes) {
  const T* row = plane + rows.first * width + lanes.first;
  T best = *row;
  for (int64_t r = rows.cells; r > 0; --r, row += rows.step * width) {
    for (int64_t i = 0; i < lanes.cells; ++i) {
      const T value = row[i * lanes.step];
      const bool stays = kMax ? best >= value : best <= value;
      best = (stays | (best != best)) ? best : value;
    }
  }
  return best;
}

// Windows of at most three taps an axis: adding in turn is adding by the tree. The first axis
// first.
template <class T>
T sum_of(const T* plane, int64_t width, const Place& rows, const Place& lanes) {
  const T* column = plane + rows.first * width + lanes.first;
  T sum = 0;
  for (int64_t i = 0; i < lanes.cells; ++i, column += lanes.step) {
    T part = 0;
    for (int64_t r = 0; r < rows.cells; ++r) part += column[r * rows.step * width];
    sum += part;
  }
  return sum;
}

template <class T, class PoolWindow>
void each_window(const Plan& plan, const T* x, T* y, PoolWindow pool_window) {
  const int last = plan.pooled - 1;
  const Axis& along = plan.axes[last];
  const int64_t height = last > 0 ? plan.axes[0].cells : 1, width = along.cells;
  const int64_t rows = last > 0 ? plan.axes[0].outputs : 1, lanes = along.outputs;
  int64_t planes = 1;
  for (int axis = 0; axis < plan.rank - plan.pooled; ++axis)
    planes *= plan.shape[static_cast<size_t>(axis)];
  Place places[kMostOutputs];
  for (int64_t i = 0; i < lanes; ++i) places[i] = place_of(along, plan.counts, i);
  for (; planes > 0; --planes, x += height * width) {
    for (int64_t r = 0; r < rows; ++r) {
      const Place row = last > 0 ? place_of(plan.axes[0], plan.counts, r) : Place{0, 1, 1, 1};
      for (int64_t i = 0; i < lanes; ++i) {
        *y++ = pool_window(x, width, row, places[i]);
      }
    }
  }
}

template <class T>
void pool(const Plan& plan, const void* from, void* to) {
  const T* x = static_cast<const T*>(from);
  T* y = static_cast<T*>(to);
  const auto largest = [](const auto&... window) { return best_of<true, T>(window...); };
  const auto smallest = [](const auto&... window) { return best_of<false, T>(window...); };
  if (plan.op == NDPOOL_MAX) return each_window(plan, x, y, largest);
  if (plan.op == NDPOOL_MIN) return each_window(plan, x, y, smallest);
  const int64_t given = plan.counts.divisor;
  each_window(plan, x, y,
              [given](const T* plane, int64_t width, const Place& rows, const Place& lanes) {
                const int64_t divisor = given != 0 ? given : rows.counted * lanes.counted;
                return sum_of(plane, width, rows, lanes) / static_cast<T>(divisor);
              });
}

}  // namespace

bool can_go_direct(const Plan& plan) {
  const bool real = plan.type == NDPOOL_F32 || plan.type == NDPOOL_F64;
  if (!real || plan.out_type != plan.type || plan.has_empty_windows || plan.pooled > 2)
    return false;
  if (plan.op != NDPOOL_MAX && plan.op != NDPOOL_MIN && plan.op != NDPOOL_AVG) return false;
  int64_t outputs = 1;
  for (int axis = 0; axis < plan.rank; ++axis) {
    const size_t at = static_cast<size_t>(axis);
    if (plan.is_pooled[at] != (axis >= plan.rank - plan.pooled)) return false;
    if (plan.output_shape[at] > kMostTaps) return false;
    outputs *= plan.output_shape[at];
    if (outputs > kMostTaps) return false;
  }
  for (int i = 0; i < plan.pooled; ++i) {
    if (plan.op == NDPOOL_AVG && plan.axes[i].window > 3) return false;
  }
  return plan.box_taps <= kMostTaps && outputs * plan.box_taps <= kMostTaps &&
         plan.axes[plan.pooled - 1].outputs <= kMostOutputs;
}

void direct_forward(const Plan& plan, const void* x, void* y) {
  return plan.type == NDPOOL_F64 ? pool<double>(plan, x, y) : pool<float>(plan, x, y);
}

}  // namespace ndpool
