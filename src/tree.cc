#include "tree.h"

#include <bit>
#include <utility>

namespace ndpool {
namespace {

Block as_block(const Buffer& buffer) {
  return {buffer.values, buffer.stride, buffer.index, buffer.stride, 0};
}

}  // namespace

void Tree::prepare(Arena* arena, uint64_t taps, int64_t elements, size_t value_size,
                   size_t index_size, CombineFn combine) {
  const int levels = 65 - std::countl_zero(taps);
  combine_ = combine;
  slots_ = arena->take<Buffer>(levels);
  nodes_ = arena->take<Block>(levels);
  for (int level = 0; level < levels; ++level) {
    Buffer slot;
    slot.values = arena->take(elements, value_size);
    if (index_size != 0) slot.index = arena->take(elements, index_size);
    if (slots_) slots_[level] = slot;
  }
}

void Tree::start(int64_t rows, int64_t lanes, uint64_t lead) {
  rows_ = rows;
  lanes_ = lanes;
  count_ = lead;
  filled_ = 0;
}

Buffer Tree::sized(int level) const {
  Buffer slot = slots_[level];
  slot.stride = lanes_;
  return slot;
}

// The level at which a node of level `from` comes to rest: the first that holds none.
int Tree::resting_level(int from) const { return from + std::countr_one(count_ >> from); }

Buffer Tree::leaf() const { return sized(resting_level(0)); }

void Tree::push(const Block& leaf) { merge(true, leaf, 0); }

void Tree::push_result_of(Tree* lower, const Block& leaf) {
  Buffer& theirs = lower->slots_[lower->result_level_];
  if (leaf.values == theirs.values) std::swap(theirs, slots_[resting_level(0)]);
  push(leaf);
}

void Tree::skip(uint64_t taps) {
  while (taps > 0) {
    const int largest = 63 - std::countl_zero(taps), aligned = std::countr_zero(count_);
    const int level = largest < aligned ? largest : aligned;
    merge(false, {}, level);
    taps -= uint64_t{1} << level;
  }
}

// Adds a node, absent or present. All that happens on the way up is written to the slot of the
// level where the node comes to rest, which is free.
void Tree::merge(bool present, Block current, int level) {
  const int rest = resting_level(level);
  for (int at = level; at < rest; ++at) {
    if (!(filled_ >> at & 1)) continue;
    filled_ &= ~(uint64_t{1} << at);
    if (present) {
      const Buffer to = sized(rest);
      combine_(rows_, lanes_, to, nodes_[at], current);
      current = as_block(to);
    } else {
      // An absent partner: the node moves up as it is, and takes its memory along.
      present = true;
      current = nodes_[at];
      if (current.values == slots_[at].values) std::swap(slots_[at], slots_[rest]);
    }
  }
  count_ += uint64_t{1} << level;
  if (present) {
    nodes_[rest] = current;
    filled_ |= uint64_t{1} << rest;
  }
}

Block Tree::finish() {
  int at = std::countr_zero(filled_);
  Block current = nodes_[at];
  result_level_ = at;
  for (++at; at < 64 && filled_ >> at != 0; ++at) {
    if (!(filled_ >> at & 1)) continue;
    const Buffer to = sized(at);
    combine_(rows_, lanes_, to, nodes_[at], current);
    current = as_block(to);
    result_level_ = at;
  }
  return current;
}

}  // namespace ndpool
