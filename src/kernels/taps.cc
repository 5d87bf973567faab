// Windows from a list of taps: each lane of a destination row combines the lanes that lie at the
// given distances from it. Across rows, along a row and over channels alike: all are contiguous
// loads at some distance.
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/taps.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/divide.h"
#include "kernels/divided_rows.h"
#include "kernels/numbers.h"
#include "kernels/squares.h"
#include "kernels/streamer.h"
#include "kernels/tap_rows.h"
#include "kernels/taps_in_order.h"
#include "kernels/turn.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

// Nodes of a tree that wait for their partner: one for each power of two, per nested axis.
constexpr int kMaxDepth = 64;

template <class Op, int taps, class D, class T>
HWY_INLINE void few(D d, const T* from, const int64_t* at, int64_t lanes, T* to) {
  const T* tap[taps];
  for (int t = 0; t < taps; ++t) tap[t] = from + at[t];
  each_vector(d, lanes,
              [&](int64_t i) HWY_ATTR { hn::StoreU(tree<Op, 0, taps>(d, tap, i), d, to + i); });
}

// Calls body(number of vectors, lane) for vectors that together cover `lanes`: of floats two at a
// time, so that both halves of a cache line are used while it is there.
template <class D, class Body>
HWY_INLINE void each_line(D d, int64_t lanes, Body body) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  if constexpr (hwy::IsFloat<hn::TFromD<D>>()) {
    for (; i + 2 * step <= lanes; i += 2 * step) body(std::integral_constant<int, 2>(), i);
  }
  for (; i < lanes; i += step) {
    body(std::integral_constant<int, 1>(), i + step <= lanes ? i : lanes - step);
  }
}

// Max and min may be taken in any order.
template <class Op, class D, class T>
HWY_INLINE void many_extremes(D d, const T* from, const TapRows& t, T* to) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const int64_t* at = t.offsets;
  const int taps = t.taps;
  const int64_t fetch = t.fetch;
  each_line(d, t.lanes, [&](auto vectors, int64_t i) HWY_ATTR {
    hn::Vec<D> best[vectors];
    for (int v = 0; v < vectors; ++v) best[v] = hn::LoadU(d, from + at[0] + i + v * step);
    for (int k = 1; k < taps; ++k) {
      const T* tap = from + at[k] + i;
      if (fetch != 0) hwy::Prefetch(tap + fetch);
      for (int v = 0; v < vectors; ++v) best[v] = Op::many(best[v], hn::LoadU(d, tap + v * step));
    }
    for (int v = 0; v < vectors; ++v) hn::StoreU(best[v], d, to + i + v * step);
  });
}

// Sums follow the tree: after each tap, as many waiting nodes join as `merges` says.
template <class D, class T>
HWY_INLINE void many_sums(D d, const T* from, const int64_t* at, const uint8_t* merges, int taps,
                          int64_t lanes, T* to) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  each_line(d, lanes, [&](auto vectors, int64_t i) HWY_ATTR {
    hn::Vec<D> waiting[kMaxDepth][vectors];
    int depth = 0;
    for (int t = 0; t < taps; ++t) {
      hn::Vec<D> sum[vectors];
      for (int v = 0; v < vectors; ++v) sum[v] = hn::LoadU(d, from + at[t] + i + v * step);
      for (int m = merges[t]; m > 0; --m) {
        --depth;
        for (int v = 0; v < vectors; ++v) sum[v] = hn::Add(waiting[depth][v], sum[v]);
      }
      for (int v = 0; v < vectors; ++v) waiting[depth][v] = sum[v];
      ++depth;
    }
    for (int v = 0; v < vectors; ++v) hn::StoreU(waiting[0][v], d, to + i + v * step);
  });
}

template <class Op, int taps, class T>
void row_of_few(const T* from, const TapRows& t, T* to) {
  few<Op, taps>(hn::ScalableTag<T>(), from, t.offsets, t.lanes, to);
}
template <class Op, int taps, class T>
void short_row_of_few(const T* from, const TapRows& t, T* to) {
  fit_width(hn::ScalableTag<T>(), t.lanes,
            [&](auto d) HWY_ATTR { few<Op, taps>(d, from, t.offsets, t.lanes, to); });
}
// Of lists of 2 to 8 taps.
template <class Op, class T>
RowFn<T> floats_of_few(int taps, bool long_row, bool divided) {
  constexpr RowFn<T> kLong[] = {row_of_few<Op, 2, T>, row_of_few<Op, 3, T>, row_of_few<Op, 4, T>,
                                row_of_few<Op, 5, T>, row_of_few<Op, 6, T>, row_of_few<Op, 7, T>,
                                row_of_few<Op, 8, T>};
  constexpr RowFn<T> kShort[] = {short_row_of_few<Op, 2, T>, short_row_of_few<Op, 3, T>,
                                 short_row_of_few<Op, 4, T>, short_row_of_few<Op, 5, T>,
                                 short_row_of_few<Op, 6, T>, short_row_of_few<Op, 7, T>,
                                 short_row_of_few<Op, 8, T>};
  if constexpr (kSums<Op>) {
    constexpr RowFn<T> kDivided[] = {quotients_of_few<2, T>, quotients_of_few<3, T>,
                                     quotients_of_few<4, T>, quotients_of_few<5, T>,
                                     quotients_of_few<6, T>, quotients_of_few<7, T>,
                                     quotients_of_few<8, T>};
    if (divided) return kDivided[taps - 2];
  }
  return (long_row ? kLong : kShort)[taps - 2];
}

template <class Op, class T>
void row_in_order(const T* from, const TapRows& t, T* to) {
  in_order<Op>(hn::ScalableTag<T>(), from, t, to);
}
template <class Op, class T>
void row_far_in_order(const T* from, const TapRows& t, T* to) {
  far_in_order<Op>(hn::ScalableTag<T>(), from, t, to);
}
template <class Op, class T>
void row_of_many(const T* from, const TapRows& t, T* to) {
  fit_width(hn::ScalableTag<T>(), t.lanes, [&](auto d) HWY_ATTR {
    if constexpr (std::is_same_v<Op, Sum>) {
      many_sums(d, from, t.offsets, t.merges, t.taps, t.lanes, to);
    } else {
      many_extremes<Op>(d, from, t, to);
    }
  });
}

// Windows of `taps` neighbours at every second lane.
template <class Op, int taps, class T>
void row_of_pairs(const T* from, const TapRows& t, T* to) {
  fit_pairs(hn::ScalableTag<T>(), t.lanes, [&](auto d) HWY_ATTR {
    each_vector(d, t.lanes, [&](int64_t i) HWY_ATTR {
      hn::Vec<decltype(d)> even, odd;
      load_pairs(d, from + 2 * i, &even, &odd);
      auto v = Op::many(even, odd);
      if constexpr (taps == 3) v = Op::many(v, load_even(d, from + 2 * i + 2));
      hn::StoreU(v, d, to + i);
    });
  });
}

// `count` values as the tree joins them; `join` takes two.
template <class V, class Join>
HWY_INLINE V joined(V* values, int count, Join join) {
  for (; count > 1; count = (count + 1) / 2) {
    for (int k = 0; k < count / 2; ++k) values[k] = join(values[2 * k], values[2 * k + 1]);
    if (count % 2 != 0) values[count / 2] = values[count - 1];
  }
  return values[0];
}

// Windows of up to 8 neighbours, `spacing` lanes apart (f32): four neighbours of each of some
// windows are turned.
constexpr int kTurnedTaps = 4;
template <class Op, class T>
void row_of_spaced(const T* from, const TapRows& t, T* to) {
  const int taps = t.along;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 8> d;
  using V = hn::Vec<decltype(d)>;
  // Of four neighbours, the first `count`, or the last.
  const auto some = [&](const T* at, int first, int count) HWY_ATTR {
    V v[kTurnedTaps];
    load_columns(d, at, t.spacing, v);
    const V* of = v + first;
    if (count == 1) return of[0];
    const V two = Op::many(of[0], of[1]);
    if (count == 2) return two;
    return Op::many(two, count == 3 ? of[2] : Op::many(of[2], of[3]));
  };
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (t.lanes >= step) {
    each_vector(d, t.lanes, [&](int64_t i) HWY_ATTR {
      const T* at = from + i * t.spacing;
      V v = some(at, 0, taps < kTurnedTaps ? taps : kTurnedTaps);
      if (taps > kTurnedTaps) {
        v = Op::many(v, some(at + taps - kTurnedTaps, 2 * kTurnedTaps - taps, taps - kTurnedTaps));
      }
      hn::StoreU(v, d, to + i);
    });
    return;
  }
#endif
  for (int64_t i = 0; i < t.lanes; ++i) {
    T values[8];
    std::memcpy(values, from + i * t.spacing, static_cast<size_t>(taps) * sizeof(T));
    to[i] = joined(values, taps, [](T a, T b) { return Op::one(a, b); });
  }
}

template <class T>
void row_of_one(const T* from, const TapRows& t, T* to) {
  std::memcpy(to, from + t.offsets[0], static_cast<size_t>(t.lanes) * sizeof(T));
}

template <class Op, class T>
RowFn<T> row_function(const TapRows& t) {
  if constexpr (std::is_same_v<T, float>) {
    if (t.along != 0 && t.spacing > 2) return row_of_spaced<Op, T>;
  }
  if (t.along == 2) return row_of_pairs<Op, 2, T>;
  if (t.along == 3) return row_of_pairs<Op, 3, T>;
  if (t.taps == 1) return row_of_one<T>;
  const bool long_row = t.lanes >= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if constexpr (std::is_same_v<T, float>) {
    if (t.in_order && t.taps <= 8) return floats_of_few<Op, T>(t.taps, long_row, t.divisor != 0);
  }
  if (t.in_order && long_row) {
    if (t.taps == 2) return row_of_few<Op, 2, T>;
    if (t.taps == 3) return row_of_few<Op, 3, T>;
    if (t.taps == 4) return row_of_few<Op, 4, T>;
  }
  if constexpr (std::is_same_v<T, float>) {
    constexpr int64_t kFar = 4096 / int64_t{sizeof(T)}, kMany = 2048 / int64_t{sizeof(T)};
    const bool far = t.taps >= 16 && t.offsets[1] - t.offsets[0] >= kFar;
    const bool gains = std::is_same_v<Op, Sum> ? t.in_order : far;
    if (gains && far && t.lanes >= kMany) return row_far_in_order<Op, T>;
    if (gains && long_row) return row_in_order<Op, T>;
  }
  return row_of_many<Op, T>;
}

template <class Op, class T>
void combine_taps(const TapRows& t) {
  RowFn<T> function = row_function<Op, T>(t);
  constexpr int64_t kAtOnce = 512 / int64_t{sizeof(T)};
  const int64_t ahead = t.taps <= 8 && t.fetch <= kAtOnce ? t.fetch : 0;
  [[maybe_unused]] bool divides =
      std::is_same_v<T, float> && t.in_order && t.taps > 1 && t.taps <= 8;
  if constexpr (kSums<Op> && hwy::IsFloat<T>()) {
    if (const RowFn<T> groups = t.in_order ? nullptr : groups_function<T>(t)) {
      function = groups;
      divides = true;
    }
  }
  const T* next = static_cast<const T*>(t.next);
  Meanwhile meanwhile(t.finished ? *t.finished : Finished{});
  each_row<T>(t, [=, &t, &next, &meanwhile](const T* from, T* to, int64_t) HWY_ATTR {
    fetch_ahead(from, ahead);
    fetch_later(next, t.fetch_next);
    next += t.fetch_next;
    fetch_near(from, t);
    function(from, t, to);
    meanwhile.send(static_cast<size_t>(t.lanes) * sizeof(T));
    if constexpr (kSums<Op> && hwy::IsFloat<T>()) {
      if (t.divisor != 0 && !divides) divide_row(t.lanes, t.divisor, to);
    }
  });
  if (t.finished) *t.finished = meanwhile.rest();
}

// Up to 8 taps that hold no NaN.
template <class E>
void combine_numbers(const TapRows& t) {
  const bool long_row = t.lanes >= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  if (t.taps < 2 || t.taps > 8) return combine_taps<Extremum<E>, float>(t);
  const RowFn<float> function = floats_of_few<OfNumbers<E>, float>(t.taps, long_row, false);
  each_row<float>(
      t, [&t, function](const float* from, float* to, int64_t) HWY_ATTR { function(from, t, to); });
}

// A window of up to 8 taps, those without a cell left out: of lane `i` of a row of `lanes` cells.
template <class Op, class T>
HWY_INLINE T edge(const T* row, const TapRows& t, int64_t cells_at, int64_t lanes, int64_t i) {
  T values[8]{};
  int count = 0;
  for (int k = 0; k < t.taps; ++k) {
    const int64_t cell = i + t.offsets[k] - cells_at;
    if (cell >= 0 && cell < lanes) {
      values[count++] = row[cell];
    } else if constexpr (std::is_same_v<Op, Sum>) {
      values[count++] = T{0};
    }
  }
  return joined(values, count, [](T a, T b) { return Op::one(a, b); });
}

// Lane `i` of each row.
template <class Op, class T>
HWY_INLINE void edges(const T* cells, const TapRows& t, int64_t cells_at, int64_t lanes,
                      int64_t rows, int64_t i, T* results) {
  int first = 0, last = t.taps - 1;
  while (i + t.offsets[first] < cells_at) ++first;
  while (i + t.offsets[last] - cells_at >= lanes) --last;
  const int64_t a = i + t.offsets[first] - cells_at, b = i + t.offsets[last] - cells_at;
  if (last - first > 1) {
    for (int64_t r = 0; r < rows; ++r) {
      results[r * lanes + i] = edge<Op>(cells + r * lanes, t, cells_at, lanes, i);
    }
  } else if (first == last) {
    for (int64_t r = 0; r < rows; ++r) results[r * lanes + i] = cells[r * lanes + a];
  } else {
    for (int64_t r = 0; r < rows; ++r) {
      results[r * lanes + i] = Op::one(cells[r * lanes + a], cells[r * lanes + b]);
    }
  }
}

// Rows of a band as one row.
template <class Op, class T>
void combine_flat(const FusedRows& f) {
  TapRows a = f.across, l = f.along;
  const int64_t lanes = a.lanes, together = f.flat_lanes / lanes;
  const int64_t before = f.cells_at, after = l.offsets[l.taps - 1] - before;
  T* const middle = static_cast<T*>(f.flat) + l.offsets[l.taps - 1];
  Streamer streamer(f.staged, f.stream_to);
  size_t finished = 0;
  for (int64_t p = 0; p < a.planes; ++p) {
    const T* from = static_cast<const T*>(a.src) + p * a.src_plane;
    T* to = static_cast<T*>(l.dst) + p * l.dst_plane;
    for (int64_t row = 0; row < a.rows; row += together) {
      const int64_t rows = row + together <= a.rows ? together : a.rows - row;
      a.lanes = l.lanes = rows * lanes;
      fetch_ahead(from, a.lanes, 2 * kAhead);
      row_function<Op, T>(a)(from, a, middle);
      row_function<Op, T>(l)(middle - before, l, to);
      for (int64_t i = 0; i < before; ++i) edges<Op>(middle, l, before, lanes, rows, i, to);
      for (int64_t i = lanes - after; i < lanes; ++i) {
        edges<Op>(middle, l, before, lanes, rows, i, to);
      }
      if (f.divisor != 0) divide_row(l.lanes, f.divisor, to);
      if (f.stream_to) {
        finished += static_cast<size_t>(l.lanes) * sizeof(T);
        streamer.advance(finished);
      }
      from += a.lanes;
      to += l.lanes;
    }
  }
  if (f.stream_to) streamer.finish(finished);
}

// Rows of a band, one after another: across into one of a few rows that stay in the cache, and
// along into the destination a few rows later, when what was stored can be loaded without waiting.
template <class Op, class T>
void combine_rows(const FusedRows& f) {
  if constexpr (hwy::IsFloat<T>()) {
    if (f.flat) return combine_flat<Op, T>(f);
  }
  const TapRows &a = f.across, &l = f.along;
  const RowFn<T> across = row_function<Op, T>(a), along = row_function<Op, T>(l);
  constexpr int kLag = FusedRows::kRows - 1;
  Streamer streamer(f.staged, f.stream_to);
  size_t finished = 0;
  const T* next = static_cast<const T*>(a.next);
  T* targets[FusedRows::kRows];
  int64_t begun = 0, done = 0;
  const SquaresFn<T> squares = squares_function<Op, T>(a, l);
  constexpr int64_t kMostFetched = 8192 / int64_t{sizeof(T)};  // of rows that lie side by side
  const int64_t fresh = a.taps == 1 ? a.lanes : a.src_row <= kMostFetched ? a.src_row : 0;
  // Long rows in parts, so that fetching, computing and sending take turns.
  constexpr int64_t kPart = 512 / int64_t{sizeof(T)};
  const int64_t parts = l.lanes < 2 * kPart ? 1 : l.lanes / kPart, fetch = fresh / parts;
  const auto put = [&](T* to, int64_t lanes) HWY_ATTR {
    if constexpr (hwy::IsFloat<T>()) {
      if (f.divisor != 0) divide_row(lanes, f.divisor, to);
    }
    if (f.stream_to) {
      finished += static_cast<size_t>(lanes) * sizeof(T);
      streamer.advance(finished);
    }
  };
  // Windows of one row need no row between, if nothing stands for padding and nothing behind a row
  // is read.
  const bool one_row =
      a.taps == 1 && f.pads == 0 && f.cells_at == 0 && l.along != 0 && l.spacing > 2 &&
      (l.lanes - 1) * l.spacing + (l.along < kTurnedTaps ? kTurnedTaps : l.along) <= a.lanes;
  const auto finish = [&](int64_t slot) HWY_ATTR {
    along(static_cast<const T*>(f.rows[slot]), l, targets[slot]);
    put(targets[slot], l.lanes);
  };
  for (int64_t p = 0; p < a.planes; ++p) {
    const T* from = static_cast<const T*>(a.src) + p * a.src_plane;
    T* to = static_cast<T*>(l.dst) + p * l.dst_plane;
    for (int64_t r = 0; r < a.rows; ++r, from += a.src_row, to += l.dst_row) {
      fetch_later(next, a.fetch_next);
      next += a.fetch_next;
      if (!squares) {
        fetch_ahead(from, fresh);
      } else {
        for (int64_t part = 0, i = 0; part < parts; ++part, i += kPart) {
          const int64_t lanes = part + 1 < parts ? kPart : l.lanes - i;
          fetch_ahead(from + part * fetch, fetch);
          squares(from + 2 * i, a, lanes, to + i);
          put(to + i, lanes);
        }
        continue;
      }
      if (one_row) {
        along(from + a.offsets[0], l, to);
        put(to, l.lanes);
        continue;
      }
      const int64_t slot = begun++ % FusedRows::kRows;
      T* row = static_cast<T*>(f.rows[slot]);
      across(from, a, row + f.cells_at);
      for (int i = 0; i < f.pads; ++i) row[f.pad_to[i]] = row[f.pad_from[i]];
      targets[slot] = to;
      if (begun - done > kLag) finish(done++ % FusedRows::kRows);
    }
  }
  while (done < begun) finish(done++ % FusedRows::kRows);
  if (f.stream_to) streamer.finish(finished);
}

template <class E, class T>
struct Values {
  static void run(const TapRows& t) { combine_taps<Extremum<E>, T>(t); }
};
template <class E, class T>
struct Rows {
  static void run(const FusedRows& f) { combine_rows<Extremum<E>, T>(f); }
};
TapKernels make_table() {
  TapKernels t{};
  fill<Values, Max>(t.extreme[kMax]);
  fill<Values, Min>(t.extreme[kMin]);
  fill<Values, Max>(t.numbers[kMax]);
  fill<Values, Min>(t.numbers[kMin]);
  t.numbers[kMax][static_cast<int>(Lane::f32)] = combine_numbers<Max>;
  t.numbers[kMin][static_cast<int>(Lane::f32)] = combine_numbers<Min>;
  fill<Rows, Max>(t.extreme_rows[kMax]);
  fill<Rows, Min>(t.extreme_rows[kMin]);
  t.sum[static_cast<int>(Lane::i16)] = combine_taps<Sum, int16_t>;
  t.sum[static_cast<int>(Lane::i32)] = combine_taps<Sum, int32_t>;
  t.sum[static_cast<int>(Lane::i64)] = combine_taps<Sum, int64_t>;
  t.sum[static_cast<int>(Lane::f32)] = combine_taps<Sum, float>;
  t.sum[static_cast<int>(Lane::f64)] = combine_taps<Sum, double>;
  t.sum_rows[static_cast<int>(Lane::i16)] = combine_rows<Sum, int16_t>;
  t.sum_rows[static_cast<int>(Lane::i32)] = combine_rows<Sum, int32_t>;
  t.sum_rows[static_cast<int>(Lane::i64)] = combine_rows<Sum, int64_t>;
  t.sum_rows[static_cast<int>(Lane::f32)] = combine_rows<Sum, float>;
  t.sum_rows[static_cast<int>(Lane::f64)] = combine_rows<Sum, double>;
  return t;
}

}  // namespace

const TapKernels* tap_kernels() {
  static const TapKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(TapKernels, tap_kernels)
}  // namespace ndpool
#endif
