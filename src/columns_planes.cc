// Max and min over some planes of small squares two cells apart: each plane is pooled once, in the
// order of memory, and what is left of it waits in a slot until its windows have all their planes.
#include <algorithm>

#include "columns.h"
#include "contiguous.h"

namespace ndpool {
namespace {

// A task begins with planes of the one before: as many windows as leave tasks for some threads.
constexpr int64_t kFewWindows = 4, kManyWindows = 16, kEnoughTasks = 32;

}  // namespace

void ColumnsJob::choose_pooled_planes() {
  // Bytes are joined so fast that it pays to pool fewer planes, and blocks are pooled so fast that
  // what is joined hardly matters.
  if (lead_ != 1 || plan_.op == NDPOOL_AVG || down_.stride != 2 || down_.window == 2 ||
      size_ == 1) {
    return;
  }
  const Axis& lead = plan_.axes[0];
  if (lead.adaptive || lead.dilation != 1 || lead.window == 1) return;
  const int64_t row = along_.outputs * size_, slots = std::min(lead.window, lead.cells);
  const int64_t fit = kMostBytes / ((slots + (streaming_ ? 2 : 0)) * row);
  if (fit < rows_) return;
  const int64_t bands = (down_.outputs - 1) / fit + 1;
  int64_t rows = (down_.outputs - 1) / bands + 1;
  if (streaming_ && bands > 1) rows = Staged::whole_lines(rows, row);
  if (rows > fit) return;
  slots_ = slots;
  slot_rows_ = rows;
}

PlaneTasks ColumnsJob::pooled_plane_tasks() const {
  const int64_t bands = (down_.outputs - 1) / slot_rows_ + 1;
  const int64_t volumes = planes_ / lead_outputs_ * bands;
  const int64_t windows =
      std::clamp(volumes * lead_outputs_ / kEnoughTasks, kFewWindows, kManyWindows);
  const int64_t parts = (lead_outputs_ - 1) / windows + 1;
  return {volumes, lead_outputs_, slot_rows_ * along_.outputs, (lead_outputs_ - 1) / parts + 1};
}

void ColumnsJob::pool_plane(const char* x, Range rows, int64_t sent, char* to,
                            Staged* staged) const {
  const int64_t row = along_.outputs * size_, cell_row = along_.cells * size_;
  const auto first_of = [&](int64_t r) {
    return x + std::max<int64_t>(0, r * down_.stride - down_.pad) * cell_row;
  };
  const int64_t next_plane = down_.cells * cell_row;
  for (int64_t r = rows.begin; r < rows.end; r += rows_) {
    const Range some{r, std::min(r + rows_, rows.end)};
    ColumnRows c = rows_of(some);
    c.src = x;
    c.dst = to + (r - rows.begin) * row;
    const char* next = some.end < rows.end ? first_of(some.end) : first_of(rows.begin) + next_plane;
    c.next = {next, some.size() * down_.stride * cell_row};
    if (far_) c.later = {false, first_of(r) + next_plane, 1};
    c.finished = staged->part(sent * some.size());
    pool(&c);
  }
}

void ColumnsJob::pool_planes(int64_t task, Range windows, char* slots, Staged* staged) const {
  const int64_t bands = (down_.outputs - 1) / slot_rows_ + 1, begin = task % bands * slot_rows_;
  const Range rows{begin, std::min(begin + slot_rows_, down_.outputs)};
  const char* const x = plane_address(space_, x_, task / bands);
  char* const y = plane_address(space_, *y_, task / bands);
  const int64_t row = along_.outputs * size_, slot = slot_rows_ * along_.outputs;
  const Axis& lead = plan_.axes[0];
  const Line line(lead, false);
  const auto join = plan_.kernels->taps->extreme[plan_.op == NDPOOL_MAX ? kMax : kMin]
                                                [static_cast<int>(native_lane(plan_.type))];
  // With each row that is pooled, as much goes past the caches as results have.
  const int64_t sent = row / std::min(lead.stride, lead.window) + 1;
  int64_t plane = line.span(windows.begin).first;
  for (int64_t w = windows.begin; w < windows.end; ++w) {
    const Span span = line.span(w);
    for (plane = std::max(plane, span.first); plane <= span.last(); ++plane) {
      pool_plane(x + plane * down_.cells * along_.cells * size_, rows, sent,
                 slots + plane % slots_ * slot * size_, staged);
    }
    staged->send(*plan_.kernels->move);
    int64_t offsets[kMostPlanes];
    for (int64_t t = 0; t < span.count; ++t) offsets[t] = (span.first + t) % slots_ * slot;
    char* const to = y + (w * down_.outputs + rows.begin) * row;
    TapRows t;
    t.lanes = rows.size() * along_.outputs;
    t.src = slots;
    t.dst = staged->room(to);
    t.offsets = offsets;
    t.taps = static_cast<int>(span.count);
    join(t);
    staged->finish(to, rows.size() * row);
  }
}

}  // namespace ndpool
