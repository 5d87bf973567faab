// The plan in words and numbers: the formula of each axis, and what was chosen.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>

#include "band_job.h"
#include "channels.h"
#include "columns.h"
#include "plan.h"
#include "planes.h"
#include "sheets.h"
#include "strips.h"
#include "whole.h"
#include "reductions.h"

namespace ndpool {
namespace {

void add(std::string* text, const char* format, ...) __attribute__((format(printf, 2, 3)));
void add(std::string* text, const char* format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  *text += line;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text;
  for (int64_t size : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(size);
  }
  return text;
}

void explain_axis(const Plan& plan, int i, std::string* text) {
  const Axis& a = plan.axes[i];
  const int number = plan.axis_number[i];
  if (a.adaptive) {
    add(text,
        "  axis %d: %" PRId64 " cells -> %" PRId64 " outputs, window i = [floor(i*%" PRId64
        "/%" PRId64 "), ceil((i+1)*%" PRId64 "/%" PRId64 ")), at most %" PRId64 " cells\n",
        number, a.cells, a.outputs, a.cells, a.outputs, a.cells, a.outputs, a.window);
    return;
  }
  const char* rounding = plan.rounding == NDPOOL_CEIL    ? "ceil"
                         : plan.rounding == NDPOOL_EXACT ? "exact"
                                                         : "floor";
  add(text,
      "  axis %d: %s((%" PRId64 " + %" PRId64 " + %" PRId64 " - %" PRId64 ") / %" PRId64
      ") + 1 = %" PRId64 " outputs  (cells + padding - extent, over stride)\n",
      number, rounding, a.cells, a.pad_lo, a.pad_hi, a.extent(), a.stride, a.outputs);
  if (a.dilation > 1) {
    add(text, "          extent = (%" PRId64 " - 1) * %" PRId64 " + 1 = %" PRId64 "\n", a.window,
        a.dilation, a.extent());
  }
  if (a.dropped() > 0) {
    add(text, "          the last %" PRId64 " cells are dropped: no window covers them\n",
        a.dropped());
  }
}

// The algorithm that a forward call of arrays in row-major order takes, and the lanes if they are
// not those given.
std::string describe_forward(const Plan& plan, Lane* lane) {
  if (plan.direct) return "direct: window by window, because there are few";
  const std::string rows =
      "rows: across each pooled axis in turn, then along the last, two by two (bands are for equal "
      "windows of few taps, none of them empty)";
  for (int64_t size : plan.shape) {
    if (size == 0) return rows;
  }
  const ArrayArg args[2] = {
      {nullptr, nullptr, plan.shape.data(), nullptr, static_cast<int64_t>(type_size(plan.type))},
      {nullptr, nullptr, plan.output_shape.data(), nullptr,
       static_cast<int64_t>(type_size(plan.out_type))}};
  Space space;
  Bound bound[2];
  bind_arrays(plan.rank, plan.is_pooled.get(), args, 2, 1, &space, bound);
  const ColumnsJob columns(plan, space, bound[0], &bound[1], nullptr);
  if (columns.possible()) {
    *lane = columns.lane();
    return columns.describe();
  }
  const ChannelsJob channels(plan, space, bound[0], bound[1], nullptr);
  if (channels.possible()) return channels.describe();
  const WholeJob whole(plan, space, bound[0], bound[1]);
  if (whole.possible()) return whole.describe();
  const StripsJob strips(plan, space, bound[0], bound[1]);
  if (strips.possible()) return strips.describe();
  const SheetsJob sheets(plan, space, From::x, bound[0], bound[1]);
  if (sheets.possible()) return sheets.describe();
  const PlanesJob planes(plan, space, From::x, bound[0], &bound[1]);
  if (planes.possible()) return planes.describe();
  if (plan.op == NDPOOL_AVG) {
    const BandJob job(plan, space, bound[1], plan.out_type,
                      sum_reduction(plan, space, bound[0], plan.sum_lane));
    return job.possible() && !plan.has_empty_windows ? job.describe() : rows;
  }
  const BandJob job(plan, space, bound[0], &bound[1], nullptr, false);
  return job.possible() ? job.describe() : rows;
}

}  // namespace

std::string explain(const Plan& plan) {
  std::string text;
  add(&text, "%s %s: %s -> %s\n", op_name(plan.op), type_name(plan.type),
      shape_text(plan.shape).c_str(), shape_text(plan.output_shape).c_str());
  for (int i = 0; i < plan.pooled; ++i) explain_axis(plan, i, &text);
  const bool extreme = plan.op == NDPOOL_MAX || plan.op == NDPOOL_MIN;
  add(&text, "  window: %" PRId64 " taps at most", plan.box_taps);
  if (extreme) {
    add(&text, "; compact argmax in %s, %zu byte%s an output", type_name(plan.argmax_type),
        type_size(plan.argmax_type), type_size(plan.argmax_type) == 1 ? "" : "s");
  }
  text += '\n';
  if (plan.has_empty_windows) text += "  some windows hold no cell\n";
  constexpr const char* kLaneNames[kLanes] = {"i8",  "u8",  "i16", "u16", "i32", "u32",
                                              "i64", "u64", "f32", "f64", "i128"};
  if (extreme || plan.op == NDPOOL_AVG) {
    Lane lane = extreme ? native_lane(plan.type) : plan.sum_lane;
    text += "  " + describe_forward(plan, &lane) + "\n";
    add(&text, "  in %s lanes\n", kLaneNames[static_cast<int>(lane)]);
  } else if (plan.sums) {
    text +=
        "  terms of cells, summed over windows as an average is (tap by tap where they are too "
        "large "
        "or too small for that); in f64 lanes";
    text += plan.sums32 ? ", first in f32 where these have range and digits enough\n" : "\n";
  } else {
    text += "  tap by tap: terms depend on the whole window; in f64 lanes\n";
  }
  add(&text, "  SIMD target: %s\n", plan.kernels->name);
  return text;
}

}  // namespace ndpool
