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
#include "kernels/order.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Nodes of a tree that wait for their partner: one for each power of two, per nested axis.
constexpr int kMaxDepth = 64;

// Calls body(lane) for vectors that together cover `lanes`, at least one vector of them; the last
// overlaps the one before it.
template <class D, class Body>
HWY_INLINE void each_vector(D d, int64_t lanes, Body body) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + 2 * step <= lanes; i += 2 * step) {
    body(i);
    body(i + step);
  }
  for (; i + step <= lanes; i += step) body(i);
  if (i < lanes) body(lanes - step);
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

template <class Op, int taps, class D, class T>
HWY_INLINE void few(D d, const T* from, const int64_t* at, int64_t lanes, T* to) {
  const T* tap[taps];
  for (int t = 0; t < taps; ++t) tap[t] = from + at[t];
  each_vector(d, lanes,
              [&](int64_t i) HWY_ATTR { hn::StoreU(tree<Op, 0, taps>(d, tap, i), d, to + i); });
}

// Max and min may be taken in any order.
template <class Op, class D, class T>
HWY_INLINE void many_extremes(D d, const T* from, const int64_t* at, int taps, int64_t lanes,
                              T* to) {
  each_vector(d, lanes, [&](int64_t i) HWY_ATTR {
    auto a = hn::LoadU(d, from + at[0] + i), b = a;
    int t = 1;
    for (; t + 2 <= taps; t += 2) {
      a = Op::many(a, hn::LoadU(d, from + at[t] + i));
      b = Op::many(b, hn::LoadU(d, from + at[t + 1] + i));
    }
    if (t < taps) a = Op::many(a, hn::LoadU(d, from + at[t] + i));
    hn::StoreU(Op::many(a, b), d, to + i);
  });
}

// Sums follow the tree: after each tap, as many waiting nodes join as `merges` says.
template <class D, class T>
HWY_INLINE void many_sums(D d, const T* from, const int64_t* at, const uint8_t* merges, int taps,
                          int64_t lanes, T* to) {
  each_vector(d, lanes, [&](int64_t i) HWY_ATTR {
    hn::Vec<D> waiting[kMaxDepth];
    int depth = 0;
    for (int t = 0; t < taps; ++t) {
      auto v = hn::LoadU(d, from + at[t] + i);
      for (int m = merges[t]; m > 0; --m) v = hn::Add(waiting[--depth], v);
      waiting[depth++] = v;
    }
    hn::StoreU(waiting[0], d, to + i);
  });
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

// One row: lane i of `to` from the lanes of `from` that a list of taps names.
template <class T>
using RowFn = void (*)(const T* from, const TapRows& t, T* to);

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
RowFn<T> floats_of_few(int taps, bool long_row) {
  constexpr RowFn<T> kLong[] = {row_of_few<Op, 2, T>, row_of_few<Op, 3, T>, row_of_few<Op, 4, T>,
                                row_of_few<Op, 5, T>, row_of_few<Op, 6, T>, row_of_few<Op, 7, T>,
                                row_of_few<Op, 8, T>};
  constexpr RowFn<T> kShort[] = {short_row_of_few<Op, 2, T>, short_row_of_few<Op, 3, T>,
                                 short_row_of_few<Op, 4, T>, short_row_of_few<Op, 5, T>,
                                 short_row_of_few<Op, 6, T>, short_row_of_few<Op, 7, T>,
                                 short_row_of_few<Op, 8, T>};
  return (long_row ? kLong : kShort)[taps - 2];
}

template <class Op, class T>
void row_of_many(const T* from, const TapRows& t, T* to) {
  fit_width(hn::ScalableTag<T>(), t.lanes, [&](auto d) HWY_ATTR {
    if constexpr (std::is_same_v<Op, Sum>) {
      many_sums(d, from, t.offsets, t.merges, t.taps, t.lanes, to);
    } else {
      many_extremes<Op>(d, from, t.offsets, t.taps, t.lanes, to);
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

template <class T>
void row_of_one(const T* from, const TapRows& t, T* to) {
  std::memcpy(to, from + t.offsets[0], static_cast<size_t>(t.lanes) * sizeof(T));
}

template <class Op, class T>
RowFn<T> row_function(const TapRows& t) {
  if (t.along == 2) return row_of_pairs<Op, 2, T>;
  if (t.along == 3) return row_of_pairs<Op, 3, T>;
  if (t.taps == 1) return row_of_one<T>;
  const bool long_row = t.lanes >= static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if constexpr (std::is_same_v<T, float>) {
    if (t.in_order && t.taps <= 8) return floats_of_few<Op, T>(t.taps, long_row);
  }
  if (t.in_order && long_row) {
    if (t.taps == 2) return row_of_few<Op, 2, T>;
    if (t.taps == 3) return row_of_few<Op, 3, T>;
    if (t.taps == 4) return row_of_few<Op, 4, T>;
  }
  return row_of_many<Op, T>;
}

template <class Op, class T>
void combine_taps(const TapRows& t) {
  const RowFn<T> function = row_function<Op, T>(t);
  each_row<T>(t, [&t, function](const T* from, T* to, int64_t) { function(from, t, to); });
}

// n elements over one divisor. Multiplying by the reciprocal of a power of two rounds as dividing
// does.
template <class T>
HWY_INLINE void divide_row(int64_t n, int64_t divisor, T* values) {
  const T by = static_cast<T>(divisor);
  if (divisor > 0 && (divisor & (divisor - 1)) == 0) {
    const T factor = 1 / by;
    for (int64_t i = 0; i < n; ++i) values[i] *= factor;
  } else {
    for (int64_t i = 0; i < n; ++i) values[i] /= by;
  }
}

// Sends the whole cache lines of finished bytes past the caches.
class Streamer {
 public:
  Streamer(const void* from, void* to)
      : from_(static_cast<const uint8_t*>(from)), to_(static_cast<uint8_t*>(to)) {
    const size_t head = (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64;
    next_ = head;
    head_ = head;
  }
  HWY_INLINE void advance(size_t finished) {
    const hn::ScalableTag<uint8_t> d;
    const size_t step = hn::Lanes(d) < 64 ? hn::Lanes(d) : 64;
    for (; next_ + 64 <= finished; next_ += 64) {
      for (size_t i = 0; i < 64; i += step) {
        hn::Stream(hn::LoadU(d, from_ + next_ + i), d, to_ + next_ + i);
      }
    }
  }
  // What is left: the parts of the first and the last line.
  void finish(size_t bytes) {
    std::memcpy(to_, from_, head_ < bytes ? head_ : bytes);
    if (next_ < bytes) std::memcpy(to_ + next_, from_ + next_, bytes - next_);
  }

 private:
  const uint8_t* from_;
  uint8_t* to_;
  size_t next_, head_;
};

// Bytes by which the source is fetched ahead of its use.
constexpr int64_t kAhead = 2048;

// Rows of a band, one after another: across into one of a few rows that stay in the cache, and
// along into the destination a few rows later, when what was stored can be loaded without waiting.
template <class Op, class T>
void combine_rows(const FusedRows& f) {
  const TapRows &a = f.across, &l = f.along;
  const RowFn<T> across = row_function<Op, T>(a), along = row_function<Op, T>(l);
  constexpr int kLag = FusedRows::kRows - 1;
  Streamer streamer(f.staged, f.stream_to);
  size_t finished = 0;
  T* targets[FusedRows::kRows];
  int64_t begun = 0, done = 0;
  const auto finish = [&](int64_t slot) HWY_ATTR {
    T* to = targets[slot];
    along(static_cast<const T*>(f.rows[slot]), l, to);
    if constexpr (hwy::IsFloat<T>()) {
      if (f.divisor != 0) divide_row(l.lanes, f.divisor, to);
    }
    if (f.stream_to) {
      finished += static_cast<size_t>(l.lanes) * sizeof(T);
      streamer.advance(finished);
    }
  };
  for (int64_t p = 0; p < a.planes; ++p) {
    const T* from = static_cast<const T*>(a.src) + p * a.src_plane;
    T* to = static_cast<T*>(l.dst) + p * l.dst_plane;
    for (int64_t r = 0; r < a.rows; ++r, from += a.src_row, to += l.dst_row) {
      for (int64_t i = 0; i < a.src_row; i += 64 / int64_t{sizeof(T)}) {
        hwy::Prefetch(from + kAhead / int64_t{sizeof(T)} + i);
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

// Whether b comes to stand in a's place: it beats a, and NaN stays.
template <class E, class V>
HWY_INLINE auto replaces(V b, V a) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    return hn::AndNot(E::at_least(a, b), hn::Eq(a, a));
  } else {
    return E::beyond(b, a);
  }
}

template <class E, class D, class V, class DU>
HWY_INLINE void contend(D, DU du, V v, hn::Vec<DU> its, V* best, hn::Vec<DU>* number) {
  const auto take = replaces<E>(v, *best);
  *best = hn::IfThenElse(take, v, *best);
  *number = hn::IfThenElse(hn::RebindMask(du, take), its, *number);
}

// The first tap of the list that wins, and its number. With `along`: rows of taps, each of that
// many neighbours (at every second lane if `paired`), the numbers of which count up.
template <class E, int along, bool paired, class T, class D>
HWY_INLINE void find_in_row(D d, const TapRows& t, int64_t i, const T* from, T* to,
                            hwy::MakeUnsigned<T>* numbers) {
  using I = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::Set(du, I{1});
  auto best = hn::Zero(d);
  auto number = hn::Zero(du);
  for (int k = 0; k < t.taps; ++k) {
    const T* at = from + t.offsets[k] + (paired ? 2 * i : i);
    auto its = hn::Set(du, static_cast<I>(t.numbers[k]));
    hn::Vec<D> first, second{}, third{};
    if constexpr (paired) {
      load_pairs(d, at, &first, &second);
      if constexpr (along == 3) third = load_even(d, at + 2);
    } else {
      first = hn::LoadU(d, at);
      if constexpr (along > 1) second = hn::LoadU(d, at + 1);
      if constexpr (along > 2) third = hn::LoadU(d, at + 2);
    }
    // Each row by itself, so that rows need not wait for one another.
    auto local = its;
    if constexpr (along > 1) {
      its = hn::Add(its, one);
      contend<E>(d, du, second, its, &first, &local);
    }
    if constexpr (along > 2) contend<E>(d, du, third, hn::Add(its, one), &first, &local);
    if (k == 0) {
      best = first;
      number = local;
    } else {
      contend<E>(d, du, first, local, &best, &number);
    }
  }
  hn::StoreU(best, d, to + i);
  hn::StoreU(number, du, numbers + i);
}

template <class E, int along, bool paired, class T, class D>
HWY_INLINE void find_in_rows(D d, const TapRows& t) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  each_row<T>(t, [&t, d, step](const T* from, T* to, int64_t row) HWY_ATTR {
    auto* numbers = static_cast<hwy::MakeUnsigned<T>*>(t.index) + row;
    for (int64_t i = 0; i < t.lanes; i += step) {
      const int64_t lane = i + step <= t.lanes ? i : t.lanes - step;
      find_in_row<E, along, paired, T>(d, t, lane, from, to, numbers);
    }
  });
}

template <class E, class T>
void find_taps(const TapRows& t) {
  const hn::ScalableTag<T> widest;
  if (t.along == 0) {
    return fit_width(widest, t.lanes,
                     [&t](auto d) HWY_ATTR { find_in_rows<E, 1, false, T>(d, t); });
  }
  fit_pairs(widest, t.lanes, [&t](auto d) HWY_ATTR {
    if (t.along == 2) {
      if (t.paired) return find_in_rows<E, 2, true, T>(d, t);
      return find_in_rows<E, 2, false, T>(d, t);
    }
    if (t.paired) return find_in_rows<E, 3, true, T>(d, t);
    find_in_rows<E, 3, false, T>(d, t);
  });
}

// The gradients of the windows in the list that a lane has won, added up. `fixed`: so many windows
// (0: as many as the list has).
template <int fixed, class T, class D>
HWY_INLINE void spread_rows(D d, const TapRows& t) {
  using I = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> du;
  const I* all = static_cast<const I*>(t.index);
  const T* first = static_cast<const T*>(t.src);
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  each_row<T>(t, [&t, d, du, all, first, step](const T* from, T* to, int64_t) HWY_ATTR {
    const I* winners = all + (from - first);
    const auto of = [&](int k, int64_t i) HWY_ATTR {
      const int64_t at = t.offsets[k] + i;
      const auto number = hn::Set(du, static_cast<I>(t.numbers[k]));
      const auto won = hn::RebindMask(d, hn::Eq(hn::LoadU(du, winners + at), number));
      return hn::IfThenElseZero(won, hn::LoadU(d, from + at));
    };
    for (int64_t begin = 0; begin < t.lanes; begin += step) {
      const int64_t i = begin + step <= t.lanes ? begin : t.lanes - step;
      // A sum that begins with +0, so that none is -0.
      auto sum = hn::Add(hn::Zero(d), of(0, i));
      if constexpr (fixed > 1) sum = hn::Add(sum, of(1, i));
      if constexpr (fixed > 2) sum = hn::Add(sum, of(2, i));
      if constexpr (fixed > 3) sum = hn::Add(sum, of(3, i));
      if constexpr (fixed == 0) {
        for (int k = 1; k < t.taps; ++k) sum = hn::Add(sum, of(k, i));
      }
      hn::StoreU(sum, d, to + i);
    }
  });
}

// The gradient of one lane (of a tail) and of a vector of lanes, for a list of `fixed` windows (0:
// as many as it has).
template <class T>
T spread_one(const TapRows& t, const T* from, const hwy::MakeUnsigned<T>* winners, int64_t i) {
  T sum = 0;
  for (int k = 0; k < t.taps; ++k) {
    const int64_t at = t.offsets[k] + i;
    const bool won = winners[at] == static_cast<hwy::MakeUnsigned<T>>(t.numbers[k]);
    sum += won ? from[at] : T{0};
  }
  return sum;
}
template <int fixed, class D, class T>
HWY_INLINE hn::Vec<D> spread_vector(D d, const TapRows& t, const T* from,
                                    const hwy::MakeUnsigned<T>* winners, int64_t i) {
  using I = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> du;
  auto sum = hn::Zero(d);
  for (int k = 0; k < (fixed == 0 ? t.taps : fixed); ++k) {
    const int64_t at = t.offsets[k] + i;
    const auto number = hn::Set(du, static_cast<I>(t.numbers[k]));
    const auto won = hn::RebindMask(d, hn::Eq(hn::LoadU(du, winners + at), number));
    sum = hn::Add(sum, hn::IfThenElseZero(won, hn::LoadU(d, from + at)));
  }
  return sum;
}

// Two phases at once, put side by side.
template <int fixed, class T>
void spread_pair_rows(const TapRows& even, const TapRows& odd) {
  using I = hwy::MakeUnsigned<T>;
  const hn::ScalableTag<T> d;
  const int64_t n = odd.lanes;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < even.planes; ++p) {
    for (int64_t r = 0; r < even.rows; ++r) {
      const int64_t skip = p * even.src_plane + r * even.src_row;
      const T* const from[2] = {static_cast<const T*>(even.src) + skip,
                                static_cast<const T*>(odd.src) + skip};
      const I* const winners[2] = {static_cast<const I*>(even.index) + skip,
                                   static_cast<const I*>(odd.index) + skip};
      T* to = static_cast<T*>(even.dst) + p * even.dst_plane + r * even.dst_row;
      int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
      for (; i + step <= n; i += step) {
        hn::StoreInterleaved2(spread_vector<fixed>(d, even, from[0], winners[0], i),
                              spread_vector<fixed>(d, odd, from[1], winners[1], i), d, to + 2 * i);
      }
      if (i < n && n >= step) {
        i = n - step;
        hn::StoreInterleaved2(spread_vector<fixed>(d, even, from[0], winners[0], i),
                              spread_vector<fixed>(d, odd, from[1], winners[1], i), d, to + 2 * i);
        i = n;
      }
#else
      (void)step;
#endif
      for (; i < n; ++i) {
        to[2 * i] = spread_one(even, from[0], winners[0], i);
        to[2 * i + 1] = spread_one(odd, from[1], winners[1], i);
      }
      if (even.lanes > n) to[2 * n] = spread_one(even, from[0], winners[0], n);
    }
  }
}
template <class T>
void spread_pairs(const TapRows& even, const TapRows& odd) {
  if (even.taps == 1 && odd.taps == 1) return spread_pair_rows<1, T>(even, odd);
  spread_pair_rows<0, T>(even, odd);
}

template <class T>
void spread(const TapRows& t) {
  fit_width(hn::ScalableTag<T>(), t.lanes, [&t](auto d) HWY_ATTR {
    switch (t.taps) {
      case 1:
        return spread_rows<1, T>(d, t);
      case 2:
        return spread_rows<2, T>(d, t);
      case 4:
        return spread_rows<4, T>(d, t);
      default:
        return spread_rows<0, T>(d, t);
    }
  });
}

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
template <class E, class T>
struct Values {
  static void run(const TapRows& t) { combine_taps<Extremum<E>, T>(t); }
};
template <class E, class T>
struct Rows {
  static void run(const FusedRows& f) { combine_rows<Extremum<E>, T>(f); }
};
template <class E, class T>
struct Winners {
  static void run(const TapRows& t) { find_taps<E, T>(t); }
};

TapKernels make_table() {
  TapKernels t{};
  fill<Values, Max>(t.extreme[kMax]);
  fill<Values, Min>(t.extreme[kMin]);
  fill<Rows, Max>(t.extreme_rows[kMax]);
  fill<Rows, Min>(t.extreme_rows[kMin]);
  t.spread[0] = spread<float>;
  t.spread[1] = spread<double>;
  t.spread_pairs[0] = spread_pairs<float>;
  t.spread_pairs[1] = spread_pairs<double>;
  fill<Winners, Max>(t.winner[kMax]);
  fill<Winners, Min>(t.winner[kMin]);
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
