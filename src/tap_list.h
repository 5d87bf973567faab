// Taps of a window as distances in memory, in the order in which sums add or winners are sought.
#ifndef NDPOOL_SRC_TAP_LIST_H_
#define NDPOOL_SRC_TAP_LIST_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "kernels/kernels.h"

namespace ndpool {

class TapList {
 public:
  static constexpr int kMost = 256;

  // One tap, at distance 0, number 0.
  void start() {
    taps_ = 1;
    offsets_[0] = 0;
    numbers_[0] = 0;
    merges_[0] = 0;
    in_order_ = true;
  }

  // Puts a further axis around the list: `count` copies of it (at least one), tap lead+t lying
  // t*distance away with a number (lead+t)*weight higher. The taps of each axis make a tree of
  // their own, so the nodes of the axis that comes last are joined last.
  void repeat(int64_t count, int64_t lead, int64_t distance, uint64_t weight) {
    if (count == 1 && lead == 0) return;
    // Trees of as many taps as a power of two are parts of one tree over all taps.
    in_order_ = in_order_ && lead == 0 && (taps_ & (taps_ - 1)) == 0;
    uint8_t joined[kMost];
    int levels[64], waiting = 0;  // the sizes of the nodes that wait, as powers of two
    uint64_t seen = static_cast<uint64_t>(lead);
    for (int64_t t = 0; t < count; ++t, ++seen) {
      const int rest = std::countr_one(seen);
      const int before = waiting;
      while (waiting > 0 && levels[waiting - 1] < rest) --waiting;
      joined[t] = static_cast<uint8_t>(before - waiting);
      levels[waiting++] = rest;
    }
    joined[count - 1] = static_cast<uint8_t>(joined[count - 1] + waiting - 1);
    for (int64_t t = count - 1; t >= 0; --t) {
      const int base = static_cast<int>(t) * taps_;
      for (int i = 0; i < taps_; ++i) {
        offsets_[base + i] = offsets_[i] + t * distance;
        numbers_[base + i] =
            numbers_[i] + static_cast<uint32_t>(static_cast<uint64_t>(lead + t) * weight);
        if (base != 0) merges_[base + i] = merges_[i];
      }
    }
    for (int64_t t = 0; t < count; ++t) {
      uint8_t& last = merges_[(t + 1) * taps_ - 1];
      last = static_cast<uint8_t>(last + joined[t]);
    }
    taps_ *= static_cast<int>(count);
  }

  // All numbers higher by `number` (modulo 2^32).
  void add(uint64_t number) {
    for (int t = 0; t < taps_; ++t) numbers_[t] += static_cast<uint32_t>(number);
  }

  void move(int tap, int64_t offset) { offsets_[tap] = offset; }

  // From the last tap to the first.
  void reverse() {
    std::reverse(offsets_, offsets_ + taps_);
    std::reverse(numbers_, numbers_ + taps_);
  }

  void give(TapRows* rows) const {
    rows->offsets = offsets_;
    rows->numbers = numbers_;
    rows->merges = merges_;
    rows->taps = taps_;
    rows->in_order = in_order_;
  }

 private:
  int64_t offsets_[kMost];
  uint32_t numbers_[kMost];
  uint8_t merges_[kMost];
  int taps_ = 0;
  bool in_order_ = true;
};

}  // namespace ndpool

#endif  // NDPOOL_SRC_TAP_LIST_H_
