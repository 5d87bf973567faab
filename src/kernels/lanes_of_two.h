// Lanes of two vectors that lie side by side, in one instruction, and parts of vectors from memory
// that ends: on targets that have these. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_LANES_OF_TWO_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_LANES_OF_TWO_H_
#undef NDPOOL_SRC_KERNELS_LANES_OF_TWO_H_
#else
#define NDPOOL_SRC_KERNELS_LANES_OF_TWO_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3

template <class D>
using LaneNumbers = hn::Vec<hn::RebindToUnsigned<D>>;
// From lane `first` of the lower vector on.
template <class D>
HWY_INLINE LaneNumbers<D> lane_numbers(D, int64_t first) {
  // From a constant: Iota would write numbers that are not known one by one, and wait for them.
  const hn::RebindToUnsigned<D> du;
  return hn::Add(hn::Iota(du, 0), hn::Set(du, static_cast<uint32_t>(first)));
}
// f32, in vectors of 32 and 64 bytes.
template <class D>
HWY_INLINE hn::Vec<D> lanes_of_two(D, hn::Vec<D> low, hn::Vec<D> high, LaneNumbers<D> numbers) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    return hn::Vec<D>{_mm512_permutex2var_ps(low.raw, numbers.raw, high.raw)};
  } else {
    return hn::Vec<D>{_mm256_permutex2var_ps(low.raw, numbers.raw, high.raw)};
  }
}

// Lanes that are not in `some` are those of `others`; their memory is not touched.
template <class D>
HWY_INLINE hn::Vec<D> load_some(D, hn::Vec<D> others, hn::Mask<D> some, const float* from) {
  if constexpr (hn::MaxLanes(D()) == 16) {
    return hn::Vec<D>{_mm512_mask_loadu_ps(others.raw, some.raw, from)};
  } else {
    return hn::Vec<D>{_mm256_mask_loadu_ps(others.raw, some.raw, from)};
  }
}

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_LANES_OF_TWO_H_
