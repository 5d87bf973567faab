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
    hn::Vec<decltype(d)> seen[8] = {zero, zero, zero, zero, zero, zero, zero, zero};
    int64_t i = 0;
    if constexpr (HWY_TARGET <= HWY_AVX3) {
      for (; i + 8 * step <= e.lanes; i += 8 * step) extreme_vectors<Op, 8>(d, e, i, seen);
    }
    for (; i + 4 * step <= e.lanes; i += 4 * step) extreme_vectors<Op, 4>(d, e, i, seen);
    for (; i < e.lanes; i += step) {
      extreme_vectors<Op, 1>(d, e, i + step <= e.lanes ? i : e.lanes - step, seen);
    }
    if constexpr (kNumbers<Op>) {
      auto sum = zero;
      for (const auto& s : seen) sum = hn::Add(sum, s);
      nan = !hn::AllFalse(d, hn::IsNaN(sum));
    }
  });
  return nan;
}

// `vectors` vectors of some rows of sliding sums, from lane i on. The last rows of cells stay in
// registers. `ends`: the last vector is that of the end of the rows, and overlaps the one before
// it.
template <int vectors, bool ends, class D>
HWY_INLINE void sum_vectors(D d, int64_t count, const SlideRow* rows, int64_t i) {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), end = rows->lanes - step - i;
  const auto at = [step, end](int k) { return ends && k == vectors - 1 ? end : k * step; };
  const auto load = [&](const void* row, int k)
                        HWY_ATTR { return hn::LoadU(d, static_cast<const T*>(row) + i + at(k)); };
  V x[4][vectors];  // the oldest first
  for (int t = 0; t < 3; ++t) {
    for (int k = 0; k < vectors; ++k) x[t + 1][k] = load(rows->recent[t], k);
  }
  for (int64_t r = 0; r < count; ++r) {
    const SlideRow& s = rows[r];
    const T* next = static_cast<const T*>(s.ahead) + i;
    for (int64_t k = 0; k < vectors * step; k += 64 / int64_t{sizeof(T)}) hwy::Prefetch(next + k);
    V v[vectors];
    for (int k = 0; k < vectors; ++k) {
      for (int t = 0; t < 3; ++t) x[t][k] = x[t + 1][k];
      x[3][k] = load(s.x, k);
      v[k] = hn::Add(hn::Add(x[0][k], x[1][k]), hn::Add(x[2][k], x[3][k]));
    }
    for (int level = 0; level < s.levels; ++level) {
      T* const slot = static_cast<T*>(s.slot[level]) + i;
      for (int k = 0; k < vectors; ++k) {
        if (level > 0) {
          v[k] = hn::Add(hn::Add(load(s.old[level][0], k), load(s.old[level][1], k)),
                         hn::Add(load(s.old[level][2], k), v[k]));
        }
        hn::StoreU(v[k], d, slot + at(k));
      }
    }
    if (!s.dst) continue;
    for (int k = 0; k < vectors; ++k) {
      v[k] = x[3][k];
      if (s.own >= 2) v[k] = hn::Add(s.own == 2 ? x[2][k] : hn::Add(x[1][k], x[2][k]), v[k]);
    }
    for (int p = 0; p < s.parts; ++p) {
      const SlideRow::Part& part = s.part[p];
      const bool first = p == 0 && s.own == 0;
      for (int k = 0; k < vectors; ++k) {
        V sum = load(part.row[0], k);
        if (part.rows > 1) sum = hn::Add(sum, load(part.row[1], k));
        if (part.rows > 2) sum = hn::Add(sum, hn::Add(load(part.row[2], k), load(part.row[3], k)));
        v[k] = first ? sum : hn::Add(sum, v[k]);
      }
    }
    T* const to = static_cast<T*>(s.dst) + i;
    for (int k = 0; k < vectors; ++k) hn::StoreU(v[k], d, to + at(k));
  }
}

// Strip by strip. Lanes that are computed twice are so in the same strip: later, what they were
// made from may be gone.
template <class D>
void slide_lanes(D d, int64_t count, const SlideRow* rows) {
  constexpr int kTogether = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), lanes = rows->lanes;
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (lanes < step) return slide_lanes(hn::Half<D>(), count, rows);
  }
  const int64_t end = lanes % step == 0 ? lanes : lanes - lanes % step - step;
  int64_t i = 0;
  for (; i + kTogether * step <= end; i += kTogether * step) {
    sum_vectors<kTogether, false>(d, count, rows, i);
  }
  for (; i < end; i += step) sum_vectors<1, false>(d, count, rows, i);
  if (i < lanes) sum_vectors<2, true>(d, count, rows, i);
}
template <class T>
void slide(int64_t count, const SlideRow* rows) {
  slide_lanes(hn::ScalableTag<T>(), count, rows);
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
