#include "strips.h"

#include <algorithm>
#include <cstring>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kGroupBytes = 16 * 1024;  // that planes of a task should have
constexpr int64_t kMostRows = 512;
constexpr int64_t kSize = sizeof(float);

}  // namespace

StripsJob::StripsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y)
    : plan_(plan), space_(space), x_(x), y_(y) {
  choose();
}

void StripsJob::choose() {
  const int64_t lanes = plan_.kernels->strips->lanes;
  const bool sum = plan_.op == NDPOOL_AVG;
  if (plan_.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || plan_.type != NDPOOL_F32 ||
      plan_.out_type != NDPOOL_F32 || plan_.has_empty_windows || space_.pooled > 2 ||
      space_.inner != 1) {
    return;
  }
  if (sum) {
    strip_.divisor = plan_.counts.uniform();
    if (strip_.divisor == 0 || plan_.sum_lane != Lane::f32) return;
  }
  const int last = space_.pooled - 1;
  const Axis& along = plan_.axes[last];
  strip_.width = std::max(along.cells, along.outputs);
  if (strip_.width > lanes || along.outputs == 1) return;
  for (int i = 0; i <= last; ++i) {
    if (plan_.axes[i].window > Strip::kMostTaps) return;
    if (i < last && std::max(plan_.axes[i].cells, plan_.axes[i].outputs) > kMostRows) return;
  }
  const auto cells = [&](int i) { return plan_.axes[i].cells; };
  const auto outputs = [&](int i) { return plan_.axes[i].outputs; };
  if (!has_plain_planes(space_, x_, cells) || !has_plain_planes(space_, y_, outputs)) return;
  strip_.down = last == 0 ? 1 : static_cast<int>(plan_.axes[0].window);
  strip_.along = static_cast<int>(along.window);
  strip_.rows = last == 0 ? 1 : plan_.axes[0].outputs;
  strip_.plane = along.cells * (last == 0 ? 1 : plan_.axes[0].cells);
  // Vectors reach beyond a plane, but no further than the one behind it.
  if (strip_.plane + along.cells < Strip::lanes_for(strip_.width, lanes)) return;
  strip_.outputs = along.outputs;
  results_ = strip_.rows * strip_.outputs;
  if (x_.batch != strip_.plane * kSize || y_.batch != results_ * kSize) return;
  together_ =
      std::clamp<int64_t>(kGroupBytes / ((strip_.plane + results_) * kSize), 1, space_.batch);
  groups_ = (space_.batch + together_ - 1) / together_;
  last_planes_ = (Strip::kMostLanes - strip_.outputs) / results_ + 1;
  streaming_ = is_streamed(space_, x_, y_);
  possible_ = true;
}

int64_t StripsJob::grain() const {
  return std::max<int64_t>(1, 16384 / (together_ * strip_.plane));
}

std::string StripsJob::describe() const {
  return "strips: a row is a vector, from which the taps of its outputs are picked; " +
         std::to_string(together_) + " planes at a time" +
         std::string(streaming_ ? "; results go past the caches" : "");
}

// Where the taps of each row of outputs lie, and those of each output in a row.
void StripsJob::fill(Strip::Window* windows, Strip* strip) const {
  const bool sum = plan_.op == NDPOOL_AVG;
  const auto each_tap = [sum](const Span& span, int taps, auto put) {
    for (int t = 0; t < taps; ++t) {
      const int64_t k = sum ? t - span.lead : std::min<int64_t>(t, span.count - 1);
      const bool present = k >= 0 && k < span.count;
      put(t, static_cast<int32_t>(span.first + (present ? k : 0) * span.step), present);
    }
  };
  const int last = space_.pooled - 1;
  const auto cells = static_cast<int32_t>(plan_.axes[last].cells);
  for (int64_t o = 0; o < strip->outputs; ++o) {
    const Span span = Line(plan_.axes[last], false).span(o);
    each_tap(span, strip->along, [&](int t, int32_t cell, bool present) {
      strip->cell[t][o] = cell;
      strip->present[t][o] = present ? ~uint32_t{0} : 0;
    });
  }
  for (int64_t r = 0; r < strip->rows; ++r) {
    const Span span = last == 0 ? Span{0, 1, 1, 0} : Line(plan_.axes[0], false).span(r);
    each_tap(span, strip->down, [&](int t, int32_t row, bool present) {
      windows[r].at[t] = row * cells;
      windows[r].present[t] = present;
    });
  }
  strip->windows = windows;
}

void StripsJob::pool(const Strip& strip, int64_t planes, const char* x, float* y) const {
  const StripKernels& kernels = *plan_.kernels->strips;
  const auto* cells = reinterpret_cast<const float*>(x);
  if (plan_.op == NDPOOL_AVG) {
    kernels.sum(strip, planes, cells, y);
    return;
  }
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  if (!kernels.numbers[extreme](strip, planes, cells, y)) {
    kernels.anything[extreme](strip, planes, cells, y);
  }
}

void StripsJob::work(Arena* arena, TaskQueue* queue) const {
  auto* windows = arena->take<Strip::Window>(strip_.rows);
  // Vectors reach beyond the last row of a plane, of results too.
  auto* staged = arena->take<float>(together_ * results_ + Strip::kMostLanes);
  auto* end = arena->take<float>(strip_.plane + Strip::kMostLanes);
  if (!queue) return;
  Strip strip = strip_;
  fill(windows, &strip);
  std::memset(end, 0, static_cast<size_t>(strip.plane + Strip::kMostLanes) * kSize);
  for (Range range; queue->take(&range);) {
    for (int64_t task = range.begin; task < range.end; ++task) {
      const int64_t outer = task / groups_, first = task % groups_ * together_;
      const int64_t planes = std::min(together_, space_.batch - first);
      const char* x = outer_address(space_, x_, outer) + first * x_.batch;
      char* y = outer_address(space_, y_, outer) + first * y_.batch;
      // What is written behind the results of a plane is written over by those that follow, as far
      // as it reaches; the last of them are staged.
      const int64_t others = streaming_ ? planes : std::min(planes, last_planes_);
      const int64_t direct = planes - others;
      pool(strip, direct, x, reinterpret_cast<float*>(y));
      x += direct * x_.batch;
      y += direct * y_.batch;
      // Behind the last plane there may be nothing to read.
      const bool ends = first + planes == space_.batch;
      pool(strip, ends ? others - 1 : others, x, staged);
      if (ends) {
        std::memcpy(end, x + (others - 1) * x_.batch, static_cast<size_t>(x_.batch));
        pool(strip, 1, reinterpret_cast<const char*>(end), staged + (others - 1) * results_);
      }
      const size_t bytes = static_cast<size_t>(others * y_.batch);
      if (streaming_) {
        plan_.kernels->move->stream(staged, y, bytes);
      } else {
        std::memcpy(y, staged, bytes);
      }
    }
  }
  if (streaming_) plan_.kernels->move->flush();
}

}  // namespace ndpool
