#include "scatter.h"

#include <algorithm>
#include <cstring>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kMostPlaneBytes = 256 * 1024;
constexpr int64_t kMostStagedBytes = 128 * 1024;
constexpr int64_t kMostRowOutputs = 16 * 1024;  // whose places are kept

// Where the first tap of a window lies.
int64_t start_of(const Axis& axis, int64_t output) {
  return axis.adaptive ? axis.window_of(output).first : output * axis.stride - axis.pad_lo;
}

}  // namespace

ScatterJob::ScatterJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
                       const Bound& dx)
    : plan_(plan), space_(space), g_(g), argmax_(argmax), dx_(dx), last_(space.pooled - 1) {
  const bool real = plan.type == NDPOOL_F32 || plan.type == NDPOOL_F64;
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || !real || space.inner != 1 ||
      plan.argmax_type != NDPOOL_U8 || plan.has_empty_windows) {
    return;
  }
  const auto outputs = [&](int i) { return plan.axes[i].outputs; };
  const auto cells = [&](int i) { return plan.axes[i].cells; };
  if (!has_plain_planes(space, g, outputs) || !has_plain_planes(space, argmax, outputs) ||
      !has_plain_planes(space, dx, cells)) {
    return;
  }
  if (plan.axes[last_].outputs > kMostRowOutputs) return;
  for (int i = last_; i >= 0; --i) {
    cell_step_[i] = cells_;
    if (plan.axes[i].cells > kMostPlaneBytes / dx.element / cells_) return;
    cells_ *= plan.axes[i].cells;
  }
  for (int64_t tap = 0; tap < plan.box_taps; ++tap) {
    int64_t place = 0;
    for (int i = 0; i <= last_; ++i) {
      const int64_t own = tap / static_cast<int64_t>(plan.tap_weight[i]) % plan.axes[i].window;
      place += own * (plan.axes[i].adaptive ? 1 : plan.axes[i].dilation) * cell_step_[i];
    }
    tap_place_[tap] = place;
  }
  streaming_ = is_beyond_caches(space, dx) && kTogether * cells_ * dx.element <= kMostStagedBytes;
  // Where no cell lies in two windows, comparing (spread.h) writes each cell once.
  bool overlap = false;
  for (int i = 0; i <= last_; ++i) {
    const Axis& axis = plan.axes[i];
    overlap = overlap || axis.adaptive || axis.stride < axis.extent();
  }
  possible_ = overlap;
}

int64_t ScatterJob::grain() const { return std::max<int64_t>(1, 16384 / cells_); }

void ScatterJob::work(Arena* arena, TaskQueue* queue) const {
  if (plan_.type == NDPOOL_F64) {
    work_on<double>(arena, queue);
  } else {
    work_on<float>(arena, queue);
  }
}

template <class T>
void ScatterJob::work_on(Arena* arena, TaskQueue* queue) const {
  const Axis& along = plan_.axes[last_];
  auto* places = arena->take<int64_t>(along.outputs);
  T* staged = streaming_ ? arena->take<T>(kTogether * cells_) : nullptr;
  if (!queue) return;
  for (int64_t o = 0; o < along.outputs; ++o) places[o] = start_of(along, o);
  const size_t bytes = static_cast<size_t>(cells_) * sizeof(T);
  for (Range range; queue->take(&range);) {
    Plane<T> planes[kTogether];
    char* to[kTogether];
    for (int64_t plane = range.begin; plane < range.end;) {
      int count = 0;
      for (; count < kTogether && plane < range.end; ++count, ++plane) {
        to[count] = plane_address(space_, dx_, plane);
        T* cells = streaming_ ? staged + count * cells_ : reinterpret_cast<T*>(to[count]);
        std::memset(cells, 0, bytes);
        planes[count] = {reinterpret_cast<const T*>(plane_address(space_, g_, plane)),
                         reinterpret_cast<const uint8_t*>(plane_address(space_, argmax_, plane)),
                         cells};
      }
      if (count == kTogether) {
        send<kTogether>(places, planes);
      } else {
        send<1>(places, planes);
      }
      for (int i = 0; i < count && streaming_; ++i) {
        plan_.kernels->move->stream(planes[i].dx, to[i], bytes);
      }
    }
  }
  if (streaming_) plan_.kernels->move->flush();
}

// A row of outputs after the other, in each of `count` planes.
template <int count, class T>
void ScatterJob::send(const int64_t* places, const Plane<T>* planes) const {
  const int64_t outputs = plan_.axes[last_].outputs;
  int64_t at[kMaxPooled]{}, done = 0;
  for (;;) {
    int64_t row = 0;
    for (int i = 0; i < last_; ++i) row += start_of(plan_.axes[i], at[i]) * cell_step_[i];
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t place = row + places[o];
      for (int i = 0; i < count; ++i) {
        const Plane<T>& p = planes[i];
        p.dx[place + tap_place_[p.taps[done + o]]] += p.g[done + o];
      }
    }
    done += outputs;
    int level = last_ - 1;
    for (; level >= 0; --level) {
      if (++at[level] < plan_.axes[level].outputs) break;
      at[level] = 0;
    }
    if (level < 0) return;
  }
}

}  // namespace ndpool
