#include "whole.h"

#include <algorithm>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kSmallPlane = 32;  // cells: bands reduce rows of such planes side by side
constexpr int64_t kFewPlanes = 64;   // that share their threads among them
constexpr int64_t kLargePlane = int64_t{1} << 16;  // cells

}  // namespace

WholeJob::WholeJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y)
    : plan_(plan), space_(space), x_(x), y_(y) {
  const bool sum = plan.op == NDPOOL_AVG;
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || plan.out_type != plan.type ||
      is_half(plan.type) || (sum && plan.type != NDPOOL_F32 && plan.type != NDPOOL_F64) ||
      space.inner != 1) {
    return;
  }
  int axes = 0;
  for (int i = 0; i < space.pooled; ++i) {
    const Axis& axis = plan.even_axes[i];
    if (axis.adaptive || axis.outputs != 1 || axis.pad_lo != 0 || axis.dilation != 1 ||
        axis.window != axis.cells) {
      return;
    }
    axes += axis.cells > 1;
    cells_ *= axis.cells;
  }
  if (axes > 1 && cells_ < kSmallPlane) return;
  if (sum && (axes > 1 || native_lane(plan.type) != plan.sum_lane)) return;
  const auto cells = [&](int i) { return plan.even_axes[i].cells; };
  if (!has_plain_planes(space, x, cells) || !has_plain_planes(space, y, [](int) { return 1; })) {
    return;
  }
  // Of few large planes, others give each thread a part.
  possible_ = tasks() >= kFewPlanes || cells_ <= kLargePlane;
}

int64_t WholeJob::grain() const { return std::max<int64_t>(1, 16384 / cells_); }

std::string WholeJob::describe() const {
  return "whole: the cells of a plane as they lie in memory (each window is a plane)";
}

void WholeJob::work(Arena*, TaskQueue* queue) const {
  if (!queue) return;
  const WholeKernels& kernels = *plan_.kernels->whole;
  const bool sum = plan_.op == NDPOOL_AVG, f64 = plan_.type == NDPOOL_F64;
  const Lane lane = native_lane(plan_.type);
  const auto reduce =
      sum ? kernels.sum[f64 ? 1 : 0]
          : kernels.extreme[plan_.op == NDPOOL_MAX ? kMax : kMin][static_cast<int>(lane)];
  const auto scale = plan_.kernels->combine->scale[static_cast<int>(lane)];
  const int64_t divisor = sum ? plan_.counts.uniform() : 1;
  for (Range range; queue->take(&range);) {
    for (int64_t task = range.begin; task < range.end;) {
      // Planes that follow one another in the batch.
      const int64_t planes = std::min(range.end - task, space_.batch - task % space_.batch);
      const char* x = plane_address(space_, x_, task);
      char* const first = plane_address(space_, y_, task);
      char* y = first;
      for (int64_t p = 0; p < planes; ++p, x += x_.batch, y += y_.batch) {
        reduce(cells_, x, y);
        if (sum && y_.batch != y_.element) scale(1, y, divisor);
      }
      if (sum && y_.batch == y_.element) scale(planes, first, divisor);
      task += planes;
    }
  }
}

}  // namespace ndpool
