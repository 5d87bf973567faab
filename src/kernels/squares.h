// Squares of 2 x 2, and taller windows of two neighbours. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_SQUARES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_SQUARES_H_
#undef NDPOOL_SRC_KERNELS_SQUARES_H_
#else
#define NDPOOL_SRC_KERNELS_SQUARES_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/kernels.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// Some rows of two neighbours each, at every second lane: there is nothing to keep between them.
template <class Op, int taps, class T>
void row_of_squares(const T* from, const TapRows& a, int64_t lanes, T* to) {
  const hn::ScalableTag<T> d;
  const T* tap[taps];
  for (int t = 0; t < taps; ++t) tap[t] = from + a.offsets[t];
  each_vector(d, lanes, [&](int64_t i) HWY_ATTR {
    const auto low = tree<Op, 0, taps>(d, tap, 2 * i);
    const auto high = tree<Op, 0, taps>(d, tap, 2 * i + static_cast<int64_t>(hn::Lanes(d)));
#if HWY_TARGET == HWY_SCALAR
    hn::StoreU(Op::many(low, high), d, to + i);
#else
    hn::StoreU(Op::many(hn::ConcatEven(d, high, low), hn::ConcatOdd(d, high, low)), d, to + i);
#endif
  });
}
template <class T>
using SquaresFn = void (*)(const T* from, const TapRows& across, int64_t lanes, T* to);
// nullptr if rows are not of that kind.
template <class Op, class T>
SquaresFn<T> squares_function(const TapRows& a, const TapRows& l) {
  const bool squares = l.along == 2 && l.spacing == 2 && a.lanes == 2 * l.lanes && a.in_order &&
                       l.lanes >= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (!squares) return nullptr;
  if constexpr (sizeof(T) <= 2 || std::is_same_v<T, float>) {
    if (a.taps == 1) return row_of_squares<Op, 1, T>;
    if (a.taps == 2) return row_of_squares<Op, 2, T>;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (a.taps == 4) return row_of_squares<Op, 4, T>;
    if (a.taps == 8) return row_of_squares<Op, 8, T>;
  }
  return nullptr;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_SQUARES_H_
