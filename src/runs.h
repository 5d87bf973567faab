// Outputs of an axis that take their sources alike, so that one kernel call serves them all.
#ifndef NDPOOL_SRC_RUNS_H_
#define NDPOOL_SRC_RUNS_H_

#include <algorithm>
#include <cstdint>

#include "line.h"

namespace ndpool {

// The sources between the first and the last that a range of outputs takes, those that do not exist
// included. Lines without a period have none of those.
inline Range hull(const Line& line, Range outputs) {
  const int64_t period = line.period();
  if (period == 0) return line.sources_of(outputs);
  Range range{INT64_MAX, INT64_MIN};
  for (int64_t i = 0; i < period && outputs.begin + i < outputs.end; ++i) {
    const Span first = line.unclipped(outputs.begin + i);
    if (first.count > 0) range.begin = std::min(range.begin, first.first);
    const Span last = line.unclipped(outputs.end - 1 - i);
    if (last.count > 0) range.end = std::max(range.end, last.last() + 1);
  }
  return range.begin < range.end ? range : Range{};
}

inline Range clipped(Range range, Range box) {
  const Range part{std::max(range.begin, box.begin), std::min(range.end, box.end)};
  return part.size() > 0 ? part : Range{box.begin, box.begin};
}

// Outputs first, first+every, … (`count` of them). The first takes sources source, source+step, …
// as taps lead, lead+1, … (`taps` of them); each further one takes those `pace` sources on.
struct Run {
  int64_t first, count, every, source, pace, step, taps, lead;
};

// Calls f(run) for runs that together are the outputs `outputs` of a line; outputs without a source
// are runs of no taps.
template <class F>
void each_run(const Line& line, Range outputs, F f) {
  const auto single = [&](int64_t output) {
    const Span s = line.span(output);
    f(Run{output, 1, 1, s.first, 0, s.step, s.count, s.lead});
  };
  const int64_t every = line.period();
  if (every == 0) {
    // Neighbours that happen to be alike.
    Run run{};
    for (int64_t o = outputs.begin; o < outputs.end; ++o) {
      const Span s = line.span(o);
      const int64_t pace = s.first - run.source - (run.count - 1) * run.pace;
      if (run.count > 0 && s.count == run.taps && (run.count == 1 || pace == run.pace)) {
        run.pace = pace;
        ++run.count;
        continue;
      }
      if (run.count > 0) f(run);
      run = {o, 1, 1, s.first, 0, s.step, s.count, s.lead};
    }
    if (run.count > 0) f(run);
    return;
  }
  for (int64_t phase = 0; phase < every && outputs.begin + phase < outputs.end; ++phase) {
    const int64_t begin = outputs.begin + phase;
    const int64_t count = (outputs.end - begin + every - 1) / every;
    const Span s = line.unclipped(begin);
    if (s.count == 0) {
      f(Run{begin, count, every, 0, 0, 1, 0, 0});
      continue;
    }
    // Outputs whose taps are all present, as numbers within the phase.
    const int64_t pace = line.transposed() ? 1 : line.spacing();
    const int64_t low = std::max<int64_t>(0, geometry::ceil_div(-s.first, pace));
    const int64_t high =
        std::min(count, geometry::floor_div(line.sources() - 1 - s.last(), pace) + 1);
    if (high <= low) {
      for (int64_t i = 0; i < count; ++i) single(begin + i * every);
      continue;
    }
    for (int64_t i = 0; i < low; ++i) single(begin + i * every);
    // Of one output, the pace may be larger than any distance in memory.
    const int64_t next = high - low > 1 ? pace : std::min(pace, line.sources());
    f(Run{begin + low * every, high - low, every, s.first + low * pace, next, s.step, s.count, 0});
    for (int64_t i = high; i < count; ++i) single(begin + i * every);
  }
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_RUNS_H_
