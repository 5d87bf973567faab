// What kernels on lists of taps share: vectors that cover a row, widths that fit it, pairs of
// lanes. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_TAP_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_TAP_ROWS_H_
#undef NDPOOL_SRC_KERNELS_TAP_ROWS_H_
#else
#define NDPOOL_SRC_KERNELS_TAP_ROWS_H_
#endif

#include "hwy/highway.h"
#include "kernels/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Calls body(lane) for vectors that together cover `lanes`, at least one vector of them; the last
// overlaps the one before it.
template <class D, class Body>
HWY_INLINE void each_vector(D d, int64_t lanes, Body body) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    for (; i + 2 * step <= lanes; i += 2 * step) {
      body(i);
      body(i + step);
    }
  }
  for (; i < lanes; i += step) body(i + step <= lanes ? i : lanes - step);
}

// `count` taps from `first` on, as the tree joins them.
template <class Op, int first, int count, class D, class T>
HWY_INLINE hn::Vec<D> tree(D d, const T* const* tap, int64_t i) {
  if constexpr (count == 1) {
    return hn::LoadU(d, tap[first] + i);
  } else {
    constexpr int kLeft = count > 4 ? 4 : count > 2 ? 2 : 1;
    return Op::many(tree<Op, first, kLeft>(d, tap, i),
                    tree<Op, first + kLeft, count - kLeft>(d, tap, i));
  }
}

// body(row of src, row of dst, place of the row in the index) for each row.
template <class T, class Body>
HWY_INLINE void each_row(const TapRows& t, Body body) {
  for (int64_t p = 0; p < t.planes; ++p) {
    const T* from = static_cast<const T*>(t.src) + p * t.src_plane;
    T* to = static_cast<T*>(t.dst) + p * t.dst_plane;
    for (int64_t r = 0; r < t.rows; ++r, from += t.src_row, to += t.dst_row) {
      body(from, to, p * t.index_plane + r * t.index_row);
    }
  }
}

// body(d) with the widest vectors that fit a row, of a few widths.
template <class D, class Body>
HWY_INLINE void fit_width(D d, int64_t lanes, Body body) {
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    if (lanes < static_cast<int64_t>(hn::Lanes(d))) {
      if constexpr (hn::MaxLanes(half) > 1) {
        if (lanes < static_cast<int64_t>(hn::Lanes(half))) {
          return fit_width(hn::Half<hn::Half<decltype(half)>>(), lanes, body);
        }
      }
      return body(half);
    }
  }
  body(d);
}

// Every second lane from `from` on, and the lanes between them.
template <class D, class T>
HWY_INLINE void load_pairs(D d, const T* from, hn::Vec<D>* even, hn::Vec<D>* odd) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    *even = hn::LoadU(d, from);
    *odd = hn::LoadU(d, from + 1);
  } else {
#if HWY_TARGET != HWY_SCALAR
    const auto low = hn::LoadU(d, from), high = hn::LoadU(d, from + hn::Lanes(d));
    *even = hn::ConcatEven(d, high, low);
    *odd = hn::ConcatOdd(d, high, low);
#endif
  }
}
template <class D, class T>
HWY_INLINE hn::Vec<D> load_even(D d, const T* from) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    return hn::ConcatEven(d, hn::LoadU(d, from + hn::Lanes(d)), hn::LoadU(d, from));
  }
#endif
  return hn::LoadU(d, from);
}

// body(d) with whole vectors, halves of at least 16 bytes, or single lanes.
template <class D, class Body>
HWY_INLINE void fit_pairs(D d, int64_t lanes, Body body) {
  if (lanes >= static_cast<int64_t>(hn::Lanes(d))) return body(d);
  if constexpr (hn::MaxLanes(D()) * sizeof(hn::TFromD<D>) > 16) {
    const hn::Half<D> half;
    if (lanes >= static_cast<int64_t>(hn::Lanes(half))) return body(half);
  }
  body(hn::CappedTag<hn::TFromD<D>, 1>());
}

// One function for each type of lane.
template <template <class, class> class Fill, class E, class Fn>
void fill(Fn* table) {
  const Fn all[kLanes] = {Fill<E, int8_t>::run,
                          Fill<E, uint8_t>::run,
                          Fill<E, int16_t>::run,
                          Fill<E, uint16_t>::run,
                          Fill<E, int32_t>::run,
                          Fill<E, uint32_t>::run,
                          Fill<E, int64_t>::run,
                          Fill<E, uint64_t>::run,
                          Fill<E, float>::run,
                          Fill<E, double>::run,
                          nullptr};
  for (int lane = 0; lane < kLanes; ++lane) table[lane] = all[lane];
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_TAP_ROWS_H_
