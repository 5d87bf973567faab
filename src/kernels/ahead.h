// What is needed soon, brought into the cache while other things are computed. Included once per
// SIMD target.
#if defined(NDPOOL_SRC_KERNELS_AHEAD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_AHEAD_H_
#undef NDPOOL_SRC_KERNELS_AHEAD_H_
#else
#define NDPOOL_SRC_KERNELS_AHEAD_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

constexpr int64_t kAhead = 2048, kFarAhead = 32768;  // bytes

// To the second cache. The first can wait for so few lines at a time that memory is idle between
// them; if lines go to the second long before, memory is busy, and the first has not far to go.
HWY_INLINE void fetch_later(const void* line) { __builtin_prefetch(line, 0, 2); }
template <class T>
HWY_INLINE void fetch_later(const T* from, int64_t count) {
  for (int64_t i = 0; i < count; i += 64 / int64_t{sizeof(T)}) fetch_later(from + i);
}
HWY_INLINE void fetch_far(const void* line) {
  fetch_later(static_cast<const char*>(line) + kFarAhead);
}

// `count` elements, so many bytes behind `from`.
template <class T>
HWY_INLINE void fetch_ahead(const T* from, int64_t count, int64_t bytes = kAhead) {
  const T* first = from + bytes / int64_t{sizeof(T)};
  for (int64_t i = 0; i < count; i += 64 / int64_t{sizeof(T)}) {
    hwy::Prefetch(first + i);
    fetch_far(first + i);
  }
}

// Of rows from the first tap on.
template <class T>
HWY_INLINE void fetch_near(const T* from, const TapRows& t) {
  const T* row = from + t.offsets[0] + kAhead / int64_t{sizeof(T)};
  for (int r = 0; r < t.near_rows; ++r, row += t.near_distance) {
    for (int64_t i = 0; i < t.src_row; i += 64 / int64_t{sizeof(T)}) hwy::Prefetch(row + i);
  }
}

// What is needed after all that is computed now, line after line at the pace of that; and, from
// elsewhere, what is needed later.
class Fetch {
 public:
  Fetch(const Next& next, const Later& later)
      : next_(static_cast<const char*>(next.from)),
        end_(next_ + next.bytes),
        later_(static_cast<const char*>(later.from)),
        times_(later.from ? later.times : 0),
        far_(later.behind) {}
  HWY_INLINE void advance(size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64) hwy::Prefetch(next_ + i);
    if (far_) {
      for (size_t i = 0; i < bytes; i += 64) fetch_far(next_ + i);
    } else if (HWY_UNLIKELY(times_ != 0)) {
      for (size_t i = 0; i < times_ * bytes; i += 64) fetch_later(later_ + i);
      later_ += times_ * bytes;
    }
    next_ += bytes;
  }
  // What is left: a line that is fetched by nobody is waited for.
  void finish() {
    while (next_ < end_) advance(64);
  }

 private:
  const char *next_, *end_, *later_;
  size_t times_;
  bool far_;
};

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_AHEAD_H_
