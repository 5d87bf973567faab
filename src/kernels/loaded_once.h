// Vectors that are used more than once. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_LOADED_ONCE_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_LOADED_ONCE_H_
#undef NDPOOL_SRC_KERNELS_LOADED_ONCE_H_
#else
#define NDPOOL_SRC_KERNELS_LOADED_ONCE_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// Compilers load again for each use what they think is near; but loads are what takes the time.
template <class V>
HWY_INLINE V loaded_once(V v) {
#if HWY_ARCH_X86 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
  asm("" : "+v"(v.raw));
#endif
  return v;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_LOADED_ONCE_H_
