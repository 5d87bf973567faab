// NDPOOL_PER_TARGET(Table, function): after the last pass of foreach_target, defines
// `const Table* function(int64_t target)`, which finds N_<TARGET>::function of a compiled target.
#ifndef NDPOOL_SRC_KERNELS_PER_TARGET_H_
#define NDPOOL_SRC_KERNELS_PER_TARGET_H_

#include "hwy/highway.h"

#if HWY_TARGETS & HWY_SCALAR
#define NDPOOL_CASE_SCALAR(f) \
  case HWY_SCALAR:            \
    return N_SCALAR::f();
#else
#define NDPOOL_CASE_SCALAR(f)
#endif
#if HWY_TARGETS & HWY_EMU128
#define NDPOOL_CASE_EMU128(f) \
  case HWY_EMU128:            \
    return N_EMU128::f();
#else
#define NDPOOL_CASE_EMU128(f)
#endif
#if HWY_TARGETS & HWY_SSSE3
#define NDPOOL_CASE_SSSE3(f) \
  case HWY_SSSE3:            \
    return N_SSSE3::f();
#else
#define NDPOOL_CASE_SSSE3(f)
#endif
#if HWY_TARGETS & HWY_SSE4
#define NDPOOL_CASE_SSE4(f) \
  case HWY_SSE4:            \
    return N_SSE4::f();
#else
#define NDPOOL_CASE_SSE4(f)
#endif
#if HWY_TARGETS & HWY_AVX2
#define NDPOOL_CASE_AVX2(f) \
  case HWY_AVX2:            \
    return N_AVX2::f();
#else
#define NDPOOL_CASE_AVX2(f)
#endif
#if HWY_TARGETS & HWY_AVX3
#define NDPOOL_CASE_AVX3(f) \
  case HWY_AVX3:            \
    return N_AVX3::f();
#else
#define NDPOOL_CASE_AVX3(f)
#endif
#if HWY_TARGETS & HWY_NEON
#define NDPOOL_CASE_NEON(f) \
  case HWY_NEON:            \
    return N_NEON::f();
#else
#define NDPOOL_CASE_NEON(f)
#endif

#define NDPOOL_PER_TARGET(Table, function) \
  const Table* function(int64_t target) {  \
    switch (target) {                      \
      NDPOOL_CASE_SCALAR(function)         \
      NDPOOL_CASE_EMU128(function)         \
      NDPOOL_CASE_SSSE3(function)          \
      NDPOOL_CASE_SSE4(function)           \
      NDPOOL_CASE_AVX2(function)           \
      NDPOOL_CASE_AVX3(function)           \
      NDPOOL_CASE_NEON(function)           \
      default:                             \
        return nullptr;                    \
    }                                      \
  }

#endif  // NDPOOL_SRC_KERNELS_PER_TARGET_H_
