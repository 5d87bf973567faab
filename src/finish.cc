#include "finish.h"

#include <algorithm>

namespace ndpool {

AverageFinish::AverageFinish(const Plan& plan, int type, Lane lane, bool tangent, int64_t lanes,
                             int64_t elements, Arena* arena, bool planes)
    : plan_(plan),
      type_(type),
      lane_(lane),
      tangent_(tangent),
      planes_(planes),
      uniform_(plan.counts.uniform()),
      along_(arena->take<int64_t>(lanes)),
      divisors_(arena->take<int64_t>(lanes)),
      lane_divisors_(arena->take(lanes, lane_size(lane))) {
  if (is_half(type)) wide_ = arena->take<double>(elements);
}

int64_t AverageFinish::count_at(int64_t output) const {
  if (!planes_) return plan_.counts.of(1, output);
  const int64_t row = plan_.even_axes[1].outputs, across = output / row;
  return plan_.counts.of(plan_.counts.across(&across), output % row);
}

void AverageFinish::find_divisors(int64_t across, Range outputs) {
  if (uniform()) {
    across = 1;
    outputs = {0, std::max(outputs.size(), outputs_.size())};
  }
  const bool same = outputs.begin == outputs_.begin && outputs.end == outputs_.end;
  if (same && across == across_) return;
  for (int64_t p = 0; !same && p < outputs.size(); ++p) {
    along_[p] = uniform() ? uniform_ : count_at(outputs.begin + p);
  }
  for (int64_t p = 0; p < outputs.size(); ++p) {
    divisors_[p] = across * along_[p];
    // The average of an empty window is 0/0, but its tangent is 0.
    if (tangent_ && divisors_[p] == 0) divisors_[p] = 1;
  }
  outputs_ = outputs;
  across_ = across;
  inner_ = 0;
}

template <class F>
const F* AverageFinish::find_lane_divisors(int64_t inner) {
  F* to = static_cast<F*>(lane_divisors_);
  if (inner != inner_) {
    for (int64_t p = 0, i = 0; p < outputs_.size(); ++p) {
      for (int64_t c = 0; c < inner; ++c, ++i) to[i] = static_cast<F>(divisors_[p]);
    }
    inner_ = inner;
  }
  return to;
}

void AverageFinish::divide(int64_t rows, int64_t inner, void* sums, int64_t across, Range outputs) {
  const int lane = static_cast<int>(lane_);
  const int64_t lanes = outputs.size() * inner;
  const CombineKernels& kernels = *plan_.kernels->combine;
  if (uniform()) return kernels.scale[lane](rows * lanes, sums, uniform_);
  find_divisors(across, outputs);
  const void* by = lane_ == Lane::f32 ? static_cast<const void*>(find_lane_divisors<float>(inner))
                                      : find_lane_divisors<double>(inner);
  kernels.divide[lane](rows, lanes, sums, lanes, by);
}

void AverageFinish::store(const Strided& shape, void* sums, int64_t across, Range outputs,
                          char* to) {
  const ConvertKernels& convert = *plan_.kernels->convert;
  const int lane = static_cast<int>(lane_);
  const int64_t lanes = shape.positions * shape.inner;
  if (!is_float(plan_.type)) {
    Strided s = shape;
    if (uniform() && s.inner_stride * s.inner == s.position_stride) {
      // Channels have the same divisor, too: they need not be told from positions.
      s.positions = lanes;
      s.position_stride = s.inner_stride;
      s.inner = 1;
      outputs = {0, lanes};
    }
    find_divisors(across, outputs);
    convert.finish[lane][type_](s, sums, lanes, divisors_, to);
    return;
  }
  if (!is_half(type_) || lane_ != Lane::f32) {
    divide(shape.rows, shape.inner, sums, across, outputs);
    convert.store[lane][type_](shape, sums, lanes, to);
    return;
  }
  find_divisors(across, outputs);
  if (const auto average = convert.average_halves[type_]) {
    constexpr int64_t kExact = int64_t{1} << 24;
    bool exact = true;
    for (int64_t p = 0; p < shape.positions; ++p) {
      exact = exact && divisors_[p] > -kExact && divisors_[p] < kExact && divisors_[p] != 0;
    }
    const float* by = find_lane_divisors<float>(shape.inner);
    if (exact && average(shape, static_cast<const float*>(sums), by, to)) return;
  }
  // In f64, so that the quotient is rounded once, to the half.
  const float* from = static_cast<const float*>(sums);
  for (int64_t r = 0, i = 0; r < shape.rows; ++r) {
    for (int64_t p = 0; p < shape.positions; ++p) {
      const double divisor = static_cast<double>(divisors_[p]);
      for (int64_t c = 0; c < shape.inner; ++c, ++i) {
        wide_[i] = static_cast<double>(from[i]) / divisor;
      }
    }
  }
  convert.store[static_cast<int>(Lane::f64)][type_](shape, wide_, lanes, to);
}

}  // namespace ndpool
