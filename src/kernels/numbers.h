// Extrema of what holds no NaN. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_NUMBERS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_NUMBERS_H_
#undef NDPOOL_SRC_KERNELS_NUMBERS_H_
#else
#define NDPOOL_SRC_KERNELS_NUMBERS_H_
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "kernels/order.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The extremum of numbers: one instruction instead of three.
template <class E>
struct OfNumbers {
  using Opposite = OfNumbers<typename E::Opposite>;
  template <class V>
  static HWY_INLINE V many(V a, V b) {
    return E::extreme(a, b);
  }
  template <class V>
  static HWY_INLINE auto replaces(V b, V a) {
    return E::beyond(b, a);
  }
};
// That of anything; NaN stays.
template <class E>
struct OfAnything : Extremum<E> {
  template <class V>
  static HWY_INLINE auto replaces(V b, V a) {
    return hn::AndNot(E::at_least(a, b), hn::Eq(a, a));
  }
};

template <class Op>
constexpr bool kSums = std::is_same_v<Op, Sum>;
template <class Op>
constexpr bool kNumbers = false;
template <class E>
constexpr bool kNumbers<OfNumbers<E>> = true;

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_NUMBERS_H_
