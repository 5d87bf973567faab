#include "sheets.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "contiguous.h"
#include "machine.h"

namespace ndpool {
namespace {

constexpr int64_t kMostBytes = 72 * 1024;
constexpr int64_t kPlaces = 1024;  // that planes should have together
constexpr int64_t kMostWindow = 64, kMostRow = 72;
constexpr int64_t kTiny = 64;          // cells of planes that PlanesJob takes less time to turn
constexpr int64_t kVectorsBehind = 4;  // places that kernels may read or write behind the last

}  // namespace

SheetsJob::SheetsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y)
    : plan_(plan), space_(space), x_(x), y_(y) {
  choose();
}

void SheetsJob::choose() {
  const int64_t lanes = plan_.kernels->sheets->lanes;
  if (plan_.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || lanes == 0 || plan_.type != NDPOOL_F32 ||
      plan_.out_type != NDPOOL_F32 || plan_.has_empty_windows || space_.pooled != 2 ||
      space_.inner != 1) {
    return;
  }
  if (plan_.op == NDPOOL_AVG) {
    sheet_.divisor = plan_.counts.uniform();
    if (plan_.sum_lane != Lane::f32 || sheet_.divisor == 0) return;
  } else {
    constexpr float kInfinite = std::numeric_limits<float>::infinity();
    sheet_.absent = plan_.op == NDPOOL_MAX ? -kInfinite : kInfinite;
  }
  const Axis &down = plan_.even_axes[0], &along = plan_.even_axes[1];
  for (const Axis* axis : {&down, &along}) {
    if (axis->adaptive || axis->dilation != 1 || axis->window > kMostWindow) return;
  }
  if (along.stride > 2 || along.cells > kMostRow || along.outputs > kMostRow) return;
  if (down.outputs * along.outputs == 1) return;  // there are better ways to reduce a whole plane
  if (plan_.op != NDPOOL_AVG && along.stride == 2 && along.cells * down.cells <= kTiny) return;
  const auto cells = [&](int i) { return plan_.even_axes[i].cells; };
  const auto outputs = [&](int i) { return plan_.even_axes[i].outputs; };
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
  streaming_ = in_one_piece &&
               static_cast<size_t>(elements_of(space_, y_) * y_.element) >= streaming_bytes();
  staged_ = streaming_ || along.outputs < lanes;
  sheet_.place_step = rows * along.cells;
  if (in_one_piece) {
    together_ = std::clamp<int64_t>(kPlaces / sheet_.place_step, 1, space_.batch);
  }
  down_lanes_ = plan_axis(down.window, along.cells, together_ * sheet_.place_step, &sheet_.down);
  along_lanes_ =
      plan_axis(along.window, 1, together_ * down.outputs * sheet_.pitch + reach, &sheet_.along);
  groups_ = (space_.batch + together_ - 1) / together_;
  const int64_t staged = staged_ ? together_ * plane : 0;
  possible_ = (down_lanes_ + along_lanes_ + staged) * int64_t{sizeof(float)} <= kMostBytes;
}

// Returns how many elements of scratch it takes.
int64_t SheetsJob::plan_axis(int64_t window, int64_t step, int64_t places, SheetAxis* axis) const {
  const int64_t room =
      places + kVectorsBehind * plan_.kernels->sheets->lanes + sheet_.row + sheet_.pitch;
  if (window <= 4) {
    for (int64_t t = 0; t < window; ++t) axis->part[axis->parts++] = t * step;
    return room;
  }
  const bool sum = plan_.op == NDPOOL_AVG;
  const auto top = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(window)));
  // Where the windows of 1, 2, 4 ... taps are.
  int64_t level_at[16]{}, level = 1, at = 0, last = 0;
  while (level < top) {
    const bool needed = sum && (window & 2 * level) != 0;
    const int radix = 4 * level <= top && !needed ? 4 : 2;
    // The cells themselves must stay as they are, and so must what windows are joined from.
    const bool kept = level == 1 || (sum && (window & level) != 0);
    const int64_t to = kept ? last + room : at;
    axis->pass[axis->passes++] = {at, to, level * step, places - (radix * level - 1) * step, radix};
    level *= radix;
    at = to;
    last = std::max(last, to);
    level_at[std::countr_zero(static_cast<uint64_t>(level))] = at;
  }
  if (sum) {
    int64_t first = 0;
    for (int bit = std::countr_zero(static_cast<uint64_t>(top)); bit >= 0; --bit) {
      if ((window >> bit & 1) == 0) continue;
      axis->part[axis->parts++] = level_at[bit] + first * step;
      first += int64_t{1} << bit;
    }
  } else {
    axis->part[axis->parts++] = at;
    if (window != top) axis->part[axis->parts++] = at + (window - top) * step;
  }
  return last + room;
}

int64_t SheetsJob::grain() const {
  return std::max<int64_t>(1, 16384 / (together_ * sheet_.cells));
}

std::string SheetsJob::describe() const {
  return "sheets: " + std::to_string(together_) +
         " at a time in scratch, joined at every place as if they were one row, down and then "
         "along "
         "(small planes)" +
         std::string(streaming_ ? "; results go past the caches" : "");
}

void SheetsJob::work(Arena* arena, TaskQueue* queue) const {
  const SheetKernels& kernels = *plan_.kernels->sheets;
  const int64_t plane = sheet_.rows * sheet_.outputs;
  auto* down = arena->take<float>(down_lanes_);
  auto* along = arena->take<float>(along_lanes_);
  auto* staged = arena->take<float>(staged_ ? together_ * plane + kernels.lanes : 0);
  if (!queue) return;
  std::fill(down, down + down_lanes_, sheet_.absent);
  std::fill(along, along + along_lanes_, sheet_.absent);
  SheetKernels::Kinds kinds{nullptr, kernels.average};
  if (plan_.op != NDPOOL_AVG) kinds = kernels.extremes[plan_.op == NDPOOL_MAX ? kMax : kMin];
  for (Range range; queue->take(&range);) {
    for (int64_t task = range.begin; task < range.end; ++task) {
      const int64_t outer = task / groups_, first = task % groups_ * together_;
      const int64_t planes = std::min(together_, space_.batch - first);
      const auto* x =
          reinterpret_cast<const float*>(outer_address(space_, x_, outer) + first * x_.batch);
      auto* y = reinterpret_cast<float*>(outer_address(space_, y_, outer) + first * y_.batch);
      float* to = staged_ ? staged : y;
      if (!kinds.numbers || !kinds.numbers(sheet_, planes, x, down, along, to)) {
        kinds.anything(sheet_, planes, x, down, along, to);
      }
      const size_t bytes = static_cast<size_t>(planes * plane) * sizeof(float);
      if (streaming_) {
        plan_.kernels->move->stream(staged, y, bytes);
      } else if (staged_) {
        std::memcpy(y, staged, bytes);
      }
    }
  }
  if (streaming_) plan_.kernels->move->flush();
}

}  // namespace ndpool
