#include "scratch.h"

#include <algorithm>
#include <initializer_list>

#include "band_job.h"
#include "collect.h"
#include "columns.h"
#include "operations.h"
#include "planes.h"
#include "reductions.h"
#include "repeat.h"
#include "scatter.h"
#include "sheets.h"
#include "spread.h"
#include "strips.h"
#include "window_ops.h"
#include "winner_rows.h"

namespace ndpool {
namespace {

// The larger of a whole cut and a blocked one, each at its largest, with the sums and divisors of a
// row.
size_t reduction_bytes(Reduction r, int64_t most_elements) {
  const int64_t size = static_cast<int64_t>(lane_size(r.lane));
  // Windows that fit a block beside 64 inner elements never make one much larger.
  const Line& line = r.lines[r.space->pooled - 1];
  const bool small = line.reach() <= r.block_bytes / size / 64;
  const int64_t slack = !small ? kBlockSlack : line.uniform() ? 1 : 3;
  const int64_t elements = std::min(most_elements, slack * (r.block_bytes / size));
  const Cut whole{1, elements, 1, elements, false, 1};
  const int64_t taps = r.block_bytes / size;
  const Cut blocked{1, 1, 64, std::max(taps, int64_t{64}), true, std::max<int64_t>(1, taps / 64)};
  size_t bytes = 0;
  for (const Cut& cut : {whole, blocked}) {
    r.cut = cut;
    Arena arena;
    const Reducer reducer(r, &arena);
    arena.take(cut.elements, lane_size(r.lane));
    arena.take(cut.elements, lane_size(r.lane));
    arena.take<int64_t>(cut.elements);
    arena.take<int64_t>(cut.elements);
    arena.take<double>(cut.elements);
    bytes = std::max(bytes, arena.used());
  }
  return bytes;
}

template <class Op>
size_t window_bytes(const Plan& plan, const Space& space, const Line* lines, int64_t most_elements,
                    int64_t tap_lanes) {
  using T = typename Op::Lane;
  const int64_t lanes = std::min(most_elements, 2 * tap_lanes);
  const TapCut cut{lanes, 1, std::min(most_elements, kTapSlack * tap_lanes), false};
  Arena arena;
  const Op op(plan, space, lines, cut, &arena);
  for (int i = 0; i < 4; ++i) arena.take<T>(lanes);
  arena.take<T>(std::min(most_elements, kTapBox * tap_lanes));
  return arena.used();
}

size_t used_by(const Job& job) {
  Arena arena;
  job.work(&arena, nullptr);
  return arena.used();
}

// What bands need on arrays in row-major order. With other layouts a call may need more; if the
// caller's scratch has no room for that, it goes row by row.
size_t band_bytes(const Plan& plan) {
  ArrayArg x, y, argmax;
  x.size = plan.shape.data();
  x.element = static_cast<int64_t>(type_size(plan.type));
  y.size = argmax.size = plan.output_shape.data();
  y.element = static_cast<int64_t>(type_size(plan.out_type));
  argmax.element = static_cast<int64_t>(type_size(plan.argmax_type));
  for (int64_t size : plan.shape) {
    if (size == 0) return 0;
  }
  size_t bytes = 0;
  const auto count = [&](const auto& job) {
    if (job.possible()) bytes = std::max(bytes, used_by(job));
  };
  const bool derivatives = is_float(plan.type);
  Space space;
  Bound bound[3];
  const auto bind = [&](std::initializer_list<ArrayArg> args, int target) {
    bind_arrays(plan.rank, plan.is_pooled.get(), args.begin(), static_cast<int>(args.size()),
                target, &space, bound);
  };
  if (plan.op == NDPOOL_AVG) {
    bind({x, y}, 1);
    count(ColumnsJob(plan, space, bound[0], &bound[1], nullptr));
    count(StripsJob(plan, space, bound[0], bound[1]));
    count(SheetsJob(plan, space, From::x, bound[0], bound[1]));
    count(PlanesJob(plan, space, From::x, bound[0], &bound[1]));
    count(BandJob(plan, space, bound[1], plan.out_type,
                  sum_reduction(plan, space, bound[0], plan.sum_lane)));
    ArrayArg g = y;
    g.element = x.element;
    bind({x, g}, 0);
    if (derivatives) {
      count(RepeatJob(plan, space, bound[1], bound[0]));
      count(ColumnsJob(plan, space, bound[1], bound[0]));
      count(SheetsJob(plan, space, From::g, bound[1], bound[0]));
      count(PlanesJob(plan, space, From::g, bound[1], &bound[0]));
      count(BandJob(plan, space, bound[0], plan.type,
                    transposed_sum(plan, space, bound[1], float_lane(plan.type))));
    }
  } else if (plan.op == NDPOOL_MAX || plan.op == NDPOOL_MIN) {
    bind({x, y, argmax}, 1);
    count(ColumnsJob(plan, space, bound[0], &bound[1], nullptr));
    count(StripsJob(plan, space, bound[0], bound[1]));
    count(SheetsJob(plan, space, From::x, bound[0], bound[1]));
    count(PlanesJob(plan, space, From::x, bound[0], &bound[1]));
    count(BandJob(plan, space, bound[0], &bound[1], nullptr, false));
    count(ColumnsJob(plan, space, bound[0], &bound[1], &bound[2]));
    count(PlanesJob(plan, space, From::x, bound[0], &bound[1], &bound[2]));
    count(WinnerRowsJob(plan, space, bound[0], bound[1], bound[2]));
    count(BandJob(plan, space, bound[0], &bound[1], &bound[2], false));
    count(BandJob(plan, space, bound[0], &bound[1], &bound[2], true));
    bind({x, y, argmax}, 0);
    if (derivatives) {
      count(PlanesJob(plan, space, From::g, bound[1], &bound[0], &bound[2]));
      count(SpreadJob(plan, space, bound[1], bound[2], bound[0]));
      count(CollectJob(plan, space, bound[1], bound[2], bound[0]));
      count(ScatterJob(plan, space, bound[1], bound[2], bound[0]));
    }
  }
  return bytes;
}

size_t row_bytes(const Plan& plan, int64_t tap_lanes);

}  // namespace

size_t scratch_bytes(const Plan& plan) {
  return std::max({row_bytes(plan, kTapLanes), band_bytes(plan), terms_bytes(plan)});
}
size_t window_scratch_bytes(const Plan& plan, int64_t tap_lanes) {
  return row_bytes(plan, tap_lanes);
}

namespace {

// Of the algorithms that work row by row or window by window, whatever the layout.
size_t row_bytes(const Plan& plan, int64_t tap_lanes) {
  int64_t cells = 1, outputs = 1;
  for (int64_t size : plan.shape) cells *= size;
  for (int64_t size : plan.output_shape) outputs *= size;
  const int64_t most = std::max<int64_t>(64, std::max(cells, outputs));
  Space space;
  space.pooled = plan.pooled;
  Bound none{};
  none.element = static_cast<int64_t>(type_size(plan.type));
  Line lines[kMaxPooled];
  for (int i = 0; i < plan.pooled; ++i) lines[i] = Line(plan.axes[i], false);
  switch (plan.op) {
    case NDPOOL_AVG: {
      const size_t forward = reduction_bytes(sum_reduction(plan, space, none, plan.sum_lane), most);
      if (!is_float(plan.type)) return forward;
      const Lane lane = float_lane(plan.type);
      return std::max(forward, reduction_bytes(transposed_sum(plan, space, none, lane), most));
    }
    case NDPOOL_SMOOTH_MAX:
      return window_bytes<SmoothOp>(plan, space, lines, most, tap_lanes);
    case NDPOOL_LP:
      return window_bytes<LpOp>(plan, space, lines, most, tap_lanes);
    default: {
      const size_t forward =
          reduction_bytes(extreme_reduction(plan, space, none, Keep::first), most);
      if (!is_float(plan.type)) return forward;
      // The VJP finds winners as forward does, beside a box of gradients and a row of taps and g.
      const int64_t row = std::min(most, kBlockSlack * kBlockBytes);
      const size_t vjp = forward + static_cast<size_t>(std::min(most, kBoxElements) + 2 * row) * 8;
      return std::max(vjp, window_bytes<TiesOp<double>>(plan, space, lines, most, tap_lanes));
    }
  }
}

}  // namespace

}  // namespace ndpool
