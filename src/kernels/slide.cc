// Windows that slide down rows: see SlideRow and ExtremeRows.
#include <cstdint>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/slide.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/numbers.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

// `vectors` vectors of some rows of windows, from lane i on; `seen` becomes NaN if one of the cells
// is.
template <class Op, int vectors, class D>
HWY_INLINE void extreme_vectors(D d, const ExtremeRows& e, int64_t i, hn::Vec<D>* seen) {
  using T = hn::TFromD<D>;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto row = [&e, i](int64_t r) { return static_cast<const T*>(e.x[r]) + i; };
  T* to = static_cast<T*>(e.dst) + (e.rows - 1) * e.dst_row + i;
  hn::Vec<D> best[vectors];
  const auto load = [&](const T* x, int k) HWY_ATTR {
    const auto v = hn::LoadU(d, x + k * step);
    if constexpr (kNumbers<Op>) seen[k] = hn::Add(seen[k], v);
    return v;
  };
  const T* last = row(e.rows - 1);
  for (int k = 0; k < vectors; ++k) {
    best[k] = load(last, k);
    hn::StoreU(best[k], d, to + k * step);
  }
  for (int64_t r = e.rows - 2; r >= 0; --r) {
    const T* x = row(r);
    to -= e.dst_row;
    for (int k = 0; k < vectors; ++k) {
      best[k] = Op::many(best[k], load(x, k));
      hn::StoreU(best[k], d, to + k * step);
    }
  }
  // The first window ends with row taps - 1, which may be that of all of them.
  int64_t r = e.rows, window = 0;
  if (r == e.taps) {
    to += e.dst_row;
    window = 1;
  }
  if (window == e.rows) return;
  const T* start = row(r++);
  for (int k = 0; k < vectors; ++k) best[k] = load(start, k);
  const auto join = [&](const T* x) HWY_ATTR {
    for (int k = 0; k < vectors; ++k) best[k] = Op::many(best[k], load(x, k));
  };
  for (; r < window + e.taps; ++r) join(row(r));
  for (;; to += e.dst_row) {
    for (int k = 0; k < vectors; ++k) {
      hn::StoreU(Op::many(best[k], hn::LoadU(d, to + k * step)), d, to + k * step);
    }
    if (window < e.ahead) {
      const T* next = row(e.rows + e.taps - 1 + window);
      for (int64_t k = 0; k < vectors * step; k += 64 / int64_t{sizeof(T)}) hwy::Prefetch(next + k);
    }
    if (++window == e.rows) break;
    join(row(window + e.taps - 1));
  }
}

// Returns whether there may be NaN among the cells, if it matters.
template <class Op, class T>
bool each_strip(const ExtremeRows& e) {
  bool nan = false;
  fit_width(hn::ScalableTag<T>(), e.lanes, [&](auto d) HWY_ATTR {
    const int64_t step = static_cast<int64_t>(hn::Lanes(d));
    const auto zero = hn::Zero(d);
    hn::Vec<decltype(d)> seen[4] = {zero, zero, zero, zero};
    int64_t i = 0;
    for (; i + 4 * step <= e.lanes; i += 4 * step) extreme_vectors<Op, 4>(d, e, i, seen);
    for (; i < e.lanes; i += step) {
      extreme_vectors<Op, 1>(d, e, i + step <= e.lanes ? i : e.lanes - step, seen);
    }
    if constexpr (kNumbers<Op>) {
      const auto sum = hn::Add(hn::Add(seen[0], seen[1]), hn::Add(seen[2], seen[3]));
      nan = !hn::AllFalse(d, hn::IsNaN(sum));
    }
  });
  return nan;
}

// `vectors` vectors of a row of sliding sums, from lane i on.
template <int vectors, class D, class T>
HWY_INLINE void sum_vectors(D d, const SlideRow& s, int64_t i, T* to) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto row = [i](const void* memory) { return static_cast<const T*>(memory) + i; };
  hn::Vec<D> v[vectors];
  const T* x = row(s.x);
  for (int k = 0; k < vectors; ++k) v[k] = hn::LoadU(d, x + k * step);
  for (int level = 0; level < s.levels; ++level) {
    const T *a = row(s.old[level][0]), *b = row(s.old[level][1]), *c = row(s.old[level][2]);
    T* slot = static_cast<T*>(s.slot[level]) + i;
    for (int k = 0; k < vectors; ++k) {
      const int64_t at = k * step;
      v[k] = hn::Add(hn::Add(hn::LoadU(d, a + at), hn::LoadU(d, b + at)),
                     hn::Add(hn::LoadU(d, c + at), v[k]));
      hn::StoreU(v[k], d, slot + at);
    }
  }
  if (!to) return;
  // Each sum goes where it belongs at once: there are registers for one set of vectors.
  const auto each = [&](const SlideRow::Part& part, auto put) HWY_ATTR {
    const T *a = row(part.row[0]), *b = row(part.row[1]);
    const T *c = row(part.row[2]), *e = row(part.row[3]);
    const auto load = [d, step](const T* from, int k)
                          HWY_ATTR { return hn::LoadU(d, from + k * step); };
    if (part.rows == 1) {
      for (int k = 0; k < vectors; ++k) put(k, load(a, k));
    } else if (part.rows == 2) {
      for (int k = 0; k < vectors; ++k) put(k, hn::Add(load(a, k), load(b, k)));
    } else {
      for (int k = 0; k < vectors; ++k) {
        put(k, hn::Add(hn::Add(load(a, k), load(b, k)), hn::Add(load(c, k), load(e, k))));
      }
    }
  };
  each(s.part[0], [&](int k, hn::Vec<D> sum) HWY_ATTR { v[k] = sum; });
  for (int p = 1; p < s.parts; ++p) {
    each(s.part[p], [&](int k, hn::Vec<D> sum) HWY_ATTR { v[k] = hn::Add(sum, v[k]); });
  }
  for (int k = 0; k < vectors; ++k) hn::StoreU(v[k], d, to + k * step);
}

template <class T>
void slide(const SlideRow& s) {
  T* to = static_cast<T*>(s.dst);
  fit_width(hn::ScalableTag<T>(), s.lanes, [&](auto d) HWY_ATTR {
    const int64_t step = static_cast<int64_t>(hn::Lanes(d));
    int64_t i = 0;
    for (; i + 8 * step <= s.lanes; i += 8 * step) sum_vectors<8>(d, s, i, to ? to + i : to);
    for (; i < s.lanes; i += step) {
      const int64_t at = i + step <= s.lanes ? i : s.lanes - step;
      sum_vectors<1>(d, s, at, to ? to + at : to);
    }
  });
}

template <class E, class T>
struct Extremes {
  static bool run(const ExtremeRows& e) {
    if constexpr (hwy::IsFloat<T>()) {
      if (!each_strip<OfNumbers<E>, T>(e)) return false;
      each_strip<OfAnything<E>, T>(e);
      return true;
    } else {
      return each_strip<OfAnything<E>, T>(e);
    }
  }
};

SlideKernels make_table() {
  SlideKernels t{};
  fill<Extremes, Max>(t.extreme[kMax]);
  fill<Extremes, Min>(t.extreme[kMin]);
  t.sum[static_cast<int>(Lane::i16)] = slide<int16_t>;
  t.sum[static_cast<int>(Lane::i32)] = slide<int32_t>;
  t.sum[static_cast<int>(Lane::i64)] = slide<int64_t>;
  t.sum[static_cast<int>(Lane::f32)] = slide<float>;
  t.sum[static_cast<int>(Lane::f64)] = slide<double>;
  return t;
}

}  // namespace

const SlideKernels* slide_kernels() {
  static const SlideKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(SlideKernels, slide_kernels)
}  // namespace ndpool
#endif
