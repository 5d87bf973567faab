// A copy past the caches, as far as its source is finished. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_STREAMER_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_STREAMER_H_
#undef NDPOOL_SRC_KERNELS_STREAMER_H_
#else
#define NDPOOL_SRC_KERNELS_STREAMER_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sends the whole cache lines of finished bytes past the caches.
class Streamer {
 public:
  Streamer(const void* from, void* to)
      : from_(static_cast<const uint8_t*>(from)), to_(static_cast<uint8_t*>(to)) {
    const size_t head = (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64;
    next_ = head;
    head_ = head;
  }
  HWY_INLINE void advance(size_t finished) {
    const hn::ScalableTag<uint8_t> d;
    const size_t step = hn::Lanes(d) < 64 ? hn::Lanes(d) : 64;
    for (; next_ + 64 <= finished; next_ += 64) {
      for (size_t i = 0; i < 64; i += step) {
        hn::Stream(hn::LoadU(d, from_ + next_ + i), d, to_ + next_ + i);
      }
    }
  }
  // What is left: the parts of the first and the last line.
  void finish(size_t bytes) {
    std::memcpy(to_, from_, head_ < bytes ? head_ : bytes);
    if (next_ < bytes) std::memcpy(to_ + next_, from_ + next_, bytes - next_);
  }
  // The same, for others to send: it begins with a whole line.
  Finished rest(size_t bytes) const {
    std::memcpy(to_, from_, head_ < bytes ? head_ : bytes);
    if (next_ >= bytes) return {};
    return {from_ + next_, to_ + next_, bytes - next_};
  }

 private:
  const uint8_t* from_;
  uint8_t* to_;
  size_t next_, head_;
};

// Finished bytes, sent at the pace at which others are computed: memory takes them while there is
// arithmetic to do.
class Meanwhile {
 public:
  explicit Meanwhile(const Finished& finished)
      : streamer_(finished.from, finished.to), bytes_(finished.bytes) {}
  HWY_INLINE void send(size_t more) {
    if (sent_ == bytes_) return;
    sent_ = sent_ + more < bytes_ ? sent_ + more : bytes_;
    streamer_.advance(sent_);
  }
  void finish() {
    if (bytes_ == 0) return;
    send(bytes_);
    streamer_.finish(bytes_);
  }
  Finished rest() const { return bytes_ == 0 ? Finished{} : streamer_.rest(bytes_); }

 private:
  Streamer streamer_;
  size_t bytes_, sent_ = 0;
};

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_STREAMER_H_
