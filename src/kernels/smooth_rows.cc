// Rows of smooth max in f32: see SmoothRows.
#include "kernels/smooth_rows.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/smooth_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/lanes_of_two.h"
#include "kernels/smooth_floats.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if NDPOOL_SMOOTH_FLOATS
using V = hn::Vec<F>;

// body(i, lanes) for vectors that cover n lanes; the last overlaps the one before it, if there is
// one that begins at a multiple of `unit`, and else has fewer lanes than a vector. (The one place
// where body is called: compilers then inline it.)
template <int64_t unit, class Body>
HWY_INLINE void cover(int64_t n, int64_t vector, Body body) {
  const int64_t last = n >= vector && n % unit == 0 ? n - vector : n;
  for (int64_t i = 0; i < n; i += vector) {
    const int64_t begin = i < last ? i : last == n ? i : last;
    body(begin, vector < n - begin ? vector : n - begin);
  }
}

// Lanes of one and of the other in turn.
HWY_INLINE void store_in_turn(V first, V second, float* to) {
  const F f;
#if HWY_TARGET <= HWY_AVX3
  const hn::RebindToUnsigned<F> fu;
  const auto lane = hn::Iota(fu, 0), half = hn::ShiftRight<1>(lane);
  const auto odd = hn::ShiftLeft<4>(hn::And(lane, hn::Set(fu, 1u)));  // those of the second
  const auto low = hn::Add(half, odd), high = hn::Add(low, hn::Set(fu, 8u));
  hn::StoreU(lanes_of_two(f, first, second, low), f, to);
  hn::StoreU(lanes_of_two(f, first, second, high), f, to + hn::Lanes(f));
#else
  hn::StoreInterleaved2(first, second, f, to);
#endif
}

template <int taps>
HWY_INLINE V fold(const V* v) {
  if constexpr (taps == 1) return v[0];
  V sum = hn::Add(v[0], v[taps == 1 ? 0 : 1]);
  if constexpr (taps == 3) sum = hn::Add(sum, v[2]);
  return sum;
}

template <int spacing, bool exact>
void terms_of(const SmoothRows& s, int64_t rows, const float* x, float* terms) {
  const F f;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(f));
  const SmoothExp32<exact> exponential(s.beta);
  for (int64_t r = 0; r < rows; ++r, x += s.cells, terms += s.term_row) {
    // Where even cells go, and odd ones.
    float* even = terms + s.pad % spacing * s.apart + s.pad / spacing;
    float* odd = terms + (s.pad + 1) % spacing * s.apart + (s.pad + 1) / spacing;
    const auto put = [&](int64_t i, const float* from) HWY_ATTR {
      const V first = exponential(hn::LoadU(f, from));
      if constexpr (spacing == 1) {
        hn::StoreU(first, f, even + i);
      } else {
        const V second = exponential(hn::LoadU(f, from + lanes));
        hn::StoreU(hn::ConcatEven(f, second, first), f, even + i / 2);
        hn::StoreU(hn::ConcatOdd(f, second, first), f, odd + i / 2);
      }
    };
    cover<spacing>(s.cells, spacing * lanes, [&](int64_t i, int64_t n) HWY_ATTR {
      if (n == spacing * lanes) {
        fetch_ahead(x + i, n);
        put(i, x + i);
        return;
      }
      float copy[spacing * hn::MaxLanes(F())] = {};
      std::memcpy(copy, x + i, static_cast<size_t>(n) * sizeof(float));
      put(i, copy);
      // No cells are behind the row.
      hn::StoreU(hn::Zero(f), f, even + (s.cells + spacing - 1) / spacing);
      if constexpr (spacing == 2) hn::StoreU(hn::Zero(f), f, odd + s.cells / 2);
    });
  }
}
void terms(const SmoothRows& s, int64_t rows, const float* x, float* terms) {
  const bool exact = is_power_of_two(s.beta);
  const auto of = s.spacing == 2 ? (exact ? terms_of<2, true> : terms_of<2, false>)
                                 : (exact ? terms_of<1, true> : terms_of<1, false>);
  of(s, rows, x, terms);
}

// The sums of a vector of windows: down first, then along.
template <int taps, int spacing>
HWY_INLINE V sum_at(const SmoothRows& s, const float* terms) {
  V along[taps], down[taps];
  for (int t = 0; t < taps; ++t) {
    const float* at = terms + t % spacing * s.apart + t / spacing;
    for (int r = 0; r < taps; ++r) down[r] = hn::LoadU(F(), at + r * s.term_row);
    along[t] = fold<taps>(down);
  }
  return fold<taps>(along);
}

// use(row, output, lanes, sums) for the sums of all windows.
template <int taps, int spacing, class Use>
HWY_INLINE void each_sum(const SmoothRows& s, int64_t rows, const float* terms, const float* pads,
                         Use use) {
  const F f;
  for (int64_t r = 0; r < rows; ++r, terms += spacing * s.term_row) {
    cover<1>(s.outputs, static_cast<int64_t>(hn::Lanes(f)), [&](int64_t o, int64_t n) HWY_ATTR {
      V sum = sum_at<taps, spacing>(s, terms + o);
      if (pads) sum = hn::Add(sum, hn::LoadU(f, pads + o));
      use(r, o, n, sum);
    });
  }
}

template <int taps, int spacing>
bool logarithms_of(const SmoothRows& s, int64_t rows, const float* terms, const float* pads,
                   float* y) {
  const F f;
  const SmoothLog32 logarithm(s.beta);
  hn::Mask<F> all = hn::Eq(hn::Zero(f), hn::Zero(f));
  each_sum<taps, spacing>(s, rows, terms, pads,
                          [&](int64_t r, int64_t o, int64_t n, V sum) HWY_ATTR {
                            hn::Mask<F> good;
                            write32(logarithm(sum, &good), y + r * s.outputs + o, n);
                            const auto behind = hn::Not(hn::FirstN(f, static_cast<size_t>(n)));
                            all = hn::And(all, hn::Or(good, behind));
                          });
  return hn::AllTrue(f, all);
}

template <int taps, int spacing>
void quotients_of(const SmoothRows& s, int64_t rows, const float* terms, const float* pads,
                  const float* g, float* quotients) {
  each_sum<taps, spacing>(
      s, rows, terms, pads, [&](int64_t r, int64_t o, int64_t n, V sum) HWY_ATTR {
        const V gradient = read32(g + r * s.outputs + o, n);
        write32(smooth_quotient32(gradient, sum), quotients + r * s.quotient_row + o, n);
      });
}

// What the windows that hold them send to cells that are tap `first` of the vector of outputs at
// `quotients`: down first, the row of outputs before that one first.
template <int taps, int spacing, int row_tap, int first>
HWY_INLINE V gathered(const SmoothRows& s, const float* quotients) {
  constexpr int kRows = (taps - 1 - row_tap) / spacing + 1;
  constexpr int kAlong = (taps - 1 - first) / spacing + 1;
  V along[kAlong], down[kRows];
  for (int t = 0; t < kAlong; ++t) {
    for (int r = 0; r < kRows; ++r) {
      down[r] = hn::LoadU(F(), quotients + (r + 1 - kRows) * s.quotient_row + t + 1 - kAlong);
    }
    along[t] = fold<kRows>(down);
  }
  return fold<kAlong>(along);
}

template <int taps, int spacing, int row_tap, bool odd_first>
bool gradients_of(const SmoothRows& s, const float* quotients, const float* terms, float* dx) {
  const F f;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(f));
  // Even cells are tap kEven of windows of their own place, odd ones of those of the next.
  constexpr int kEven = spacing == 2 && odd_first ? 1 : 0, kOdd = spacing == 2 ? 1 - kEven : 0;
  const int64_t even = s.pad / spacing, odd = (s.pad + 1) / spacing;
  const float* even_terms = terms + kEven * s.apart + even;
  const float* odd_terms = terms + kOdd * s.apart + odd;
  V bad = hn::Zero(f);  // what is not finite stays in a sum of products with 0
  cover<spacing>(s.cells, spacing * lanes, [&](int64_t i, int64_t n) HWY_ATTR {
    const int64_t at = i / spacing;
    float copy[spacing * hn::MaxLanes(F())];
    float* to = n == spacing * lanes ? dx + i : copy;
    const V first =
        smooth_product32(gathered<taps, spacing, row_tap, kEven>(s, quotients + even + at),
                         hn::LoadU(f, even_terms + at));
    bad = hn::MulAdd(first, hn::Zero(f), bad);
    if constexpr (spacing == 1) {
      hn::StoreU(first, f, to);
    } else {
      const V second =
          smooth_product32(gathered<taps, spacing, row_tap, kOdd>(s, quotients + odd + at),
                           hn::LoadU(f, odd_terms + at));
      bad = hn::MulAdd(second, hn::Zero(f), bad);
      store_in_turn(first, second, to);
    }
    if (to == copy) std::memcpy(dx + i, copy, static_cast<size_t>(n) * sizeof(float));
  });
  return hn::AllTrue(f, hn::Eq(bad, hn::Zero(f)));
}

bool logarithms(const SmoothRows& s, int64_t rows, const float* terms, const float* pads,
                float* y) {
  const auto of = s.taps == 2 ? (s.spacing == 2 ? logarithms_of<2, 2> : logarithms_of<2, 1>)
                              : (s.spacing == 2 ? logarithms_of<3, 2> : logarithms_of<3, 1>);
  return of(s, rows, terms, pads, y);
}
void quotients(const SmoothRows& s, int64_t rows, const float* terms, const float* pads,
               const float* g, float* to) {
  const auto of = s.taps == 2 ? (s.spacing == 2 ? quotients_of<2, 2> : quotients_of<2, 1>)
                              : (s.spacing == 2 ? quotients_of<3, 2> : quotients_of<3, 1>);
  of(s, rows, terms, pads, g, to);
}
template <int taps, int row_tap>
bool gradients_of_pairs(const SmoothRows& s, const float* quotients, const float* terms,
                        float* dx) {
  return s.pad % 2 == 0 ? gradients_of<taps, 2, row_tap, false>(s, quotients, terms, dx)
                        : gradients_of<taps, 2, row_tap, true>(s, quotients, terms, dx);
}
template <int taps>
bool gradients_of_taps(const SmoothRows& s, int tap, const float* quotients, const float* terms,
                       float* dx) {
  if (s.spacing == 1) return gradients_of<taps, 1, 0, false>(s, quotients, terms, dx);
  return tap == 0 ? gradients_of_pairs<taps, 0>(s, quotients, terms, dx)
                  : gradients_of_pairs<taps, 1>(s, quotients, terms, dx);
}
bool gradients(const SmoothRows& s, int tap, const float* quotients, const float* terms,
               float* dx) {
  return s.taps == 2 ? gradients_of_taps<2>(s, tap, quotients, terms, dx)
                     : gradients_of_taps<3>(s, tap, quotients, terms, dx);
}
#endif

}  // namespace

const SmoothRowKernels* smooth_row_kernels() {
#if NDPOOL_SMOOTH_FLOATS
  static const SmoothRowKernels table = {terms, logarithms, quotients, gradients};
  return &table;
#else
  return nullptr;
#endif
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(SmoothRowKernels, smooth_row_kernels)
}  // namespace ndpool
#endif
