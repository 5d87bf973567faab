// Division by one number, as all kernels do it. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_DIVIDE_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_DIVIDE_H_
#undef NDPOOL_SRC_KERNELS_DIVIDE_H_
#else
#define NDPOOL_SRC_KERNELS_DIVIDE_H_
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// Multiplying by the reciprocal of a power of two rounds as dividing does.
template <class T>
struct Divide {
  explicit Divide(int64_t by)
      : exact(by > 0 && (by & (by - 1)) == 0), divisor(static_cast<T>(by)), factor(1 / divisor) {}
  T operator()(T value) const { return exact ? value * factor : value / divisor; }
  bool exact;
  T divisor, factor;
};

// n elements over one divisor.
template <class T>
HWY_INLINE void divide_row(int64_t n, int64_t divisor, T* values) {
  const Divide<T> divide(divisor);
  if (divide.exact) {
    for (int64_t i = 0; i < n; ++i) values[i] *= divide.factor;
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] /= divide.divisor;
  }
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
