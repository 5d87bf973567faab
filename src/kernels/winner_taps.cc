// Who wins, and what flows back: the first winning tap of a list, and the gradients of the windows
// that a lane has won.
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/winner_taps.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/order.h"
#include "kernels/streamer.h"
#include "kernels/tap_numbers.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

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

// The first tap of the list that wins, and its number. With `along` of 2 or 3: rows of taps, each
// of that many neighbours (at every second lane if `paired`), the numbers of which count up.
template <class E, class T, class D>
HWY_INLINE void find_in_row(D d, int along, bool paired, const TapRows& t, int64_t i, const T* from,
                            T* to, hwy::MakeUnsigned<T>* numbers) {
  using I = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> du;
  const auto one = hn::Set(du, I{1});
  auto best = hn::Zero(d);
  auto number = hn::Zero(du);
  for (int k = 0; k < t.taps; ++k) {
    const T* at = from + t.offsets[k] + (paired ? 2 * i : i);
    auto its = hn::Set(du, static_cast<I>(t.numbers[k]));
    hn::Vec<D> first, second{}, third{};
    if (paired) {
      load_pairs(d, at, &first, &second);
      if (along == 3) third = load_even(d, at + 2);
    } else {
      first = hn::LoadU(d, at);
      if (along > 1) second = hn::LoadU(d, at + 1);
      if (along > 2) third = hn::LoadU(d, at + 2);
    }
    // Each row by itself, so that rows need not wait for one another.
    auto local = its;
    if (along > 1) {
      its = hn::Add(its, one);
      contend<E>(d, du, second, its, &first, &local);
    }
    if (along > 2) contend<E>(d, du, third, hn::Add(its, one), &first, &local);
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

// Lists come as copies, which nothing that is written can be part of: compilers keep them in
// registers. Loops are written out, for the same reason: whether they inline a lambda depends on
// what else is in the file.
template <class E, class T, class D>
HWY_INLINE void find_in_rows(D d, int along, bool paired, TapRows t) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), lanes = t.lanes, rows = t.rows;
  for (int64_t p = 0; p < t.planes; ++p) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = static_cast<const T*>(t.src) + p * t.src_plane + r * t.src_row;
      T* to = static_cast<T*>(t.dst) + p * t.dst_plane + r * t.dst_row;
      auto* numbers =
          static_cast<hwy::MakeUnsigned<T>*>(t.index) + p * t.index_plane + r * t.index_row;
      for (int64_t i = 0; i < lanes; i += step) {
        const int64_t lane = i + step <= lanes ? i : lanes - step;
        find_in_row<E>(d, along, paired, t, lane, from, to, numbers);
      }
    }
  }
}

// The same for lists of `taps` single taps.
template <int taps, class E, class T, class D>
HWY_INLINE void find_in_fixed(D d, TapRows t) {
  using I = hwy::MakeUnsigned<T>;
  const hn::RebindToUnsigned<D> du;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), lanes = t.lanes, rows = t.rows;
  int64_t offsets[taps];
  hn::Vec<decltype(du)> numbers[taps];
  for (int k = 0; k < taps; ++k) {
    offsets[k] = t.offsets[k];
    numbers[k] = hn::Set(du, static_cast<I>(t.numbers[k]));
  }
  const T* next = static_cast<const T*>(t.next);
  Meanwhile meanwhile(t.finished ? *t.finished : Finished{});
  for (int64_t p = 0; p < t.planes; ++p) {
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = static_cast<const T*>(t.src) + p * t.src_plane + r * t.src_row;
      T* to = static_cast<T*>(t.dst) + p * t.dst_plane + r * t.dst_row;
      I* index = static_cast<I*>(t.index) + p * t.index_plane + r * t.index_row;
      fetch_later(next, t.fetch_next);
      next += t.fetch_next;
      fetch_near(from, t);
      for (int64_t begin = 0; begin < lanes; begin += step) {
        const int64_t i = begin + step <= lanes ? begin : lanes - step;
        auto best = hn::LoadU(d, from + offsets[0] + i);
        auto number = numbers[0];
        for (int k = 1; k < taps; ++k) {
          contend<E>(d, du, hn::LoadU(d, from + offsets[k] + i), numbers[k], &best, &number);
        }
        hn::StoreU(best, d, to + i);
        hn::StoreU(number, du, index + i);
      }
      meanwhile.send(static_cast<size_t>(lanes) * sizeof(T));
    }
  }
  if (t.finished) *t.finished = meanwhile.rest();
}

template <class E, class T>
void find_taps(const TapRows& t) {
  const hn::ScalableTag<T> widest;
  if constexpr (std::is_same_v<T, float>) {
    if (t.along == 0 && t.lanes >= static_cast<int64_t>(hn::Lanes(widest))) {
      if (t.taps == 4) return find_in_fixed<4, E, T>(widest, t);
      if (t.taps == 9) return find_in_fixed<9, E, T>(widest, t);
    }
  }
  if (t.along == 0) {
    return fit_width(widest, t.lanes,
                     [&t](auto d) HWY_ATTR { find_in_rows<E, T>(d, 1, false, t); });
  }
  fit_pairs(widest, t.lanes, [&t](auto d) HWY_ATTR {
    // Made for each case in the type that networks train in; others decide as they go.
    if constexpr (std::is_same_v<T, float>) {
      if (t.along == 2) {
        if (t.paired) return find_in_rows<E, T>(d, 2, true, t);
        return find_in_rows<E, T>(d, 2, false, t);
      }
      if (t.paired) return find_in_rows<E, T>(d, 3, true, t);
      return find_in_rows<E, T>(d, 3, false, t);
    } else {
      find_in_rows<E, T>(d, t.along, t.paired, t);
    }
  });
}

// Windows of `taps` neighbours, `spacing` lanes apart, one vector of them from output i on.
template <class E, int taps, int spacing, class D>
HWY_INLINE void along_vector(D d, const AlongWinners& a, int64_t i) {
  const hn::RebindToUnsigned<D> du;
  const float* at = a.row + a.origin + i * spacing;
  hn::Vec<D> first, second, third{}, unused;
  if constexpr (spacing == 2) {
    load_pairs(d, at, &first, &second);
    if constexpr (taps == 3) load_pairs(d, at + 1, &unused, &third);
  } else {
    first = hn::LoadU(d, at);
    second = hn::LoadU(d, at + 1);
    if constexpr (taps == 3) third = hn::LoadU(d, at + 2);
  }
  auto number = hn::Zero(du);
  contend<E>(d, du, second, hn::Set(du, 1U), &first, &number);
  if constexpr (taps == 3) contend<E>(d, du, third, hn::Set(du, 2U), &first, &number);
  hn::StoreU(first, d, a.values + i);
  hn::StoreU(number, du, a.numbers + i);
}

template <class E, int taps, int spacing>
void along_row(const AlongWinners& a) {
  const hn::CappedTag<float, 1> one;
  const hn::RebindToUnsigned<decltype(one)> number_of_one;
  const auto edge = [&](int64_t i) HWY_ATTR {
    auto best = hn::Zero(one);
    auto number = hn::Zero(number_of_one);
    bool any = false;
    for (int t = 0; t < taps; ++t) {
      const int64_t cell = a.origin + i * spacing + t;
      if (cell < 0 || cell >= a.cells) continue;
      const auto its = hn::Set(number_of_one, static_cast<uint32_t>(t));
      const auto value = hn::LoadU(one, a.row + cell);
      if (any) {
        contend<E>(one, number_of_one, value, its, &best, &number);
      } else {
        best = value;
        number = its;
      }
      any = true;
    }
    hn::StoreU(best, one, a.values + i);
    hn::StoreU(number, number_of_one, a.numbers + i);
  };
  for (int64_t i = 0; i < a.begin; ++i) edge(i);
  const hn::ScalableTag<float> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (a.end - a.begin >= step) {
    for (int64_t i = a.begin; i < a.end; i += step) {
      along_vector<E, taps, spacing>(d, a, i + step <= a.end ? i : a.end - step);
    }
  } else {
    for (int64_t i = a.begin; i < a.end; ++i) along_vector<E, taps, spacing>(one, a, i);
  }
  for (int64_t i = a.end; i < a.outputs; ++i) edge(i);
}
template <class E>
void along(const AlongWinners& a) {
  if (a.spacing == 2) return a.taps == 3 ? along_row<E, 3, 2>(a) : along_row<E, 2, 2>(a);
  a.taps == 3 ? along_row<E, 3, 1>(a) : along_row<E, 2, 1>(a);
}

template <class E, class D>
HWY_INLINE void across_vector(D d, const AcrossWinners& a, int64_t i) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  auto best = hn::LoadU(d, a.values[0] + i);
  auto number = hn::Add(hn::LoadU(du, a.numbers[0] + i), hn::Set(du, a.add[0]));
  for (int r = 1; r < a.rows; ++r) {
    const auto its = hn::Add(hn::LoadU(du, a.numbers[r] + i), hn::Set(du, a.add[r]));
    contend<E>(d, du, hn::LoadU(d, a.values[r] + i), its, &best, &number);
  }
  hn::StoreU(best, d, a.best + i);
  const hn::Rebind<uint8_t, D> bytes;
  hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(di, number)), bytes, a.winners + i);
}
template <class E>
void across(const AcrossWinners& a) {
  const hn::ScalableTag<float> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (a.lanes < step) {
    for (int64_t i = 0; i < a.lanes; ++i) across_vector<E>(hn::CappedTag<float, 1>(), a, i);
    return;
  }
  for (int64_t i = 0; i < a.lanes; i += step) {
    across_vector<E>(d, a, i + step <= a.lanes ? i : a.lanes - step);
  }
}

// The gradients of the windows in the list that a lane has won, added up. `fixed`: so many windows
// (0: as many as the list has).
template <int fixed, class T, class D>
HWY_INLINE void spread_rows(D d, TapRows t) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), lanes = t.lanes, rows = t.rows;
  constexpr int kMost = fixed > 0 ? fixed : 1;
  int64_t offsets[kMost];
  hn::Vec<typename Numbers<D>::DN> numbers[kMost];
  for (int k = 0; k < kMost; ++k) {
    offsets[k] = t.offsets[k];
    numbers[k] = Numbers<D>::set(t.numbers[k]);
  }
  for (int64_t p = 0; p < t.planes; ++p) {
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t skip = p * t.src_plane + r * t.src_row;
      const T* from = static_cast<const T*>(t.src) + skip;
      const uint8_t* winners = static_cast<const uint8_t*>(t.index) + skip;
      T* to = static_cast<T*>(t.dst) + p * t.dst_plane + r * t.dst_row;
      for (int64_t begin = 0; begin < lanes; begin += step) {
        const int64_t i = begin + step <= lanes ? begin : lanes - step;
        auto sum = hn::Zero(d);  // so that none is -0
        for (int k = 0; k < (fixed == 0 ? t.taps : fixed); ++k) {
          const int64_t at = (fixed == 0 ? t.offsets[k] : offsets[k]) + i;
          auto number = numbers[fixed == 0 ? 0 : k];
          if constexpr (fixed == 0) number = Numbers<D>::set(t.numbers[k]);
          const auto won = Numbers<D>::equal(Numbers<D>::load(winners + at), number);
          sum = added_where(d, won, sum, hn::LoadU(d, from + at));
        }
        hn::StoreU(sum, d, to + i);
      }
    }
  }
}

// The gradient of one lane (of a tail) and of a vector of lanes, for a list of `fixed` windows (0:
// as many as it has).
template <class T>
T spread_one(const TapRows& t, const T* from, const uint8_t* winners, int64_t i) {
  T sum = 0;
  for (int k = 0; k < t.taps; ++k) {
    const int64_t at = t.offsets[k] + i;
    sum += winners[at] == t.numbers[k] ? from[at] : T{0};
  }
  return sum;
}
template <int fixed, class D, class T>
HWY_INLINE hn::Vec<D> spread_vector(D d, const TapRows& t, const T* from, const uint8_t* winners,
                                    int64_t i) {
  auto sum = hn::Zero(d);
  for (int k = 0; k < (fixed == 0 ? t.taps : fixed); ++k) {
    const int64_t at = t.offsets[k] + i;
    const auto number = Numbers<D>::set(t.numbers[k]);
    const auto won = Numbers<D>::equal(Numbers<D>::load(winners + at), number);
    sum = added_where(d, won, sum, hn::LoadU(d, from + at));
  }
  return sum;
}

// Two phases at once, put side by side.
template <int fixed, class T>
void spread_pair_rows(const TapRows& even, const TapRows& odd) {
  const hn::ScalableTag<T> d;
  const int64_t n = odd.lanes;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t p = 0; p < even.planes; ++p) {
    for (int64_t r = 0; r < even.rows; ++r) {
      const int64_t skip = p * even.src_plane + r * even.src_row;
      const T* const from[2] = {static_cast<const T*>(even.src) + skip,
                                static_cast<const T*>(odd.src) + skip};
      const uint8_t* const winners[2] = {static_cast<const uint8_t*>(even.index) + skip,
                                         static_cast<const uint8_t*>(odd.index) + skip};
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

template <class E, class T>
struct Winners {
  static void run(const TapRows& t) { find_taps<E, T>(t); }
};

WinnerTapKernels make_table() {
  WinnerTapKernels t{};
  fill<Winners, Max>(t.find[kMax]);
  fill<Winners, Min>(t.find[kMin]);
  t.along[kMax] = along<Max>;
  t.along[kMin] = along<Min>;
  t.across[kMax] = across<Max>;
  t.across[kMin] = across<Min>;
  t.spread[0] = spread<float>;
  t.spread[1] = spread<double>;
  t.spread_pairs[0] = spread_pairs<float>;
  t.spread_pairs[1] = spread_pairs<double>;
  return t;
}

}  // namespace

const WinnerTapKernels* winner_tap_kernels() {
  static const WinnerTapKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(WinnerTapKernels, winner_tap_kernels)
}  // namespace ndpool
#endif
