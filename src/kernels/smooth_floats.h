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
using Wide = hn::ScalableTag<double>;

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

// exp(beta*x) as 2^k * exp(rest), with what the product loses in the rest: to an ULP, whatever the
// size of beta*x.
inline void smooth_cells32(int64_t n, double beta, const float* x, float* term) {
  const F f;
  const hn::RebindToSigned<F> fi;
  const auto c = [&](double value) HWY_ATTR { return hn::Set(f, static_cast<float>(value)); };
  const auto high = c(beta), low = c(beta - static_cast<double>(static_cast<float>(beta)));
  const auto reach = c(kSmoothReach32), nan = hn::Set(f, std::numeric_limits<float>::quiet_NaN());
  each_floats(n, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto v = read32(x + i, lanes), exponent = hn::Mul(v, high);
    const auto lost = hn::MulAdd(v, low, hn::MulSub(v, high, exponent));
    // Adding 1.5 * 2^23 leaves the nearest whole number in the low bits.
    const auto shifted = hn::MulAdd(exponent, c(0x1.715476p+0), c(0x1.8p23));
    const auto whole = hn::Sub(shifted, c(0x1.8p23));
    auto rest = hn::NegMulAdd(whole, c(0x1.62e4p-1), exponent);  // log(2) in two parts
    rest = hn::Add(hn::NegMulAdd(whole, c(0x1.7f7d1cf79abcap-20), rest), lost);
    auto p = hn::MulAdd(c(1.0 / 5040), rest, c(1.0 / 720));
    p = hn::MulAdd(p, rest, c(1.0 / 120));
    p = hn::MulAdd(p, rest, c(1.0 / 24));
    p = hn::MulAdd(p, rest, c(1.0 / 6));
    p = hn::MulAdd(p, rest, c(0.5));
    p = hn::Add(hn::MulAdd(hn::Mul(p, rest), rest, rest), c(1.0));
    const auto power = hn::ShiftLeft<23>(hn::BitCast(fi, shifted));
    const auto e = hn::BitCast(f, hn::Add(hn::BitCast(fi, p), power));
    write32(hn::IfThenElse(hn::Le(hn::Abs(exponent), reach), e, nan), term + i, lanes);
  });
}

// log(x) for positive normal numbers, to 30 bits: k*log(2) + log(m), m about 1, the latter as a
// series in (m-1)/(m+1).
inline hn::Vec<Wide> near_log(hn::Vec<Wide> x) {
  using V = hn::Vec<Wide>;
  const Wide d;
  const hn::RebindToSigned<Wide> di;
  const auto c = [&](double value) HWY_ATTR { return hn::Set(d, value); };
  // m between sqrt(1/2) and sqrt(2).
  const auto bits = hn::BitCast(di, x), root = hn::Set(di, 0x3FE6A09E667F3BCD);
  const auto power = hn::ShiftRight<52>(hn::Sub(bits, root));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(power)));
  // A small integer as a double: see WideQuotients of quotients.h.
  const V k = hn::Sub(hn::BitCast(d, hn::Add(power, hn::BitCast(di, c(0x1.8p52)))), c(0x1.8p52));
  const V t = hn::Div(hn::Sub(m, c(1.0)), hn::Add(m, c(1.0))), square = hn::Mul(t, t);
  V p = hn::MulAdd(c(1.0 / 11), square, c(1.0 / 9));
  p = hn::MulAdd(p, square, c(1.0 / 7));
  p = hn::MulAdd(p, square, c(1.0 / 5));
  p = hn::MulAdd(p, square, c(1.0 / 3));
  p = hn::MulAdd(p, square, c(1.0));
  return hn::MulAdd(k, c(0x1.62e42fefa39efp-1), hn::Mul(hn::Add(t, t), p));
}

inline bool smooth_logarithms32(int64_t n, double beta, float* sum) {
  using V = hn::Vec<Wide>;
  const Wide d;
  const hn::Rebind<float, Wide> half;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const V b = hn::Set(d, beta), least = hn::Set(d, kSmoothLeast32);
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  // Dividing by a power of two, as a rule by 1, is multiplying.
  int exponent = 0;
  const bool exact = std::fabs(std::frexp(beta, &exponent)) == 0.5 && std::abs(exponent) < 1000;
  const V inverse = hn::Set(d, 1 / beta);
  bool complete = true;
  for (int64_t i = 0; i < n; i += step) {
    const int64_t lanes = n - i < step ? n - i : step;
    HWY_ALIGN float copy[HWY_MAX_BYTES / sizeof(double)] = {};
    float* at = lanes == step ? sum + i : copy;
    if (lanes < step) std::memcpy(copy, sum + i, static_cast<size_t>(lanes) * sizeof(float));
    const V s = hn::PromoteTo(d, hn::LoadU(half, at));
    const auto positive = hn::Gt(s, hn::Zero(d));
    const V log = hn::IfThenElse(
        positive, near_log(hn::IfThenElse(positive, s, hn::Set(d, 1.0))),
        hn::IfThenElse(hn::IsNaN(s), nan, hn::Set(d, -std::numeric_limits<double>::infinity())));
    const V y = exact ? hn::Mul(log, inverse) : hn::Div(log, b);
    // Lanes beyond the row are zeros, whose logarithm is good.
    const auto good = hn::Ge(hn::Abs(log), least);
    hn::StoreU(hn::DemoteTo(half, hn::IfThenElse(good, y, nan)), half, at);
    if (lanes < step) std::memcpy(sum + i, copy, static_cast<size_t>(lanes) * sizeof(float));
    complete = complete && hn::AllTrue(d, good);
  }
  return complete;
}

inline bool multiply32(int64_t n, const float* by, float* product) {
  const F f;
  const auto infinity = hn::Set(f, std::numeric_limits<float>::infinity());
  const auto nan = hn::Set(f, std::numeric_limits<float>::quiet_NaN());
  bool complete = true;
  each_floats(n, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto p = read32(product + i, lanes), v = hn::Mul(p, read32(by + i, lanes));
    const auto none = hn::Eq(p, hn::Zero(f)), good = hn::Or(none, hn::Lt(hn::Abs(v), infinity));
    write32(hn::IfThenElse(good, hn::IfThenZeroElse(none, v), nan), product + i, lanes);
    complete = complete && hn::AllTrue(f, good);
  });
  return complete;
}

inline void smooth_quotients32(int64_t n, const float* g, float* sum) {
  const F f;
  const auto zero = hn::Zero(f), least = hn::Set(f, 1e-30F);
  const auto nan = hn::Set(f, std::numeric_limits<float>::quiet_NaN());
  each_floats(n, [&](int64_t i, int64_t lanes) HWY_ATTR {
    const auto v = read32(g + i, lanes), s = read32(sum + i, lanes);
    const auto none = hn::Or(hn::Eq(v, zero), hn::Eq(s, zero));
    const auto quotient = hn::Div(v, s);
    const auto good = hn::IfThenElse(hn::Ge(hn::Abs(quotient), least), quotient, nan);
    write32(hn::IfThenElse(hn::And(none, hn::Eq(s, s)), zero, good), sum + i, lanes);
  });
}
#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_SMOOTH_FLOATS_H_
