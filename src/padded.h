// Wide windows at stride 1, by doubling: combining rows with themselves, moved by 1, 2, 4 … taps,
// gives windows of 2, 4, 8 … taps at every place, so the cost hardly grows with the window, and
// nothing is ever subtracted. Across, windows slide down the rows, each of which is read once:
// rings keep the last rows of every power of two. Then some rows at a time are reduced along, in
// buffers that stay in the cache; what is padding is written out. A band that goes on where the
// last one ended finds the rings as it needs them.
//
// Sums join the windows of the powers of two that make up k from the smallest to the largest: the
// order of Tree. Max and min may overlap, and take up to four taps in a step.
#ifndef NDPOOL_SRC_PADDED_H_
#define NDPOOL_SRC_PADDED_H_

#include <cstdint>

#include "arena.h"
#include "band.h"

namespace ndpool {

// How much one call covers, and the elements of its buffers.
struct PaddedCut {
  bool possible = false;
  int64_t planes = 1, rows = 1, outputs = 1, inner = 1;
  int levels = 0;        // powers of two in a window across; 0: nothing to do there
  int64_t together = 1;  // rows reduced along together
  int64_t row = 0;       // of the rings: whole cache lines
  int64_t reduced = 0;   // of rows that are reduced along together, and of each step
};

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
  };
  void find_pads(const Columns& columns);
  void load_row(const char* row, const Columns& columns, char* to) const;
  char* reduced_at(const Columns& columns, int64_t i) const;
  void slide(const BandTask& task, const char* plane, const Columns& columns, char* to,
             const BandTarget& target);
  void slide_on(const char* plane, int64_t place, const Columns& columns, char* to);
  const char* row_at(const char* plane, int64_t place, const Columns& columns, char* buffer) const;
  void fill_pads(const Columns& columns, int64_t rows);
  void along(const Columns& columns, int64_t rows, char* to, int64_t to_row,
             const BandTarget& target);
  // Windows of `taps` taps `distance` apart, from `lanes` lanes at `from`; `out` takes the last
  // step, its source being what lies where `from` begins.
  void reduce(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out);
  void extremes(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out);
  void sums(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out);
  const char* step(const char* from, int64_t lanes, char* to);
  void last_of_two(const char* from, int64_t distance, TapRows out);
  const char* twice(const char* from, int64_t distance, int64_t* lanes, char* to);
  char* at(void* memory, int64_t elements) const {
    return static_cast<char*>(memory) + elements * size_;
  }
  const char* at(const void* memory, int64_t elements) const {
    return static_cast<const char*>(memory) + elements * size_;
  }

  const Reduction& r_;
  TapsFn taps_;
  SlideFn slide_;
  const MoveKernels* move_;
  PaddedCut cut_;
  int last_, row_;
  int64_t size_;
  char* reduced_ = nullptr;  // rows that were reduced across, with their pads
  char* rings_ = nullptr;    // of levels 1, 2 …: 2, 4 … rows
  char* loaded_[2]{};        // rows that cannot be used where they lie
  char* zeros_ = nullptr;    // a row of padding
  // What the rings hold: the rows before `next_` of a plane.
  const char* plane_ = nullptr;
  Columns columns_;
  int64_t next_ = 0;
  uint64_t turn_ = 0;  // rows so far
  const char* previous_ = nullptr;
  char* steps_[4]{};  // the present step, the next, and of sums what was joined so far
  // Max and min: places of a row that repeat others, and which.
  int32_t *pads_ = nullptr, *stand_ins_ = nullptr;
  int64_t pad_count_ = 0;
  TapList list_;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_PADDED_H_
