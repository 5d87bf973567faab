// Wide windows at stride 1, whose cost hardly grows with the window, and nothing is ever
// subtracted. Across, windows slide down the rows. Sums of 4, 16, 64 ... rows are kept in rings,
// and a window is joined from at most seven of the largest and three of each of the others: the
// order of Tree. Of max and min, as many windows as they have taps share one row: what lies before
// it is joined upwards, what follows downwards. Then some rows at a time are reduced along, in
// registers where there are kernels for it, or in buffers that stay in the cache, by joining them
// with themselves, moved by some taps; what is padding is written out. A band that goes on where
// the last one ended finds the rings as it needs them.
#ifndef NDPOOL_SRC_PADDED_H_
#define NDPOOL_SRC_PADDED_H_

#include <cstdint>

#include "arena.h"
#include "band.h"

namespace ndpool {

// Of channels that come last, so many are reduced together.
inline constexpr int64_t kMostInner = 64;

// How much one call covers, and the elements of its buffers.
struct PaddedCut {
  bool possible = false;
  bool native = false;  // rows can be used where they lie
  int64_t planes = 1, rows = 1, outputs = 1, inner = 1;
  int levels = 0;         // sums of 4, 16 ... rows that are kept
  int64_t block = 1;      // rows reduced across together
  int64_t together = 1;   // rows reduced along together
  int64_t row = 0;        // of rings and loaded rows: whole cache lines
  int64_t ring_rows = 0;  // of all rings
  int64_t loaded = 0;     // rows
  int64_t reduced = 0;    // of a row that was reduced across, with its pads
};

// Of sums over `taps` taps: the largest power of four of which a window has no more than seven.
inline int sum_levels(int64_t taps) {
  int levels = 0;
  while (taps >> 2 * levels > 7) ++levels;
  return levels;
}

// The cell that stands in for a place outside the data: one of the same windows.
inline int64_t stand_in(const Line& line, int64_t place, Range cells) {
  const int64_t step = line.step(), end = line.sources();
  int64_t cell = place;
  if (place < 0) cell = place + geometry::ceil_div(-place, step) * step;
  if (place >= end) cell = place - geometry::ceil_div(place - end + 1, step) * step;
  return std::clamp(cell, cells.begin, cells.end - 1);
}

// For a box of `rows` × `outputs` outputs.
PaddedCut choose_padded(const Reduction& reduction, int64_t rows, int64_t outputs);

class Padded {
 public:
  Padded(const BandWork& work, const PaddedCut& cut, Arena* arena);

  // As Band::run.
  void run(const BandTask& task, const char* base, const BandTarget& target);

 private:
  // One column of bands: the places on the last axis, and which of them are cells.
  struct Columns {
    Range places, cells;
    int64_t inner = 1, row_lanes = 0;

    bool same_as(const Columns& other) const {
      return places.begin == other.places.begin && places.end == other.places.end &&
             inner == other.inner;
    }
  };
  // Steps along: what lies at some places of buffers is joined in another. Or, in registers: so
  // many neighbours in the first buffer; sums of wide windows have two results.
  struct Step {
    static constexpr int kMost = 8;
    int to = 0, taps = 0;
    int64_t neighbours = 0;
    bool wide = false;
    int rest = 0;
    int64_t reach = 0;  // lanes from the first that a result depends on to the last
    int from[kMost]{};
    int64_t offsets[kMost]{};
    uint8_t merges[kMost]{};

    void add(int buffer, int64_t offset);
    void finish();
  };
  void find_pads(const Columns& columns);
  void load_row(const char* row, const Columns& columns, char* to) const;
  char* reduced_at(const Columns& columns, int64_t i) const;
  void across(const BandTask& task, const char* plane, const Columns& columns, char* to,
              const BandTarget& target);
  void extremes_across(const char* plane, int64_t first, int64_t count, const Columns& columns,
                       char* to, int64_t to_row, const BandTarget& target);
  void sums_across(const char* plane, int64_t first, int64_t count, const Columns& columns,
                   char* to, int64_t to_row, const BandTarget& target);
  void slide_on(const char* plane, int64_t place, const Columns& columns, char* to, SlideRow* row);
  const char* row_at(const char* plane, int64_t place, const Columns& columns, char* buffer) const;
  void fill_pads(const Columns& columns, int64_t rows);
  // Rows of reduced_, which hold no NaN if `numbers`.
  void along(const Columns& columns, int64_t rows, char* to, int64_t to_row,
             const BandTarget& target, bool numbers);
  void along_some(const Columns& columns, char* from, int64_t rows, char* to, int64_t to_row,
                  const BandTarget& target, bool numbers);
  void plan_rings(Arena* arena);
  Step& add_step(int to, int64_t reach);
  void plan_steps(int64_t taps, int64_t distance, bool in_registers);
  void plan_extremes(int64_t taps, int64_t distance, bool in_registers);
  void plan_sums(int64_t taps, int64_t distance, bool in_registers);
  char* at(void* memory, int64_t elements) const {
    return static_cast<char*>(memory) + elements * size_;
  }
  const char* at(const void* memory, int64_t elements) const {
    return static_cast<const char*>(memory) + elements * size_;
  }

  const Reduction& r_;
  TapsFn taps_, numbers_;
  SlideFn slide_;
  ExtremeRowsFn extremes_;
  NeighboursFn neighbours_[2];  // of numbers, and of anything
  void (*wide_sums_)(const WideSums& sums);
  const MoveKernels* move_;
  PaddedCut cut_;
  int last_, row_;
  int64_t size_;
  char* reduced_ = nullptr;      // rows that were reduced across, with their pads
  char* loaded_ = nullptr;       // rows that cannot be used where they lie
  char* zeros_ = nullptr;        // a row of padding
  const void** rows_ = nullptr;  // of cells, for max and min
  // What rings and loaded rows hold: the rows before `next_` of a plane.
  const char* plane_ = nullptr;
  Columns columns_;
  Columns zeroed_;  // whose pads in reduced_ are zeros
  int64_t next_ = 0;
  int64_t turn_ = 0;  // rows so far
  // The last rows of a level: of source rows and of sums of 4, 16 ... of them.
  struct Ring {
    const char** row = nullptr;  // twice, so that none lies before the first
    char* memory = nullptr;      // of sums
    int64_t row_bytes = 0, rows = 0, next = 0;

    const char* at(int64_t back) const { return row[next + rows - back]; }
    char* slot() const { return memory + next * row_bytes; }
    void advance() { next = next + 1 < rows ? next + 1 : 0; }
  };
  Ring rings_[SlideRow::kMostLevels + 1];
  int part_level_[SlideRow::kMostParts]{};
  int64_t part_back_[SlideRow::kMostParts][4]{};
  SlideRow window_;             // the parts of each
  SlideRow* slides_ = nullptr;  // as many as a block
  static constexpr int kMostSteps = 16, kBuffers = 4;
  Step steps_[kMostSteps];
  int step_count_ = 0;
  int64_t step_distance_ = 0;
  bool step_in_registers_ = false;
  char* buffers_[kBuffers]{};
  // Max and min: places of a row that repeat others, and which.
  int32_t *pads_ = nullptr, *stand_ins_ = nullptr;
  int64_t pad_count_ = 0;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_PADDED_H_
