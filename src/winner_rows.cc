#include "winner_rows.h"

#include <algorithm>
#include <bit>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kMostRing = 64, kMostRingBytes = 32 * 1024;
constexpr int64_t kMostStagedBytes = 96 * 1024;

}  // namespace

WinnerRowsJob::WinnerRowsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y,
                             const Bound& argmax)
    : plan_(plan), space_(space), x_(x), y_(y), argmax_(argmax) {
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || plan.type != NDPOOL_F32 ||
      plan.ties == NDPOOL_TIES_LAST || plan.argmax_type != NDPOOL_U8 || plan.has_empty_windows ||
      space.pooled != 2 || space.inner != 1) {
    return;
  }
  const Axis &down = plan.axes[0], &along = plan.axes[1];
  if (down.adaptive || along.adaptive || down.window > AcrossWinners::kMost || along.window < 2 ||
      along.window > 3 || along.dilation != 1 || along.stride > 2) {
    return;
  }
  const auto cells = [&](int i) { return plan.axes[i].cells; };
  const auto outputs = [&](int i) { return plan.axes[i].outputs; };
  if (!has_plain_planes(space, x, cells) || !has_plain_planes(space, argmax, outputs) ||
      !has_plain_planes(space, y, outputs)) {
    return;
  }
  // Two neighbours in whole pairs are read where they lie by bands, and nothing is shared.
  if (down.stride >= down.extent() && along.window == 2 && along.stride == 2) return;
  if (down.extent() > kMostRing || down.stride > kMostRing) return;
  // Those of a row of outputs and of the next.
  ring_ = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(down.extent() + down.stride)));
  outputs_ = along.outputs;
  row_outputs_ = down.outputs;
  constexpr int64_t kBytes = sizeof(float) + sizeof(uint32_t);
  if (row_outputs_ > kMostRingBytes / int64_t{sizeof(Span)}) return;
  if (outputs_ > kMostRingBytes / kBytes || ring_ > kMostRingBytes / kBytes / outputs_) return;
  streaming_ = is_streamed(space, x, y) &&
               row_outputs_ <= kMostStagedBytes / (outputs_ * int64_t{sizeof(float)});
  possible_ = true;
}

int64_t WinnerRowsJob::grain() const {
  return std::max<int64_t>(1, 16384 / (outputs_ * row_outputs_));
}

void WinnerRowsJob::work(Arena* arena, TaskQueue* queue) const {
  const int64_t lanes = ring_ * outputs_;
  const int64_t staged = streaming_ ? row_outputs_ * outputs_ : 0;
  const Worker w{arena->take<Span>(row_outputs_), arena->take<float>(lanes),
                 arena->take<uint32_t>(lanes), arena->take<int64_t>(ring_),
                 arena->take<float>(staged)};
  if (!queue) return;
  const Line line(plan_.axes[0], false);
  for (int64_t r = 0; r < row_outputs_; ++r) w.windows[r] = line.span(r);
  for (Range range; queue->take(&range);) {
    for (int64_t plane = range.begin; plane < range.end; ++plane) run(plane, w);
  }
  if (streaming_) plan_.kernels->move->flush();
}

void WinnerRowsJob::run(int64_t plane, const Worker& w) const {
  const Axis& across = plan_.axes[1];
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  const WinnerTapKernels& kernels = *plan_.kernels->winner_taps;
  const float* x = reinterpret_cast<const float*>(plane_address(space_, x_, plane));
  float* y = reinterpret_cast<float*>(plane_address(space_, y_, plane));
  float* to = streaming_ ? w.staged : y;
  AlongWinners along;
  along.cells = across.cells;
  along.taps = static_cast<int>(across.window);
  along.spacing = across.stride;
  along.origin = -across.pad_lo;
  along.outputs = outputs_;
  along.begin = std::min(outputs_, geometry::ceil_div(across.pad_lo, across.stride));
  const int64_t room = across.cells - across.window + across.pad_lo;
  along.end = room < 0 ? along.begin : std::clamp(room / across.stride + 1, along.begin, outputs_);
  AcrossWinners rows;
  rows.lanes = outputs_;
  rows.winners = reinterpret_cast<uint8_t*>(plane_address(space_, argmax_, plane));
  rows.best = to;
  std::fill(w.rows, w.rows + ring_, int64_t{-1});
  const auto prepare = [&](int64_t r) {
    const Span& window = w.windows[r];
    for (int64_t t = 0; t < window.count; ++t) {
      const int64_t row = window.first + t * window.step, slot = row & (ring_ - 1);
      if (w.rows[slot] == row) continue;
      w.rows[slot] = row;
      along.row = x + row * across.cells;
      along.values = w.values + slot * outputs_;
      along.numbers = w.numbers + slot * outputs_;
      kernels.along[extreme](along);
    }
  };
  prepare(0);
  for (int64_t r = 0; r < row_outputs_; ++r) {
    // One row ahead: what was stored just now cannot be loaded without waiting.
    if (r + 1 < row_outputs_) prepare(r + 1);
    const Span& window = w.windows[r];
    rows.rows = static_cast<int>(window.count);
    for (int t = 0; t < rows.rows; ++t) {
      const int64_t slot = (window.first + t * window.step) & (ring_ - 1);
      rows.values[t] = w.values + slot * outputs_;
      rows.numbers[t] = w.numbers + slot * outputs_;
      rows.add[t] =
          static_cast<uint32_t>(static_cast<uint64_t>(window.lead + t) * plan_.tap_weight[0]);
    }
    kernels.across[extreme](rows);
    rows.winners += outputs_;
    rows.best += outputs_;
  }
  if (!streaming_) return;
  plan_.kernels->move->stream(to, y, static_cast<size_t>(row_outputs_ * outputs_) * sizeof(float));
}

}  // namespace ndpool
