// Smooth max and Lp, lane by lane in f64: exponentials and powers that keep the promised error.
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/real.cc"
#include "hwy/foreach_target.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/smooth_floats.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// body(i, d) for whole vectors; the tail is computed in a padded copy, so that a lane's result
// never depends on its place in the row.
template <class Body>
void each_vector(int64_t n, Body body) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(D()));
  int64_t i = 0;
  for (; i + step <= n; i += step) body(i, step);
  if (i < n) body(i, n - i);
}
V read(const double* from, int64_t lanes) {
  const D d;
  if (lanes == static_cast<int64_t>(hn::Lanes(d))) return hn::LoadU(d, from);
  HWY_ALIGN double copy[HWY_MAX_BYTES / sizeof(double)] = {};
  for (int64_t i = 0; i < lanes; ++i) copy[i] = from[i];
  return hn::Load(d, copy);
}
void write(V value, double* to, int64_t lanes) {
  const D d;
  if (lanes == static_cast<int64_t>(hn::Lanes(d))) {
    hn::StoreU(value, d, to);
    return;
  }
  HWY_ALIGN double copy[HWY_MAX_BYTES / sizeof(double)];
  hn::Store(value, d, copy);
  for (int64_t i = 0; i < lanes; ++i) to[i] = copy[i];
}

// What a*b loses by rounding to `product`.
V product_error(V a, V b, V product) {
  const D d;
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(a, b, product);
#else
  // Veltkamp's split: halves whose products are exact.
  const V splitter = hn::Set(d, 134217729.0);
  const V ta = hn::Mul(a, splitter), tb = hn::Mul(b, splitter);
  const V ah = hn::Sub(ta, hn::Sub(ta, a)), bh = hn::Sub(tb, hn::Sub(tb, b));
  const V al = hn::Sub(a, ah), bl = hn::Sub(b, bh);
  V e = hn::Sub(hn::Mul(ah, bh), product);
  e = hn::Add(e, hn::Mul(ah, bl));
  e = hn::Add(e, hn::Mul(al, bh));
  return hn::Add(e, hn::Mul(al, bl));
#endif
}

// exp(beta*(x-pivot)) for beta*(x-pivot) <= 0, with what the subtraction and the product lose put
// back: their error would be multiplied by the exponent.
V smooth_exp(V x, V pivot, V beta) {
  const D d;
  const V infinity = hn::Set(d, kInfinity);
  const V difference = hn::Sub(x, pivot);
  const V back = hn::Add(difference, pivot);  // two-sum: the exact error of the subtraction
  const V lost = hn::Sub(hn::Sub(x, back), hn::Sub(pivot, hn::Sub(back, difference)));
  V exponent = hn::Mul(beta, difference);
  const auto beyond =
      hn::And(hn::Eq(hn::Abs(difference), infinity),
              hn::And(hn::Lt(hn::Abs(x), infinity), hn::Lt(hn::Abs(pivot), infinity)));
  if (!hn::AllFalse(d, beyond)) {
    // The difference of finite numbers overflows: halve it, and double after the product.
    const V half = hn::Set(d, 0.5);
    const V halves = hn::Mul(beta, hn::Sub(hn::Mul(x, half), hn::Mul(pivot, half)));
    exponent = hn::IfThenElse(beyond, hn::Add(halves, halves), exponent);
  }
  const V correction = hn::Add(product_error(beta, difference, exponent), hn::Mul(beta, lost));
  // Far exponents give 0, infinities (whose corrections are NaN) with them.
  const auto far = hn::Lt(exponent, hn::Set(d, -750.0));
  const V safe = hn::IfThenElse(far, hn::Zero(d), exponent);
  const V e = hn::Exp(d, safe);
  const auto tiny = hn::Lt(hn::Abs(correction), hn::Set(d, 1e-3));
  const V corrected = hn::Add(e, hn::IfThenElseZero(tiny, hn::Mul(e, correction)));
  return hn::IfThenElse(far, hn::Zero(d), corrected);
}

void smooth_term(int64_t n, const double* x, const double* pivot, double beta, double* term,
                 double* count) {
  const D d;
  const V b = hn::Set(d, beta);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V v = read(x + i, lanes), p = read(pivot + i, lanes);
    const auto is_pivot = hn::Eq(v, p);
    write(hn::IfThenZeroElse(is_pivot, smooth_exp(v, p, b)), term + i, lanes);
    const V c = hn::IfThenElseZero(is_pivot, hn::Set(d, 1.0));
    write(hn::Add(read(count + i, lanes), c), count + i, lanes);
  });
}

void smooth_weight(int64_t n, const double* x, const double* pivot, const double* sum, double beta,
                   double* weight) {
  const D d;
  const V b = hn::Set(d, beta), infinity = hn::Set(d, kInfinity);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V v = read(x + i, lanes), p = read(pivot + i, lanes);
    const auto is_pivot = hn::Eq(v, p);
    V e = hn::IfThenElse(hn::Eq(hn::Abs(p), infinity), hn::Zero(d), smooth_exp(v, p, b));
    e = hn::IfThenElse(is_pivot, hn::Set(d, 1.0), e);
    e = hn::IfThenElse(hn::IsNaN(p), p, e);
    write(hn::Div(e, read(sum + i, lanes)), weight + i, lanes);
  });
}

void smooth_finish(int64_t n, const double* pivot, const double* rest, double beta,
                   const double* log_terms, double* y) {
  for (int64_t i = 0; i < n; ++i) {
    const double log_sum = std::log1p(rest[i]) - (log_terms ? log_terms[i] : 0.0);
    const bool special = pivot[i] != pivot[i] || std::fabs(pivot[i]) == kInfinity;
    y[i] = special ? pivot[i] : pivot[i] + log_sum / beta;
  }
}

// exp(x) for |x| <= kSmoothReach, to 50 bits: 2^k * exp(rest) with |rest| <= log(2)/2, and for the
// latter the polynomial of degree 10 that meets exp at Chebyshev's points. (A general exp must also
// care for subnormal results and the last bit, and takes twice as long.)
V near_exp(V x) {
  const D d;
  const hn::RebindToSigned<D> di;
  const auto c = [&](double value) { return hn::Set(d, value); };
  // Adding 1.5 * 2^52 leaves the nearest whole number in the low bits.
  const V shifted = hn::MulAdd(x, c(0x1.71547652b82fep+0), c(0x1.8p52));
  const V whole = hn::Sub(shifted, c(0x1.8p52));
  V rest = hn::NegMulAdd(whole, c(0x1.62e42fefa3800p-1), x);  // log(2) in two parts
  rest = hn::NegMulAdd(whole, c(0x1.ef35793c76730p-45), rest);
  const V square = hn::Mul(rest, rest);
  const V p01 = hn::MulAdd(c(0x1.000000000001ep+0), rest, c(1.0));
  const V p23 = hn::MulAdd(c(0x1.555555554b757p-3), rest, c(0x1.0000000000005p-1));
  const V p45 = hn::MulAdd(c(0x1.1111112dd67c5p-7), rest, c(0x1.55555555520afp-5));
  const V p67 = hn::MulAdd(c(0x1.a01978c6baf81p-13), rest, c(0x1.6c16c17f43a58p-10));
  const V p89 = hn::MulAdd(c(0x1.72faf024b693bp-19), rest, c(0x1.a019a66a75dd4p-16));
  V p = hn::MulAdd(c(0x1.28a2c0a7209fbp-22), square, p89);
  p = hn::MulAdd(p, square, p67);
  p = hn::MulAdd(p, square, p45);
  p = hn::MulAdd(p, square, p23);
  p = hn::MulAdd(p, square, p01);
  const auto power = hn::ShiftLeft<52>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), power));
}

void smooth_cells(int64_t n, double beta, double* x) {
  const D d;
  const V b = hn::Set(d, beta), reach = hn::Set(d, kSmoothReach);
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V exponent = hn::Mul(read(x + i, lanes), b);
    write(hn::IfThenElse(hn::Le(hn::Abs(exponent), reach), near_exp(exponent), nan), x + i, lanes);
  });
}

bool smooth_logarithms(int64_t n, double beta, double* sum) {
  const D d;
  const V b = hn::Set(d, beta), least = hn::Set(d, kSmoothLeast);
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  bool complete = true;
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V s = read(sum + i, lanes);
    const auto positive = hn::Gt(s, hn::Zero(d));
    const V log = hn::IfThenElse(positive, hn::Log(d, hn::IfThenElse(positive, s, hn::Set(d, 1.0))),
                                 hn::IfThenElse(hn::IsNaN(s), nan, hn::Set(d, -kInfinity)));
    // Lanes beyond the row are zeros, whose logarithm is good.
    const auto good = hn::Ge(hn::Abs(log), least);
    write(hn::IfThenElse(good, hn::Div(log, b), nan), sum + i, lanes);
    complete = complete && hn::AllTrue(d, good);
  });
  return complete;
}

bool multiply(int64_t n, const double* by, double* product) {
  const D d;
  bool complete = true;
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V p = read(product + i, lanes), v = hn::Mul(p, read(by + i, lanes));
    const V result = hn::IfThenZeroElse(hn::Eq(p, hn::Zero(d)), v);
    write(result, product + i, lanes);
    complete = complete && hn::AllFalse(d, hn::IsNaN(result));
  });
  return complete;
}

// |x| as a share of the largest, which is 1 for those infinite cells where the largest is infinite.
V share_of(V x, V largest) {
  const D d;
  const V size = hn::Abs(x), infinity = hn::Set(d, kInfinity);
  const V share = hn::IfThenElseZero(hn::Gt(largest, hn::Zero(d)), hn::Div(size, largest));
  const V among_infinite = hn::IfThenElseZero(hn::Eq(size, infinity), hn::Set(d, 1.0));
  return hn::IfThenElse(hn::Eq(largest, infinity), among_infinite, share);
}

// The logarithm of share_of, also where the quotient itself would vanish below f64's range.
V log_share(V x, V largest, V share) {
  const D d;
  const V small = hn::Set(d, 1e-290);
  const V log_of_share = hn::Log(d, hn::Max(share, small));
  const auto vanished = hn::Lt(share, small);
  if (hn::AllFalse(d, vanished)) return log_of_share;
  const V smallest = hn::Set(d, std::numeric_limits<double>::denorm_min());
  const V apart = hn::Sub(hn::Log(d, hn::Max(hn::Abs(x), smallest)), hn::Log(d, largest));
  return hn::IfThenElse(vanished, apart, log_of_share);
}

V power_of(V logarithm, double exponent) {
  const D d;
  const V e = hn::Mul(logarithm, hn::Set(d, exponent));
  const auto high = hn::Gt(e, hn::Set(d, 709.7)), low = hn::Lt(e, hn::Set(d, -745.2));
  const V safe = hn::IfThenElse(hn::Or(high, low), hn::Zero(d), e);
  const V power = hn::IfThenElse(high, hn::Set(d, kInfinity), hn::Exp(d, safe));
  return hn::IfThenElse(low, hn::Zero(d), power);
}

void lp_term(int64_t n, const double* x, const double* largest, double p, double* term) {
  const D d;
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V v = read(x + i, lanes), m = read(largest + i, lanes);
    const V share = share_of(v, m);
    V t = share;
    if (p == 2) {
      t = hn::Mul(share, share);
    } else if (p != 1) {
      t = power_of(log_share(v, m, share), p);
      t = hn::IfThenElse(hn::Eq(share, hn::Set(d, 1.0)), share, t);
      t = hn::IfThenElse(hn::Eq(v, hn::Zero(d)), hn::Zero(d), t);
      t = hn::IfThenElse(hn::And(hn::Eq(m, hn::Set(d, kInfinity)), hn::Ne(share, hn::Set(d, 1.0))),
                         hn::Zero(d), t);
    }
    write(hn::IfThenElse(hn::IsNaN(m), m, t), term + i, lanes);
  });
}

void lp_power(int64_t n, const double* x, const double* largest, const double* log_ratio,
              double exponent, bool odd, double* power) {
  const D d;
  const V one = hn::Set(d, 1.0);
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V v = read(x + i, lanes), m = read(largest + i, lanes);
    const V share = share_of(v, m);
    V t = one;
    if (exponent != 0) {
      // By logarithms: the ratio itself, a root of a sum, may be too large or too near 1 to hold.
      t = power_of(hn::Sub(log_share(v, m, share), read(log_ratio + i, lanes)), exponent);
    }
    // A zero cell has no direction; beside infinite cells finite ones are as good as zero.
    const auto none = hn::Or(hn::Eq(v, hn::Zero(d)),
                             hn::And(hn::Eq(m, hn::Set(d, kInfinity)), hn::Ne(share, one)));
    t = hn::IfThenElse(none, hn::Zero(d), t);
    if (odd) t = hn::CopySignToAbs(t, v);
    write(hn::IfThenElse(hn::IsNaN(m), m, t), power + i, lanes);
  });
}

void lp_cells(int64_t n, double p, double* x, double* slope) {
  const D d;
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), infinity = hn::Set(d, kInfinity);
  const V nan = hn::Set(d, std::numeric_limits<double>::quiet_NaN());
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V v = read(x + i, lanes), size = hn::Abs(v);
    const auto none = hn::Eq(v, zero);
    auto good = hn::Lt(size, infinity);
    V before = one;  // |x|^(p-1)
    if (p == 2) {
      before = size;
    } else if (p != 1) {
      const V log = hn::Log(d, hn::IfThenElse(hn::AndNot(none, good), size, one));
      good = hn::And(good, hn::Le(hn::Abs(hn::Mul(log, hn::Set(d, p))), hn::Set(d, kLpReach)));
      before = hn::Exp(d, hn::IfThenElseZero(good, hn::Mul(log, hn::Set(d, p - 1))));
    }
    before = hn::IfThenElse(none, zero, before);
    write(hn::IfThenElse(good, hn::Mul(before, size), nan), x + i, lanes);
    if (slope) write(hn::CopySignToAbs(before, v), slope + i, lanes);
  });
}

// sum^exponent for positive sums, 0 for 0, NaN for NaN.
V power_of_sum(V sum, double exponent) {
  const D d;
  const auto positive = hn::Gt(sum, hn::Zero(d));
  const V log = hn::Log(d, hn::IfThenElse(positive, sum, hn::Set(d, 1.0)));
  return hn::IfThenElse(positive, power_of(log, exponent), sum);
}

bool lp_roots(int64_t n, double p, double* sum) {
  const D d;
  bool complete = true;
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V s = read(sum + i, lanes);
    const V y = p == 1 ? s : p == 2 ? hn::Sqrt(s) : power_of_sum(s, 1 / p);
    write(y, sum + i, lanes);
    complete = complete && hn::AllFalse(d, hn::IsNaN(y));
  });
  return complete;
}

void lp_factors(int64_t n, double p, const double* sum, double* factor) {
  const D d;
  each_vector(n, [&](int64_t i, int64_t lanes) {
    const V s = read(sum + i, lanes), one = hn::Set(d, 1.0);
    const V f = p == 2 ? hn::Div(one, hn::Sqrt(s)) : power_of_sum(s, 1 / p - 1);
    write(hn::IfThenElse(hn::Eq(s, hn::Zero(d)), s, f), factor + i, lanes);
  });
}

RealKernels make_table() {
  RealKernels t{};
  t.smooth_term = smooth_term;
  t.smooth_weight = smooth_weight;
  t.smooth_finish = smooth_finish;
  t.smooth_cells = smooth_cells;
  t.smooth_logarithms = smooth_logarithms;
  t.multiply = multiply;
#if NDPOOL_SMOOTH_FLOATS
  t.smooth_cells32 = smooth_cells32;
  t.smooth_logarithms32 = smooth_logarithms32;
  t.multiply32 = multiply32;
  t.smooth_quotients32 = smooth_quotients32;
#endif
  t.lp_term = lp_term;
  t.lp_power = lp_power;
  t.lp_cells = lp_cells;
  t.lp_roots = lp_roots;
  t.lp_factors = lp_factors;
  return t;
}

template <class T>
bool wins(T x, T y) {
  return x == y || (x != x && y != y);
}
template <class T>
void count_winners(int64_t n, const T* x, const T* y, double* count) {
  for (int64_t i = 0; i < n; ++i) count[i] += wins(x[i], y[i]) ? 1.0 : 0.0;
}
template <class T>
void add_winners(int64_t n, const T* x, const T* y, const T* tangent, T* sum) {
  for (int64_t i = 0; i < n; ++i) sum[i] += wins(x[i], y[i]) ? tangent[i] : T{0};
}
template <class T>
void share_winners(int64_t n, const T* x, const T* y, const T* share, T* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = wins(x[i], y[i]) ? share[i] : T{0};
}
template <class T>
const WinnerKernels<T> kWinners = {count_winners<T>, add_winners<T>, share_winners<T>};

}  // namespace

const RealKernels* real_kernels() {
  static const RealKernels table = make_table();
  return &table;
}
const WinnerKernels<float>* winner_kernels_f32() { return &kWinners<float>; }
const WinnerKernels<double>* winner_kernels_f64() { return &kWinners<double>; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(RealKernels, real_kernels)
NDPOOL_PER_TARGET(WinnerKernels<float>, winner_kernels_f32)
NDPOOL_PER_TARGET(WinnerKernels<double>, winner_kernels_f64)
}  // namespace ndpool
#endif
