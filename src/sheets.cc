#include "sheets.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "contiguous.h"
#include "identity.h"

namespace ndpool {
namespace {

constexpr int64_t kMostBytes = 72 * 1024;
constexpr int64_t kPlaceBytes = 4096;  // that planes should have together
constexpr int64_t kHeldBytes = 10240;  // the same, where rows are held in registers
constexpr int64_t kMostWindow = 64, kMostRowBytes = 288;
constexpr int64_t kTiny = 64;          // cells of planes that PlanesJob takes less time to turn
constexpr int64_t kVectorsBehind = 4;  // places that kernels may read or write behind the last

}  // namespace

SheetsJob::SheetsJob(const Plan& plan, const Space& space, From from, const Bound& source,
                     const Bound& target)
    : plan_(plan), space_(space), from_(from), x_(source), y_(target) {
  choose();
}

Axis SheetsJob::axis_of(int i) const {
  Axis axis = plan_.even_axes[i];
  if (from_ == From::g) {
    std::swap(axis.cells, axis.outputs);
    axis.pad_lo = axis.window - 1 - axis.pad_lo;
  }
  return axis;
}

void SheetsJob::choose() {
  const bool sum = plan_.op == NDPOOL_AVG;
  lane_ = sum ? plan_.sum_lane : native_lane(plan_.type);
  const int64_t lanes = plan_.kernels->sheets->lanes(lane_);
  if (plan_.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || lanes == 0 || lane_ == Lane::i128 ||
      plan_.has_empty_windows || space_.pooled != 2 || space_.inner != 1) {
    return;
  }
  lane_size_ = static_cast<int64_t>(lane_size(lane_));
  native_ = !is_half(plan_.type) && lane_ == native_lane(plan_.type);
  finished_ = native_ && plan_.out_type == plan_.type;
  if (from_ == From::g) {
    // Gradients are divided as they are loaded.
    if (!finished_ || !is_float(plan_.type) || plan_.counts.uniform() == 0) return;
    native_ = false;
  } else if (sum) {
    const int64_t divisor = plan_.counts.uniform();
    finished_ = finished_ && is_float(plan_.type) && divisor != 0;
    if (finished_) sheet_.divisor = divisor;
  } else {
    // Halves are compared as integers.
    const int type = is_half(plan_.type) ? static_cast<int>(NDPOOL_I16) : plan_.type;
    write_extreme(type, plan_.op == NDPOOL_MAX, sheet_.absent);
  }
  const Axis down = axis_of(0), along = axis_of(1);
  for (const Axis* axis : {&down, &along}) {
    if (axis->adaptive || axis->dilation != 1 || axis->window > kMostWindow) return;
    if (from_ == From::g && (axis->stride != 1 || axis->pad_lo < 0)) return;
  }
  if (along.stride > 2 || std::max(along.cells, along.outputs) > kMostRowBytes / lane_size_) return;
  if (down.outputs * along.outputs == 1) return;  // there are better ways to reduce a whole plane
  const bool turned = x_.element >= 4 && along.stride == 2 && (!sum || lane_ != Lane::f32);
  if (turned && along.cells * down.cells <= kTiny) return;
  const auto cells = [&](int i) { return (i == 0 ? down : along).cells; };
  const auto outputs = [&](int i) { return (i == 0 ? down : along).outputs; };
  if (!has_plain_planes(space_, x_, cells) || !has_plain_planes(space_, y_, outputs)) return;
  if (down.cells > kMostBytes || down.outputs > kMostBytes) return;
  sheet_.row = along.cells;
  sheet_.cells = down.cells * along.cells;
  if (sheet_.cells < lanes) return;
  sheet_.x_step = x_.batch / x_.element;
  sheet_.place = down.pad_lo * along.cells;
  sheet_.rows = down.outputs;
  sheet_.row_step = down.outputs > 1 ? down.stride * along.cells : 0;
  sheet_.outputs = along.outputs;
  sheet_.output_step = along.stride;
  sheet_.row_place = along.pad_lo;
  const int64_t reach = (along.outputs - 1) * along.stride + along.window;
  const int64_t behind = std::max<int64_t>(0, reach - along.pad_lo - along.cells);
  sheet_.pitch = std::max(along.cells + std::max(along.pad_lo, behind), lanes);
  const int64_t rows =
      std::max(down.pad_lo + down.cells, (down.outputs - 1) * down.stride + down.window);
  const int64_t plane = down.outputs * along.outputs;
  const bool in_one_piece = y_.batch == plane * y_.element;
  streaming_ = in_one_piece && is_streamed(space_, x_, y_);
  staged_ = streaming_ || !finished_ || along.outputs < lanes;
  sheet_.place_step = rows * along.cells;
  if (in_one_piece) {
    together_ = std::clamp<int64_t>(kPlaceBytes / lane_size_ / sheet_.place_step, 1, space_.batch);
  }
  down_lanes_ = plan_axis(down.window, along.cells, together_ * sheet_.place_step, &sheet_.down);
  along_lanes_ =
      plan_axis(along.window, 1, together_ * down.outputs * sheet_.pitch + reach, &sheet_.along);
  choose_held(down, along);
  task_planes_ = together_;
  if (is_held_ && in_one_piece) {
    task_planes_ = std::clamp<int64_t>(kHeldBytes / lane_size_ / sheet_.cells, 1, space_.batch);
  }
  groups_ = (space_.batch + task_planes_ - 1) / task_planes_;
  const int64_t staged = staged_ ? task_planes_ * plane : 0;
  possible_ = (down_lanes_ + along_lanes_ + staged) * lane_size_ <= kMostBytes;
}

void SheetsJob::choose_held(const Axis& down, const Axis& along) {
  const auto vectors_of = [](int64_t lanes) { return (lanes - 1) / HeldRows::kLanes + 1; };
  const int64_t vectors = vectors_of(along.cells);
  if (!plan_.kernels->held->extreme[kMax] || plan_.op == NDPOOL_AVG || plan_.type != NDPOOL_F32 ||
      down.stride != 1 || along.stride != 1 || vectors > HeldRows::kMostVectors ||
      vectors_of(along.outputs) != vectors) {
    return;
  }
  held_.rows = down.cells;
  held_.cells = along.cells;
  held_.plane = sheet_.x_step;
  held_.output_rows = down.outputs;
  held_.outputs = along.outputs;
  held_.taps = down.window;
  held_.pad = down.pad_lo;
  is_held_ = held_.plan_along(along.window, along.pad_lo);
}

// Returns how many elements of scratch it takes.
int64_t SheetsJob::plan_axis(int64_t window, int64_t step, int64_t places, SheetAxis* axis) const {
  const int64_t lanes = plan_.kernels->sheets->lanes(lane_);
  const int64_t room = places + kVectorsBehind * lanes + sheet_.row + sheet_.pitch;
  const bool sum = plan_.op == NDPOOL_AVG;
  if (window <= (sum ? 4 : SheetAxis::kMostExtremes)) {
    for (int64_t t = 0; t < window; ++t) axis->part[axis->parts++] = t * step;
    return room;
  }
  if (!sum) return plan_extremes(window, step, places, room, axis);
  const auto top = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(window)));
  // Where the windows of 1, 2, 4 ... taps are.
  int64_t level_at[16]{}, level = 1, at = 0, last = 0;
  while (level < top) {
    const bool needed = (window & 2 * level) != 0;
    const int radix = 4 * level <= top && !needed ? 4 : 2;
    // The cells themselves must stay as they are, and so must what windows are joined from.
    const bool kept = level == 1 || (window & level) != 0;
    const int64_t to = kept ? last + room : at;
    axis->pass[axis->passes++] = {at, to, level * step, places - (radix * level - 1) * step, radix};
    level *= radix;
    at = to;
    last = std::max(last, to);
    level_at[std::countr_zero(static_cast<uint64_t>(level))] = at;
  }
  int64_t first = 0;
  for (int bit = std::countr_zero(static_cast<uint64_t>(top)); bit >= 0; --bit) {
    if ((window >> bit & 1) == 0) continue;
    axis->part[axis->parts++] = level_at[bit] + first * step;
    first += int64_t{1} << bit;
  }
  return last + room;
}

// Max and min may overlap: few passes, and then up to four windows of what they have joined.
int64_t SheetsJob::plan_extremes(int64_t window, int64_t step, int64_t places, int64_t room,
                                 SheetAxis* axis) const {
  constexpr int64_t kParts = 4;
  int64_t level = 1, at = 0;
  while (kParts * level < window) {
    const int radix = 2 * kParts * level >= window ? 2 : 4;
    axis->pass[axis->passes++] = {at, room, level * step, places - (radix * level - 1) * step,
                                  radix};
    level *= radix;
    at = room;  // the cells themselves must stay as they are
  }
  for (int64_t first = 0; first < window; first += level) {
    axis->part[axis->parts++] = at + std::min(first, window - level) * step;
  }
  return at + room;
}

int64_t SheetsJob::grain() const {
  return std::max<int64_t>(1, 16384 / (task_planes_ * sheet_.cells));
}

std::string SheetsJob::describe() const {
  const char* const how =
      is_held_ ? " at a time, row by row in registers, along and then down (small planes)"
               : " at a time in scratch, joined at every place as if they were one row, down and "
                 "then along (small planes)";
  return "sheets: " + std::to_string(task_planes_) + how +
         std::string(streaming_ ? "; results go past the caches" : "");
}

// Cells to lanes, in their places.
void SheetsJob::load(int64_t planes, const char* x, char* down) const {
  const ConvertKernels& convert = *plan_.kernels->convert;
  const bool key = plan_.op != NDPOOL_AVG && is_half(plan_.type);
  const LoadFn get = key ? convert.load_key[plan_.op == NDPOOL_MAX ? kMax : kMin][plan_.type]
                         : convert.load[plan_.type][static_cast<int>(lane_)];
  // Planes without rows around them lie side by side.
  const int64_t together = sheet_.place_step == sheet_.cells ? planes : 1;
  const Strided shape{together, 1, sheet_.cells, x_.batch, 0, x_.element};
  const auto at = [&](int64_t plane) {
    return down + (sheet_.place + plane * sheet_.place_step) * lane_size_;
  };
  for (int64_t p = 0; p < planes; p += together) get(shape, x + p * x_.batch, at(p));
  if (from_ == From::x) return;
  const auto scale = plan_.kernels->combine->scale[static_cast<int>(lane_)];
  const int64_t divisor = plan_.counts.uniform();
  for (int64_t p = 0; p < planes; p += together) scale(together * sheet_.cells, at(p), divisor);
}

// Results that the kernel has not finished, to where they belong, or where they are if they are to
// go past the caches.
void SheetsJob::put(int64_t planes, char* results, char* y, AverageFinish* finish) const {
  const int64_t plane = sheet_.rows * sheet_.outputs;
  const Strided shape{planes, plane, 1, plane * y_.element, y_.element, y_.element};
  if (plan_.op == NDPOOL_AVG) {
    finish->store(shape, results, 1, {0, plane}, y);
  } else {
    plan_.kernels->convert->store_key[plan_.type](shape, results, plane, y);
  }
}

void SheetsJob::work(Arena* arena, TaskQueue* queue) const {
  const SheetKernels& kernels = *plan_.kernels->sheets;
  const int lane = static_cast<int>(lane_);
  const size_t size = static_cast<size_t>(lane_size_);
  const int64_t plane = sheet_.rows * sheet_.outputs;
  auto* down = static_cast<char*>(arena->take(down_lanes_, size));
  auto* along = static_cast<char*>(arena->take(along_lanes_, size));
  const int64_t staged_lanes = staged_ ? task_planes_ * plane + kernels.lanes(lane_) : 0;
  auto* staged = static_cast<char*>(arena->take(staged_lanes, size));
  const bool sum = plan_.op == NDPOOL_AVG, converted = !finished_;
  AverageFinish finish(plan_, plan_.out_type, lane_, false, converted && sum ? plane : 0,
                       converted && sum ? task_planes_ * plane : 0, arena, true);
  char* ready =
      converted && streaming_
          ? static_cast<char*>(arena->take(task_planes_ * plane, static_cast<size_t>(y_.element)))
          : staged;
  auto* ring =
      arena->take<float>(is_held_ ? held_.taps * HeldRows::kMostVectors * HeldRows::kLanes : 0);
  if (!queue) return;
  const auto clear = [&](char* memory, int64_t n) {
    for (int64_t i = 0; i < n; ++i) std::memcpy(memory + i * lane_size_, sheet_.absent, size);
  };
  clear(down, down_lanes_);
  clear(along, along_lanes_);
  const int extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  const SheetFn numbers = sum ? nullptr : kernels.numbers[extreme][lane];
  const HeldFn held = plan_.kernels->held->extreme[extreme];
  const SheetFn anything = sum ? kernels.sum[lane] : kernels.anything[extreme][lane];
  for (Range range; queue->take(&range);) {
    for (int64_t task = range.begin; task < range.end; ++task) {
      const int64_t outer = task / groups_, first = task % groups_ * task_planes_;
      const int64_t planes = std::min(task_planes_, space_.batch - first);
      const char* x = outer_address(space_, x_, outer) + first * x_.batch;
      char* y = outer_address(space_, y_, outer) + first * y_.batch;
      char* to = staged_ ? staged : y;
      if (!native_) load(planes, x, down);
      const char* cells = native_ ? x : nullptr;
      if (is_held_) {
        const auto* from = static_cast<const float*>(static_cast<const void*>(x));
        if (!held(held_, planes, from, ring, static_cast<float*>(static_cast<void*>(to)))) {
          for (int64_t p = 0; p < planes; p += together_) {
            anything(sheet_, std::min(together_, planes - p), x + p * x_.batch, down, along,
                     to + p * plane * lane_size_);
          }
        }
      } else if (!numbers || !numbers(sheet_, planes, cells, down, along, to)) {
        anything(sheet_, planes, cells, down, along, to);
      }
      if (converted) put(planes, staged, streaming_ ? ready : y, &finish);
      const size_t bytes = static_cast<size_t>(planes * plane * y_.element);
      if (streaming_) {
        plan_.kernels->move->stream(ready, y, bytes);
      } else if (staged_ && finished_) {
        std::memcpy(y, staged, bytes);
      }
    }
  }
  if (streaming_) plan_.kernels->move->flush();
}

}  // namespace ndpool
