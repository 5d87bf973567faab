#include "whole.h"

#include <algorithm>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kSmallPlane = 32;  // cells: bands reduce rows of such planes side by side
constexpr int64_t kVectorBytes = 32;
constexpr int64_t kFewPlanes = 64;                 // that share their threads among them
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
    if (axis.cells > 1) {
      ++axes;
      rows_ = columns_;
      columns_ = axis.cells;
    }
    cells_ *= axis.cells;
  }
  if (axes > 1 && cells_ < kSmallPlane && plan.type != NDPOOL_F32) return;
  if (sum) {
    if (axes > 2 || native_lane(plan.type) != plan.sum_lane) return;
    if (rows_ > 1 && (columns_ > WholeKernels::kMostColumns ||
                      (columns_ * x.element < kVectorBytes && cells_ > WholeKernels::kMostCells))) {
      return;
    }
    divisor_ = plan.counts.uniform();
  }
  const auto cells = [&](int i) { return plan.even_axes[i].cells; };
  if (!has_plain_planes(space, x, cells) || !has_plain_planes(space, y, [](int) { return 1; })) {
    return;
  }
  far_ = is_beyond_caches(space, x);
  // Of few large planes, others give each thread a part.
  possible_ = tasks() >= kFewPlanes || cells_ <= kLargePlane;
}

int64_t WholeJob::grain() const {
  const int64_t planes = std::max<int64_t>(1, 16384 / cells_), some = WholeKernels::kTogether;
  return rows_ > 1 && planes > some ? planes / some * some : planes;
}

std::string WholeJob::describe() const {
  return "whole: the cells of a plane as they lie in memory (each window is a plane)";
}

void WholeJob::work(Arena*, TaskQueue* queue) const {
  if (!queue) return;
  for (Range range; queue->take(&range);) {
    for (int64_t task = range.begin; task < range.end;) {
      const int64_t planes = std::min(range.end - task, space_.batch - task % space_.batch);
      reduce(planes, plane_address(space_, x_, task), plane_address(space_, y_, task));
      task += planes;
    }
  }
}

void WholeJob::reduce(int64_t planes, const char* x, char* y) const {
  const WholeKernels& kernels = *plan_.kernels->whole;
  const bool sum = plan_.op == NDPOOL_AVG;
  const int type = plan_.type == NDPOOL_F64;
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  const int lane = static_cast<int>(native_lane(plan_.type));
  const auto short_rows = sum                        ? kernels.sum_rows[type]
                          : plan_.type == NDPOOL_F32 ? kernels.extreme_rows[extreme]
                                                     : nullptr;
  if (sum && rows_ > 1) {
    kernels.sum_planes[type](planes, rows_, columns_, x, x_.batch / x_.element, y,
                             y_.batch / y_.element, far_);
  } else if (short_rows && cells_ <= (sum ? WholeKernels::kMostRow : WholeKernels::kMostExtremes)) {
    short_rows(planes, cells_, x, x_.batch / x_.element, y, y_.batch / y_.element);
  } else {
    const auto row = sum ? kernels.sum[type] : kernels.extreme[extreme][lane];
    for (int64_t p = 0; p < planes; ++p) row(cells_, x + p * x_.batch, y + p * y_.batch);
  }
  if (!sum) return;
  const auto scale = plan_.kernels->combine->scale[lane];
  if (y_.batch == y_.element) return scale(planes, y, divisor_);
  for (int64_t p = 0; p < planes; ++p) scale(1, y + p * y_.batch, divisor_);
}

}  // namespace ndpool
