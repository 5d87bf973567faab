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
  for (Range range; queue->take(&range);) {
    for (int64_t plane = range.begin; plane < range.end; ++plane) {
      char* y = plane_address(space_, y_, plane);
      reduce(cells_, plane_address(space_, x_, plane), y);
      if (sum) scale(1, y, plan_.counts.uniform());
    }
  }
}

}  // namespace ndpool
