// Groups of elements that move together, such as the colours of a pixel. Included once per SIMD
// target.
#if defined(NDPOOL_SRC_KERNELS_GROUPS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_GROUPS_H_
#undef NDPOOL_SRC_KERNELS_GROUPS_H_
#else
#define NDPOOL_SRC_KERNELS_GROUPS_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// Copies `count` groups of `inner` elements, from from_of(i) to to_of(i).
template <int kInner, class From, class To>
HWY_INLINE void copy_groups_of(int64_t count, From from_of, To to_of) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to_of(i), from_of(i), kInner * sizeof *from_of(i));
  }
}
template <class From, class To>
HWY_INLINE void copy_groups(int64_t count, int64_t inner, From from_of, To to_of) {
  switch (inner) {
    case 1:
      return copy_groups_of<1>(count, from_of, to_of);
    case 2:
      return copy_groups_of<2>(count, from_of, to_of);
    case 3:
      return copy_groups_of<3>(count, from_of, to_of);
    case 4:
      return copy_groups_of<4>(count, from_of, to_of);
    default:
      for (int64_t i = 0; i < count; ++i) {
        const auto* HWY_RESTRICT from = from_of(i);
        auto* HWY_RESTRICT to = to_of(i);
        for (int64_t c = 0; c < inner; ++c) to[c] = from[c];
      }
  }
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_GROUPS_H_
