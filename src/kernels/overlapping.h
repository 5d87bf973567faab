// Bytes that are written one behind the other, in parts of vectors (AVX3). Included once per SIMD
// target.
#if defined(NDPOOL_SRC_KERNELS_OVERLAPPING_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_OVERLAPPING_H_
#undef NDPOOL_SRC_KERNELS_OVERLAPPING_H_
#else
#define NDPOOL_SRC_KERNELS_OVERLAPPING_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3

using Bytes = hn::ScalableTag<uint8_t>;

// Bytes that follow one another, some of a vector at a time: all of it is written, and what comes
// next is written over the rest.
class Overlapping {
 public:
  static constexpr size_t kBytes = 64;  // of a vector
  HWY_INLINE Overlapping(void* to, int64_t bytes, uint8_t*)
      : to_(static_cast<uint8_t*>(to)), end_(to_ + bytes) {}
  HWY_INLINE void put(hn::Vec<Bytes> v, size_t bytes) {
    const Bytes d;
    if (HWY_LIKELY(end_ - to_ >= static_cast<int64_t>(kBytes))) {
      hn::StoreU(v, d, to_);
    } else {
      hn::BlendedStore(v, hn::FirstN(d, bytes), d, to_);
    }
    to_ += bytes;
  }
  HWY_INLINE void finish() {}

 private:
  uint8_t *to_, *end_;
};
// The same past the caches: they meet in `room` until there are some lines of them.
class OverlappingStreamed {
 public:
  static constexpr size_t kBytes = Overlapping::kBytes;
  static constexpr size_t kWaiting = 1024, kRoom = kWaiting + 2 * kBytes;
  HWY_INLINE OverlappingStreamed(void* to, int64_t, uint8_t* room)
      : room_(room), skip_(reinterpret_cast<uintptr_t>(to) % kBytes), count_(skip_) {
    line_ = static_cast<uint8_t*>(to) - skip_;
  }
  HWY_INLINE void put(hn::Vec<Bytes> v, size_t bytes) {
    hn::StoreU(v, Bytes(), room_ + count_);
    count_ += bytes;
    if (count_ >= kWaiting) send_lines();
  }
  void finish() {
    send_lines();
    if (count_ > skip_) std::memcpy(line_ + skip_, room_ + skip_, count_ - skip_);
  }

 private:
  HWY_INLINE void send_lines() {
    const Bytes d;
    const size_t whole = count_ / kBytes * kBytes;
    size_t i = 0;
    if (HWY_UNLIKELY(skip_ > 0 && whole > 0)) {
      std::memcpy(line_ + skip_, room_ + skip_, kBytes - skip_);
      skip_ = 0;
      i = kBytes;
    }
    for (; i < whole; i += kBytes) hn::Stream(hn::Load(d, room_ + i), d, line_ + i);
    hn::Store(hn::Load(d, room_ + whole), d, room_);
    line_ += whole;
    count_ -= whole;
  }

  uint8_t *room_, *line_;
  size_t skip_;   // bytes of the first line, which stay as they are
  size_t count_;  // bytes that wait, with these
};

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_OVERLAPPING_H_
