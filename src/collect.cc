#include "collect.h"

#include <algorithm>
#include <cstring>

#include "contiguous.h"
#include "machine.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 12 * 1024, kMostBytes = 56 * 1024;
constexpr int64_t kSlack = 16;  // lanes of a vector, which may begin before or end behind a row

bool is_fit(const Axis& axis) {
  return !axis.adaptive && (axis.window == 2 || axis.window == 3) && axis.dilation == 1 &&
         axis.stride <= 2 && axis.pad_lo < axis.window;
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
  const int64_t row = along.cells * size_;
  // Before the outputs and behind them there is room for those that a longer row would have.
  const int64_t last = (along.cells - 1 + along.pad_lo + along.stride - 1) / along.stride;
  lanes_ = std::max(along.outputs, last + 1) + along.window - 1;
  streaming_ = static_cast<size_t>(elements_of(space, dx) * size_) >= streaming_bytes();
  rows_ = std::max<int64_t>(1, kBandBytes / (row + 2 * lanes_ * size_ / down.stride));
  if (streaming_) {
    rows_ = Staged::whole_lines(rows_, row);
  }
  rows_ = std::min(rows_, down.cells);
  loaded_ = (rows_ + down.window - 2) / down.stride + 2;
  const int64_t room = 2 * (loaded_ * lanes_ + 2 * kSlack) * size_;
  if (room + (streaming_ ? 2 * rows_ * row : 0) > kMostBytes) return;
  tasks_ = PlaneTasks(space.outer_total() * space.batch, down.cells, along.cells, rows_);
  possible_ = true;
}

void CollectJob::work(Arena* arena, TaskQueue* queue) const {
  const auto take = [&](int64_t lanes) {
    return static_cast<char*>(arena->take(lanes, static_cast<size_t>(size_)));
  };
  const int64_t room = loaded_ * lanes_ + 2 * kSlack;
  const int64_t staged = streaming_ ? rows_ * plan_.axes[1].cells * size_ : 0;
  Worker w{take(room), take(room), Staged(arena, staged)};
  if (!queue) return;
  std::memset(w.g, 0, static_cast<size_t>(room * size_));
  std::memset(w.numbers, 0xff, static_cast<size_t>(room * size_));
  w.g += kSlack * size_;
  w.numbers += kSlack * size_;
  tasks_.each_band(queue, [&](int64_t plane, Range rows) { band(plane, rows, &w); });
  w.staged.flush(*plan_.kernels->move);
}

void CollectJob::band(int64_t plane, Range rows, Worker* w) const {
  const Axis &down = plan_.axes[0], &along = plan_.axes[1];
  const CollectKernels& kernels = *plan_.kernels->collect;
  const int type = plan_.type == NDPOOL_F64;
  const char* g = plane_address(space_, g_, plane);
  const auto* winners = reinterpret_cast<const uint8_t*>(plane_address(space_, argmax_, plane));
  char* dx = plane_address(space_, dx_, plane) + rows.begin * along.cells * size_;
  // The outputs that would hold these cells, and those of them that there are.
  const Range hold{geometry::ceil_div(rows.begin + down.pad_lo - (down.window - 1), down.stride),
                   (rows.end - 1 + down.pad_lo) / down.stride + 1};
  const Range given{std::clamp<int64_t>(0, hold.begin, hold.end),
                    std::clamp(down.outputs, hold.begin, hold.end)};
  const auto skip = [&](int64_t output) { return (output - hold.begin) * lanes_ * size_; };
  const auto clear = [&](int64_t begin, int64_t end) {
    std::memset(w->numbers + skip(begin), 0xff,
                static_cast<size_t>((end - begin) * lanes_ * size_));
  };
  clear(hold.begin, given.begin);
  clear(given.end, hold.end);
  const int64_t first = given.begin * along.outputs;
  kernels.unpack[type]({given.size(), along.outputs, winners + first, g + first * size_,
                        w->numbers + skip(given.begin), w->g + skip(given.begin), lanes_});
  CollectRows c;
  c.taps = static_cast<int>(along.window);
  c.spacing = along.stride;
  c.g = w->g;
  c.numbers = w->numbers;
  c.outputs = hold.size();
  c.src_row = lanes_;
  c.pad = along.pad_lo;
  c.ahead = rows.begin - (hold.begin * down.stride - down.pad_lo);
  c.rows = rows.size();
  c.cells = along.cells;
  c.dst = w->staged.room(dx);
  c.dst_row = along.cells;
  c.next = g + given.end * along.outputs * size_;
  c.finished = w->staged.finished();
  kernels.rows[type](c);
  w->staged.finish(dx, rows.size() * along.cells * size_);
}

}  // namespace ndpool
