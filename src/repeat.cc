#include "repeat.h"

#include <algorithm>
#include <cstring>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kChunkBytes = 16 * 1024;
constexpr int64_t kPieceBytes = 8 * 1024;
constexpr int64_t kLine = 64;  // of a cache
constexpr int64_t kMostStagedBytes = 128 * 1024;

}  // namespace

RepeatJob::RepeatJob(const Plan& plan, const Space& space, const Bound& g, const Bound& dx)
    : plan_(plan), space_(space), g_(g), dx_(dx), size_(dx.element) {
  const bool real = plan.type == NDPOOL_F32 || plan.type == NDPOOL_F64;
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || !real || plan.counts.uniform() == 0) return;
  for (int i = 0; i < space.pooled; ++i) {
    const Axis& axis = plan.even_axes[i];
    if (axis.adaptive || axis.pad_lo != 0) return;
    if (axis.window > 1 && axis.dilation != 1) return;
    if (axis.outputs > 1 && axis.stride != axis.window) return;
    // Of a window that is wider than the axis, padding is most.
    axes_[i] = {axis.cells, axis.outputs, std::min(axis.window, axis.cells)};
  }
  const auto cells = [&](int i) { return axes_[i].cells; };
  const auto outputs = [&](int i) { return axes_[i].outputs; };
  if (!has_plain_planes(space, dx, cells) || !has_plain_planes(space, g, outputs)) return;
  int count = space.pooled;
  for (; count > 1; --count) {
    const Extent &last = axes_[count - 1], &other = axes_[count - 2];
    if (last.outputs != 1 || last.window < last.cells || other.outputs != 1 ||
        other.window < other.cells) {
      break;
    }
    axes_[count - 2] = {other.cells * last.cells, 1, other.cells * last.cells};
  }
  place_ = axes_[count - 1];
  if (count > 1) row_ = axes_[count - 2];
  row_bytes_ = place_.cells * space.inner * size_;
  g_row_bytes_ = place_.outputs * space.inner * size_;
  planes_ = space.outer_total();
  planes_are_rows_ = count == 1 && dx.batch == row_bytes_ && g.batch == g_row_bytes_;
  if (planes_are_rows_) {
    row_ = {space.batch, space.batch, 1};
  } else {
    planes_ *= space.batch;
  }
  before_ = std::max(0, count - 2);
  for (int i = 0; i < before_; ++i) slabs_ *= axes_[i].cells;
  const int64_t windows = std::max<int64_t>(1, kChunkBytes / (row_bytes_ * row_.window));
  chunk_rows_ = std::min(row_.cells, windows * row_.window);
  chunks_ = (row_.cells + chunk_rows_ - 1) / chunk_rows_;
  const int64_t window_bytes = place_.window * space.inner * size_;  // of one row
  if (row_.window * row_bytes_ > kChunkBytes) {
    piece_ = std::clamp<int64_t>(kPieceBytes / window_bytes, 1, place_.outputs);
  }
  staged_bytes_ = piece_ > 0
                      ? std::min(piece_ * window_bytes, kMostStagedBytes) + kPieceBytes + kLine
                      : chunk_rows_ * row_bytes_;
  streaming_ = staged_bytes_ <= kMostStagedBytes && is_beyond_caches(space, dx);
  if (!streaming_) staged_bytes_ = 0;
  possible_ = true;
}

int64_t RepeatJob::grain() const {
  return std::max<int64_t>(1, 16384 * size_ / (chunk_rows_ * row_bytes_));
}

void RepeatJob::work(Arena* arena, TaskQueue* queue) const {
  char* staged = arena->take<char>(staged_bytes_);
  if (!queue) return;
  for (Range range; queue->take(&range);) {
    for (int64_t task = range.begin; task < range.end; ++task) run(task, staged);
  }
  if (streaming_) plan_.kernels->move->flush();
}

// One chunk of rows.
void RepeatJob::run(int64_t task, char* staged) const {
  const Range rows{task % chunks_ * chunk_rows_,
                   std::min(row_.cells, (task % chunks_ + 1) * chunk_rows_)};
  task /= chunks_;
  const int64_t slab = task % slabs_, plane = task / slabs_;
  const int64_t planes = planes_are_rows_ ? 1 : space_.batch;
  const char* g = outer_address(space_, g_, plane / planes) + plane % planes * g_.batch;
  char* to = outer_address(space_, dx_, plane / planes) + plane % planes * dx_.batch +
             (slab * row_.cells + rows.begin) * row_bytes_;
  // The windows that hold the slab, if there are any.
  bool held = true;
  int64_t cell = slab, step = row_.outputs;
  for (int i = before_ - 1; i >= 0; --i) {
    const int64_t output = cell % axes_[i].cells / axes_[i].window;
    held = held && output < axes_[i].outputs;
    cell /= axes_[i].cells;
    g += output * step * g_row_bytes_;
    step *= axes_[i].outputs;
  }
  g += rows.begin / row_.window * g_row_bytes_;
  if (streaming_ && piece_ > 0) return stream_pieces(rows, g, held, staged, to);
  write_rows(rows, g, held, streaming_ ? staged : to);
  if (streaming_) {
    plan_.kernels->move->stream(staged, to, static_cast<size_t>(rows.size() * row_bytes_));
  }
}

void RepeatJob::write_rows(Range rows, const char* g, bool held, char* to) const {
  const Repeat shape{place_.outputs, space_.inner, place_.window, place_.cells,
                     plan_.counts.uniform()};
  const size_t bytes = static_cast<size_t>(row_bytes_);
  for (int64_t r = rows.begin; r < rows.end; to += row_bytes_, ++r) {
    if (!held || r / row_.window >= row_.outputs) {
      std::memset(to, 0, bytes);
    } else if (r % row_.window != 0 && r > rows.begin) {
      std::memcpy(to, to - row_bytes_, bytes);
    } else {
      plan_.kernels->move->repeat_divided[size_ == 8](shape, g, to);
      g += g_row_bytes_;
    }
  }
}

void RepeatJob::stream_pieces(Range rows, const char* g, bool held, char* staged, char* to) const {
  const MoveKernels& move = *plan_.kernels->move;
  const int64_t group = space_.inner * size_;
  held = held && rows.begin / row_.window < row_.outputs;
  // Bytes of the last piece that are a part of a line only: they wait for the rest of it.
  int64_t waiting = 0;
  for (int64_t first = 0; first < place_.cells;) {
    const int64_t output = first / place_.window;
    const int64_t outputs = held ? std::min(piece_, place_.outputs - output) : 0;
    // Behind the last output there may be cells without one.
    const int64_t room = std::max<int64_t>(1, kPieceBytes / group);
    const int64_t cells =
        std::min(place_.cells - first, outputs > 0 ? outputs * place_.window : room);
    if (outputs > 0) {
      const Repeat shape{outputs, space_.inner, place_.window, cells, plan_.counts.uniform()};
      move.repeat_divided[size_ == 8](shape, g + output * group, staged + waiting);
    } else {
      std::memset(staged + waiting, 0, static_cast<size_t>(cells * group));
    }
    char* const target = to + first * group - waiting;
    first += cells;
    const int64_t bytes = waiting + cells * group;
    waiting = 0;
    if (first < place_.cells && row_bytes_ % kLine == 0) {
      waiting = static_cast<int64_t>(reinterpret_cast<uintptr_t>(target + bytes) % kLine);
    }
    for (int64_t r = 0; r < rows.size(); ++r) {
      move.stream(staged, target + r * row_bytes_, static_cast<size_t>(bytes - waiting));
    }
    std::memmove(staged, staged + bytes - waiting, static_cast<size_t>(waiting));
  }
}

}  // namespace ndpool
