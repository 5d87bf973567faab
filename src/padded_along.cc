// Rows that were reduced across, along: steps that join a row with itself, moved by some taps.
#include <algorithm>
#include <bit>
#include <cstring>

#include "padded.h"
#include "tap_list.h"

namespace ndpool {

namespace {

float* floats(char* memory) { return static_cast<float*>(static_cast<void*>(memory)); }

}  // namespace

void Padded::find_pads(const Columns& columns) {
  const auto pad = [&](int64_t place) {
    const int64_t cell = stand_in(r_.lines[last_], place, columns.cells);
    pads_[pad_count_] = static_cast<int32_t>(place - columns.places.begin);
    stand_ins_[pad_count_++] = static_cast<int32_t>(cell - columns.places.begin);
  };
  for (int64_t place = columns.places.begin; place < columns.cells.begin; ++place) pad(place);
  for (int64_t place = columns.cells.end; place < columns.places.end; ++place) pad(place);
}

void Padded::fill_pads(const Columns& columns, int64_t rows) {
  const int64_t inner = columns.inner;
  const int exponent = std::countr_zero(static_cast<uint64_t>(size_));
  if (inner == 1 && r_.lines[last_].step() == 1) {
    // Both ends repeat the cell next to them.
    const int64_t before = columns.cells.begin - columns.places.begin;
    const int64_t end = columns.cells.end - columns.places.begin;
    const auto fill = [&](auto zero) {
      using T = decltype(zero);
      for (int64_t r = 0; r < rows; ++r) {
        T* const row = static_cast<T*>(static_cast<void*>(reduced_)) + r * columns.row_lanes;
        std::fill(row, row + before, row[before]);
        std::fill(row + end, row + columns.places.size(), row[end - 1]);
      }
    };
    if (exponent == 0) return fill(uint8_t{});
    if (exponent == 1) return fill(uint16_t{});
    if (exponent == 2) return fill(uint32_t{});
    return fill(uint64_t{});
  }
  if (inner == 1) {
    move_->repeat[exponent](rows, columns.row_lanes, reduced_, pad_count_, pads_, stand_ins_);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    char* row = at(reduced_, r * columns.row_lanes);
    for (int64_t i = 0; i < pad_count_; ++i) {
      std::memcpy(at(row, pads_[i] * inner), at(row, stand_ins_[i] * inner),
                  static_cast<size_t>(inner * size_));
    }
  }
}

// `rows` rows of reduced_ along, to rows at `to`.
void Padded::along(const Columns& columns, int64_t rows, char* to, int64_t to_row,
                   const BandTarget& target, bool numbers) {
  if (pad_count_ > 0) fill_pads(columns, rows);
  for (int64_t i = 0; i < rows; i += cut_.together) {
    along_some(columns, at(reduced_, i * columns.row_lanes), std::min(cut_.together, rows - i),
               at(to, i * to_row), to_row, target, numbers);
  }
}

void Padded::along_some(const Columns& columns, char* from, int64_t rows, char* to, int64_t to_row,
                        const BandTarget& target, bool numbers) {
  const TapsFn taps = numbers ? numbers_ : taps_;
  const int64_t inner = columns.inner;
  const int64_t outputs = columns.places.size() - r_.lines[last_].reach() + 1;
  for (int i = 0; i < step_count_; ++i) {
    const Step& step = steps_[i];
    const auto buffer = [&](int number) { return number == 0 ? from : buffers_[number - 1]; };
    if (step.wide) {
      wide_sums_({rows * columns.row_lanes - step.reach, step.neighbours, floats(from),
                  floats(buffer(step.to)), floats(buffer(step.rest))});
      continue;
    }
    if (step.neighbours > 0) {
      NeighbourRows n;
      n.taps = step.neighbours;
      n.src = floats(buffer(0));
      if (i + 1 < step_count_) {
        n.lanes = rows * columns.row_lanes - step.reach;
        n.dst = floats(buffer(step.to));
      } else {
        n.rows = rows;
        n.lanes = outputs;
        n.src_row = columns.row_lanes;
        n.dst = floats(to);
        n.dst_row = to_row;
        n.divisor = target.divisor;
      }
      neighbours_[numbers ? 0 : 1](n);
      continue;
    }
    int64_t offsets[Step::kMost];
    for (int t = 0; t < step.taps; ++t) {
      offsets[t] = (buffer(step.from[t]) - buffer(step.from[0])) / size_ + step.offsets[t];
    }
    TapRows t;
    t.src = buffer(step.from[0]);
    t.offsets = offsets;
    t.merges = step.merges;
    t.taps = step.taps;
    if (i + 1 < step_count_) {
      t.lanes = rows * columns.row_lanes - step.reach;
      t.dst = buffer(step.to);
      taps(t);
      continue;
    }
    const bool packed = target.position == inner || outputs == 1;
    t.rows = rows;
    t.lanes = (packed ? outputs : 1) * inner;
    t.src_row = columns.row_lanes;
    t.dst = to;
    t.dst_row = to_row;
    t.divisor = target.divisor;
    if (!packed) {
      // The channels of one output at a time.
      t.planes = outputs;
      t.src_plane = inner;
      t.dst_plane = target.position;
    }
    taps(t);
  }
}

// Steps that join windows of `taps` taps `distance` apart; buffer 0 is what is given.
void Padded::plan_steps(int64_t taps, int64_t distance, bool in_registers) {
  if (step_distance_ == distance && step_in_registers_ == in_registers) return;
  step_distance_ = distance;
  step_in_registers_ = in_registers;
  step_count_ = 0;
  if (in_registers && taps <= (r_.sum ? NeighbourRows::kMostSums : NeighbourRows::kMostExtremes)) {
    add_step(0, taps - 1).neighbours = taps;
  } else if (r_.sum) {
    plan_sums(taps, distance, in_registers);
  } else {
    plan_extremes(taps, distance, in_registers);
  }
}

Padded::Step& Padded::add_step(int to, int64_t reach) {
  Step& step = steps_[step_count_++];
  step.to = to;
  step.reach = reach;
  step.taps = 0;
  step.neighbours = 0;
  step.wide = false;
  return step;
}

void Padded::Step::add(int buffer, int64_t offset) {
  from[taps] = buffer;
  offsets[taps++] = offset;
}

// The tree of the taps that were added.
void Padded::Step::finish() {
  TapList list;
  TapRows rows;
  list.start();
  list.repeat(taps, 0, 0, 0);
  list.give(&rows);
  std::copy(rows.merges, rows.merges + taps, merges);
}

// Windows of powers of two, whose places fall on whole vectors, and then up to four that overlap.
void Padded::plan_extremes(int64_t taps, int64_t distance, bool in_registers) {
  constexpr int64_t kParts = 4;
  // f32 has kernels for lists of up to eight taps.
  const bool at_once = taps <= Step::kMost && r_.lane == Lane::f32;
  int64_t width = 1;
  int from = 0;
  if (in_registers) {
    from = 1;
    width = NeighbourRows::kMostExtremes;
    add_step(from, width - 1).neighbours = width;
  }
  while (!at_once && kParts * width < taps) {
    const int64_t count = 2 * kParts * width >= taps ? 2 : 4;
    const int to = from == 1 ? 2 : 1;
    Step& step = add_step(to, (count * width - 1) * distance);
    for (int64_t t = 0; t < count; ++t) step.add(from, t * width * distance);
    step.finish();
    from = to;
    width *= count;
  }
  Step& step = add_step(0, (taps - 1) * distance);
  for (int64_t first = 0; first < taps; first += width) {
    step.add(from, std::min(first, taps - width) * distance);
  }
  step.finish();
}

// Sums of 4, 16 ... taps at every place, and beside them what is left of the window after so many;
// at last some of the largest, and what is left.
void Padded::plan_sums(int64_t taps, int64_t distance, bool in_registers) {
  const int levels = sum_levels(taps);
  int wide = 0, rest = -1;  // buffers; none is left at first
  const auto free_but = [&](int other) {
    int buffer = 1;
    while (buffer == wide || buffer == rest || buffer == other) ++buffer;
    return buffer;
  };
  const auto join = [&](int to, int64_t count, int64_t width, int64_t reach) {
    Step& step = add_step(to, reach * distance);
    for (int64_t t = 0; t < count; ++t) step.add(wide, t * width * distance);
    if (rest >= 0) step.add(rest, count * width * distance);
    step.finish();
  };
  int level = 0;
  if (in_registers) {
    constexpr int64_t kWide = WideSums::kWide;
    Step& step = add_step(1, kWide - 1);
    step.wide = true;
    step.rest = 2;
    step.neighbours = taps % kWide;
    wide = step.to;
    if (step.neighbours > 0) rest = step.rest;
    level = std::countr_zero(static_cast<uint64_t>(kWide)) / 2;
  }
  for (; level < levels; ++level) {
    const int64_t width = int64_t{1} << 2 * level, count = taps >> 2 * level & 3;
    const int wider = free_but(-1);
    const int left = rest;
    rest = -1;
    join(wider, 4, width, 4 * width - 1);
    rest = left;
    if (count == 1 && rest < 0) {
      rest = wide;
    } else if (count > 0) {
      const int to = free_but(wider);
      join(to, count, width, (taps & (4 * width - 1)) - 1);
      rest = to;
    }
    wide = wider;
  }
  join(0, taps >> 2 * levels, int64_t{1} << 2 * levels, taps - 1);
}

}  // namespace ndpool
