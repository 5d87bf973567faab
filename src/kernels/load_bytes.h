// Tap numbers of one byte as lanes. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_LOAD_BYTES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_LOAD_BYTES_H_
#undef NDPOOL_SRC_KERNELS_LOAD_BYTES_H_
#else
#define NDPOOL_SRC_KERNELS_LOAD_BYTES_H_
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

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_LOAD_BYTES_H_
