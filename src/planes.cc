#include "planes.h"

#include <algorithm>
#include <cstring>

#include "band_job.h"
#include "contiguous.h"
#include "machine.h"
#include "reductions.h"

namespace ndpool {
namespace {

constexpr int64_t kLanesTogether = 8;  // planes are turned in groups of so many
constexpr int64_t kMostLanes = 64;
constexpr int64_t kMostTaps = 256;          // for so few lanes
constexpr int64_t kGroupBytes = 24 * 1024;  // that a group should have
constexpr int64_t kMostGroupBytes = 64 * 1024;
constexpr int64_t kPairedRow = 48;  // bytes: rows that are long enough for pairs of lanes

// How many elements a plane has; more than kMostGroupBytes: too many.
int64_t plane_size(const Space& space, const Bound& array) {
  int64_t elements = 1;
  for (int i = 0; i < space.pooled; ++i) {
    if (elements == 0) return 0;
    if (array.box[i].size() > kMostGroupBytes / elements) return kMostGroupBytes + 1;
    elements *= array.box[i].size();
  }
  return elements;
}

}  // namespace

PlanesJob::PlanesJob(const Plan& plan, const Space& space, const Bound& source, const Bound& target,
                     From from)
    : plan_(plan),
      space_(space),
      source_{&source, plane_size(space, source)},
      target_{&target, plane_size(space, target)},
      from_(from) {
  const int last = space.pooled - 1;
  const auto sizes = [&](bool of_x) {
    return [&plan, of_x](int i) { return of_x ? plan.axes[i].cells : plan.axes[i].outputs; };
  };
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || space.inner != 1 ||
      space.batch < kLanesTogether) {
    return;
  }
  for (const Bound* array : {&source, &target}) {
    if (array->element != 4 && array->element != 8) return;
  }
  if (target_.elements == 1) return;  // after rows are one, bands turn what little is left
  const int64_t row = std::max(source.box[last].size(), target.box[last].size());
  if (row * target.element >= kShortRow) return;
  // Few taps: rows that are computed as one, or taken two lanes apart, need no turning.
  const Axis& along = plan.even_axes[last];
  if (!along.adaptive && along.stride == 1 && along.window <= 4 && along.cells == along.outputs) {
    return;
  }
  if (!along.adaptive && along.stride == 2 && along.window <= 3 && along.dilation == 1 &&
      along.outputs * target.element >= kPairedRow) {
    return;
  }
  const int64_t bytes = source_.elements * source.element + target_.elements * target.element;
  if (bytes > kMostGroupBytes / kLanesTogether) return;
  if (!has_plain_planes(space, source, sizes(from == From::x)) ||
      !has_plain_planes(space, target, sizes(from == From::g))) {
    return;
  }
  const int64_t most = std::clamp(kGroupBytes / bytes, kLanesTogether, kMostLanes);
  lanes_ = std::min(most, space.batch) / kLanesTogether * kLanesTogether;
  if (lanes_ == kLanesTogether && plan.box_taps > kMostTaps) lanes_ = 0;
  if (lanes_ == 0) return;
  groups_ = (space.batch + lanes_ - 1) / lanes_;
  streaming_ =
      target.batch == target_.elements * target.element &&
      static_cast<size_t>(elements_of(space, target) * target.element) >= streaming_bytes();
  bool bands = false;
  with_bands(nullptr, nullptr, [&](const BandJob& job) { bands = job.possible(); });
  if (!bands) lanes_ = 0;
}

int64_t PlanesJob::grain() const {
  return std::max<int64_t>(1, 16384 / (lanes_ * source_.elements));
}

std::string PlanesJob::describe() const {
  std::string text = "planes: " + std::to_string(lanes_) +
                     " at a time, side by side in lanes (rows are too short for vectors); there, ";
  with_bands(nullptr, nullptr, [&](const BandJob& job) { text += job.describe(); });
  return text;
}

Bound PlanesJob::block_of(const Side& side, char* memory) const {
  Bound block{};
  block.data = memory;
  block.element = block.inner = side.array->element;
  int64_t step = lanes_ * block.element;
  for (int i = space_.pooled - 1; i >= 0; --i) {
    block.pooled[i] = step;
    block.box[i] = side.array->box[i];
    step *= block.box[i].size();
  }
  block.batch = step;
  return block;
}

// f(job) with the job that pools the planes of a block.
template <class F>
void PlanesJob::with_bands(char* source, char* target, F f) const {
  Space space;
  space.pooled = space_.pooled;
  space.inner = lanes_;
  const Bound from = block_of(source_, source), to = block_of(target_, target);
  if (from_ == From::g) {
    f(BandJob(plan_, space, to, plan_.type,
              transposed_sum(plan_, space, from, float_lane(plan_.type))));
  } else if (plan_.op == NDPOOL_AVG) {
    f(BandJob(plan_, space, to, plan_.out_type, sum_reduction(plan_, space, from, plan_.sum_lane)));
  } else {
    f(BandJob(plan_, space, from, &to, nullptr, false));
  }
}

void PlanesJob::turn(int64_t rows, int64_t columns, const char* src, int64_t src_row, char* dst,
                     int64_t dst_row, const Side& side) const {
  plan_.kernels->move->transpose[side.array->element == 8](rows, columns, src, src_row, dst,
                                                           dst_row);
}

void PlanesJob::work(Arena* arena, TaskQueue* queue) const {
  const Bound &source = *source_.array, &target = *target_.array;
  const auto take = [&](const Side& side) {
    return static_cast<char*>(
        arena->take(side.elements * lanes_, static_cast<size_t>(side.array->element)));
  };
  char* const from = take(source_);
  char* const to = take(target_);
  char* const staged = streaming_ ? take(target_) : nullptr;
  with_bands(from, to, [&](const BandJob& job) {
    BandJob::Worker worker(job, arena);
    if (!queue) return;
    // Of a group that is not full, the lanes that are left hold something at least.
    std::memset(from, 0, static_cast<size_t>(source_.elements * lanes_ * source.element));
    for (Range range; queue->take(&range);) {
      for (int64_t task = range.begin; task < range.end; ++task) {
        const int64_t outer = task / groups_, first = task % groups_ * lanes_;
        const int64_t planes = std::min(lanes_, space_.batch - first);
        turn(planes, source_.elements, outer_address(space_, source, outer) + first * source.batch,
             source.batch / source.element, from, lanes_, source_);
        job.run_all(&worker);
        char* result = outer_address(space_, target, outer) + first * target.batch;
        turn(target_.elements, planes, to, lanes_, staged ? staged : result,
             target.batch / target.element, target_);
        if (!staged) continue;
        plan_.kernels->move->stream(
            staged, result, static_cast<size_t>(planes * target_.elements * target.element));
      }
    }
    if (streaming_) plan_.kernels->move->flush();
  });
}

}  // namespace ndpool
