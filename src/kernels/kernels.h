// The kernels, one table per SIMD target. Every kernel covers a block: `rows` rows of `lanes`
// elements that lie contiguously; strides between rows are in elements. Destination and sources may
// be the same block, never partly overlapping ones.
#ifndef NDPOOL_SRC_KERNELS_KERNELS_H_
#define NDPOOL_SRC_KERNELS_KERNELS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/held_rows.h"
#include "kernels/meanwhile.h"
#include "kernels/move.h"
#include "kernels/neighbours.h"
#include "kernels/strip.h"
#include "lane.h"

namespace ndpool {

// A block of values, with the tap number of each for argmax (index + add; no array: add alone).
struct Block {
  const void* values = nullptr;
  int64_t stride = 0;
  const void* index = nullptr;
  int64_t index_stride = 0;
  uint64_t add = 0;
};

// A block of scratch: `stride` elements from row to row, in values and index alike.
struct Buffer {
  void* values = nullptr;
  void* index = nullptr;
  int64_t stride = 0;
};

// Elements of an array as rows × positions × inner, distances in bytes.
struct Strided {
  int64_t rows = 1, positions = 1, inner = 1;
  int64_t row_stride = 0, position_stride = 0, inner_stride = 0;
};

// across: dst = combine(a, b), element by element.
using CombineFn = void (*)(int64_t rows, int64_t lanes, Buffer dst, const Block& a, const Block& b);
// Every step-th group of `inner` elements: dst[o*inner+c] = src[o*step*inner+c].
using GatherFn = void (*)(int64_t rows, int64_t outputs, int64_t inner, int64_t step, void* dst,
                          int64_t dst_stride, const void* src, int64_t src_stride);
// Array elements to a block of lanes without gaps, and back.
using LoadFn = void (*)(const Strided& shape, const char* src, void* dst);
using StoreFn = void (*)(const Strided& shape, const void* src, int64_t src_stride, char* dst);
// block /= divisor[lane], the same divisors in each row.
using DivideFn = void (*)(int64_t rows, int64_t lanes, void* block, int64_t stride,
                          const void* divisor);
// Integer averages: sums to rounded quotients, straight into the array. One divisor per position.
using FinishFn = void (*)(const Strided& shape, const void* sums, int64_t sums_stride,
                          const int64_t* divisors, char* dst);

// Windows as a list of taps. Lane i of each destination row combines the lanes i + offsets[…] of
// the source row; distances are in elements. Source and destination do not overlap.
struct TapRows {
  int64_t planes = 1, rows = 1, lanes = 1;
  const void* src = nullptr;
  int64_t src_plane = 0, src_row = 0;
  void* dst = nullptr;
  int64_t dst_plane = 0, dst_row = 0;
  const int64_t* offsets = nullptr;
  int taps = 1;
  // Sums: how many waiting nodes of the tree each tap joins. in_order: as if all of a window of
  // `taps` taps along one axis were present (max and min: always).
  const uint8_t* merges = nullptr;
  bool in_order = true;
  // Winners: the number of each tap, and where the first winner's is put, in unsigned lanes as wide
  // as the values.
  const uint32_t* numbers = nullptr;
  void* index = nullptr;
  int64_t index_plane = 0, index_row = 0;
  // 2 or 3: each tap of the list stands for as many neighbours (of values: the list has one tap, at
  // distance 0). paired: destination lanes are two source lanes apart (of values: always); a lane
  // after the last neighbour of an odd number of them may be read. Neighbours of winners count up
  // from the number of the tap. Of values in f32: 2 to 8 neighbours, destination lanes
  // `spacing` source lanes apart; if these are more than two, three lanes after the last neighbour
  // may be read.
  int along = 0;
  bool paired = false;
  int64_t spacing = 2;
  // Values and sums: so many elements are fetched ahead of their use with each row, if they are few
  // or the taps are many.
  int64_t fetch = 0;
  // What is needed later comes from there, so many elements with each row. (Not all kernels that
  // find winners look at it.)
  const void* next = nullptr;
  int64_t fetch_next = 0;
  // And so many rows of cells, that far apart, are fetched again shortly before their use.
  int near_rows = 0;
  int64_t near_distance = 0;
  // If given: what goes past the caches meanwhile; then, what of it is left.
  Finished* finished = nullptr;
  int64_t divisor = 0;  // of sums of f32 and f64, if not 0
};
using TapsFn = void (*)(const TapRows& taps);

// across, then along, row by row. across.dst and along.src are not used: rows go through `rows`.
struct FusedRows {
  static constexpr int kRows = 4;
  TapRows across, along;
  void* rows[kRows]{};
  int64_t cells_at = 0;  // lane of a row where across begins
  // Lanes before and after those that stand in for absent taps: copied from others of the row.
  int pads = 0;
  const int32_t* pad_to = nullptr;
  const int32_t* pad_from = nullptr;
  // If given (f32, f64): source and destination are rows of as many lanes without gaps, and are
  // computed as if they were one row, some of them at a time; then the lanes whose taps lie in
  // other rows again. Memory for flat_lanes lanes, and for as many before and after them as a
  // window has.
  void* flat = nullptr;
  int64_t flat_lanes = 0;
  int64_t divisor = 0;  // f32, f64: results are divided by it
  // The destination is a block at `staged`, one piece of memory, that is sent on past the caches.
  const void* staged = nullptr;
  void* stream_to = nullptr;
};
using FusedFn = void (*)(const FusedRows& rows);

// Sums over windows that slide down rows, one row further. Level l holds the sums of 4^l rows,
// level 0 being the rows themselves; what is asked for is joined from rows of all levels.
struct SlideRow {
  static constexpr int kMostLevels = 4, kMostParts = 2 * kMostLevels + 1;
  int64_t lanes = 0;
  const void* x = nullptr;      // the new row
  const void* ahead = nullptr;  // some rows behind it: fetched meanwhile
  const void* recent[3]{};      // of the first of some: the rows before it, the oldest first
  int levels = 0;               // whose new row is made, from 1 on
  // The rows of level l, from 1 on, that are 3, 2 and 1 times 4^l rows old; and where the new row
  // of level l + 1 goes, whole vectors.
  const void* old[kMostLevels][3]{};
  void* slot[kMostLevels]{};
  // If given, the window that ends here: the last `own` rows (0 to 3), and then, from the left, 1,
  // 2 or 4 rows of higher levels, joined, join what came before.
  void* dst = nullptr;
  int own = 0;
  struct Part {
    int rows;
    const void* row[4];  // those that do not count name some row all the same
  };
  int parts = 0;
  Part part[kMostParts]{};
};
// Some rows, one after another: strip by strip, so that what a few vectors need stays near.
using SlideFn = void (*)(int64_t count, const SlideRow* rows);

// Extrema over windows of `taps` rows, of up to as many windows: all hold row `rows` - 1. What
// precedes it is joined upwards, what follows downwards, so that cost does not grow with the
// window.
struct ExtremeRows {
  int64_t lanes = 0, rows = 0, taps = 0;
  const void* const* x = nullptr;  // rows + taps - 1 rows of cells
  int64_t ahead = 0;               // rows behind those, needed next: they are fetched meanwhile
  void* dst = nullptr;
  int64_t dst_row = 0;
};
// Whether there may be NaN in what was written.
using ExtremeRowsFn = bool (*)(const ExtremeRows& rows);

enum Extreme : int { kMax, kMin };
enum Winner : int { kFirst, kLast };

struct CombineKernels {
  CombineFn extreme[2][kLanes];    // by Extreme, Lane
  CombineFn sum[kLanes];           // f32, f64, i32, i64, i128
  CombineFn arg[2][2][2][kLanes];  // by Extreme, Winner, index of 4 or 8 bytes, Lane
  GatherFn gather[5];              // by log2 of the element size
  DivideFn divide[kLanes];         // f32, f64
  // n elements over one divisor: f32, f64
  void (*scale[kLanes])(int64_t n, void* block, int64_t divisor);
};

struct ConvertKernels {
  LoadFn load[kTypes][kLanes];    // values as they are
  LoadFn load_key[2][kTypes];     // f16, bf16 to i16 keys, by Extreme
  StoreFn store[kLanes][kTypes];  // floats rounded once; integers of the same type copied
  StoreFn store_key[kTypes];      // keys to f16, bf16
  // f16, bf16: averages from f32 sums without gaps, one divisor per lane of a row. Null where there
  // are no instructions for it; false where it does not do, whatever was written.
  bool (*average_halves[kTypes])(const Strided& shape, const float* sums, const float* divisors,
                                 char* dst);
  FinishFn finish[kLanes][kTypes];  // from i16, i32, i64, i128
};

struct TapKernels {
  TapsFn extreme[2][kLanes];  // by Extreme, Lane
  TapsFn numbers[2][kLanes];  // the same for what holds no NaN
  TapsFn sum[kLanes];         // f32, f64, i16, i32, i64
  FusedFn extreme_rows[2][kLanes];
  FusedFn sum_rows[kLanes];
};

struct SlideKernels {
  ExtremeRowsFn extreme[2][kLanes];
  SlideFn sum[kLanes];  // f32, f64, i16, i32, i64
};

// The first winner of each window along one row of f32 cells, with the number of its tap: 2 or 3
// neighbours, 1 or 2 lanes apart; those outside the row are absent.
struct AlongWinners {
  const float* row = nullptr;
  int64_t cells = 0;
  int taps = 2;
  int64_t spacing = 1;
  int64_t origin = 0;  // of output 0: its first tap
  int64_t outputs = 0;
  int64_t begin = 0, end = 0;  // the outputs that have all their taps
  float* values = nullptr;
  uint32_t* numbers = nullptr;
};

// The first winner among rows of such winners, lane by lane; what is added to the numbers of each
// row.
struct AcrossWinners {
  static constexpr int kMost = 8;
  int64_t lanes = 0;
  int rows = 0;
  const float* values[kMost]{};
  const uint32_t* numbers[kMost]{};
  uint32_t add[kMost]{};
  float* best = nullptr;
  uint8_t* winners = nullptr;
};

struct WinnerTapKernels {
  TapsFn find[2][kLanes];  // by Extreme, Lane
  void (*along[2])(const AlongWinners& row);
  void (*across[2])(const AcrossWinners& rows);
  // f32, f64. `index` holds, in bytes that lie as the source lanes do, the tap numbers of windows'
  // winners; taps of the list are windows, their numbers what the cell must be to have won.
  TapsFn spread[2];
  // The same for two lists: lanes of the first go to even lanes at its destination, those of the
  // second (as many, or one less) between them. Rows and planes are the first's.
  void (*spread_pairs[2])(const TapRows& even, const TapRows& odd);
};

// The gradients that flow back to some rows of cells from the outputs whose windows hold them: each
// cell takes those of the windows that it has won, in row-major order. Windows have `taps` taps on
// both axes, 2 or 3, and lie 1 or 2 cells apart.
struct CollectRows {
  int taps = 2;
  int64_t spacing = 1;
  // The number of the first tap. If they knew it, compilers would make all numbers anew for each
  // vector instead of keeping them in registers.
  uint32_t number = 0;
  const void* g = nullptr;               // of a plane of outputs, without gaps
  const uint8_t* winners = nullptr;      // the numbers of their winning taps
  int64_t outputs = 0, output_rows = 0;  // in a row, a vector of them at least; rows
  int64_t first = 0;                     // the first row of outputs that may hold the cells
  int64_t pad = 0;                       // along a row: the first tap is at cell -pad
  int64_t ahead = 0;  // rows of cells from the first tap of those outputs to `dst`
  int64_t rows = 0, cells = 0;
  void* dst = nullptr;  // without gaps
  Next next_g, next_winners;
  Later later;
  Finished finished;
};

struct CollectKernels {  // f32, f64
  int64_t least[2];      // outputs in a row
  void (*rows[2])(const CollectRows& rows);
};
struct CollectInOrderKernels {
  // f32, windows two cells apart: straight past the caches. None: the target has no such kernel.
  void (*rows)(const CollectRows& rows) = nullptr;
};

// Some rows of outputs of windows of 2x2 or 3x3 taps, 1 or 2 cells apart: column by column of
// vectors, downwards. Of the windows of a row, the first may lack a cell, and the last; with
// spacing 2 they lie in different vectors.
struct ColumnRows {
  int taps = 2;
  int64_t spacing = 1;
  int64_t dilation = 1;              // of taps, and of rows, others of which lie between
  const void* src = nullptr;         // the first row of cells
  int64_t cells = 0, cell_rows = 0;  // in a row; rows, without gaps
  int64_t first = 0;                 // row of cells where the windows of the first outputs begin
  int64_t pad = 0;                   // along a row: the first tap is at cell -pad
  int64_t outputs = 0, rows = 0;     // at least a vector of them in a row
  int64_t planes = 1;                // so many of these, one behind the other; one, if streamed
  void* dst = nullptr;               // without gaps; none, if only winners are asked for
  bool streamed = false;             // what is written there goes on past the caches
  uint8_t* winners = nullptr;        // the numbers of winning taps, without gaps
  int64_t divisor = 1;               // of sums
  Next next;                         // cells
  Later later;
  Finished finished;
};
// False, if there may be NaN among the cells, and it is of the kind that must not meet one.
using ColumnsFn = bool (*)(const ColumnRows& rows);

struct ColumnKernels {  // f32
  struct Kinds {
    ColumnsFn numbers = nullptr, anything = nullptr;
  };
  int64_t lanes = 0;                  // 0: the target has none of these
  Kinds extremes[2]{}, winners[2]{};  // by Extreme
  ColumnsFn average = nullptr;        // of integers: see is_divisor(); halves: +-kMostHalfDivisor
  // n elements over one divisor, written elsewhere: f32
  void (*quotients)(int64_t n, const void* from, int64_t divisor, void* to) = nullptr;
  static constexpr int64_t kMostHalfDivisor = 4096;
  static constexpr bool is_divisor(int64_t n) {
    return n >= 1 && n <= 16 && (n % 2 == 1 || (n & (n - 1)) == 0);
  }
};
struct NarrowColumnKernels {
  ColumnKernels of[kTypes]{};  // types of one or two bytes; no winners, not all squares
};

// How the windows of one axis are joined from sums or extrema of 1, 2, 4 ... neighbours at every
// place of a piece of scratch; places are elements from its beginning.
struct SheetAxis {
  static constexpr int kMost = 8;
  static constexpr int kMostExtremes = 6;  // taps of max and min that take no passes
  // to[i] joins 2 or 4 (`radix`) elements of `from`, `distance` apart.
  struct Pass {
    int64_t from, to, distance, lanes;
    int radix;
  };
  int passes = 0, parts = 0;
  Pass pass[kMost]{};
  // What a window consists of, from its place on: up to 4 taps, if there are no passes; else sums
  // are joined from the last to the first. Parts of max and min may overlap.
  int64_t part[kMost]{};
};

// How small planes are pooled, some of them at a time: they are copied to scratch, joined down, row
// by row set apart in another piece of scratch, and joined along. Around cells both hold `absent`,
// and behind the last place there is room for some vectors; behind y there is if its rows are
// shorter than one.
struct Sheet {
  int64_t cells = 0, x_step = 0;      // of a plane; from plane to plane
  int64_t place = 0, place_step = 0;  // where they go
  SheetAxis down, along;
  int64_t row = 0;                       // cells in a row
  int64_t rows = 0, row_step = 0;        // of outputs in a plane; cells from one to the next
  int64_t pitch = 0, row_place = 0;      // of rows that are set apart
  int64_t outputs = 0, output_step = 1;  // in a row; cells from one to the next, 1 or 2
  char absent[8] = {};                   // a lane
  int64_t divisor = 1;                   // of sums of f32 and f64
};
// No x: the cells are in their places. False, if there may be NaN among the cells, and it is of the
// kind that must not meet one.
using SheetFn = bool (*)(const Sheet& sheet, int64_t planes, const void* x, void* down, void* along,
                         void* y);

struct SheetKernels {  // by Extreme, Lane
  // Rows are short: no more lanes in a vector than this, even of bytes.
  static constexpr int kMostLanes = 16;
  int64_t vector_bytes = 0;       // 0: the target has none of these
  SheetFn numbers[2][kLanes]{};   // f32, f64
  SheetFn anything[2][kLanes]{};  // all but i128
  SheetFn sum[kLanes]{};          // f32, f64, i16, i32, i64
  int64_t lanes(Lane lane) const {
    const int64_t fit = vector_bytes / static_cast<int64_t>(lane_size(lane));
    return fit < kMostLanes ? fit : kMostLanes;
  }
};

// n elements that lie side by side, to one.
struct WholeKernels {
  void (*extreme[2][kLanes])(int64_t n, const void* x, void* y);  // by Extreme; all but i128
  void (*sum[2])(int64_t n, const void* x, void* y);  // f32, f64: as the tree joins them
  // The same of `count` rows of at most kMostRow elements (f32: kMostExtremes), `pitch` apart;
  // results lie y_pitch apart.
  using RowsFn = void (*)(int64_t count, int64_t n, const void* x, int64_t pitch, void* y,
                          int64_t y_pitch);
  static constexpr int64_t kMostRow = 32, kMostExtremes = 96;
  static constexpr int kDepth = 6;  // of the tree of so many
  RowsFn extreme_rows[2];           // f32
  RowsFn sum_rows[2];               // f32, f64
  // f32, f64: of planes, down the rows and then along them. Up to kMostColumns columns, and planes
  // of up to kMostCells cells if their rows are shorter than a vector; best in multiples of
  // kTogether planes. `far`: they are not in the caches.
  static constexpr int64_t kMostColumns = 128, kMostCells = 1024, kTogether = 16;
  void (*sum_planes[2])(int64_t count, int64_t rows, int64_t columns, const void* x, int64_t pitch,
                        void* y, int64_t y_pitch, bool far);
};

// Exponents that leave room for sums and quotients in f64; and logarithms whose error of some units
// in the last place of 1 is still far below that of an f32.
inline constexpr double kSmoothReach = 300, kSmoothLeast = 0x1p-24, kLpReach = 512;
inline constexpr double kSmoothReach32 = 40, kSmoothLeast32 = 1;

// Smooth max and Lp, in f64; `n` lanes.
struct RealKernels {
  // term = exp(beta*(x-pivot)), 0 where x equals the pivot; those are counted instead.
  void (*smooth_term)(int64_t n, const double* x, const double* pivot, double beta, double* term,
                      double* count);
  // weight = exp(beta*(x-pivot))/sum, with equal shares at an infinite pivot.
  void (*smooth_weight)(int64_t n, const double* x, const double* pivot, const double* sum,
                        double beta, double* weight);
  // y = pivot + log1p(rest)/beta (- log(terms)/beta), rest being the sum without one pivot term.
  void (*smooth_finish)(int64_t n, const double* pivot, const double* rest, double beta,
                        const double* log_terms, double* y);
  // Of cells, in place: exp(beta*x), NaN where |beta*x| exceeds kSmoothReach.
  void (*smooth_cells)(int64_t n, double beta, double* x);
  // Of sums of those, in place: log(sum)/beta, NaN where |log(sum)| is below kSmoothLeast; false if
  // any is NaN.
  bool (*smooth_logarithms)(int64_t n, double beta, double* sum);
  // product *= by, 0 where it was 0; false if any is NaN.
  bool (*multiply)(int64_t n, const double* by, double* product);
  // The same in f32, where range and digits ask for more care; none on targets without FMA. Terms
  // may have another place than cells. What is not finite after multiplying becomes NaN.
  void (*smooth_cells32)(int64_t n, double beta, const float* x, float* term);
  bool (*smooth_logarithms32)(int64_t n, double beta, float* sum);
  bool (*multiply32)(int64_t n, const float* by, float* product);
  // sum = g/sum, 0 where the sum is 0, NaN where digits would be lost below the range of f32.
  void (*smooth_quotients32)(int64_t n, const float* g, float* sum);
  // term = (|x|/largest)^p.
  void (*lp_term)(int64_t n, const double* x, const double* largest, double p, double* term);
  // power = sign(x)^odd * (|x|/largest/exp(log_ratio))^exponent, 0 where x or largest is 0.
  void (*lp_power)(int64_t n, const double* x, const double* largest, const double* log_ratio,
                   double exponent, bool odd, double* power);
  // Of cells, in place: |x|^p, NaN where its logarithm exceeds kLpReach or x is not finite. slope,
  // if given: sign(x)*|x|^(p-1), 0 where x is.
  void (*lp_cells)(int64_t n, double p, double* x, double* slope);
  // Of sums of those, in place: sum^(1/p); false if any is NaN.
  bool (*lp_roots)(int64_t n, double p, double* sum);
  // factor = sum^(1/p-1), 0 where the sum is.
  void (*lp_factors)(int64_t n, double p, const double* sum, double* factor);
};

// The winners of max and min among the cells of a window, in f32 or f64.
template <class T>
struct WinnerKernels {
  void (*count)(int64_t n, const T* x, const T* y, double* count);
  void (*add)(int64_t n, const T* x, const T* y, const T* tangent, T* sum);
  void (*share)(int64_t n, const T* x, const T* y, const T* share, T* out);
};

struct SmoothRowKernels;        // smooth_rows.h
struct ChannelKernels;          // channels.h
struct HalvedRowKernels;        // halved_rows.h
struct NarrowHalvedRowKernels;  // the same
struct SameRowKernels;          // same_rows.h
struct SameGradientKernels;     // same_rows.h
struct ChannelGradientKernels;  // channels.h

struct Kernels {
  const char* name;
  const CombineKernels* combine;
  const ConvertKernels* convert;
  const TapKernels* taps;
  const SlideKernels* slide;
  const NeighbourKernels* neighbours;
  const WinnerTapKernels* winner_taps;
  const CollectKernels* collect;
  const CollectInOrderKernels* collect_in_order;
  const ChannelKernels* channels;
  const ChannelGradientKernels* channel_gradients;
  const ColumnKernels* columns;
  const NarrowColumnKernels* narrow_columns;
  const HalvedRowKernels* halved_rows;
  const NarrowHalvedRowKernels* narrow_halved_rows;
  const SameRowKernels* same_rows;
  const SameGradientKernels* same_gradients;
  const SheetKernels* sheets;
  const HeldKernels* held;
  const StripKernels* strips;
  const WholeKernels* whole;
  const MoveKernels* move;
  const RealKernels* real;
  const WinnerKernels<float>* winners32;
  const WinnerKernels<double>* winners64;
  const SmoothRowKernels* smooth_rows;  // none on targets without FMA
};

// The tables of the targets that this machine can run, best first; nullptr after the last.
const Kernels* kernels_at(int i);
// By the target's name; nullptr if it is not compiled or this machine cannot run it.
const Kernels* kernels_named(const char* name);

}  // namespace ndpool

#endif  // NDPOOL_SRC_KERNELS_KERNELS_H_
