// Halves from floats. Included once per SIMD target; NDPOOL_VECTOR_HALVES tells whether it has the
// instructions.
#if defined(NDPOOL_SRC_KERNELS_HALVES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_HALVES_H_
#undef NDPOOL_SRC_KERNELS_HALVES_H_
#else
#define NDPOOL_SRC_KERNELS_HALVES_H_
#endif

#include <cstdint>
#include <type_traits>

#include "half.h"
#include "hwy/highway.h"

#undef NDPOOL_VECTOR_HALVES
#if HWY_NATIVE_FMA && (HWY_TARGET == HWY_NEON || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2))
#define NDPOOL_VECTOR_HALVES 1
#else
#define NDPOOL_VECTOR_HALVES 0
#endif

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if NDPOOL_VECTOR_HALVES
// Numbers rounded to nearest even BFloat16, which are the upper halves of what is returned.
template <class D>
HWY_INLINE auto rounded_to_upper_half(D, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1u));
  return hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7FFFu)));
}
// Floats rounded to nearest even halves, as bits: numbers, and NaN that a half can hold, as those
// are that arithmetic makes of halves.
template <class T, class D>
HWY_INLINE auto plain_half_bits([[maybe_unused]] D d, hn::Vec<D> v) {
  const hn::Rebind<uint16_t, D> d16;
  if constexpr (std::is_same_v<T, Float16>) {
    return hn::BitCast(d16, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  } else {
    const auto words = hn::ShiftRight<16>(rounded_to_upper_half(d, v));
    return hn::DemoteTo(d16, hn::BitCast(hn::RebindToSigned<D>(), words));
  }
}
// The same of all floats.
template <class T, class D>
HWY_INLINE auto half_bits(D d, hn::Vec<D> v) {
  if constexpr (!std::is_same_v<T, Float16>) {
    const auto nan = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<D>(), 0x7FC00000u));
    v = hn::IfThenElse(hn::IsNaN(v), nan, v);
  }
  return plain_half_bits<T>(d, v);
}

// sum/divisor, rounded so that a further rounding to a half is the only one: where the quotient is
// not exact and its last bit is 0, the neighbour on the side of the true value has a 1 there.
template <class D>
HWY_INLINE hn::Vec<D> odd_quotient_of(D d, hn::Vec<D> sum, hn::Vec<D> divisor) {
  const hn::RebindToSigned<D> di;
  const auto quotient = hn::Div(sum, divisor);
  const auto rest = hn::NegMulAdd(quotient, divisor, sum);
  const auto bits = hn::BitCast(di, quotient);
  const auto one = hn::Set(di, 1);
  // Away from zero if the rest points where the quotient does.
  const auto outward = hn::Eq(
      hn::ShiftRight<31>(hn::BitCast(di, hn::Xor(hn::Xor(rest, divisor), quotient))), hn::Zero(di));
  const auto moved = hn::IfThenElse(outward, hn::Add(bits, one), hn::Sub(bits, one));
  const auto inexact = hn::And(hn::Ne(rest, hn::Zero(d)), hn::Eq(rest, rest));
  const auto even = hn::Eq(hn::And(bits, one), hn::Zero(di));
  const auto take = hn::And(hn::RebindMask(di, inexact), even);
  return hn::BitCast(d, hn::IfThenElse(take, moved, bits));
}

// Whether a quotient of floats is neither so small nor so large that its rest may not be exact.
template <class D>
HWY_INLINE hn::Mask<D> has_exact_rest(D d, hn::Vec<D> quotient) {
  const auto size = hn::Abs(quotient);
  const auto inside = hn::And(hn::Gt(size, hn::Set(d, 1e-30f)), hn::Lt(size, hn::Set(d, 1e38f)));
  const auto special = hn::Or(hn::Eq(size, hn::Zero(d)), hn::Not(hn::Lt(size, hn::Inf(d))));
  return hn::Or(inside, special);
}
#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_HALVES_H_
