#include "columns.h"

#include <algorithm>

#include "contiguous.h"
#include "kernels/halved_rows.h"
#include "kernels/same_rows.h"
#include "tap_list.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 16 * 1024, kSmallBandBytes = 8 * 1024;
constexpr int64_t kMostRowBytes = 64 * 1024;
constexpr int64_t kTogetherBytes = 12 * 1024, kSameRowsBytes = 128 * 1024;
constexpr int64_t kHalvedRowsBytes = 64 * 1024, kMostHalvedBytes = 256 * 1024;  // a task; a plane
constexpr int64_t kFewRows = 8, kFewStreamedRows = 3;
constexpr int64_t kShortRowBytes = 256;
constexpr int64_t kStripCells = 16;

const ColumnKernels& kernels_of(const Plan& plan) {
  return plan.type == NDPOOL_F32 ? *plan.kernels->columns
                                 : plan.kernels->narrow_columns->of[plan.type];
}

}  // namespace

bool ColumnsJob::Side::is_fit() const {
  // Dilated windows lack no cell, and each of their cells is the first or the last of one.
  return (window == 2 || window == 3) && stride <= 2 && pad >= 0 && pad <= 1 &&
         (dilation == 1 || (stride == 1 && pad == 0 && behind() <= 0 && dilation <= outputs / 2));
}

ColumnsJob::ColumnsJob(const Plan& plan, const Space& space, const Bound& x, const Bound* y,
                       const Bound* argmax)
    : plan_(plan),
      space_(space),
      kernels_(kernels_of(plan)),
      x_(x),
      y_(y),
      argmax_(argmax),
      size_(x.element),
      gradient_(false) {
  if (argmax && (plan.argmax_type != NDPOOL_U8 || plan.ties == NDPOOL_TIES_LAST)) return;
  choose();
}

ColumnsJob::ColumnsJob(const Plan& plan, const Space& space, const Bound& g, const Bound& dx)
    : plan_(plan),
      space_(space),
      kernels_(kernels_of(plan)),
      x_(g),
      y_(&dx),
      argmax_(nullptr),
      size_(g.element),
      gradient_(true) {
  choose();
}

void ColumnsJob::choose() {
  const int64_t lanes = kernels_.lanes;
  if (plan_.algorithm != NDPOOL_ALGORITHM_AUTOMATIC || lanes == 0 || plan_.out_type != plan_.type ||
      plan_.has_empty_windows || space_.pooled < 2 || space_.inner != 1) {
    return;
  }
  lead_ = space_.pooled - 2;
  if (lead_ > 0 && !is_lead_fit()) return;
  if (plan_.type != NDPOOL_F32 && (argmax_ || gradient_)) return;
  if (plan_.op == NDPOOL_AVG) {
    const int64_t divisor = divisor_ = plan_.counts.uniform();
    if (divisor == 0 || (is_float(plan_.type) && plan_.sum_lane != Lane::f32)) return;
    constexpr int64_t kMost = ColumnKernels::kMostHalfDivisor;
    if (is_half(plan_.type) && (divisor < -kMost || divisor > kMost)) return;
    if (is_integer(plan_.type) && !ColumnKernels::is_divisor(divisor)) return;
  }
  for (int i = 0; i < 2; ++i) {
    const Axis& axis = plan_.axes[lead_ + i];
    if (axis.adaptive) return;
    if (gradient_ && (axis.dilation != 1 || axis.stride != 1)) return;
    Side& side = i == 0 ? down_ : along_;
    side = {axis.cells, axis.outputs, axis.window, axis.stride, axis.pad_lo, axis.dilation};
    if (gradient_) {
      side = {axis.outputs, axis.cells, axis.window, 1, axis.window - 1 - axis.pad_lo, 1};
    }
    if (!side.is_fit()) return;
  }
  if (down_.window != along_.window || down_.stride != along_.stride ||
      down_.dilation != along_.dilation || (down_.dilation > 1 && lead_ > 0)) {
    return;
  }
  // What a window may lack: one cell before the row, or one behind it.
  const int64_t behind = along_.behind();
  if (behind > 1 || (along_.stride == 2 && along_.window == 2 && along_.pad > 0)) return;
  if (std::min(along_.cells, along_.outputs) < lanes) return;
  // Strips take less time.
  if (down_.dilation > 1 && plan_.type == NDPOOL_F32 && !argmax_ && along_.cells <= kStripCells) {
    return;
  }
  const bool all_squares = plan_.type == NDPOOL_F32;
  if (!all_squares && along_.stride == 1 && along_.window == 2) return;
  const bool one_vector = along_.outputs == lanes && behind > 0;
  if (one_vector && (along_.stride == 2 || (!all_squares && along_.pad > 0))) return;
  if (along_.cells > kMostRowBytes / size_) return;
  const auto cells = [&](int i) {
    return i < lead_ ? plan_.axes[i].cells : (i == lead_ ? down_ : along_).cells;
  };
  const auto outputs = [&](int i) {
    return i < lead_ ? plan_.axes[i].outputs : (i == lead_ ? down_ : along_).outputs;
  };
  if (!has_plain_planes(space_, x_, cells) || (y_ && !has_plain_planes(space_, *y_, outputs)) ||
      (argmax_ && !has_plain_planes(space_, *argmax_, outputs))) {
    return;
  }
  const int64_t row = along_.outputs * size_;
  far_ = is_beyond_caches(space_, x_);
  // Columns of few rows share too little, unless there is nothing to share.
  const bool apart = down_.stride >= down_.window;
  const auto choose_rows = [&](bool streaming) {
    streaming_ = streaming;
    const bool small = streaming && down_.stride > 1;
    rows_ = (small ? kSmallBandBytes : kBandBytes) / (row + down_.stride * along_.cells * size_);
    rows_ = std::max(rows_, streaming ? kFewStreamedRows : apart ? kFewRows / 2 : kFewRows);
    if (streaming) rows_ = Staged::whole_lines(rows_, row);
    rows_ = std::min(rows_, down_.outputs);
  };
  choose_rows(y_ && is_streamed(space_, x_, *y_));
  if (streaming_ && 2 * rows_ * row > kMostBytes && !is_beyond_caches(space_, *y_)) {
    choose_rows(false);  // what does not fit may still find room in the caches
  }
  // Long rows of blocks are joined with all their planes at once.
  if (lead_ > 0 && apart && along_.cells * size_ > kShortRowBytes) return;
  for (int i = 0; i < lead_; ++i) lead_outputs_ *= plan_.axes[i].outputs;
  planes_ = space_.outer_total() * space_.batch * lead_outputs_;
  together_ = planes_together();
  choose_same_rows();
  choose_halved_rows();
  choose_pooled_planes();
  if (made_lanes() * size_ + 2 * staged_bytes() > kMostBytes) return;
  if (slots_ > 0) {
    tasks_ = pooled_plane_tasks();
  } else if (together_ > 1) {
    tasks_ = PlaneTasks((planes_ + together_ - 1) / together_, 1,
                        together_ * down_.outputs * along_.outputs, 1);
  } else {
    tasks_ = PlaneTasks(planes_, down_.outputs, along_.outputs, rows_);
  }
  possible_ = true;
}

int64_t ColumnsJob::planes_together() const {
  if (streaming_ || rows_ < down_.outputs || !has_adjacent_planes() || down_.dilation > 1) return 1;
  const int64_t cells = down_.cells * along_.cells, outputs = down_.outputs * along_.outputs;
  return std::clamp<int64_t>(kTogetherBytes / ((cells + outputs) * size_), 1, planes_);
}

bool ColumnsJob::has_adjacent_planes() const {
  const int64_t cells = down_.cells * along_.cells, outputs = down_.outputs * along_.outputs;
  return lead_ == 0 && space_.outer_total() == 1 && x_.batch == cells * size_ &&
         (!y_ || y_->batch == outputs * size_) && (!argmax_ || argmax_->batch == outputs);
}

// Short rows of results that go past the caches: in the order of memory, straight from registers.
void ColumnsJob::choose_same_rows() {
  const auto is_same = [](const Side& side) {
    return side.window == 3 && side.stride == 1 && side.pad == 1 && side.outputs == side.cells &&
           side.dilation == 1;
  };
  same_rows_ = streaming_ && plan_.type == NDPOOL_F32 && has_adjacent_planes() &&
               plan_.kernels->same_rows->sum && is_same(down_) && is_same(along_) &&
               along_.cells >= SameRows::kLeastCells && along_.cells <= SameRows::kMostCells;
  if (!same_rows_) return;
  in_order_streaming_ = true;
  streaming_ = false;
  rows_ = down_.outputs;
  together_ = std::clamp<int64_t>(kSameRowsBytes / (rows_ * along_.cells * size_), 1, planes_);
}

// Planes are joined in the type that they have.
bool ColumnsJob::is_lead_fit() const {
  if (gradient_ || argmax_ || is_half(plan_.type)) return false;
  if (plan_.op == NDPOOL_AVG && plan_.type != NDPOOL_F32) return false;
  int64_t planes = 1;
  for (int i = 0; i < lead_; ++i) {
    if (plan_.axes[i].window > kMostPlanes / planes) return false;
    planes *= plan_.axes[i].window;
  }
  return true;
}

int64_t ColumnsJob::made_lanes() const {
  if (slots_ > 0) return slots_ * slot_rows_ * along_.outputs;
  if (same_rows_ || (!gradient_ && lead_ == 0)) return 0;
  return together_ * ((rows_ - 1) * down_.stride + down_.window) * along_.cells;
}
int64_t ColumnsJob::staged_bytes() const {
  const int64_t rows = slots_ > 0 ? slot_rows_ : together_ * rows_;
  return streaming_ ? rows * along_.outputs * size_ : 0;
}

Lane ColumnsJob::lane() const {
  if (is_float(plan_.type)) return Lane::f32;
  return size_ == 1 ? Lane::i16 : Lane::i32;
}

std::string ColumnsJob::describe() const {
  std::string text =
      same_rows_ ? std::string("columns: rows stay in registers while they meet the next two")
      : halved_rows_
          ? std::string("columns: pairs of rows in the order of memory")
          : "columns: vectors of outputs go down the rows, and what neighbours share stays "
            "in registers "
            "(squares of few taps" +
                std::string(slots_ > 0  ? ", planes joined after"
                            : lead_ > 0 ? ", planes joined before"
                                        : "") +
                "); " + std::to_string(rows_) + " x " + std::to_string(along_.outputs) +
                " outputs at a time (rows x lanes)";
  if (together_ > 1) text += ", of " + std::to_string(together_) + " planes";
  if (streaming_ || in_order_streaming_) text += "; results go past the caches";
  return text;
}

void ColumnsJob::work(Arena* arena, TaskQueue* queue) const {
  void* made = arena->take(made_lanes(), static_cast<size_t>(size_));
  Staged staged(arena, staged_bytes());
  if (!queue) return;
  tasks_.each_band(queue, [&](int64_t plane, Range rows) {
    if (slots_ > 0) return pool_planes(plane, rows, static_cast<char*>(made), &staged);
    const int64_t first = plane * together_;
    if (together_ > 1) rows = {0, down_.outputs};
    band({first, std::min(first + together_, planes_)}, rows, made, &staged);
  });
  staged.flush(*plan_.kernels->move);
  if (in_order_streaming_) plan_.kernels->move->flush();
}

void ColumnsJob::join(const char* x, int64_t window, int64_t first, int64_t lanes, void* to,
                      ColumnRows* c) const {
  int64_t step = down_.cells * along_.cells, steps[kMaxPooled];
  Span spans[kMaxPooled];
  const char* const whole = x;
  const int64_t number = window;
  const int64_t rows_before = (c->first + down_.pad) / down_.stride;
  x += first * along_.cells * size_;
  for (int i = lead_ - 1; i >= 0; --i) {
    const Axis& axis = plan_.axes[i];
    spans[i] = Line(axis, false).span(window % axis.outputs);
    window /= axis.outputs;
    steps[i] = step;
    x += spans[i].first * step * size_;
    step *= axis.cells;
  }
  TapList list;
  list.start();
  for (int i = 0; i < lead_; ++i) {
    const int64_t distance = spans[i].count > 1 ? spans[i].step * steps[i] : 0;
    list.repeat(spans[i].count, spans[i].lead, distance, 0);
  }
  TapRows t;
  list.give(&t);
  c->next = {x + lanes * size_, lanes * size_};  // of the first plane
  c->src = x;
  if (t.taps == 1) return;
  if (far_) {
    // What windows further on the first axis need, as far as these have come on the others.
    const int64_t fresh = std::min(plan_.axes[0].stride, plan_.axes[0].window) * steps[0];
    const int64_t inner = lead_outputs_ / plan_.axes[0].outputs;
    const int64_t of_plane = fresh / inner, of_row = of_plane / down_.outputs;
    c->later = {false,
                whole + ((spans[0].last() + 1) * steps[0] + of_plane * (number % inner) +
                         of_row * rows_before) *
                            size_,
                static_cast<size_t>(of_plane / (down_.cells * along_.cells))};
  }
  c->src = to;
  t.lanes = lanes;
  t.src = x;
  t.dst = to;
  const TapKernels& taps = *plan_.kernels->taps;
  const int lane = static_cast<int>(native_lane(plan_.type));
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  (plan_.op == NDPOOL_AVG ? taps.sum : taps.extreme[extreme])[lane](t);
}

const HalvedRowKernels& ColumnsJob::halved_row_kernels() const {
  return plan_.type == NDPOOL_F32 ? *plan_.kernels->halved_rows
                                  : plan_.kernels->narrow_halved_rows->of[plan_.type];
}

// Results that stay in the caches, if what is read does not come from the first: reading in the
// order of memory then is what counts. Of narrow types, those that go past the caches, too.
void ColumnsJob::choose_halved_rows() {
  const auto is_halved = [](const Side& side) {
    return side.stride == 2 && side.pad == side.window - 2;
  };
  if (!y_ || same_rows_ || gradient_ || !has_adjacent_planes() || !halved_row_kernels().average ||
      !is_halved(down_) || !is_halved(along_) || 2 * down_.outputs > down_.cells + 1 ||
      down_.cells * along_.cells * size_ > kMostHalvedBytes) {
    return;
  }
  if (plan_.type == NDPOOL_F32) {
    halved_rows_ = !streaming_ && 2 * along_.outputs <= HalvedRows::kMostCells;
  } else {
    // Columns add up 3x3 in fewer instructions: what counts where results stay in the caches.
    halved_rows_ = along_.cells == 2 * along_.outputs &&
                   along_.cells * size_ >= HalvedRows::kLeastNarrowBytes &&
                   (streaming_ || plan_.op != NDPOOL_AVG || along_.window == 2);
  }
  if (!halved_rows_) return;
  in_order_streaming_ = streaming_;
  streaming_ = false;
  rows_ = down_.outputs;
  together_ = std::clamp<int64_t>(kHalvedRowsBytes / (rows_ * along_.cells * size_), 1, planes_);
}

bool ColumnsJob::pool_halved_rows(Range planes) const {
  HalvedRows s;
  s.taps = static_cast<int>(along_.window);
  s.planes = planes.size();
  s.rows = down_.cells;
  s.cells = along_.cells;
  s.output_rows = down_.outputs;
  s.outputs = along_.outputs;
  s.x = plane_address(space_, x_, planes.begin);
  s.y = plane_address(space_, *y_, planes.begin);
  s.streamed = in_order_streaming_;
  s.divisor = divisor_;
  const HalvedRowKernels& kernels = halved_row_kernels();
  if (plan_.op == NDPOOL_AVG) return kernels.average(s);
  if (argmax_) {
    s.winners = reinterpret_cast<uint8_t*>(plane_address(space_, *argmax_, planes.begin));
  }
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  const auto& kinds = (argmax_ ? kernels.winners : kernels.extremes)[extreme];
  return (kinds.numbers && kinds.numbers(s)) || (kinds.anything && kinds.anything(s));
}

void ColumnsJob::pool_same_rows(Range planes) const {
  SameRows s;
  s.planes = planes.size();
  s.rows = down_.cells;
  s.cells = along_.cells;
  s.x = reinterpret_cast<const float*>(plane_address(space_, x_, planes.begin));
  s.y = reinterpret_cast<float*>(plane_address(space_, *y_, planes.begin));
  s.divisor = divisor_;
  s.divide_first = gradient_;
  const SameRowKernels& kernels = *plan_.kernels->same_rows;
  if (plan_.op == NDPOOL_AVG) {
    kernels.sum(s);
    return;
  }
  if (argmax_)
    s.winners = reinterpret_cast<uint8_t*>(plane_address(space_, *argmax_, planes.begin));
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  const auto& kinds = (argmax_ ? kernels.winners : kernels.extremes)[extreme];
  if (!kinds.numbers(s)) kinds.anything(s);
}

void ColumnsJob::pool(ColumnRows* c) const {
  if (plan_.op == NDPOOL_AVG) {
    kernels_.average(*c);
    return;
  }
  const Extreme extreme = plan_.op == NDPOOL_MAX ? kMax : kMin;
  const auto& kinds = (argmax_ ? kernels_.winners : kernels_.extremes)[extreme];
  if (kinds.numbers) {
    if (kinds.numbers(*c)) return;
    c->finished = {};
  }
  kinds.anything(*c);
}

// Windows whose rows are those of one phase go together: the others lie between.
void ColumnsJob::pool_dilated(const char* x, Range rows, const ColumnRows& c) const {
  const int64_t phases = std::min(down_.dilation, rows.size());
  for (int64_t i = 0; i < phases; ++i) {
    const int64_t begin = rows.begin + i, fetched = c.next.bytes / phases;
    ColumnRows part = c;
    part.dilation = down_.dilation;
    part.src = x + begin * along_.cells * size_;
    part.first = 0;
    part.cell_rows = (down_.cells - begin - 1) / down_.dilation + 1;
    part.rows = (rows.size() - i - 1) / down_.dilation + 1;
    if (c.dst) part.dst = static_cast<char*>(c.dst) + i * along_.outputs * size_;
    if (c.winners) part.winners = c.winners + i * along_.outputs;
    if (i > 0) part.finished = {};
    part.next = {static_cast<const char*>(c.next.from) + i * fetched, fetched};
    pool(&part);
  }
}

ColumnRows ColumnsJob::rows_of(Range rows) const {
  ColumnRows c;
  c.taps = static_cast<int>(along_.window);
  c.spacing = along_.stride;
  c.cells = along_.cells;
  c.cell_rows = down_.cells;
  c.first = rows.begin * down_.stride - down_.pad;
  c.pad = along_.pad;
  c.outputs = along_.outputs;
  c.rows = rows.size();
  c.streamed = streaming_;
  c.divisor = divisor_;
  return c;
}

void ColumnsJob::band(Range planes, Range rows, void* made, Staged* staged) const {
  if (same_rows_) return pool_same_rows(planes);
  if (halved_rows_ && pool_halved_rows(planes)) return;
  const int64_t window = planes.begin % lead_outputs_, plane = planes.begin / lead_outputs_;
  const char* x = plane_address(space_, x_, plane);
  const int64_t first_row = window * down_.outputs + rows.begin;
  char* y = y_ ? plane_address(space_, *y_, plane) + first_row * along_.outputs * size_ : nullptr;
  const int64_t row_bytes = along_.cells * size_;
  ColumnRows c = rows_of(rows);
  c.src = x;
  c.planes = planes.size();
  c.dst = staged->room(y);
  const int64_t end = (rows.end - 1) * down_.stride - down_.pad + down_.extent();
  // What a whole band further on needs for the first time.
  const int64_t old = rows.begin == 0 ? 0 : c.first + down_.extent() - down_.stride;
  const int64_t now = rows.end == down_.outputs ? planes.size() * down_.cells : end;
  const int64_t ahead = together_ > 1 ? together_ * down_.cells : rows_ * down_.stride;
  c.next = {x + (old + ahead) * row_bytes, (now - old) * row_bytes};
  c.later.behind = far_;
  c.finished = staged->finished();
  if (argmax_) {
    c.winners = reinterpret_cast<uint8_t*>(plane_address(space_, *argmax_, plane)) +
                rows.begin * along_.outputs;
  }
  if (gradient_ || lead_ > 0) {
    // Of planes that go together, all rows: each lies in a window, and none is empty.
    const Range needed{std::max<int64_t>(c.first, 0), std::min(end, down_.cells)};
    const int64_t lanes = planes.size() * std::max<int64_t>(0, needed.size()) * along_.cells;
    if (gradient_) {
      kernels_.quotients(lanes, x + needed.begin * row_bytes, divisor_, made);
      c.src = made;
      c.divisor = 1;
    } else {
      join(x, window, needed.begin, lanes, made, &c);
    }
    c.first -= needed.begin;
    c.cell_rows = needed.size();
  }
  if (down_.dilation > 1) {
    pool_dilated(x, rows, c);
  } else {
    pool(&c);
  }
  staged->finish(y, planes.size() * rows.size() * along_.outputs * size_);
}

}  // namespace ndpool
