// The order of addition: one binary tree over the taps of a window along an axis.
//
// Taps are numbered from 0; taps 2i and 2i+1 are combined first, then pairs of pairs, and so on, so
// that tap t always meets the same partners, whatever the algorithm. Taps that are absent (padding)
// are left out. The tree is built like a binary counter: node L holds 2^L taps, and two nodes of
// one level make one of the next. The depth is log2 of the taps, which bounds the rounding error.
#ifndef NDPOOL_SRC_TREE_H_
#define NDPOOL_SRC_TREE_H_

#include <cstdint>

#include "arena.h"
#include "kernels/kernels.h"

namespace ndpool {

class Tree {
 public:
  // Takes memory for windows of up to `taps` taps and blocks of up to `elements` elements.
  void prepare(Arena* arena, uint64_t taps, int64_t elements, size_t value_size, size_t index_size,
               CombineFn combine);

  // Begins a window whose first `lead` taps are absent.
  void start(int64_t rows, int64_t lanes, uint64_t lead);
  // Where the next leaf is to be written, unless it lies elsewhere already.
  Buffer leaf() const;
  // The next tap.
  void push(const Block& leaf);
  // The next tap, which `lower` (prepared alike) has just finished: its memory is taken over by
  // exchange, so that `lower` can start anew.
  void push_result_of(Tree* lower, const Block& leaf);
  // `taps` absent taps.
  void skip(uint64_t taps);
  bool empty() const { return filled_ == 0; }
  // The combination of all taps, valid until the next start(); the tree must not be empty.
  Block finish();

 private:
  Buffer sized(int level) const;
  int resting_level(int from) const;
  void merge(bool present, Block current, int level);

  CombineFn combine_ = nullptr;
  Buffer* slots_ = nullptr;  // memory of each level
  Block* nodes_ = nullptr;   // what each level holds: its slot, or a block that lies elsewhere
  int64_t rows_ = 0, lanes_ = 0;
  uint64_t count_ = 0;   // taps so far, absent ones included
  uint64_t filled_ = 0;  // levels that hold a present node
  int result_level_ = 0;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_TREE_H_
