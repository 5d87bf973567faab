#include "reductions.h"

namespace ndpool {
namespace {

// Whether rows of the source can be used where they lie, as lanes without gaps.
bool rows_are_lanes(const Plan& plan, const Space& space, const Bound& source, Lane lane) {
  if (is_half(plan.type) || native_lane(plan.type) != lane) return false;
  const auto address = reinterpret_cast<uintptr_t>(source.data);
  int64_t odd = static_cast<int64_t>(address % static_cast<uintptr_t>(source.element));
  for (int i = 0; i < space.outer_count; ++i) odd |= source.outer[i] % source.element;
  for (int i = 0; i < space.pooled; ++i) odd |= source.pooled[i] % source.element;
  odd |= source.batch % source.element;
  const bool packed = space.inner == 1 || source.inner == source.element;
  return odd == 0 && packed && source.pooled[space.pooled - 1] == space.inner * source.element;
}

Reduction base(const Plan& plan, const Space& space, const Bound& source, bool transposed) {
  Reduction r;
  r.space = &space;
  r.source = &source;
  r.kernels = plan.kernels->combine;
  if (plan.small_blocks) r.block_bytes = kSmallBlockBytes;
  for (int i = 0; i < plan.pooled; ++i) {
    r.lines[i] = Line(plan.even_axes[i], transposed);
    r.weight[i] = plan.tap_weight[i];
  }
  return r;
}

}  // namespace

Reduction extreme_reduction(const Plan& plan, const Space& space, const Bound& source, Keep keep) {
  Reduction r = base(plan, space, source, false);
  const Extreme extreme = plan.op == NDPOOL_MAX ? kMax : kMin;
  r.lane = native_lane(plan.type);
  const int lane = static_cast<int>(r.lane);
  r.native = rows_are_lanes(plan, space, source, r.lane);
  r.load = is_half(plan.type) ? plan.kernels->convert->load_key[extreme][plan.type]
                              : plan.kernels->convert->load[plan.type][lane];
  if (keep == Keep::values) {
    r.combine = plan.kernels->combine->extreme[extreme][lane];
  } else {
    const Winner winner = keep == Keep::first ? kFirst : kLast;
    r.index_size = plan.index_size;
    r.combine = plan.kernels->combine->arg[extreme][winner][plan.index_size == 8][lane];
  }
  return r;
}

Reduction sum_reduction(const Plan& plan, const Space& space, const Bound& source, Lane lane) {
  Reduction r = base(plan, space, source, false);
  r.sum = true;
  r.lane = lane;
  r.native = rows_are_lanes(plan, space, source, lane);
  r.load = plan.kernels->convert->load[plan.type][static_cast<int>(lane)];
  r.combine = plan.kernels->combine->sum[static_cast<int>(lane)];
  return r;
}

Reduction transposed_sum(const Plan& plan, const Space& space, const Bound& source, Lane lane) {
  Reduction r = base(plan, space, source, true);
  r.sum = true;
  r.lane = lane;
  r.load = plan.kernels->convert->load[plan.type][static_cast<int>(lane)];
  r.combine = plan.kernels->combine->sum[static_cast<int>(lane)];
  r.divide_by = &plan.counts;
  return r;
}

}  // namespace ndpool
