#include "planes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "band_job.h"
#include "contiguous.h"
#include "reductions.h"
#include "spread.h"

namespace ndpool {
namespace {

constexpr int64_t kLanesTogether = 8;  // planes are turned in groups of so many
constexpr int64_t kMostLanes = 64;
constexpr int64_t kMostTaps = 256;          // for so few lanes
constexpr int64_t kGroupBytes = 24 * 1024;  // that a group should have
constexpr int64_t kMostGroupBytes = 64 * 1024;
constexpr int64_t kConverted = 8;   // bytes that an element of fewer than 4 counts for
constexpr int64_t kPairedRow = 48;  // bytes: rows that are long enough for pairs of lanes

// How many elements a plane has; more than kMostGroupBytes: too many.
int64_t plane_size(const Space& space, const Bound* array) {
  int64_t elements = array ? 1 : 0;
  for (int i = 0; i < space.pooled; ++i) {
    if (elements == 0) return 0;
    if (array->box[i].size() > kMostGroupBytes / elements) return kMostGroupBytes + 1;
    elements *= array->box[i].size();
  }
  return elements;
}

}  // namespace

PlanesJob::PlanesJob(const Plan& plan, const Space& space, From from, const Bound& source,
                     const Bound* target, const Bound* argmax)
    : plan_(plan),
      space_(space),
      from_(from),
      source_{&source, plane_size(space, &source)},
      target_{target, plane_size(space, target)},
      winners_{argmax, plane_size(space, argmax)} {
  const auto sizes = [&](bool of_x) {
    return [&plan, of_x](int i) { return of_x ? plan.axes[i].cells : plan.axes[i].outputs; };
  };
  if (plan.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || space.inner != 1 ||
      space.batch < kLanesTogether || plan.has_empty_windows) {
    return;
  }
  if (argmax && argmax->element != 1) return;
  if (!is_worthwhile()) return;
  const int64_t bytes = source_.bytes() + target_.bytes() + winners_.bytes();
  if (bytes > kMostGroupBytes / kLanesTogether) return;
  const auto plain = [&](const Bound* array, bool of_x) {
    return !array || has_plain_planes(space, *array, sizes(of_x));
  };
  if (!plain(&source, from == From::x) || !plain(target, from == From::g) ||
      !plain(argmax, false)) {
    return;
  }
  const int64_t most = std::clamp(kGroupBytes / bytes, kLanesTogether, kMostLanes);
  lanes_ = std::min(most, space.batch) / kLanesTogether * kLanesTogether;
  if (lanes_ == kLanesTogether && plan.box_taps > kMostTaps) lanes_ = 0;
  if (lanes_ == 0) return;
  groups_ = (space.batch + lanes_ - 1) / lanes_;
  streaming_ = target && target->batch == target_.bytes() && is_beyond_caches(space, *target);
  bool bands = false;
  with_bands({}, [&](const auto& job) { bands = job.possible(); });
  if (!bands) lanes_ = 0;
}

// Whether other ways take more time.
bool PlanesJob::is_worthwhile() const {
  const int last = space_.pooled - 1;
  if (winners_.array) {
    const Bound& cells = from_ == From::x ? *source_.array : *target_.array;
    return cells.box[last].size() * cells.element < 2 * kShortRow;
  }
  if (from_ == From::x && std::min(source_.array->element, target_.array->element) < 4)
    return false;
  if (target_.elements == 1) return false;  // after rows are one, bands turn what little is left
  const int64_t row = std::max(source_.array->box[last].size(), target_.array->box[last].size());
  const int64_t element = target_.array->element;
  if (row * (element < 4 ? kConverted : element) >= kShortRow) return false;
  if (from_ == From::g && source_.elements == 1) return false;
  // Few taps: rows that are computed as one, or taken two lanes apart, need no turning.
  const Axis& along = plan_.even_axes[last];
  if (along.adaptive) return true;
  if (from_ == From::x && along.stride == 1 && along.window <= 4 && along.cells == along.outputs) {
    return false;
  }
  return along.stride != 2 || along.window > 3 || along.dilation != 1 ||
         along.outputs * element < kPairedRow;
}

int64_t PlanesJob::grain() const {
  return std::max<int64_t>(1, 16384 / (lanes_ * source_.elements));
}

std::string PlanesJob::describe() const {
  std::string text = "planes: " + std::to_string(lanes_) +
                     " at a time, side by side in lanes (rows are too short for vectors); there, ";
  with_bands({}, [&](const auto& job) {
    if constexpr (requires { job.describe(); }) text += job.describe();
  });
  return text;
}

Bound PlanesJob::block_of(const Side& side, char* memory) const {
  Bound block{};
  if (!side.array) return block;
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

template <class F>
void PlanesJob::with_bands(const Blocks& blocks, F f) const {
  Space space;
  space.pooled = space_.pooled;
  space.inner = lanes_;
  const Bound from = block_of(source_, blocks.source), to = block_of(target_, blocks.target),
              winners = block_of(winners_, blocks.winners);
  if (from_ == From::g && winners_.array) {
    f(SpreadJob(plan_, space, from, winners, to));
  } else if (from_ == From::g) {
    f(BandJob(plan_, space, to, plan_.type,
              transposed_sum(plan_, space, from, float_lane(plan_.type))));
  } else if (plan_.op == NDPOOL_AVG) {
    f(BandJob(plan_, space, to, plan_.out_type, sum_reduction(plan_, space, from, plan_.sum_lane)));
  } else {
    f(BandJob(plan_, space, from, target_.array ? &to : nullptr,
              winners_.array ? &winners : nullptr, plan_.ties == NDPOOL_TIES_LAST));
  }
}

char* PlanesJob::take(const Side& side, Arena* arena) const {
  return arena->take<char>(side.bytes() * lanes_);
}

char* PlanesJob::address(const Side& side, int64_t outer, int64_t first) const {
  return outer_address(space_, *side.array, outer) + first * side.array->batch;
}

void PlanesJob::turn_in(const Side& side, int64_t outer, int64_t first, int64_t planes,
                        char* block) const {
  const Bound& array = *side.array;
  const auto turn =
      plan_.kernels->move->transpose[std::countr_zero(static_cast<uint64_t>(array.element))];
  turn(planes, side.elements, address(side, outer, first), array.batch / array.element, block,
       lanes_);
}

void PlanesJob::turn_out(const Side& side, int64_t planes, const char* block, char* to) const {
  const Bound& array = *side.array;
  const auto turn =
      plan_.kernels->move->transpose[std::countr_zero(static_cast<uint64_t>(array.element))];
  turn(side.elements, planes, block, lanes_, to, array.batch / array.element);
}

void PlanesJob::work(Arena* arena, TaskQueue* queue) const {
  const Blocks blocks{take(source_, arena), take(target_, arena), take(winners_, arena)};
  char* const staged = streaming_ ? take(target_, arena) : nullptr;
  const bool winners_out = winners_.array && from_ == From::x;
  const bool winners_in = winners_.array && from_ == From::g;
  with_bands(blocks, [&](const auto& job) {
    typename std::decay_t<decltype(job)>::Worker worker(job, arena);
    if (!queue) return;
    // Of a group that is not full, the lanes that are left hold something at least.
    std::memset(blocks.source, 0, static_cast<size_t>(source_.bytes() * lanes_));
    if (winners_in) std::memset(blocks.winners, 0, static_cast<size_t>(winners_.bytes() * lanes_));
    for (Range range; queue->take(&range);) {
      for (int64_t task = range.begin; task < range.end; ++task) {
        const int64_t outer = task / groups_, first = task % groups_ * lanes_;
        const int64_t planes = std::min(lanes_, space_.batch - first);
        turn_in(source_, outer, first, planes, blocks.source);
        if (winners_in) turn_in(winners_, outer, first, planes, blocks.winners);
        job.run_all(&worker);
        if (winners_out) {
          turn_out(winners_, planes, blocks.winners, address(winners_, outer, first));
        }
        if (!target_.array) continue;
        char* const result = address(target_, outer, first);
        turn_out(target_, planes, blocks.target, staged ? staged : result);
        if (!staged) continue;
        plan_.kernels->move->stream(staged, result, static_cast<size_t>(planes * target_.bytes()));
      }
    }
    if (streaming_) plan_.kernels->move->flush();
  });
}

}  // namespace ndpool
