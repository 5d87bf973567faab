// Wide windows at stride 1, by doubling: combining rows with themselves, moved by 1, 2, 4 … taps,
// gives windows of 2, 4, 8 … taps at every place, so the cost hardly grows with the window, and
// nothing is ever subtracted. Strips of columns are reduced across, then groups of rows along, each
// in buffers that stay in the cache; what is padding is written out.
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
  int64_t strip = 1;  // positions reduced across together
  int64_t reduced = 0, stepped = 0;
};

// For a box of `rows` × `outputs` outputs.
PaddedCut choose_padded(const Reduction& reduction, int64_t rows, int64_t outputs);

class Padded {
 public:
  Padded(const BandWork& work, const PaddedCut& cut, Arena* arena);

  // As Band::run.
  void run(const BandTask& task, const char* base, const BandTarget& target);

 private:
  void find_pads(Range places, Range cells, int64_t inner);
  void across(const BandTask& task, const char* plane, Range places, Range cells, char* to);
  void fill_strip(const char* from, Range rows, Range row_cells, int64_t positions, int64_t inner);
  // Windows of `taps` taps `distance` apart, from `lanes` lanes at `from`; `out` takes the last
  // step, its source being what lies where `from` begins.
  void reduce(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out);
  void extremes(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out);
  void sums(int64_t taps, int64_t distance, const char* from, int64_t lanes, TapRows out);
  const char* step(const char* from, int64_t lanes, char* to);
  char* at(void* memory, int64_t elements) const {
    return static_cast<char*>(memory) + elements * size_;
  }
  const char* at(const void* memory, int64_t elements) const {
    return static_cast<const char*>(memory) + elements * size_;
  }

  const Reduction& r_;
  TapsFn taps_;
  const MoveKernels* move_;
  PaddedCut cut_;
  int last_, row_;
  int64_t size_;
  char* reduced_ = nullptr;  // rows that were reduced across, with their pads
  char* strip_ = nullptr;
  char* steps_[3]{};  // the present step, the next, and of sums what was joined so far
  // Max and min: lanes of a row that repeat others, and which.
  int32_t *pads_ = nullptr, *stand_ins_ = nullptr;
  int64_t pad_count_ = 0;
  TapList list_;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_PADDED_H_
