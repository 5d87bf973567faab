// Small windows on planes whose channels come last: see ChannelRows.
#include "kernels/channels.h"

#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/channels.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/divide.h"
#include "kernels/in_order.h"
#include "kernels/numbers.h"
#include "kernels/tap_numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using N = hn::Vec<Numbers<D>::DN>;

// Fetches what the rows of windows need later, in the order in which it lies in memory, and what
// the windows of this row need soon.
class Ahead {
 public:
  explicit Ahead(const ChannelRows& c)
      : row_(c.along.cells * c.channels),
        fresh_(c.down.stride < c.down.taps ? c.down.stride : c.down.taps),
        near_(c.along.stride * c.channels),
        far_(c.far ? (c.down.stride * row_ / c.along.outputs + kLine - 1) / kLine * kLine : 0) {}
  // `end`: the first row of cells behind the windows.
  HWY_INLINE void enter_row(const float* plane, int64_t end) {
    soon_ = plane + (end - fresh_) * row_ + kSoon;
    later_ = plane + end * row_ + kLater;
  }
  HWY_INLINE void next() {
    for (int64_t r = 0; r < fresh_; ++r) {
      for (int64_t i = 0; i < near_; i += kLine) hwy::Prefetch(soon_ + r * row_ + i);
    }
    soon_ += near_;
    for (int64_t i = 0; i < far_; i += kLine) fetch_later(later_ + i);
    later_ += far_;
  }

 private:
  static constexpr int64_t kLine = 64 / sizeof(float), kSoon = 512, kLater = 32768;  // elements
  int64_t row_, fresh_, near_, far_;
  const float *soon_ = nullptr, *later_ = nullptr;
};

// What some taps of a window come to, in the lanes of one vector.
template <class Op, bool winners>
class Found {
 public:
  HWY_INLINE Found(V v, uint32_t number) : best_(v), number_(Numbers<D>::set(number)) {}
  HWY_INLINE void contend(V v, uint32_t number) {
    if constexpr (winners) {
      const auto take = Op::replaces(v, best_);
      number_ = hn::IfThenElse(Numbers<D>::mask_of(take), Numbers<D>::set(number), number_);
      best_ = kNumbers<Op> ? Op::many(v, best_) : hn::IfThenElse(take, v, best_);
    } else {
      best_ = Op::many(best_, v);
    }
  }
  HWY_INLINE V best() const { return best_; }
  HWY_INLINE N number() const { return number_; }

 private:
  V best_;
  N number_;
};

// A window, or those of its taps that are cells.
struct Window {
  const float* from;
  int64_t row, channels;  // from row to row, and from cell to cell
  uint32_t number;        // of the first tap
  uint32_t taps;          // along a row, of a whole window
};

// Sums go down, then along, as the order of addition is; extrema tap by tap.
template <class Op, bool winners, Way way>
class Pool {
 public:
  HWY_INLINE explicit Pool(const ChannelRows& c)
      : to_(c.to),
        winners_(c.winners),
        divide_(c.divisor),
        seen_(hn::Zero(D())),
        seen_too_(hn::Zero(D())) {}

  // `fresh`: in so many of the last rows, the last cells are seen for the first time.
  template <int fresh>
  HWY_INLINE void window(const Window& w, int down, int along) {
    const D d;
    const int64_t step = static_cast<int64_t>(hn::Lanes(d)), row = w.row, channels = w.channels;
    const float* from = w.from;
    for (int64_t left = channels; left > 0; left -= step, from += step) {
      if constexpr (kSums<Op>) {
        V sum = column(from, row, down);
        for (int t = 1; t < along; ++t) sum = hn::Add(sum, column(from + t * channels, row, down));
        to_.put(divide_.exact ? hn::Mul(sum, hn::Set(d, divide_.factor))
                              : hn::Div(sum, hn::Set(d, divide_.divisor)));
      } else {
        const V first = hn::LoadU(d, from);
        Found<Op, winners> found(first, w.number);
        if (fresh >= down && fresh >= along) look(first, 0);
        for (int k = 1; k < along; ++k) {
          const V v = hn::LoadU(d, from + k * channels);
          if (fresh >= down && k >= along - fresh) look(v, k);
          found.contend(v, w.number + static_cast<uint32_t>(k));
        }
        for (int r = 1; r < down; ++r) {
          for (int k = 0; k < along; ++k) {
            const V v = hn::LoadU(d, from + r * row + k * channels);
            if (r >= down - fresh && k >= along - fresh) look(v, k);
            found.contend(v,
                          w.number + static_cast<uint32_t>(r) * w.taps + static_cast<uint32_t>(k));
          }
        }
        to_.put(found.best());
        if constexpr (winners) {
          Numbers<D>::store(found.number(), winners_);
          winners_ += step;
        }
      }
    }
  }
  // Whether there was no NaN.
  HWY_INLINE bool finish() {
    to_.finish();
    return !kNumbers<Op> || hn::AllFalse(D(), hn::IsNaN(hn::Add(seen_, seen_too_)));
  }

 private:
  static HWY_INLINE V column(const float* from, int64_t row, int down) {
    V sum = hn::LoadU(D(), from);
    for (int r = 1; r < down; ++r) sum = hn::Add(sum, hn::LoadU(D(), from + r * row));
    return sum;
  }
  // NaN stays in a sum.
  HWY_INLINE void look(V v, int tap) {
    if constexpr (kNumbers<Op>) {
      if (tap % 2 == 0) {
        seen_ = hn::Add(seen_, v);
      } else {
        seen_too_ = hn::Add(seen_too_, v);
      }
    }
  }

  InOrder<way> to_;
  uint8_t* winners_;
  Divide<float> divide_;
  V seen_, seen_too_;
};

// Windows of `rows` by `taps` cells, of which `fresh` on each axis are in no window before.
template <class Op, bool winners, int rows, int taps, int fresh, Way way>
bool pool_rows(const ChannelRows& c) {
  constexpr int kAll = static_cast<int>(ChannelAxis::kMostTaps);
  const ChannelAxis down_axis = c.down, along_axis = c.along;
  const float* const plane = c.x;
  const int64_t channels = c.channels, row = along_axis.cells * channels;
  Ahead ahead(c);
  Pool<Op, winners, way> pool(c);
  for (int64_t r = c.first, end = c.first + c.rows, first = r; r < end; ++r) {
    const ChannelAxis::Part down = down_axis.cells_of(r);
    const float* from = plane + down.first * row;
    const auto first_number = static_cast<uint32_t>(down.tap * along_axis.taps);
    ahead.enter_row(plane, down.first + down.count);
    for (int64_t o = 0; o < along_axis.outputs; ++o) {
      const ChannelAxis::Part along = along_axis.cells_of(o);
      const Window window{from + along.first * channels, row, channels,
                          first_number + static_cast<uint32_t>(along.tap),
                          static_cast<uint32_t>(along_axis.taps)};
      ahead.next();
      if (down.count < rows || along.count < taps) {
        pool.template window<kAll>(window, static_cast<int>(down.count),
                                   static_cast<int>(along.count));
      } else if (fresh < taps && (r == first || o == 0)) {
        pool.template window<taps>(window, rows, taps);
      } else {
        pool.template window<fresh>(window, rows, taps);
      }
    }
  }
  return pool.finish();
}

template <class Op, bool winners, int rows, int taps, int fresh>
bool pool_ways(const ChannelRows& c) {
  const Way way = way_of(c.to, c.streamed);
  if (way == Way::kPlain) return pool_rows<Op, winners, rows, taps, fresh, Way::kPlain>(c);
  if (way == Way::kStreamed) return pool_rows<Op, winners, rows, taps, fresh, Way::kStreamed>(c);
  return pool_rows<Op, winners, rows, taps, fresh, Way::kMoved>(c);
}
template <class Op, bool winners, int rows, int taps>
bool pool_strides(const ChannelRows& c) {
  if constexpr (kNumbers<Op>) {
    const int64_t stride = std::max(rows > 1 ? c.down.stride : 1, c.along.stride);
    if (stride == 1) return pool_ways<Op, winners, rows, taps, 1>(c);
    if (taps > 2 && stride == 2) return pool_ways<Op, winners, rows, taps, 2>(c);
  }
  return pool_ways<Op, winners, rows, taps, taps>(c);
}
template <class Op, bool winners>
bool pool(const ChannelRows& c) {
  if (c.down.taps == 1) {
    return c.along.taps == 2 ? pool_strides<Op, winners, 1, 2>(c)
                             : pool_strides<Op, winners, 1, 3>(c);
  }
  return c.along.taps == 2 ? pool_strides<Op, winners, 2, 2>(c)
                           : pool_strides<Op, winners, 3, 3>(c);
}

ChannelKernels make_table() {
  ChannelKernels t;
  t.lanes = static_cast<int64_t>(hn::Lanes(D()));
  t.any_place = kMovesInOrder;
  t.extremes[kMax] = {pool<OfNumbers<Max>, false>, pool<OfAnything<Max>, false>};
  t.extremes[kMin] = {pool<OfNumbers<Min>, false>, pool<OfAnything<Min>, false>};
  t.winners[kMax] = {pool<OfNumbers<Max>, true>, pool<OfAnything<Max>, true>};
  t.winners[kMin] = {pool<OfNumbers<Min>, true>, pool<OfAnything<Min>, true>};
  t.average = pool<Sum, false>;
  return t;
}

#else

ChannelKernels make_table() { return {}; }

#endif

}  // namespace

const ChannelKernels* channel_kernels() {
  static const ChannelKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(ChannelKernels, channel_kernels)
}  // namespace ndpool
#endif
