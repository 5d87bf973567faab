#include "channels.h"

#include <algorithm>

#include "contiguous.h"

namespace ndpool {
namespace {

constexpr int64_t kBandElements = 65536;
constexpr int64_t kSize = sizeof(float);

}  // namespace

ChannelsJob::ChannelsJob(const Plan& plan, const Space& space, const Bound& x, const Bound& y,
                         const Bound* argmax)
    : plan_(plan), space_(space), from_(x), to_(y), argmax_(argmax), gradient_(false) {
  possible_ = !(argmax && plan.ties == NDPOOL_TIES_LAST) && choose();
}

ChannelsJob::ChannelsJob(const Plan& plan, const Space& space, const Bound& g, const Bound& argmax,
                         const Bound& dx)
    : plan_(plan), space_(space), from_(g), to_(dx), argmax_(&argmax), gradient_(true) {
  possible_ = choose();
}

bool ChannelsJob::choose() {
  const ChannelKernels& kernels = *plan_.kernels->channels;
  if (plan_.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || kernels.lanes == 0 ||
      plan_.type != NDPOOL_F32 || plan_.out_type != NDPOOL_F32 || plan_.has_empty_windows ||
      space_.pooled > 2 || space_.inner < kernels.lanes || space_.inner % kernels.lanes != 0) {
    return false;
  }
  if (argmax_ && plan_.argmax_type != NDPOOL_U8) return false;
  if (plan_.op == NDPOOL_AVG && !is_average_fit()) return false;
  int64_t windows = 1;
  for (int i = 0; i < space_.pooled; ++i) {
    const Axis& axis = plan_.axes[i];
    if (axis.adaptive || axis.dilation != 1) return false;
    windows *= std::min(axis.window, (axis.window - 1) / axis.stride + 1);
    if (windows > ChannelGradientKernels::kMostWindows) return false;
    (i == space_.pooled - 1 ? rows_.along : rows_.down) = {axis.cells, axis.outputs, axis.window,
                                                           axis.stride, axis.pad_lo};
  }
  if (!gradient_ && !rows_.has_small_windows()) return false;
  const auto cells = [&](int i) { return plan_.axes[i].cells; };
  const auto outputs = [&](int i) { return plan_.axes[i].outputs; };
  if (!has_plain_planes(space_, gradient_ ? to_ : from_, cells) ||
      !has_plain_planes(space_, gradient_ ? from_ : to_, outputs) ||
      (argmax_ && !has_plain_planes(space_, *argmax_, outputs))) {
    return false;
  }
  rows_.channels = space_.inner;
  rows_.far = is_beyond_caches(space_, from_) || is_beyond_caches(space_, to_);
  rows_.streamed = is_streamed(space_, from_, to_);
  if (rows_.streamed && !kernels.any_place) {
    int64_t odd = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to_.data)) | to_.batch;
    for (int i = 0; i < space_.outer_count; ++i) odd |= to_.outer[i];
    if (odd % (kernels.lanes * kSize) != 0) return false;
  }
  if (plan_.op == NDPOOL_AVG) rows_.divisor = plan_.counts.uniform();
  const int64_t all = gradient_ ? rows_.down.cells : rows_.down.outputs;
  const int64_t row = (gradient_ ? rows_.along.cells : rows_.along.outputs) * space_.inner;
  const int64_t band = std::clamp<int64_t>(kBandElements / row, 1, all);
  tasks_ = PlaneTasks(space_.outer_total() * space_.batch, all, row, band);
  return true;
}

bool ChannelsJob::is_average_fit() const {
  return plan_.counts.uniform() != 0 && plan_.sum_lane == Lane::f32;
}

std::string ChannelsJob::describe() const {
  return "channels: windows one after another, in the order of memory, channels in lanes" +
         std::string(rows_.streamed ? "; results go past the caches" : "");
}

void ChannelsJob::work(Arena*, TaskQueue* queue) const {
  if (!queue) return;
  tasks_.each_band(queue, [&](int64_t plane, Range rows) { band(plane, rows); });
  if (rows_.streamed) plan_.kernels->move->flush();
}

void ChannelsJob::band(int64_t plane, Range rows) const {
  ChannelRows c = rows_;
  c.first = rows.begin;
  c.rows = rows.size();
  c.x = reinterpret_cast<const float*>(plane_address(space_, from_, plane));
  const int64_t row = (gradient_ ? c.along.cells : c.along.outputs) * c.channels;
  c.to = reinterpret_cast<float*>(plane_address(space_, to_, plane)) + rows.begin * row;
  if (argmax_) {
    auto* winners = reinterpret_cast<uint8_t*>(plane_address(space_, *argmax_, plane));
    c.winners_of_plane = winners;
    c.winners = winners + rows.begin * row;
  }
  const ChannelKernels& kernels = *plan_.kernels->channels;
  if (gradient_) {
    plan_.kernels->channel_gradients->collect(c);
  } else if (plan_.op == NDPOOL_AVG) {
    kernels.average(c);
  } else {
    const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
    const auto& kinds = (argmax_ ? kernels.winners : kernels.extremes)[extreme];
    if (!kinds.numbers(c)) kinds.anything(c);
  }
}

}  // namespace ndpool
