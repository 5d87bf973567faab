// How much a band covers.
#include <algorithm>

#include "band.h"

namespace ndpool {
namespace {

constexpr int64_t kBandBytes = 16384;    // of reduced rows, so that all buffers stay in the cache
constexpr int64_t kMostBytes = 32768;    // of any other buffer
constexpr int64_t kOneRowBytes = 65536;  // of the only reduced row, which is read once
constexpr int64_t kVectorBytes = 32;  // lanes narrower than this are not worth a row of their own
constexpr int64_t kMostSide = 1 << 20;
constexpr int64_t kMostWinnerTaps = 64;
constexpr int64_t kMostSpacedTaps = 8;
constexpr int64_t kFlatTaps = 16;  // up to here one list beats across and along

int64_t fit(int64_t room, int64_t most) { return std::clamp<int64_t>(room, 1, most); }

// Parts of `whole` lanes of no more than `most`, all but the last as large, and few of them.
int64_t even_parts(int64_t whole, int64_t most) {
  const int64_t parts = (whole + most - 1) / most;
  const int64_t even = (whole + parts - 1) / parts;
  constexpr int64_t kTogether = 16;
  return std::min({whole, most, (even + kTogether - 1) / kTogether * kTogether});
}

}  // namespace

void BandWork::choose_cut(int64_t rows, int64_t outputs) {
  const Reduction& r = *reduction;
  const Space& space = *r.space;
  const int last = space.pooled - 1;
  const Line& line = r.lines[last];
  const int64_t size = static_cast<int64_t>(lane_size(r.lane));
  cut = {};
  // No band is nearly as large, and products of what is smaller do not overflow.
  rows = std::min(rows, kMostSide);
  outputs = std::min(outputs, kMostSide);
  if (line.pace() > kMostSide) return;
  if (!combine || line.taps() > TapList::kMost / 2 || line.period() > kMostPeriod) return;
  if (line.reach() > kMostBytes) return;
  int64_t across = 1, before = 1;
  for (int level = 0; level < last; ++level) {
    const Line& other = r.lines[level];
    if (other.taps() > TapList::kMost / 2 || other.period() > kMostPeriod) return;
    if (other.reach() > INT32_MAX || other.pace() > INT32_MAX) return;
    across *= other.taps();
    if (level + 1 < last) before *= other.taps();
    if (across > TapList::kMost / 2) return;
  }
  const int64_t taps = across * line.taps();
  if (winners && (taps > kMostWinnerTaps || (size == 1 && taps > 256))) return;
  const Line* row_line = last > 0 ? &r.lines[last - 1] : nullptr;
  const auto rows_in = [&](int64_t count) {
    return before * (row_line ? std::min(sources_for(*row_line, count), kMostSide) : 1);
  };

  if (space.inner * size >= kVectorBytes) {
    const bool flat = winners || taps <= kFlatTaps;
    const int64_t room = (flat                       ? kBandBytes
                          : outputs == 1 && r.native ? kOneRowBytes
                                                     : kMostBytes) /
                         size;
    cut.inner = even_parts(space.inner, std::max(kVectorBytes, room * size / line.reach()) / size);
    if (line.reach() * cut.inner > 2 * room) return;
    cut.outputs = fit((room / cut.inner - line.reach()) / line.pace() + 1, outputs);
    if (flat) {
      cut.outputs = fit(room / cut.inner, outputs);
      if (cut.outputs == outputs) cut.rows = fit(room / (cut.inner * outputs), rows);
    }
    cut.results = cut.rows * cut.outputs * cut.inner;
    const int64_t positions = sources_for(line, cut.outputs) * cut.inner;
    if (!flat) cut.reduced = positions;
    if (!r.native) {
      while (cut.rows > 1 && rows_in(cut.rows) * positions * size > kMostBytes) cut.rows /= 2;
      cut.loaded = rows_in(cut.rows) * positions;
      if (cut.loaded * size > 4 * kMostBytes) return;
    }
    cut.form = flat ? BandForm::direct : BandForm::wide;
    return;
  }

  const int64_t inner = space.inner;
  cut.inner = inner;
  if (line.reach() * inner * size > kBandBytes / 2) return;
  const int64_t room = kBandBytes / (inner * size);
  cut.outputs =
      even_parts(outputs, fit((room - line.reach()) / (line.pace() + !line.uniform()), outputs));
  cut.tabled = line.period() == 0 ||
               (!line.transposed() && line.spacing() > 1 && outputs * inner * size < kVectorBytes);
  if (!cut.tabled && !line.transposed() && line.spacing() <= 2) {
    const bool neighbours = inner == 1 && (line.taps() == 2 || line.taps() == 3) &&
                            line.step() == 1 && !last_winner && (winners || line.spacing() == 2);
    if (neighbours) cut.along = static_cast<int>(line.taps());
    cut.paired = neighbours && line.spacing() == 2;
    cut.fused = fused && !winners && (cut.paired || line.spacing() == 1);
    cut.flat = cut.fused && (r.lane == Lane::f32 || r.lane == Lane::f64) && last > 0 &&
               inner == 1 && line.spacing() == 1 && line.taps() <= kMostFlatTaps &&
               outputs == line.sources() && cut.outputs == outputs && line.reach() <= outputs &&
               2 * outputs * size <= kFlatBytes;
  }
  if (!cut.tabled && !line.transposed() && line.spacing() > 2 && fused && !winners && inner == 1 &&
      r.lane == Lane::f32 && line.step() == 1 && line.taps() > 1 &&
      line.taps() <= kMostSpacedTaps) {
    cut.spaced = cut.fused = true;
    cut.along = static_cast<int>(line.taps());
  }
  const int64_t row_lanes = (sources_for(line, cut.outputs) + 1) * inner;
  // Of one row: what it is taken apart into.
  const int64_t period = std::max<int64_t>(1, line.period());
  const int64_t phases = line.transposed() ? period : std::min(line.spacing(), line.taps());
  const int64_t in_phase = line.transposed() ? cut.outputs / period + 1
                                             : cut.outputs + line.reach() / line.spacing() + 1;
  const bool whole = line.transposed() ? period == 1 : line.spacing() == 1;
  const int64_t apart = (cut.tabled ? line.taps() * cut.outputs
                         : whole    ? 0
                                    : phases * in_phase) *
                        inner;
  const auto lanes_of = [&](int64_t planes, int64_t count) {
    const int64_t prepared = planes * rows_in(count);
    cut.reduced = (winners ? prepared : planes * count) * row_lanes;
    cut.split = (winners ? prepared : planes * count) * apart;
    cut.loaded = r.native ? 0 : prepared * row_lanes;
    cut.results = planes * count * cut.outputs * inner;
    const int64_t most = std::max({cut.reduced, cut.split / 2, cut.loaded / 2}) * size;
    return most <= (winners ? 2 : 1) * kBandBytes;
  };
  cut.rows = fit(room * inner / row_lanes, rows);
  while (cut.rows > 1 && !lanes_of(1, cut.rows)) --cut.rows;
  if (cut.rows == rows && cut.outputs == outputs) {
    cut.planes = fit(room * inner / (row_lanes * rows), space.batch);
    while (cut.planes > 1 && !lanes_of(cut.planes, cut.rows)) --cut.planes;
  }
  lanes_of(cut.planes, cut.rows);
  if (std::max(cut.loaded, cut.split) * size > 4 * kMostBytes) return;
  cut.form = BandForm::narrow;
}

}  // namespace ndpool
