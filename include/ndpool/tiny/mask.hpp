// The mask: for each output the number of the winning tap in its window, row-major, pads counted,
// in the fewest bytes that hold the largest number. Never an index into the array, never a float.
#ifndef NDPOOL_TINY_MASK_HPP_
#define NDPOOL_TINY_MASK_HPP_

#include <stddef.h>
#include <stdint.h>

namespace ndpool::tiny::detail {

struct NoMask {
  static constexpr bool last() { return false; }
  void put(int32_t, uint32_t) const {}
  NoMask from(int32_t) const { return {}; }
};

// Entries of more than one byte are in the machine's own order, wherever they lie.
struct MaskWriter {
  uint8_t* first;
  int32_t width;
  bool names_last;  // of equal winners

  bool last() const { return names_last; }
  void put(int32_t entry, uint32_t tap) const {
    uint8_t* at = first + entry * width;
    const uint16_t two = static_cast<uint16_t>(tap);
    if (width == 1) {
      *at = static_cast<uint8_t>(tap);
    } else if (width == 2) {
      __builtin_memcpy(at, &two, 2);
    } else {
      __builtin_memcpy(at, &tap, 4);
    }
  }
  MaskWriter from(int32_t entry) const { return {first + entry * width, width, names_last}; }
};

struct MaskReader {
  const uint8_t* at;
  int32_t width;

  uint32_t next() {
    uint32_t tap = *at;
    if (width == 2) {
      uint16_t two = 0;
      __builtin_memcpy(&two, at, 2);
      tap = two;
    } else if (width == 4) {
      __builtin_memcpy(&tap, at, 4);
    }
    at += width;
    return tap;
  }
};

}  // namespace ndpool::tiny::detail

#endif  // NDPOOL_TINY_MASK_HPP_
