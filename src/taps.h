// Taps one by one: for operations whose terms depend on the window as a whole (smooth max, Lp,
// winners under ties). Lanes are outputs; for each tap of a row of outputs the walk hands over the
// cells, side by side, of those outputs that have it.
#ifndef NDPOOL_SRC_TAPS_H_
#define NDPOOL_SRC_TAPS_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "arena.h"
#include "kernels/kernels.h"
#include "layout.h"
#include "line.h"

namespace ndpool {

inline constexpr int kMaxSources = 2;
// Lanes of a row of outputs, about; its cells are at most kTapSlack times as many, and boxes of
// gradients kTapBox times. Few of them where scratch lies beside that of other boxes.
inline constexpr int64_t kTapLanes = 1024, kFewTapLanes = 128;
inline constexpr int64_t kTapSlack = 5, kTapBox = 16;

// How much of a row of outputs one walk covers; one plane at a time.
struct TapCut {
  int64_t outputs = 1, inner = 1;
  int64_t positions = 1;  // of a block of cells
  bool blocked = false;   // one output at a time, its taps packed
};

// tap_lanes: kTapLanes or kFewTapLanes.
TapCut choose_tap_cut(const Space& space, const Line& last, int64_t outputs, int64_t tap_lanes);

// One tap of neighbouring outputs of a row.
template <class T>
struct TapRun {
  const T* cells[kMaxSources];  // n lanes from each source
  int64_t lane, n;              // lanes of the row of outputs: lane, … lane+n-1
  int64_t outputs;              // n / inner
  int64_t source, spacing;      // position of the cells on the last axis
  const int64_t* position;      // … and on the axes before it
  uint64_t number;              // counts present rows × last-axis taps, row-major
};

template <class T>
class TapWalk {
 public:
  TapWalk(const Space& space, const Line* lines, const TapCut& cut, int sources,
          const CombineKernels& kernels, Arena* arena)
      : lines_(lines), cut_(cut), kernels_(kernels), last_(space.pooled - 1) {
    for (int i = 0; i < sources; ++i) {
      rows_[i] = arena->take<T>(cut.positions * cut.inner);
      picked_[i] = arena->take<T>(std::max(cut.outputs, int64_t{1}) * cut.inner);
    }
  }

  // Taps that the row's numbering needs room for.
  uint64_t row_taps() const { return static_cast<uint64_t>(lines_[last_].taps()); }

  struct Source {
    const Bound* array;
    const char* base;  // of this plane, at the first inner element
    LoadFn load;
  };

  // Calls f(TapRun) for each present tap of outputs `outputs` of the row `across`, in row-major
  // order of the taps, or, backwards, with the taps of the last axis from last to first. With
  // `clip`, a range of cells per pooled axis, taps outside may be left out.
  template <class F>
  void each(const int64_t* across, Range outputs, int64_t inner, const Source* sources, int count,
            bool backwards, F f, const Range* clip = nullptr) {
    outputs_ = outputs;
    inner_ = inner;
    sources_ = sources;
    count_ = count;
    clip_ = clip;
    each_row(0, across, 0, backwards, f);
    sources_ = nullptr;
  }

 private:
  // The taps of a span whose cells are not clipped away.
  Range taps_of(const Span& span, int level) const {
    Range taps{0, span.count};
    if (!clip_) return taps;
    const Range cells = clip_[level];
    taps.begin = std::max(taps.begin, geometry::ceil_div(cells.begin - span.first, span.step));
    taps.end = std::min(taps.end, geometry::floor_div(cells.end - 1 - span.first, span.step) + 1);
    return taps;
  }

  template <class F>
  void each_row(int level, const int64_t* across, uint64_t row, bool backwards, F& f) {
    if (level == last_) {
      row_ = row;
      each_tap(backwards, f);
      return;
    }
    const Span span = lines_[level].span(across[level]);
    const Range taps = taps_of(span, level);
    for (int64_t t = taps.begin; t < taps.end; ++t) {
      position_[level] = span.first + t * span.step;
      const uint64_t next = row * static_cast<uint64_t>(span.count) + static_cast<uint64_t>(t);
      each_row(level + 1, across, next, backwards, f);
    }
  }

  void load(Range positions, int64_t step) {
    const int64_t n = (positions.size() + step - 1) / step;
    for (int i = 0; i < count_; ++i) {
      const Bound& a = *sources_[i].array;
      const char* at = sources_[i].base + (positions.begin - a.box[last_].begin) * a.pooled[last_];
      for (int level = 0; level < last_; ++level) {
        at += (position_[level] - a.box[level].begin) * a.pooled[level];
      }
      const int64_t pace = n == 1 ? 0 : a.pooled[last_] * step;
      sources_[i].load({1, n, inner_, 0, pace, a.inner}, at, rows_[i]);
    }
  }

  template <class F>
  void each_tap(bool backwards, F& f) {
    const Line& line = lines_[last_];
    if (cut_.blocked) return each_block(backwards, f);
    Range positions = line.sources_of(outputs_);
    for (int i = 0; i < count_; ++i) {
      const Range box = sources_[i].array->box[last_];
      positions = {std::max(positions.begin, box.begin), std::min(positions.end, box.end)};
    }
    if (positions.size() <= 0) return;
    load(positions, 1);
    for (int64_t i = 0; i < line.taps(); ++i) {
      const int64_t tap = backwards ? line.taps() - 1 - i : i;
      if (line.uniform()) {
        const Range run = line.present(tap, outputs_);
        if (run.size() <= 0) continue;
        hand_over(positions.begin, line.origin() + run.begin * line.spacing() + tap * line.step(),
                  run, tap, f);
      } else {
        for (int64_t o = outputs_.begin; o < outputs_.end; ++o) {
          const Span s = line.span(o);
          if (tap < s.lead || tap >= s.lead + s.count) continue;
          hand_over(positions.begin, s.first + (tap - s.lead) * s.step, {o, o + 1}, tap, f);
        }
      }
    }
  }

  // One output: its taps are loaded side by side, a block at a time.
  template <class F>
  void each_block(bool backwards, F& f) {
    const Span span = lines_[last_].span(outputs_.begin);
    const Range taps = taps_of(span, last_);
    const int64_t width = cut_.positions, blocks = (taps.size() + width - 1) / width;
    for (int64_t b = 0; b < blocks; ++b) {
      const int64_t block = backwards ? blocks - 1 - b : b;
      const int64_t begin = taps.begin + block * width, end = std::min(taps.end, begin + width);
      const int64_t first = span.first + begin * span.step;
      load({first, first + (end - begin - 1) * span.step + 1}, span.step);
      for (int64_t i = 0; i < end - begin; ++i) {
        const int64_t t = backwards ? end - begin - 1 - i : i;
        TapRun<T> run{};
        for (int s = 0; s < count_; ++s) run.cells[s] = rows_[s] + t * inner_;
        finish_run(&run, 0, 1, first + t * span.step, span.lead + begin + t);
        f(run);
      }
    }
  }

  template <class F>
  void hand_over(int64_t loaded_from, int64_t source, Range run, int64_t tap, F& f) {
    const int64_t spacing = run.size() > 1 ? lines_[last_].spacing() : 1;
    TapRun<T> tap_run{};
    for (int s = 0; s < count_; ++s) {
      const T* at = rows_[s] + (source - loaded_from) * inner_;
      if (spacing != 1) {
        kernels_.gather[std::countr_zero(sizeof(T))](1, run.size(), inner_, spacing, picked_[s], 0,
                                                     at, 0);
        at = picked_[s];
      }
      tap_run.cells[s] = at;
    }
    finish_run(&tap_run, run.begin - outputs_.begin, run.size(), source, tap);
    f(tap_run);
  }

  void finish_run(TapRun<T>* run, int64_t first_output, int64_t outputs, int64_t source,
                  int64_t tap) const {
    run->lane = first_output * inner_;
    run->n = outputs * inner_;
    run->outputs = outputs;
    run->source = source;
    run->spacing = lines_[last_].spacing();
    run->position = position_;
    run->number = row_ * row_taps() + static_cast<uint64_t>(tap);
  }

  const Line* lines_;
  const TapCut& cut_;
  const CombineKernels& kernels_;
  int last_;
  T* rows_[kMaxSources]{};
  T* picked_[kMaxSources]{};
  Range outputs_;
  int64_t inner_ = 1;
  const Source* sources_ = nullptr;
  const Range* clip_ = nullptr;
  int count_ = 0;
  int64_t position_[kMaxPooled]{};
  uint64_t row_ = 0;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_TAPS_H_
