// Windows of many taps, those of one axis, in the order in which the tree joins them. Included once
// per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_TAPS_IN_ORDER_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_TAPS_IN_ORDER_H_
#undef NDPOOL_SRC_KERNELS_TAPS_IN_ORDER_H_
#else
#define NDPOOL_SRC_KERNELS_TAPS_IN_ORDER_H_
#endif

#include <bit>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/kernels.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// `count` taps, up to 8, as the tree joins them.
template <class Op, class D, class T>
HWY_INLINE hn::Vec<D> tree_of(D d, const T* const* tap, int count, int64_t i) {
  if (count == 8) return tree<Op, 0, 8>(d, tap, i);
  if (count == 4) return tree<Op, 0, 4>(d, tap, i);
  const T* const* rest = tap + (count & 4);
  auto v = hn::LoadU(d, rest[0] + i);
  if ((count & 3) > 1) v = Op::many(v, hn::LoadU(d, rest[1] + i));
  if ((count & 3) > 2) v = Op::many(v, hn::LoadU(d, rest[2] + i));
  return (count & 4) != 0 ? Op::many(tree<Op, 0, 4>(d, tap, i), v) : v;
}

// Many taps that the tree joins as those of one axis: eight at a time for some lanes, so that each
// tap is read in pieces of some cache lines; nodes wait for their partners in memory of ours.
// fetch(taps, end): before a vector of so many taps is read, in the piece that ends at that lane.
template <class Op, int64_t vectors_at_once, class D, class T, class Fetch>
HWY_INLINE void in_pieces(D d, const T* from, const TapRows& t, T* to, Fetch fetch) {
  static_assert(vectors_at_once > 0);
  constexpr int64_t kLevels = 8, kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const int taps = t.taps;
  const int64_t lanes = t.lanes;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), vectors = (lanes + step - 1) / step;
  alignas(64) T waiting[kLevels][vectors_at_once * kLanes];
  for (int64_t begin = 0; begin < vectors; begin += vectors_at_once) {
    const int64_t end = begin + vectors_at_once < vectors ? begin + vectors_at_once : vectors;
    int depth = 0;
    for (int first = 0; first < taps; first += 8) {
      const int count = taps - first < 8 ? taps - first : 8;
      const T* tap[8];
      for (int k = 0; k < count; ++k) tap[k] = from + t.offsets[first + k];
      const bool last = first + 8 >= taps;
      const int joins = last ? depth : std::countr_one(static_cast<unsigned>(first) / 8);
      for (int64_t v = begin; v < end; ++v) {
        const int64_t i = (v + 1) * step <= lanes ? v * step : lanes - step;
        const int64_t own = (v - begin) * kLanes;
        fetch(count, end * step);
        auto sum = tree_of<Op>(d, tap, count, i);
        for (int j = 1; j <= joins; ++j) {
          sum = Op::many(hn::Load(d, waiting[depth - j] + own), sum);
        }
        if (last) {
          hn::StoreU(sum, d, to + i);
        } else {
          hn::Store(sum, d, waiting[depth - joins] + own);
        }
      }
      depth += 1 - joins;
    }
  }
}

template <class Op, class D, class T>
HWY_INLINE void in_order(D d, const T* from, const TapRows& t, T* to) {
  constexpr int64_t kLine = 64 / int64_t{sizeof(T)};
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), vectors = (t.lanes + step - 1) / step;
  // Memory keeps up with arithmetic only if what is fetched ahead comes evenly.
  const int64_t fetches = t.fetch == 0 ? 0 : t.fetch / (kLine * ((t.taps + 7) / 8) * vectors) + 1;
  const T* ahead = from + kAhead / int64_t{sizeof(T)};
  in_pieces<Op, 32>(d, from, t, to, [&](int, int64_t) HWY_ATTR {
    for (int64_t k = 0; k < fetches; ++k, ahead += kLine) hwy::Prefetch(ahead);
  });
}

// The same of taps that are far apart: some lanes are fetched tap by tap while those before them
// are joined, because memory reads a line of each tap in turn at half its speed. Behind the last
// lanes come the first of as many taps behind these.
template <class Op, class D, class T>
HWY_INLINE void far_in_order(D d, const T* from, const TapRows& t, T* to) {
  constexpr int64_t kPiece = 4096 / int64_t{sizeof(T)}, kLine = 64 / int64_t{sizeof(T)};
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));
  const int64_t behind = t.taps * (t.offsets[1] - t.offsets[0]);
  const int64_t lines = (static_cast<int64_t>(hn::Lanes(d)) + kLine - 1) / kLine;
  int64_t piece_end = 0, begin = 0, size = 0, at = 0;
  int tap = 0;
  in_pieces<Op, kPiece / kLanes>(d, from, t, to, [&](int taps, int64_t end) HWY_ATTR {
    if (end != piece_end) {
      const int64_t left = end < t.lanes ? t.lanes - end : t.lanes;
      piece_end = end;
      begin = end < t.lanes ? end : behind;
      size = left < kPiece ? left : kPiece;
      at = tap = 0;
    }
    for (int64_t k = 0; k < taps * lines && tap < t.taps; ++k) {
      fetch_later(from + t.offsets[tap] + begin + at);
      at += kLine;
      if (at >= size) {
        at = 0;
        ++tap;
      }
    }
  });
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_TAPS_IN_ORDER_H_
