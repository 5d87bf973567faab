// Vectors of which each lane is where its neighbour was. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_MOVED_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_MOVED_H_
#undef NDPOOL_SRC_KERNELS_MOVED_H_
#else
#define NDPOOL_SRC_KERNELS_MOVED_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// Lanes of up to two blocks, where their neighbours were; in the lane that is left, one of the
// other vector (its first block, all of it the same).
template <class D>
HWY_INLINE hn::Vec<D> moved_up(D d, hn::Vec<D> v, hn::Vec<D> first) {
  constexpr size_t kSize = sizeof(hn::TFromD<D>);
  static_assert(hn::MaxLanes(D()) * kSize <= 32);
  if constexpr (hn::MaxLanes(D()) * kSize == 32) first = hn::ConcatLowerLower(d, v, first);
  return hn::CombineShiftRightBytes<16 - kSize>(d, v, first);
}
template <class D>
HWY_INLINE hn::Vec<D> moved_down(D d, hn::Vec<D> v, hn::Vec<D> last) {
  constexpr size_t kSize = sizeof(hn::TFromD<D>);
  static_assert(hn::MaxLanes(D()) * kSize <= 32);
  if constexpr (hn::MaxLanes(D()) * kSize == 32) last = hn::ConcatLowerUpper(d, last, v);
  return hn::CombineShiftRightBytes<kSize>(d, last, v);
}

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_MOVED_H_
