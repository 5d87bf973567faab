// Rows of sums of a few taps that are divided as they are stored. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_DIVIDED_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_DIVIDED_ROWS_H_
#undef NDPOOL_SRC_KERNELS_DIVIDED_ROWS_H_
#else
#define NDPOOL_SRC_KERNELS_DIVIDED_ROWS_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/kernels.h"
#include "kernels/order.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// One row: lane i of `to` from the lanes of `from` that a list of taps names.
template <class T>
using RowFn = void (*)(const T* from, const TapRows& t, T* to);

// Sums that are divided as they are stored: division takes as long as loading some taps, and both
// go on at the same time.
template <int taps, class T>
void quotients_of_few(const T* from, const TapRows& t, T* to) {
  const T* tap[taps];
  for (int k = 0; k < taps; ++k) tap[k] = from + t.offsets[k];
  const Divide<T> divide(t.divisor);
  fit_width(hn::ScalableTag<T>(), t.lanes, [&](auto d) HWY_ATTR {
    const auto factor = hn::Set(d, divide.factor), divisor = hn::Set(d, divide.divisor);
    each_vector(d, t.lanes, [&](int64_t i) HWY_ATTR {
      const auto sum = tree<Sum, 0, taps>(d, tap, i);
      hn::StoreU(divide.exact ? hn::Mul(sum, factor) : hn::Div(sum, divisor), d, to + i);
    });
  });
}

// Sums of windows on two axes, as the tree joins them: `each` taps of a group, then the groups.
// Divided as they are stored, if they are to be.
template <int groups, int each, class T>
void row_of_groups(const T* from, const TapRows& t, T* to) {
  const T* tap[groups * each];
  for (int k = 0; k < groups * each; ++k) tap[k] = from + t.offsets[k];
  const Divide<T> divide(t.divisor == 0 ? 1 : t.divisor);
  fit_width(hn::ScalableTag<T>(), t.lanes, [&](auto d) HWY_ATTR {
    const auto factor = hn::Set(d, divide.factor), divisor = hn::Set(d, divide.divisor);
    each_vector(d, t.lanes, [&](int64_t i) HWY_ATTR {
      auto sum = hn::Add(tree<Sum, 0, each>(d, tap, i), tree<Sum, each, each>(d, tap, i));
      if constexpr (groups == 3) sum = hn::Add(sum, tree<Sum, 2 * each, each>(d, tap, i));
      hn::StoreU(divide.exact ? hn::Mul(sum, factor) : hn::Div(sum, divisor), d, to + i);
    });
  });
}
inline bool has_groups(const TapRows& t, int groups, int each) {
  if (t.taps != groups * each) return false;
  for (int k = 0; k < t.taps; ++k) {
    const bool last = k % each == each - 1 && k >= each;
    if (t.merges[k] != (k % each > 0 ? 1 : 0) + (last ? 1 : 0)) return false;
  }
  return true;
}
template <class T>
RowFn<T> groups_function(const TapRows& t) {
  if (has_groups(t, 3, 3)) return row_of_groups<3, 3, T>;
  if (has_groups(t, 2, 3)) return row_of_groups<2, 3, T>;
  if (has_groups(t, 3, 2)) return row_of_groups<3, 2, T>;
  return nullptr;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_DIVIDED_ROWS_H_
