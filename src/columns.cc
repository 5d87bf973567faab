#include "columns.h"

#include <algorithm>
#include <numeric>

#include "contiguous.h"
#include "machine.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 16 * 1024, kStreamedBandBytes = 8 * 1024;
constexpr int64_t kFewRows = 8, kFewStreamedRows = 3;
constexpr int64_t kSize = sizeof(float);

bool is_fit(const Axis& axis) {
  return !axis.adaptive && (axis.window == 2 || axis.window == 3) && axis.dilation == 1 &&
         axis.stride <= 2 && axis.pad_lo <= 1;
}

}  // namespace

ColumnsJob::ColumnsJob(const Plan& plan, const Space& space, const Bound& x, const Bound* y,
                       const Bound* argmax)
    : plan_(plan), space_(space), x_(x), y_(y), argmax_(argmax) {
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || plan.type != NDPOOL_F32 ||
      plan.out_type != NDPOOL_F32 || plan.has_empty_windows || space.pooled != 2 ||
      space.inner != 1) {
    return;
  }
  if (plan.op == NDPOOL_AVG && (plan.sum_lane != Lane::f32 || plan.counts.uniform() == 0)) return;
  if (argmax && (plan.argmax_type != NDPOOL_U8 || plan.ties == NDPOOL_TIES_LAST)) return;
  const Axis &down = plan.axes[0], &along = plan.axes[1];
  if (!is_fit(down) || !is_fit(along) || down.window != along.window ||
      down.stride != along.stride) {
    return;
  }
  // What a window may lack: one cell before the row, or one behind it.
  const int64_t behind =
      (along.outputs - 1) * along.stride - along.pad_lo + along.window - along.cells;
  if (behind > (along.stride == 1 ? 1 : 0)) return;
  if (along.stride == 2 && along.window == 2 && along.pad_lo > 0) return;
  const int64_t lanes = plan.kernels->columns->lanes;
  if (lanes == 0 || along.outputs < lanes || along.cells > kBandBytes / kSize) return;
  const auto cells = [&](int i) { return plan.axes[i].cells; };
  const auto outputs = [&](int i) { return plan.axes[i].outputs; };
  if (!has_plain_planes(space, x, cells) || (y && !has_plain_planes(space, *y, outputs)) ||
      (argmax && !has_plain_planes(space, *argmax, outputs))) {
    return;
  }
  const int64_t row = along.outputs * kSize;
  streaming_ = y && static_cast<size_t>(elements_of(space, *y) * kSize) >= streaming_bytes();
  rows_ =
      (streaming_ ? kStreamedBandBytes : kBandBytes) / (row + down.stride * along.cells * kSize);
  // Columns of few rows share too little.
  if (rows_ < std::min(down.outputs, streaming_ ? kFewStreamedRows : kFewRows)) return;
  if (streaming_) {
    // Whole lines of the cache, so that none is written in two goes.
    const int64_t lines = 64 / std::gcd(row, int64_t{64});
    rows_ = (rows_ + lines - 1) / lines * lines;
  }
  rows_ = std::min(rows_, down.outputs);
  possible_ = true;
}

int64_t ColumnsJob::grain() const {
  return std::max<int64_t>(1, 16384 / (plan_.axes[0].cells * plan_.axes[1].cells));
}

std::string ColumnsJob::describe() const {
  std::string text =
      "columns: vectors of outputs go down the rows, and what neighbours share stays in registers "
      "(squares of few taps); " +
      std::to_string(rows_) + " x " + std::to_string(plan_.axes[1].outputs) +
      " outputs at a time (rows x lanes)";
  if (streaming_) text += "; results go past the caches";
  return text;
}

void ColumnsJob::work(Arena* arena, TaskQueue* queue) const {
  const int64_t staged = streaming_ ? rows_ * plan_.axes[1].outputs : 0;
  Worker w{{reinterpret_cast<char*>(arena->take<float>(staged)),
            reinterpret_cast<char*>(arena->take<float>(staged))}};
  if (!queue) return;
  const int64_t outputs = plan_.axes[0].outputs;
  for (Range range; queue->take(&range);) {
    for (int64_t plane = range.begin; plane < range.end; ++plane) {
      for (int64_t r = 0; r < outputs; r += rows_) {
        band(plane, {r, std::min(outputs, r + rows_)}, &w);
      }
    }
  }
  if (w.finished.bytes == 0) return;
  plan_.kernels->move->stream(w.finished.from, w.finished.to, w.finished.bytes);
  plan_.kernels->move->flush();
}

char* ColumnsJob::plane_of(const Bound& array, int64_t plane) const {
  return outer_address(space_, array, plane / space_.batch) + plane % space_.batch * array.batch;
}

void ColumnsJob::band(int64_t plane, Range rows, Worker* w) const {
  const Axis &down = plan_.axes[0], &along = plan_.axes[1];
  const char* x = plane_of(x_, plane);
  char* y = y_ ? plane_of(*y_, plane) + rows.begin * along.outputs * kSize : nullptr;
  ColumnRows c;
  c.taps = static_cast<int>(along.window);
  c.spacing = along.stride;
  c.src = x;
  c.cells = along.cells;
  c.cell_rows = down.cells;
  c.first = rows.begin * down.stride - down.pad_lo;
  c.pad = along.pad_lo;
  c.outputs = along.outputs;
  c.rows = rows.size();
  c.dst = streaming_ ? w->staged[w->turn] : y;
  c.next = x + ((rows.end - 1) * down.stride - down.pad_lo + down.window) * along.cells * kSize;
  c.finished = w->finished;
  if (argmax_) {
    c.winners = reinterpret_cast<uint8_t*>(plane_of(*argmax_, plane)) + rows.begin * along.outputs;
  }
  const ColumnKernels& kernels = *plan_.kernels->columns;
  if (plan_.op == NDPOOL_AVG) {
    c.divisor = plan_.counts.uniform();
    kernels.average(c);
  } else {
    const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
    const auto& kinds = (argmax_ ? kernels.winners : kernels.extremes)[extreme];
    if (!kinds.numbers(c)) {
      c.finished = {};
      kinds.anything(c);
    }
  }
  if (!streaming_) return;
  w->finished = {c.dst, y, static_cast<size_t>(rows.size() * along.outputs * kSize)};
  w->turn = 1 - w->turn;
}

}  // namespace ndpool
