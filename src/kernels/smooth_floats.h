// Smooth max in f32: exponentials that keep the promised error within ±kSmoothReach32. Included
// once per SIMD target; NDPOOL_SMOOTH_FLOATS tells whether it has the instructions: without FMA,
// too much is lost.
#if defined(NDPOOL_SRC_KERNELS_SMOOTH_FLOATS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_SMOOTH_FLOATS_H_
#undef NDPOOL_SRC_KERNELS_SMOOTH_FLOATS_H_
#else
#define NDPOOL_SRC_KERNELS_SMOOTH_FLOATS_H_
#endif

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "hwy/highway.h"
#include "kernels/kernels.h"

#undef NDPOOL_SMOOTH_FLOATS
#if HWY_NATIVE_FMA && HWY_TARGET != HWY_SCALAR
#define NDPOOL_SMOOTH_FLOATS 1
#else
#define NDPOOL_SMOOTH_FLOATS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

#if NDPOOL_SMOOTH_FLOATS
namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;

// body(i, lanes) for vectors of floats; of a tail, each lane is computed as in any other place.
// What is read may lie at any address.
template <class Body>
void each_floats(int64_t n, Body body) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(F()));
  int64_t i = 0;
  for (; i + step <= n; i += step) body(i, step);
  if (i < n) body(i, n - i);
}
inline hn::Vec<F> read32(const float* from, int64_t lanes) {
  const F f;
  if (lanes == static_cast<int64_t>(hn::Lanes(f))) return hn::LoadU(f, from);
  HWY_ALIGN float copy[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(copy, from, static_cast<size_t>(lanes) * sizeof(float));
  return hn::Load(f, copy);
}
inline void write32(hn::Vec<F> value, float* to, int64_t lanes) {
  const F f;
  if (lanes == static_cast<int64_t>(hn::Lanes(f))) {
    hn::StoreU(value, f, to);
    return;
  }
  HWY_ALIGN float copy[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(value, f, copy);
  for (int64_t i = 0; i < lanes; ++i) to[i] = copy[i];
}

// exp(beta*x) as 2^k * exp(rest), with what the product loses in the rest: to 1.3 ULP, whatever the
// size of beta*x; NaN beyond ±kSmoothReach32. exp(rest) is 1 + rest + rest^2 * p, p the polynomial
// that meets it at Chebyshev's points. `exact`: beta is a power of two, and products lose nothing.
template <bool exact>
class SmoothExp32 {
 public:
  using V = hn::Vec<F>;

  HWY_INLINE explicit SmoothExp32(double beta)
      : high_(hn::Set(F(), static_cast<float>(beta))),
        low_(hn::Set(F(),
                     static_cast<float>(beta - static_cast<double>(static_cast<float>(beta))))) {}

  HWY_INLINE V operator()(V v) const {
    const F f;
    const hn::RebindToSigned<F> fi;
    const auto c = [&](double value) HWY_ATTR { return hn::Set(f, static_cast<float>(value)); };
    const V exponent = hn::Mul(v, high_);
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
    const V shifted = hn::MulAdd(exponent, c(0x1.715476p+0), c(0x1.8p23));
    const V whole = hn::Sub(shifted, c(0x1.8p23));
    V rest = hn::NegMulAdd(whole, c(0x1.62e4p-1), exponent);  // log(2) in two parts
    rest = hn::NegMulAdd(whole, c(0x1.7f7d1cf79abcap-20), rest);
    if constexpr (!exact) {
      rest = hn::Add(rest, hn::MulAdd(v, low_, hn::MulSub(v, high_, exponent)));
    }
    V p = hn::MulAdd(c(0x1.6d113c8ed96b6p-10), rest, c(0x1.120ba1a05966cp-7));
    p = hn::MulAdd(p, rest, c(0x1.55551914b31dcp-5));
    p = hn::MulAdd(p, rest, c(0x1.5554dcc72f691p-3));
    p = hn::MulAdd(p, rest, c(0.5));
    p = hn::Add(hn::MulAdd(hn::Mul(rest, rest), p, rest), c(1.0));
    const auto power = hn::ShiftLeft<23>(hn::BitCast(fi, shifted));
    const V e = hn::BitCast(f, hn::Add(hn::BitCast(fi, p), power));
    const V nan = hn::Set(f, std::numeric_limits<float>::quiet_NaN());
    return hn::IfThenElse(hn::Le(hn::Abs(exponent), c(kSmoothReach32)), e, nan);
  }

 private:
  V high_, low_;
};

// Whether multiplying by it and dividing by it lose nothing.
inline bool is_power_of_two(double beta) {
  int exponent = 0;
  return std::fabs(std::frexp(beta, &exponent)) == 0.5 && std::abs(exponent) < 1000;
}

template <bool exact>
void smooth_cells32_by(int64_t n, double beta, const float* x, float* term) {
  const SmoothExp32<exact> exponential(beta);
  each_floats(n, [&](int64_t i, int64_t lanes)
                     HWY_ATTR { write32(exponential(read32(x + i, lanes)), term + i, lanes); });
}
inline void smooth_cells32(int64_t n, double beta, const float* x, float* term) {
  is_power_of_two(beta) ? smooth_cells32_by<true>(n, beta, x, term)
                        : smooth_cells32_by<false>(n, beta, x, term);
}

// log(sum)/beta; NaN where |log(sum)| is below kSmoothLeast32, or the sum is NaN or 0.
class SmoothLog32 {
 public:
  using V = hn::Vec<F>;

  HWY_INLINE explicit SmoothLog32(double beta)
      : beta_(hn::Set(F(), static_cast<float>(beta))),
        inverse_(hn::Set(F(), static_cast<float>(1 / beta))),
        exact_(is_power_of_two(beta)) {}

  // *good: where it is not NaN.
  HWY_INLINE V operator()(V sum, hn::Mask<F>* good) const {
    const F f;
    const V log = log_of(sum);
    const V y = exact_ ? hn::Mul(log, inverse_) : hn::Div(log, beta_);
    const auto least = hn::Set(f, static_cast<float>(kSmoothLeast32));
    *good = hn::And(hn::Ge(hn::Abs(log), least), hn::Gt(sum, hn::Zero(f)));
    return hn::IfThenElse(*good, y, hn::Set(f, std::numeric_limits<float>::quiet_NaN()));
  }

 private:
  // Of positive normal numbers, to 2^-25 where that is less than half an ULP: k*log(2) + log(1+m),
  // -0.3 < m < 0.42, the latter m - m^2/2 + m^3 * p, p the polynomial that meets it at Chebyshev's
  // points: within an ULP.
  static HWY_INLINE V log_of(V x) {
    const F f;
    const hn::RebindToSigned<F> fi;
    const auto c = [&](double value) HWY_ATTR { return hn::Set(f, static_cast<float>(value)); };
    const auto bits = hn::BitCast(fi, x), root = hn::Set(fi, 0x3F3504F3);  // sqrt(1/2)
    const auto power = hn::ShiftRight<23>(hn::Sub(bits, root));
    const V m = hn::Sub(hn::BitCast(f, hn::Sub(bits, hn::ShiftLeft<23>(power))), c(1.0));
    const V k = hn::ConvertTo(f, power), square = hn::Mul(m, m);
    V p = hn::MulAdd(c(0.0697161147145), m, c(-0.114797338466));
    p = hn::MulAdd(p, m, c(0.116854199235));
    p = hn::MulAdd(p, m, c(-0.124256873315));
    p = hn::MulAdd(p, m, c(0.142490576457));
    p = hn::MulAdd(p, m, c(-0.166678023195));
    p = hn::MulAdd(p, m, c(0.200007157489));
    p = hn::MulAdd(p, m, c(-0.24999996958));
    p = hn::MulAdd(p, m, c(0.3333333118));
    // log(2) in two parts, the first of so few bits that its product is exact.
    V rest = hn::MulAdd(k, c(-2.12194440e-4), hn::Mul(hn::Mul(p, m), square));
    rest = hn::NegMulAdd(c(0.5), square, rest);
    return hn::MulAdd(k, c(0.693359375), hn::Add(m, rest));
  }

  V beta_, inverse_;
  bool exact_;
};

inline bool smooth_logarithms32(int64_t n, double beta, float* sum) {
  const F f;
  const SmoothLog32 logarithm(beta);
  bool complete = true;
  each_floats(n, [&](int64_t i, int64_t lanes) HWY_ATTR {
    hn::Mask<F> good;
    const auto y = logarithm(read32(sum + i, lanes), &good);
    write32(y, sum + i, lanes);
    const auto inside = hn::FirstN(f, static_cast<size_t>(lanes));
    complete = complete && hn::AllTrue(f, hn::Or(good, hn::Not(inside)));
  });
  return complete;
}

// gradient * slope, 0 where the gradient is; not finite where f32 does not do.
HWY_INLINE hn::Vec<F> smooth_product32(hn::Vec<F> gradient, hn::Vec<F> slope) {
  return hn::IfThenZeroElse(hn::Eq(gradient, hn::Zero(F())), hn::Mul(gradient, slope));
}

inline bool multiply32(int64_t n, const float* by, float* product) {
  const F f;
  const auto infinity = hn::Set(f, std::numeric_limits<float>::infinity());
  const auto nan = hn::Set(f, std::numeric_limits<float>::quiet_NaN());
  bool complete = true;
  each_floats(n, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto v = smooth_product32(read32(product + i, lanes), read32(by + i, lanes));
    const auto good = hn::Lt(hn::Abs(v), infinity);
    write32(hn::IfThenElse(good, v, nan), product + i, lanes);
    complete = complete && hn::AllTrue(f, good);
  });
  return complete;
}

// g/sum, 0 where either is, NaN where digits would be lost below the range of f32.
HWY_INLINE hn::Vec<F> smooth_quotient32(hn::Vec<F> g, hn::Vec<F> sum) {
  const F f;
  const auto zero = hn::Zero(f), least = hn::Set(f, 1e-30F);
  const auto nan = hn::Set(f, std::numeric_limits<float>::quiet_NaN());
  const auto none = hn::Or(hn::Eq(g, zero), hn::Eq(sum, zero));
  const auto quotient = hn::Div(g, sum);
  const auto good = hn::IfThenElse(hn::Ge(hn::Abs(quotient), least), quotient, nan);
  return hn::IfThenElse(hn::And(none, hn::Eq(sum, sum)), zero, good);
}

inline void smooth_quotients32(int64_t n, const float* g, float* sum) {
  each_floats(n, [&](int64_t i, int64_t lanes) HWY_ATTR {
    write32(smooth_quotient32(read32(g + i, lanes), read32(sum + i, lanes)), sum + i, lanes);
  });
}
#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_SMOOTH_FLOATS_H_
