// Separable reduction: max, min (with or without the winning tap) and sums, over boxes of any rank.
//
// One call of Reducer::run reduces one row of outputs of several planes: across the pooled axes one
// by one in array order, then along the last one. Sums add in the order of Tree on every axis, so
// that the bits depend on the geometry alone.
#ifndef NDPOOL_SRC_REDUCE_H_
#define NDPOOL_SRC_REDUCE_H_

#include <cstdint>

#include "arena.h"
#include "counts.h"
#include "kernels/kernels.h"
#include "layout.h"
#include "line.h"
#include "tree.h"

namespace ndpool {

// Blocks of about this many bytes stay in the first-level cache beside a few others; no block is
// more than kBlockSlack times as large (single windows that are wider than a block, but not by
// much). Sums of terms have smaller ones: their scratch lies beside that of boxes.
inline constexpr int64_t kBlockBytes = 8192, kSmallBlockBytes = 1024;
inline constexpr int64_t kBlockSlack = 5;

// How much one run covers.
struct Cut {
  int64_t rows = 1;     // planes of the batch
  int64_t outputs = 1;  // along the last pooled axis
  int64_t inner = 1;
  int64_t elements = 1;  // of the largest block
  bool blocked = false;  // windows so wide that their taps come in blocks
  int64_t block_taps = 1;
};

// What is reduced and how; made once per call, shared by all tasks.
struct Reduction {
  const Space* space = nullptr;
  const Bound* source = nullptr;
  Line lines[kMaxPooled];
  const CombineKernels* kernels = nullptr;
  Lane lane = Lane::f32;
  LoadFn load = nullptr;
  bool native = false;  // elements are lanes already: rows can be used where they lie
  CombineFn combine = nullptr;
  bool sum = false;
  int index_size = 0;                 // bytes of a tap number; 0: values alone
  uint64_t weight[kMaxPooled]{};      // of each axis in the tap number
  const Counts* divide_by = nullptr;  // sources are divided by their divisor when loaded
  int64_t block_bytes = kBlockBytes;
  Cut cut;

  // Chooses the cut for rows of up to `outputs` outputs; call last.
  void choose_cut(int64_t outputs);
};

// Where one run takes place. base: address of the first plane, at the first inner element.
struct Place {
  const char* base = nullptr;
  int64_t rows = 1, inner = 1;
  const int64_t* across = nullptr;  // outputs on the pooled axes but the last
  Range outputs;                    // on the last
};

class Reducer {
 public:
  Reducer(const Reduction& reduction, Arena* arena);

  // Rows of outputs.size()*inner lanes. Lanes without a source hold 0 (sums) or nothing of use.
  // False if the whole row has no source on an axis before the last; the block is then untouched.
  bool run(const Place& place, Block* result);

 private:
  Block across(int level);
  Block row(const Buffer& leaf);
  void divide_row(const Buffer& block);
  Block along(const Block& in, Range positions);
  void sum_tap(const Block& in, Range positions, int64_t tap);
  void extreme_tap(const Block& in, Range positions, int64_t tap);
  void take_first(const Block& in, Range positions);
  void pick(const Block& in, int64_t source, int64_t outputs, int64_t step, Buffer to, int64_t lane,
            uint64_t tap);
  Block blocked();
  Block fold(Block in, int64_t taps, int64_t lead);
  Block number_taps(const Block& in, int64_t taps, int64_t first_tap);
  Block offset(const Block& block, int64_t lanes) const;
  Buffer offset(const Buffer& buffer, int64_t lanes) const;

  const Reduction& r_;
  int last_ = 0;
  size_t size_ = 0;
  Tree trees_[kMaxPooled];
  Buffer row_{}, accumulator_{}, picked_{}, fold_[3]{};
  Span* spans_ = nullptr;
  void* divisors_ = nullptr;

  const Place* place_ = nullptr;
  int64_t position_[kMaxPooled]{};  // current source on the axes before the last
  Range sources_;                   // taken of the last axis, every step_-th one
  int64_t step_ = 1;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_REDUCE_H_
