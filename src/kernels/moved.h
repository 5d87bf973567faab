// Vectors of which each lane is where its neighbour was. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_MOVED_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_MOVED_H_
#undef NDPOOL_SRC_KERNELS_MOVED_H_
#else
#define NDPOOL_SRC_KERNELS_MOVED_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// The words of 64 bytes, at other places.
template <class D>
HWY_INLINE hn::Vec<D> words_from(D d, hn::Vec<D> v, const int32_t (&places)[16]) {
  const hn::Repartition<uint32_t, D> words;
  return hn::BitCast(
      d, hn::TableLookupLanes(hn::BitCast(words, v), hn::SetTableIndices(words, places)));
}

// Lanes where their neighbours were; in the lane that is left, one of the other vector (its first
// block, and its last, all the same).
template <class D>
HWY_INLINE hn::Vec<D> moved_up(D d, hn::Vec<D> v, hn::Vec<D> first) {
  constexpr size_t kSize = sizeof(hn::TFromD<D>), kBytes = hn::MaxLanes(D()) * kSize;
  if constexpr (kBytes == 64 && kSize == 4) {
    static constexpr int32_t kPlaces[16] = {0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    return hn::IfThenElse(hn::FirstN(d, 1), first, words_from(d, v, kPlaces));
  } else {
    if constexpr (kBytes == 64) {
      static constexpr int32_t kPlaces[16] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
      first = hn::IfThenElse(hn::FirstN(d, 16 / kSize), first, words_from(d, v, kPlaces));
    }
    if constexpr (kBytes == 32) first = hn::ConcatLowerLower(d, v, first);
    return hn::CombineShiftRightBytes<16 - kSize>(d, v, first);
  }
}
template <class D>
HWY_INLINE hn::Vec<D> moved_down(D d, hn::Vec<D> v, hn::Vec<D> last) {
  constexpr size_t kSize = sizeof(hn::TFromD<D>), kBytes = hn::MaxLanes(D()) * kSize;
  if constexpr (kBytes == 64 && kSize == 4) {
    static constexpr int32_t kPlaces[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15};
    return hn::IfThenElse(hn::FirstN(d, 15), words_from(d, v, kPlaces), last);
  } else {
    if constexpr (kBytes == 64) {
      static constexpr int32_t kPlaces[16] = {4,  5,  6,  7,  8,  9,  10, 11,
                                              12, 13, 14, 15, 12, 13, 14, 15};
      last = hn::IfThenElse(hn::FirstN(d, 48 / kSize), words_from(d, v, kPlaces), last);
    }
    if constexpr (kBytes == 32) last = hn::ConcatLowerUpper(d, last, v);
    return hn::CombineShiftRightBytes<kSize>(d, last, v);
  }
}

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_MOVED_H_
