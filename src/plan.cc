#include "plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "arena.h"
#include "direct.h"
#include "scratch.h"
#include "status.h"
#include "taps.h"

namespace ndpool {
namespace {

// No array may have more elements than this: 8-byte elements and indices then have 64-bit byte
// counts.
constexpr int64_t kMaxElements = INT64_MAX / 8;

bool in_range(int32_t value, int32_t last) { return value >= 0 && value <= last; }

int32_t check_words(const ndpool_desc& d, ndpool_error* error) {
  const struct {
    const char* name;
    int32_t value, last;
  } words[] = {{"op", d.op, NDPOOL_LP},
               {"type", d.type, NDPOOL_BOOL},
               {"mode", d.mode, NDPOOL_GLOBAL},
               {"rounding", d.rounding, NDPOOL_EXACT},
               {"padding", d.padding, NDPOOL_PADDING_SAME_LOWER},
               {"ties", d.ties, NDPOOL_TIES_SPLIT},
               {"empty", d.empty, NDPOOL_EMPTY_IDENTITY},
               {"count_include_pad", d.count_include_pad, 1},
               {"mean", d.mean, 1},
               {"algorithm", d.algorithm, NDPOOL_ALGORITHM_DOUBLING}};
  for (const auto& word : words) {
    if (!in_range(word.value, word.last)) {
      return fail(error, Message::unknown_value, -1, {word.value}, word.name);
    }
  }
  const struct {
    const char* name;
    const ndpool_ints& ints;
  } lists[] = {{"shape", d.shape},       {"axes", d.axes},
               {"window", d.window},     {"stride", d.stride},
               {"dilation", d.dilation}, {"pad_lo", d.pad_lo},
               {"pad_hi", d.pad_hi},     {"output_size", d.output_size}};
  for (const auto& list : lists) {
    if (list.ints.count < 0)
      return fail(error, Message::unknown_value, -1, {list.ints.count}, list.name);
    if (list.ints.count > 0 && !list.ints.data)
      return fail(error, Message::null_pointer, -1, {}, list.name);
  }
  return NDPOOL_OK;
}

int32_t check_types(const ndpool_desc& d, Plan* plan, ndpool_error* error) {
  const bool float_only = d.op == NDPOOL_SMOOTH_MAX || d.op == NDPOOL_LP;
  if ((float_only && !is_float(d.type)) || (d.op == NDPOOL_AVG && d.type == NDPOOL_BOOL)) {
    const std::string word = std::string(op_name(d.op)) + " has no type " + type_name(d.type);
    return fail(error, Message::op_without_type, -1, {}, word.c_str());
  }
  plan->out_type = d.out_type == NDPOOL_SAME_TYPE ? d.type : d.out_type;
  if (!is_type(plan->out_type)) return fail(error, Message::out_type_unknown, -1, {d.out_type});
  if (plan->out_type == d.type) return NDPOOL_OK;
  if (d.op != NDPOOL_AVG) {
    return fail(error, Message::out_type_not_average, -1, {}, op_name(d.op));
  }
  const bool wider = is_integer(d.type) && is_integer(plan->out_type) &&
                     type_size(plan->out_type) >= type_size(d.type);
  if (!is_float(plan->out_type) && !wider) {
    const std::string word = std::string(type_name(d.type)) + " as " + type_name(plan->out_type);
    return fail(error, Message::out_type_narrower, -1, {}, word.c_str());
  }
  return NDPOOL_OK;
}

int32_t check_parameters(const ndpool_desc& d, Plan* plan, ndpool_error* error) {
  char word[32];
  if (d.op == NDPOOL_SMOOTH_MAX && (!std::isfinite(d.beta) || d.beta == 0)) {
    std::snprintf(word, sizeof word, "%g", d.beta);
    return fail(error, Message::bad_beta, -1, {}, word);
  }
  if (d.op == NDPOOL_LP && !(d.p > 0)) {
    std::snprintf(word, sizeof word, "%g", d.p);
    return fail(error, Message::bad_p, -1, {}, word);
  }
  if (d.op == NDPOOL_AVG && d.divisor && *d.divisor == 0) return fail(error, Message::bad_divisor);
  plan->beta = d.beta;
  plan->p = d.p;
  plan->mean = d.mean != 0;
  plan->counts.include_pad = d.count_include_pad != 0;
  plan->counts.divisor = d.op == NDPOOL_AVG && d.divisor ? *d.divisor : 0;
  return NDPOOL_OK;
}

// The elements of a shape, with zero sizes skipped in the product.
int32_t check_total(const std::vector<int64_t>& shape, const char* what, ndpool_error* error) {
  int64_t total = 1;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) continue;
    if (!geometry::checked_mul(total, shape[axis], &total) || total > kMaxElements) {
      return fail(error, Message::total_overflow, static_cast<int>(axis), {shape[axis]}, what);
    }
  }
  return NDPOOL_OK;
}

// The pooled axes by number; owner[axis] = place among the arguments, or -1.
int32_t find_axes(const ndpool_desc& d, Plan* plan, std::vector<int>* owner, ndpool_error* error) {
  if (d.shape.count == 0) return fail(error, Message::rank_zero);
  if (d.shape.count > INT32_MAX)
    return fail(error, Message::unknown_value, -1, {d.shape.count}, "rank");
  plan->rank = static_cast<int>(d.shape.count);
  plan->shape.assign(d.shape.data, d.shape.data + d.shape.count);
  for (int axis = 0; axis < plan->rank; ++axis) {
    const int64_t size = plan->shape[static_cast<size_t>(axis)];
    if (size < 0) return fail(error, Message::negative_size, axis, {size});
  }
  const int64_t trailing = d.mode == NDPOOL_WINDOWED   ? d.window.count
                           : d.mode == NDPOOL_ADAPTIVE ? d.output_size.count
                                                       : 0;
  const int64_t count = d.axes.count > 0 ? d.axes.count : trailing;
  const char* source = d.axes.count > 0            ? "axes"
                       : d.mode == NDPOOL_WINDOWED ? "window"
                                                   : "output_size";
  if (count == 0) {
    if (d.mode == NDPOOL_GLOBAL) return fail(error, Message::no_axes);
    return fail(error, Message::no_window, -1, {}, source);
  }
  if (count > plan->rank) {
    return fail(error, Message::more_axes_than_rank, -1, {count, plan->rank}, source);
  }
  owner->assign(static_cast<size_t>(plan->rank), -1);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t named = d.axes.count > 0 ? d.axes.data[i] : i - count;
    if (named < -plan->rank || named >= plan->rank) {
      return fail(error, Message::axis_out_of_range, -1, {named, plan->rank});
    }
    const int64_t axis = named < 0 ? named + plan->rank : named;
    int& place = (*owner)[static_cast<size_t>(axis)];
    if (place >= 0) return fail(error, Message::axis_twice, static_cast<int>(axis), {axis});
    place = static_cast<int>(i);
  }
  if (count > kMaxPooled) return fail(error, Message::too_many_pooled, -1, {count, kMaxPooled});
  plan->pooled = static_cast<int>(count);
  return NDPOOL_OK;
}

int32_t check_counts(const ndpool_desc& d, int pooled, ndpool_error* error) {
  const struct {
    const char* name;
    const ndpool_ints& ints;
    bool required;
  } lists[] = {{"window", d.window, d.mode == NDPOOL_WINDOWED},
               {"output_size", d.output_size, d.mode == NDPOOL_ADAPTIVE},
               {"stride", d.stride, false},
               {"dilation", d.dilation, false},
               {"pad_lo", d.pad_lo, false},
               {"pad_hi", d.pad_hi, false}};
  for (const auto& list : lists) {
    const int64_t n = list.ints.count;
    if ((n == 0 && list.required) || (n > 1 && n != pooled)) {
      return fail(error, Message::bad_count, -1, {n, pooled}, list.name);
    }
  }
  return NDPOOL_OK;
}

// What is given must be used: nothing is ignored in silence.
int32_t check_mode(const ndpool_desc& d, ndpool_error* error) {
  const bool windowed = d.mode == NDPOOL_WINDOWED;
  const struct {
    const char* name;
    bool given, wanted;
  } values[] = {{"window", d.window.count > 0, windowed},
                {"stride", d.stride.count > 0, windowed},
                {"dilation", d.dilation.count > 0, windowed},
                {"pad_lo", d.pad_lo.count > 0, windowed},
                {"pad_hi", d.pad_hi.count > 0, windowed},
                {"padding", d.padding != NDPOOL_PADDING_GIVEN, windowed},
                {"output_size", d.output_size.count > 0, d.mode == NDPOOL_ADAPTIVE}};
  for (const auto& value : values) {
    if (value.given && !value.wanted) {
      return fail(error, Message::not_for_mode, -1, {}, value.name);
    }
  }
  if (d.padding != NDPOOL_PADDING_GIVEN && (d.pad_lo.count > 0 || d.pad_hi.count > 0)) {
    return fail(error, Message::padding_twice, -1, {}, d.pad_lo.count > 0 ? "pad_lo" : "pad_hi");
  }
  return NDPOOL_OK;
}

int64_t value_of(const ndpool_ints& ints, int place, int64_t otherwise) {
  if (ints.count == 0) return otherwise;
  return ints.count == 1 ? ints.data[0] : ints.data[place];
}

int32_t make_axis(const ndpool_desc& d, int place, int number, int64_t cells, Axis* axis,
                  ndpool_error* error) {
  using geometry::Fault;
  const int64_t window = value_of(d.window, place, 1), stride = value_of(d.stride, place, window);
  const int64_t dilation = value_of(d.dilation, place, 1), lo = value_of(d.pad_lo, place, 0);
  const int64_t hi = value_of(d.pad_hi, place, lo);
  int64_t outputs = d.mode == NDPOOL_GLOBAL ? 1 : value_of(d.output_size, place, 1);
  if (d.mode == NDPOOL_ADAPTIVE && outputs == NDPOOL_KEEP) outputs = cells;
  const auto made = d.mode == NDPOOL_WINDOWED
                        ? geometry::make_windowed(cells, window, stride, dilation, lo, hi,
                                                  static_cast<geometry::Rounding>(d.rounding),
                                                  static_cast<geometry::Padding>(d.padding))
                        : geometry::make_adaptive(cells, outputs);
  *axis = made.axis;
  switch (made.fault) {
    case Fault::none:
      return NDPOOL_OK;
    case Fault::empty_axis:
      return fail(error, Message::empty_axis, number, {cells});
    case Fault::bad_window:
      return fail(error, Message::bad_window, number, {window});
    case Fault::bad_stride:
      return fail(error, Message::bad_stride, number, {stride});
    case Fault::bad_dilation:
      return fail(error, Message::bad_dilation, number, {dilation});
    case Fault::bad_padding:
      return fail(error, Message::bad_padding, number, {lo, hi});
    case Fault::bad_output_size:
      return fail(error, Message::bad_output_size, number, {outputs});
    case Fault::overflow:
      return fail(error, Message::axis_overflow, number, {window, dilation, lo, hi});
    case Fault::no_output:
      return fail(error, Message::no_output, number,
                  {window, dilation, (window - 1) * dilation + 1, cells + lo + hi});
    case Fault::remainder:
      return fail(error, Message::remainder, number, {made.remainder, stride, made.axis.dropped()});
  }
  return NDPOOL_OK;
}

// A window without a cell is an error, unless its pads count or an identity is asked for.
int32_t check_empty_windows(const ndpool_desc& d, Plan* plan, ndpool_error* error) {
  const bool pads_count =
      d.op == NDPOOL_LP || plan->counts.divisor != 0 ||
      ((d.op == NDPOOL_AVG || d.op == NDPOOL_SMOOTH_MAX) && d.count_include_pad);
  for (int i = 0; i < plan->pooled; ++i) {
    int64_t output = 0;
    if (!plan->axes[i].has_empty_window(&output)) continue;
    plan->has_empty_windows = true;
    if (pads_count) continue;
    const int number = plan->axis_number[i];
    if (d.empty == NDPOOL_EMPTY_ERROR) {
      return fail(error, Message::empty_window, number, {output, plan->axes[i].outputs});
    }
    if (d.op == NDPOOL_AVG && !is_float(plan->out_type)) {
      return fail(error, Message::empty_integer_average, number, {output, plan->axes[i].outputs});
    }
  }
  return NDPOOL_OK;
}

int32_t number_taps(Plan* plan, ndpool_error* error) {
  int64_t taps = 1, cells = 1;
  for (int i = plan->pooled - 1; i >= 0; --i) {
    plan->tap_weight[i] = static_cast<uint64_t>(taps);
    plan->flat_weight[i] = static_cast<uint64_t>(cells);
    cells *= plan->axes[i].cells;
    if (!geometry::checked_mul(taps, plan->axes[i].window, &taps)) {
      return fail(error, Message::box_overflow, plan->axis_number[i], {plan->axes[i].window});
    }
  }
  plan->box_taps = taps;
  const uint64_t largest = static_cast<uint64_t>(taps - 1);
  plan->argmax_type = largest <= UINT8_MAX    ? NDPOOL_U8
                      : largest <= UINT16_MAX ? NDPOOL_U16
                      : largest <= UINT32_MAX ? NDPOOL_U32
                                              : NDPOOL_U64;
  plan->index_size = largest <= UINT32_MAX ? 4 : 8;
  return NDPOOL_OK;
}

// An adaptive axis whose windows have the same size and distance is a windowed one. (Only few
// outputs are looked at: a plan's cost must not grow with them.)
Axis even(const Axis& axis) {
  constexpr int64_t kMost = 32;
  if (!axis.adaptive || axis.outputs > kMost) return axis;
  const int64_t stride = axis.outputs > 1 ? axis.window_of(1).first : axis.cells;
  if (stride < 1) return axis;
  for (int64_t o = 0; o < axis.outputs; ++o) {
    const auto window = axis.window_of(o);
    if (window.cells != axis.window || window.first != o * stride) return axis;
  }
  return geometry::make_windowed<int64_t>(axis.cells, axis.window, stride, 1, 0, 0).axis;
}

// The lane in which the sum of the largest window is exact (integers) or as wide as asked (floats).
Lane choose_sum_lane(const Plan& plan) {
  if (is_float(plan.type)) {
    return plan.type == NDPOOL_F64 || plan.out_type == NDPOOL_F64 ? Lane::f64 : Lane::f32;
  }
  const int bits = 8 * static_cast<int>(type_size(plan.type)) +
                   static_cast<int>(std::bit_width(static_cast<uint64_t>(plan.box_taps)));
  if (bits <= 15) return Lane::i16;
  if (bits <= 30) return Lane::i32;
  return bits <= 61 && type_size(plan.type) <= 4 ? Lane::i64 : Lane::i128;
}

// Smooth max and Lp sum terms as an average with divisor 1 sums cells.
int32_t plan_sums(const ndpool_desc& desc, Plan* plan, ndpool_error* error) {
  const bool smooth = plan->op == NDPOOL_SMOOTH_MAX && !plan->mean;
  // Roots of a tiny order would enlarge what sums have lost.
  const bool lp = plan->op == NDPOOL_LP && std::isfinite(plan->p) && plan->p > 1e-6;
  const bool possible = plan->type != NDPOOL_F64 && plan->rank <= kMaxAxes;
  const bool wanted = plan->algorithm != NDPOOL_ALGORITHM_ROWS;
  if ((!smooth && !lp) || !possible || !wanted) return NDPOOL_OK;
  const int64_t one = 1;
  ndpool_desc sums = desc;
  sums.op = NDPOOL_AVG;
  sums.divisor = &one;
  sums.count_include_pad = 1;
  sums.empty = NDPOOL_EMPTY_ERROR;
  sums.beta = sums.p = 1;
  const auto make = [&](int32_t type, std::unique_ptr<const Plan>* to) -> int32_t {
    sums.type = sums.out_type = type;
    std::unique_ptr<Plan> made;
    if (int32_t code = make_plan(sums, &made, error)) return code;
    made->small_blocks = true;
    plan->sums_scratch = std::max(plan->sums_scratch, scratch_bytes(*made) + Arena::kAlign);
    *to = std::move(made);
    return NDPOOL_OK;
  };
  plan->sums_scratch = window_scratch_bytes(*plan, kFewTapLanes) + Arena::kAlign;
  if (int32_t code = make(NDPOOL_F64, &plan->sums)) return code;
  // A smaller beta has too few bits in f32.
  constexpr double kLeastBeta32 = 0x1p-100;
  const bool in_f32 = smooth && std::fabs(plan->beta) >= kLeastBeta32;
  if (in_f32 && plan->kernels->real->smooth_cells32) {
    if (int32_t code = make(NDPOOL_F32, &plan->sums32)) return code;
  }
  plan->all_full = true;
  for (int i = 0; i < plan->pooled; ++i) {
    const Axis& axis = plan->axes[i];
    plan->all_full = plan->all_full && axis.pad_lo == 0 && axis.pad_hi == 0;
  }
  return NDPOOL_OK;
}

}  // namespace

int32_t make_plan(const ndpool_desc& desc, std::unique_ptr<Plan>* result, ndpool_error* error) {
  if (int32_t code = check_words(desc, error)) return code;
  auto plan = std::make_unique<Plan>();
  plan->op = desc.op;
  plan->type = desc.type;
  plan->rounding = desc.rounding;
  plan->ties = desc.ties;
  plan->algorithm = desc.algorithm;
  if (int32_t code = check_types(desc, plan.get(), error)) return code;
  if (int32_t code = check_parameters(desc, plan.get(), error)) return code;
  std::vector<int> owner;
  if (int32_t code = find_axes(desc, plan.get(), &owner, error)) return code;
  if (int32_t code = check_counts(desc, plan->pooled, error)) return code;
  if (int32_t code = check_mode(desc, error)) return code;
  plan->is_pooled = std::make_unique<bool[]>(static_cast<size_t>(plan->rank));
  plan->output_shape = plan->shape;
  int pooled = 0;
  for (int axis = 0; axis < plan->rank; ++axis) {
    const size_t at = static_cast<size_t>(axis);
    if (owner[at] < 0) continue;
    if (int32_t code =
            make_axis(desc, owner[at], axis, plan->shape[at], &plan->axes[pooled], error)) {
      return code;
    }
    plan->even_axes[pooled] = even(plan->axes[pooled]);
    plan->is_pooled[at] = true;
    plan->axis_number[pooled] = axis;
    plan->output_shape[at] = plan->axes[pooled].outputs;
    ++pooled;
  }
  if (int32_t code = check_total(plan->shape, "input", error)) return code;
  if (int32_t code = check_total(plan->output_shape, "output", error)) return code;
  if (int32_t code = number_taps(plan.get(), error)) return code;
  if (int32_t code = check_empty_windows(desc, plan.get(), error)) return code;
  plan->counts.axes = plan->even_axes;
  plan->counts.pooled = plan->pooled;
  plan->kernels = desc.target ? kernels_named(desc.target) : kernels_at(0);
  if (!plan->kernels) {
    return fail(error, Message::unknown_target, -1, {}, desc.target ? desc.target : "any");
  }
  plan->sum_lane = choose_sum_lane(*plan);
  plan->direct =
      !desc.target && plan->algorithm == NDPOOL_ALGORITHM_AUTOMATIC && can_go_direct(*plan);
  if (int32_t code = plan_sums(desc, plan.get(), error)) return code;
  *result = std::move(plan);
  return NDPOOL_OK;
}

const char* type_name(int type) {
  constexpr const char* kNames[kTypes] = {"f16", "bf16", "f32", "f64", "i8",  "u8",  "i16",
                                          "u16", "i32",  "u32", "i64", "u64", "bool"};
  return is_type(type) ? kNames[type] : nullptr;
}

const char* op_name(int op) {
  constexpr const char* kNames[] = {"max", "min", "avg", "smooth", "lp"};
  return op >= NDPOOL_MAX && op <= NDPOOL_LP ? kNames[op] : nullptr;
}

}  // namespace ndpool
