// Windows of moderate size, many rows at a time: a band is a box of outputs whose cells stay in the
// cache. All stages are a few kernel calls for the whole band, each of them contiguous loads at the
// distances of a list of taps:
//   load     elements to lanes, where they differ
//   across   the axes before the last: rows combined with rows
//   split    strided windows: rows taken apart by phase, so that taps become contiguous
//   along    the last axis
// With many channels innermost there is nothing to split, and small windows take one list for all.
#ifndef NDPOOL_SRC_BAND_H_
#define NDPOOL_SRC_BAND_H_

#include <cstdint>

#include "arena.h"
#include "reduce.h"
#include "rows.h"
#include "runs.h"
#include "tap_list.h"

namespace ndpool {

enum class BandForm : uint8_t {
  none,    // not for this problem
  narrow,  // rows in lanes, padded and split
  wide,    // channels in lanes: across, then along
  direct,  // channels in lanes, one list of taps
};

// At most so many outputs after which a line's pattern of taps repeats.
inline constexpr int64_t kMostPeriod = 64;

// How many sources `outputs` outputs take at most, from the first to the last.
inline int64_t sources_for(const Line& line, int64_t outputs) {
  return (outputs - 1) * (line.pace() + !line.uniform()) + line.reach() + 1;
}

// Bytes of a row that costs more to begin than to compute.
inline constexpr int64_t kShortRow = 128;
// Of rows that are computed as one: bytes, and taps along them.
inline constexpr int64_t kFlatBytes = 2048, kMostFlatTaps = 8;

// How much one band covers, and what it needs.
struct BandCut {
  BandForm form = BandForm::none;
  // Narrow: single lanes are picked from a table of positions; or kernels take the neighbours of a
  // window themselves: 2 or 3 of them, at every second lane if `paired`, or up to 8, further apart
  // (spaced); fused: row by row, or, if there are as many results as cells in a row (flat), some
  // rows as one.
  bool tabled = false, paired = false, spaced = false, fused = false, flat = false;
  int along = 0;
  int64_t planes = 1, rows = 1, outputs = 1, inner = 1;
  int64_t loaded = 0, reduced = 0, split = 0, results = 0;  // elements
};

// What bands reduce: a Reduction with what else they must know.
struct BandWork {
  const Reduction* reduction = nullptr;
  TapsFn combine = nullptr;          // values, sums or winners
  FusedFn fused = nullptr;           // values and sums: across and along, row by row
  TapsFn numbers = nullptr;          // values: of what holds no NaN
  SlideFn slide = nullptr;           // sums: across wide windows
  ExtremeRowsFn extremes = nullptr;  // values: the same
  // Wide windows of f32 along rows: of what holds no NaN, and of anything, or sums.
  NeighboursFn windows_along[2]{};
  void (*wide_sums)(const WideSums& sums) = nullptr;
  const MoveKernels* move = nullptr;
  bool winners = false, last_winner = false;
  BandCut cut;

  // Chooses the cut for a box of `rows` × `outputs` outputs on the last two axes. No form is found
  // for windows that are too wide.
  void choose_cut(int64_t rows, int64_t outputs);
};

// Where results go, distances in elements: the array itself, or a block.
struct BandTarget {
  void* values = nullptr;
  int64_t plane = 0, row = 0, position = 0;
  void* index = nullptr;  // of winners: unsigned lanes as wide as the values
  int64_t index_plane = 0, index_row = 0, index_position = 0;
  // What fused rows do beyond that: see FusedRows; and what windows as one list do: see TapRows.
  int64_t divisor = 0;
  void* stream_to = nullptr;
  Finished* finished = nullptr;
};

class Band {
 public:
  Band(const BandWork& work, Arena* arena);

  // Reduces one band. base: address of its first plane in the source, at its first inner element.
  void run(const BandTask& task, const char* base, const BandTarget& target);

 private:
  // The rows that a stage reads: distances in elements.
  struct View {
    const char* data = nullptr;
    int64_t plane = 0;
    int64_t before = 0;  // to the first taps of the axes before the last two
    int64_t distance[kMaxPooled]{};
    int64_t row = 0, first_row = 0;
    int64_t position = 0, first = 0;  // on the last axis
    int64_t phase = 0;                // from phase to phase of rows that were taken apart
  };

  View source(const BandTask& task, const char* base) const;
  View load(const BandTask& task, const char* base);
  void divide_rows(char* block, int64_t* position, Range rows, Range cells);
  template <class F>
  void each_row_run(const BandTask& task, const View& view, F f);
  View across(const BandTask& task, const View& view, Range positions, Range cells, bool pad);
  void fill_pads(char* rows, int64_t count, int64_t row_lanes, Range positions, Range cells) const;
  void fill_table(Range outputs, Range cells);
  int64_t split_row(int64_t outputs) const;
  View split(const View& view, int64_t planes, int64_t rows, Range outputs);
  void list_along(const View& view, TapList* list) const;
  template <class F>
  void each_pad(Range positions, Range cells, F f) const;
  void along(const BandTask& task, const View& view, const BandTarget& target);
  void along_runs(const BandTask& task, const View& view, const BandTarget& target);
  void along_phases(const BandTask& task, const View& view, const BandTarget& target);
  void fused(const BandTask& task, const View& view, Range positions, Range cells,
             const BandTarget& target);
  void direct(const BandTask& task, const View& view, const BandTarget& target);
  void find_winners(const BandTask& task, View view, const BandTarget& target);
  void clear(const TapRows& t) const;
  void clamp_winners(const BandTask& task, const BandTarget& target) const;

  // Whether the rows of a view follow one another without gaps.
  bool rows_in_one_piece(const View& view) const {
    return row_ >= 0 && view.row == view.position * r_.lines[last_].sources();
  }
  const char* at(const void* memory, int64_t elements) const {
    return static_cast<const char*>(memory) + elements * size_;
  }
  char* at(void* memory, int64_t elements) const {
    return static_cast<char*>(memory) + elements * size_;
  }

  const BandWork& w_;
  const Reduction& r_;
  int last_, row_;  // numbers of the last axis and of the one before it (-1: none)
  int64_t size_;    // of a lane
  bool far_;        // cells are lanes, and come from memory
  int64_t inner_ = 1;
  char* loaded_ = nullptr;
  char* reduced_ = nullptr;
  char* split_ = nullptr;
  int32_t* table_ = nullptr;
  Range table_of_{};
  bool absent_ = false;  // some output of the table has fewer taps than others
  void* divisors_ = nullptr;
  char* fused_rows_[FusedRows::kRows]{};
  char* flat_ = nullptr;
  int32_t* pad_lanes_ = nullptr;
  int phases_ = 0, phase_of_[TapList::kMost];
  int64_t starts_[TapList::kMost], furthest_[TapList::kMost];
  TapList list_;
  Span before_[kMaxPooled];
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_BAND_H_
