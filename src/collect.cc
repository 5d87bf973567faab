#include "collect.h"

#include <algorithm>

#include "contiguous.h"
#include "kernels/same_rows.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 32 * 1024, kStreamedBandBytes = 16 * 1024;
constexpr int64_t kMostBytes = 56 * 1024, kInOrderBytes = 256 * 1024;
constexpr int64_t kFewRows = 6;  // of which those that bands share are no more than a third

bool is_fit(const Axis& axis) {
  return !axis.adaptive && (axis.window == 2 || axis.window == 3) && axis.dilation == 1 &&
         axis.stride <= 2 && axis.pad_lo < axis.window;
}

// One window around each cell.
bool is_same(const Axis& axis) {
  return axis.window == 3 && axis.stride == 1 && axis.pad_lo == 1 && axis.outputs == axis.cells;
}

}  // namespace

CollectJob::CollectJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
                       const Bound& dx)
    : plan_(plan), space_(space), g_(g), argmax_(argmax), dx_(dx), size_(dx.element) {
  const bool real = plan.type == NDPOOL_F32 || plan.type == NDPOOL_F64;
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || !real || plan.argmax_type != NDPOOL_U8 ||
      plan.has_empty_windows || space.pooled != 2 || space.inner != 1) {
    return;
  }
  const Axis &down = plan.axes[0], &along = plan.axes[1];
  if (!is_fit(down) || !is_fit(along) || down.window != along.window ||
      down.stride != along.stride) {
    return;
  }
  const auto cells = [&](int i) { return plan.axes[i].cells; };
  const auto outputs = [&](int i) { return plan.axes[i].outputs; };
  if (!has_plain_planes(space, g, outputs) || !has_plain_planes(space, argmax, outputs) ||
      !has_plain_planes(space, dx, cells)) {
    return;
  }
  if (along.cells > kBandBytes / size_ || along.outputs > kBandBytes) return;
  // Parts of vectors are slow: of narrow rows, and of those that end between two vectors.
  if (along.cells < (along.cells % along.stride == 0 ? 8 * along.stride : 64)) return;
  if (along.outputs < plan.kernels->collect->least[plan.type == NDPOOL_F64]) return;
  const int64_t row = along.cells * size_, outputs_row = along.outputs * (size_ + 1);
  const auto rows = [&](int64_t bytes) {
    return std::max(kFewRows, bytes / (row + outputs_row / down.stride));
  };
  rows_ = rows(kBandBytes);
  if (is_beyond_caches(space, dx)) {
    const int64_t staged = std::min(Staged::whole_lines(rows(kStreamedBandBytes), row), down.cells);
    streaming_ = 2 * staged * row <= kMostBytes;
    if (streaming_) rows_ = staged;
    in_order_ = plan.type == NDPOOL_F32 && down.stride == 2 && plan.kernels->collect_in_order->rows;
    if (in_order_) rows_ = std::max(kFewRows, kInOrderBytes / row);
    same_rows_ = plan.type == NDPOOL_F32 && plan.kernels->same_gradients->collect &&
                 is_same(down) && is_same(along) && along.cells >= SameRows::kLeastCells &&
                 along.cells <= SameRows::kMostCells;
  }
  rows_ = std::min(rows_, down.cells);
  const int64_t planes = space.outer_total() * space.batch;
  if (same_rows_) {
    const int64_t all = down.cells * along.cells;
    const bool adjacent = planes == space.batch && dx.batch == all * size_ &&
                          g.batch == all * size_ && argmax.batch == all;
    if (adjacent) together_ = std::clamp<int64_t>(kInOrderBytes / (all * size_), 1, planes);
    tasks_ = PlaneTasks((planes + together_ - 1) / together_, 1, together_ * all, 1);
  } else {
    tasks_ = PlaneTasks(planes, down.cells, along.cells, rows_);
  }
  possible_ = true;
}

void CollectJob::work(Arena* arena, TaskQueue* queue) const {
  Staged staged(arena,
                streaming_ && !in_order_ && !same_rows_ ? rows_ * plan_.axes[1].cells * size_ : 0);
  if (!queue) return;
  tasks_.each_band(queue, [&](int64_t plane, Range rows) { band(plane, rows, &staged); });
  staged.flush(*plan_.kernels->move);
  if (in_order_ || same_rows_) plan_.kernels->move->flush();
}

void CollectJob::same_rows(int64_t group) const {
  const int64_t plane = group * together_;
  SameRows s;
  s.planes = std::min(together_, space_.outer_total() * space_.batch - plane);
  s.rows = plan_.axes[0].cells;
  s.cells = plan_.axes[1].cells;
  s.x = reinterpret_cast<const float*>(plane_address(space_, g_, plane));
  s.winners = reinterpret_cast<uint8_t*>(plane_address(space_, argmax_, plane));
  s.y = reinterpret_cast<float*>(plane_address(space_, dx_, plane));
  plan_.kernels->same_gradients->collect(s);
}

void CollectJob::band(int64_t plane, Range rows, Staged* staged) const {
  if (same_rows_) return same_rows(plane);
  const Axis &down = plan_.axes[0], &along = plan_.axes[1];
  char* dx = plane_address(space_, dx_, plane) + rows.begin * along.cells * size_;
  CollectRows c;
  c.taps = static_cast<int>(along.window);
  c.spacing = along.stride;
  c.g = plane_address(space_, g_, plane);
  c.winners = reinterpret_cast<const uint8_t*>(plane_address(space_, argmax_, plane));
  c.outputs = along.outputs;
  c.output_rows = down.outputs;
  const int64_t reach = rows.begin + down.pad_lo - (down.window - 1);
  c.first = reach < 0 ? 0 : (reach + down.stride - 1) / down.stride;
  c.pad = along.pad_lo;
  c.ahead = rows.begin - (c.first * down.stride - down.pad_lo);
  c.rows = rows.size();
  c.cells = along.cells;
  c.dst = staged->room(dx);
  // What a whole band further on needs for the first time.
  const auto seen = [&](int64_t row) {
    if (row == 0 || row == down.cells) return row == 0 ? 0 : down.outputs;
    return std::min((row - 1 + down.pad_lo) / down.stride + 1, down.outputs);
  };
  const int64_t old = seen(rows.begin) * along.outputs, now = seen(rows.end) * along.outputs;
  const int64_t next = old + (rows_ + down.stride - 1) / down.stride * along.outputs;
  c.next_g = {static_cast<const char*>(c.g) + next * size_, (now - old) * size_};
  c.next_winners = {c.winners + next, now - old};
  c.later.behind = streaming_ || in_order_;
  c.finished = staged->finished();
  if (in_order_) return plan_.kernels->collect_in_order->rows(c);
  plan_.kernels->collect->rows[plan_.type == NDPOOL_F64](c);
  staged->finish(dx, rows.size() * along.cells * size_);
}

}  // namespace ndpool
