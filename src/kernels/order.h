// The order of max and min, owned here: NaN beats every number, -0 equals +0. SIMD max instructions
// differ between targets in both, so NaN is picked by hand. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_ORDER_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_ORDER_H_
#undef NDPOOL_SRC_KERNELS_ORDER_H_
#else
#define NDPOOL_SRC_KERNELS_ORDER_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// "Or" and "and" that look at both sides, so that loops of them become vectors.
inline bool either(int a, int b) { return (a | b) != 0; }
inline bool both(int a, int b) { return (a & b) != 0; }

struct Min;
struct Max {
  using Opposite = Min;
  template <class T>
  static bool beats(T a, T b) {
    if constexpr (hwy::IsFloat<T>()) return either(a > b, both(a != a, b == b));
    return a > b;
  }
  template <class V>
  static V extreme(V a, V b) {
    return hwy::HWY_NAMESPACE::Max(a, b);
  }
  template <class V>
  static auto at_least(V a, V b) {
    return hwy::HWY_NAMESPACE::Ge(a, b);
  }
  template <class V>
  static auto beyond(V a, V b) {
    return hwy::HWY_NAMESPACE::Gt(a, b);
  }
};

struct Min {
  using Opposite = Max;
  template <class T>
  static bool beats(T a, T b) {
    if constexpr (hwy::IsFloat<T>()) return either(a < b, both(a != a, b == b));
    return a < b;
  }
  template <class V>
  static V extreme(V a, V b) {
    return hwy::HWY_NAMESPACE::Min(a, b);
  }
  template <class V>
  static auto at_least(V a, V b) {
    return hwy::HWY_NAMESPACE::Le(a, b);
  }
  template <class V>
  static auto beyond(V a, V b) {
    return hwy::HWY_NAMESPACE::Lt(a, b);
  }
};

template <class E>
struct Extremum {
  template <class T>
  static T one(T a, T b) {
    // A vector of one lane: which of two numbers is larger cannot be foreseen, and must not become
    // a branch.
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::CappedTag<T, 1> d;
    return hn::GetLane(many(hn::Set(d, a), hn::Set(d, b)));
  }
  template <class V>
  static V many(V a, V b) {
    namespace hn = hwy::HWY_NAMESPACE;
    using T = hn::TFromD<hn::DFromV<V>>;
    if constexpr (hwy::IsFloat<T>()) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
      // maxps and minps give their second operand where either is NaN, so one of both orders gives
      // the NaN, and a NaN stays one whatever bits are added. Numbers agree (but for a zero's
      // sign).
      return hn::Or(E::extreme(a, b), E::extreme(b, a));
#else
      const V number_or_b = hn::IfThenElse(hn::IsNaN(b), b, E::extreme(a, b));
      return hn::IfThenElse(hn::IsNaN(a), a, number_or_b);
#endif
    } else {
      return E::extreme(a, b);
    }
  }
};

struct Sum {
  template <class T>
  static T one(T a, T b) {
    return static_cast<T>(a + b);
  }
  template <class V>
  static V many(V a, V b) {
    return hwy::HWY_NAMESPACE::Add(a, b);
  }
};

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
