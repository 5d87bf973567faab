// Tap numbers of one byte, and sums of the gradients of those that match. Included once per SIMD
// target.
#if defined(NDPOOL_SRC_KERNELS_TAP_NUMBERS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_TAP_NUMBERS_H_
#undef NDPOOL_SRC_KERNELS_TAP_NUMBERS_H_
#else
#define NDPOOL_SRC_KERNELS_TAP_NUMBERS_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class DU>
HWY_INLINE hn::Vec<DU> load_bytes(DU du, const uint8_t* from) {
  const hn::Rebind<uint32_t, DU> words;
  const auto number = hn::PromoteTo(words, hn::LoadU(hn::Rebind<uint8_t, DU>(), from));
  if constexpr (sizeof(hn::TFromD<DU>) == 8) {
    return hn::PromoteTo(du, number);
  } else {
    return number;
  }
}

// sum + v in some lanes, the sum, which is not -0, in others.
template <class D>
HWY_INLINE hn::Vec<D> added_where(D, hn::Mask<D> some, hn::Vec<D> sum, hn::Vec<D> v) {
#if HWY_TARGET <= HWY_AVX3
  using T = hn::TFromD<D>;
  constexpr bool kFloat = sizeof(T) == 4;
  constexpr size_t kBytes = hn::MaxLanes(D()) * sizeof(T);
  if constexpr (kBytes == 64 && kFloat) {
    return hn::Vec<D>{_mm512_mask_add_ps(sum.raw, some.raw, sum.raw, v.raw)};
  } else if constexpr (kBytes == 64) {
    return hn::Vec<D>{_mm512_mask_add_pd(sum.raw, some.raw, sum.raw, v.raw)};
  } else if constexpr (kBytes == 32 && kFloat) {
    return hn::Vec<D>{_mm256_mask_add_ps(sum.raw, some.raw, sum.raw, v.raw)};
  } else if constexpr (kBytes == 32) {
    return hn::Vec<D>{_mm256_mask_add_pd(sum.raw, some.raw, sum.raw, v.raw)};
  } else if constexpr (kFloat) {
    return hn::Vec<D>{_mm_mask_add_ps(sum.raw, some.raw, sum.raw, v.raw)};
  } else {
    return hn::Vec<D>{_mm_mask_add_pd(sum.raw, some.raw, sum.raw, v.raw)};
  }
#else
  return hn::Add(sum, hn::IfThenElseZero(some, v));
#endif
}

// Tap numbers of as many outputs as a vector has lanes: bytes, where a mask of theirs is one of
// lanes of any width, else lanes as wide as the gradients.
template <class D>
struct Numbers {
  using DU = hn::RebindToUnsigned<D>;
#if HWY_TARGET <= HWY_AVX3
  using DN = hn::Rebind<uint8_t, D>;
  static HWY_INLINE hn::Vec<DN> load(const uint8_t* from) { return hn::LoadU(DN(), from); }
  // Others are 0, and their memory is not touched.
  static HWY_INLINE hn::Vec<DN> load_some(hn::Mask<D> some, const uint8_t* from) {
    return hn::MaskedLoad(mask_of(some), DN(), from);
  }
  static HWY_INLINE hn::Vec<DN> from_lanes(hn::Vec<DU> v) { return hn::TruncateTo(DN(), v); }
  static HWY_INLINE hn::Mask<D> equal(hn::Vec<DN> a, hn::Vec<DN> b) {
    using Raw = decltype(hn::Mask<D>::raw);
    return hn::Mask<D>{static_cast<Raw>(hn::Eq(a, b).raw)};
  }
  static HWY_INLINE hn::Mask<DN> mask_of(hn::Mask<D> mask) {
    using Raw = decltype(hn::Mask<DN>::raw);
    return hn::Mask<DN>{static_cast<Raw>(mask.raw)};
  }
  static HWY_INLINE void store(hn::Vec<DN> v, uint8_t* to) { hn::StoreU(v, DN(), to); }
#else
  using DN = DU;
  static HWY_INLINE hn::Vec<DN> load(const uint8_t* from) { return load_bytes(DU(), from); }
  static HWY_INLINE hn::Vec<DN> from_lanes(hn::Vec<DU> v) { return v; }
  static HWY_INLINE hn::Mask<D> equal(hn::Vec<DN> a, hn::Vec<DN> b) {
    return hn::RebindMask(D(), hn::Eq(a, b));
  }
  static HWY_INLINE hn::Mask<DN> mask_of(hn::Mask<D> mask) { return hn::RebindMask(DN(), mask); }
  static HWY_INLINE void store(hn::Vec<DN> v, uint8_t* to) {
    const hn::Rebind<uint8_t, D> bytes;
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(hn::RebindToSigned<D>(), v)), bytes, to);
  }
#endif
  static HWY_INLINE hn::Vec<DN> set(uint32_t number) {
    return hn::Set(DN(), static_cast<hn::TFromD<DN>>(number));
  }
};

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_TAP_NUMBERS_H_
