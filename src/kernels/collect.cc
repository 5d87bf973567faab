// What flows back to rows of cells: see CollectRows.
#include <cstring>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/collect.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/load_bytes.h"
#include "kernels/streamer.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

template <class T>
void unpack(const UnpackRows& u) {
  using I = hwy::MakeUnsigned<T>;
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < u.rows; ++r) {
    const uint8_t* winners = u.winners + r * u.outputs;
    const T* g = static_cast<const T*>(u.g) + r * u.outputs;
    I* numbers_to = static_cast<I*>(u.numbers_to) + r * u.to_row;
    T* g_to = static_cast<T*>(u.g_to) + r * u.to_row;
    if (u.outputs < step) {
      for (int64_t i = 0; i < u.outputs; ++i) {
        numbers_to[i] = winners[i];
        g_to[i] = g[i];
      }
      continue;
    }
    for (int64_t i = 0; i < u.outputs; i += step) {
      const int64_t at = i + step <= u.outputs ? i : u.outputs - step;
      hn::StoreU(load_bytes(du, winners + at), du, numbers_to + at);
      hn::StoreU(hn::LoadU(d, g + at), d, g_to + at);
    }
  }
}

// Two vectors, lane by lane side by side.
template <class D, class T>
HWY_INLINE void store_pairs(D d, hn::Vec<D> first, hn::Vec<D> second, T* to) {
#if HWY_TARGET == HWY_SCALAR
  hn::StoreU(first, d, to);
  hn::StoreU(second, d, to + 1);
#else
  hn::StoreInterleaved2(first, second, d, to);
#endif
}

// One column of vectors, from cell spacing*at on, downwards.
template <int taps, int spacing, bool odd_first, class T>
class Column {
 public:
  HWY_INLINE Column(const CollectRows& c, int64_t at)
      : g_(static_cast<const T*>(c.g) + at + c.pad / spacing),
        numbers_(static_cast<const I*>(c.numbers) + at + c.pad / spacing),
        to_(static_cast<T*>(c.dst) + at * spacing),
        left_(c.cells - at * spacing) {
    const D d;
    const DU du;
    for (int r = 0; r < taps; ++r) {
      sum_[r] = odd_[r] = hn::Zero(d);
      for (int t = 0; t < taps; ++t) {
        own_[r][t] = hn::Set(du, static_cast<I>(c.number) + static_cast<I>(r * taps + t));
      }
    }
  }
  HWY_INLINE bool whole() const { return left_ >= spacing * static_cast<int64_t>(hn::Lanes(D())); }

  // What a row of outputs gives to its rows of cells is added to their sums. Sums begin with +0, so
  // that none is -0.
  HWY_INLINE void add(int64_t src_row) {
    if constexpr (spacing == 1) {
      for (int tap = taps - 1; tap >= 0; --tap) add_tap(tap, -tap, sum_);
    } else {
      // Cells that are tap 0 or 2 of windows, and between them those that are tap 1.
      if constexpr (taps == 3) add_tap(2, odd_first ? 0 : -1, sum_);
      add_tap(0, odd_first ? 1 : 0, sum_);
      add_tap(1, 0, odd_);
    }
    g_ += src_row;
    numbers_ += src_row;
  }
  // The first rows of cells are finished.
  template <bool in_one_piece>
  HWY_INLINE void store(int r) {
    T rest[spacing * hn::MaxLanes(D())];
    T* to = in_one_piece ? to_ : rest;
    if constexpr (spacing == 1) {
      hn::StoreU(sum_[r], D(), to);
    } else {
      store_pairs(D(), odd_first ? odd_[r] : sum_[r], odd_first ? sum_[r] : odd_[r], to);
    }
    if constexpr (!in_one_piece) {
      const int64_t most = spacing * static_cast<int64_t>(hn::Lanes(D()));
      std::memcpy(to_, rest, static_cast<size_t>(left_ < most ? left_ : most) * sizeof(T));
    }
  }
  HWY_INLINE void advance(int64_t dst_row) { to_ += dst_row; }
  HWY_INLINE void move_on() {
    for (int r = 0; r < taps; ++r) {
      sum_[r] = r + spacing < taps ? sum_[r + spacing] : hn::Zero(D());
      odd_[r] = r + spacing < taps ? odd_[r + spacing] : hn::Zero(D());
    }
  }

 private:
  using I = hwy::MakeUnsigned<T>;
  using D = hn::ScalableTag<T>;
  using DU = hn::RebindToUnsigned<D>;
  using V = hn::Vec<D>;

  HWY_INLINE void add_tap(int tap, int64_t output, V* sums) {
    const D d;
    const auto number = hn::LoadU(DU(), numbers_ + output);
    const auto gradient = hn::LoadU(d, g_ + output);
    for (int r = 0; r < taps; ++r) {
      const auto won = hn::RebindMask(d, hn::Eq(number, own_[r][tap]));
      sums[r] = hn::Add(sums[r], hn::IfThenElseZero(won, gradient));
    }
  }

  const T* g_;
  const I* numbers_;
  T* to_;
  int64_t left_;
  V sum_[taps], odd_[taps];
  hn::Vec<DU> own_[taps][taps];  // the numbers with which a cell has won
};

template <int taps, int spacing, bool odd_first, class T>
HWY_INLINE void collect_column(const CollectRows& c, int64_t at, Fetch* fetch,
                               Meanwhile* meanwhile) {
  Column<taps, spacing, odd_first, T> column(c, at);
  const int64_t src_row = c.src_row, dst_row = c.dst_row, rows = c.rows;
  int64_t o = 0, row = -c.ahead;
  const size_t bytes = hn::Lanes(hn::ScalableTag<T>()) * sizeof(T);
  // Some rows of cells may lie outside; of some only a part.
  const auto some = [&](int64_t outputs) HWY_ATTR {
    for (; o < outputs; ++o, row += spacing) {
      column.add(src_row);
      for (int r = 0; r < spacing; ++r) {
        if (row + r < 0 || row + r >= rows) continue;
        column.whole() ? column.template store<true>(r) : column.template store<false>(r);
        column.advance(dst_row);
      }
      column.move_on();
    }
  };
  if (column.whole()) {
    const int64_t before = (c.ahead + spacing - 1) / spacing;
    some(before < c.outputs ? before : c.outputs);
    for (; o < c.outputs && row + spacing <= rows; ++o, row += spacing) {
      column.add(src_row);
      for (int r = 0; r < spacing; ++r) {
        column.template store<true>(r);
        column.advance(dst_row);
      }
      column.move_on();
      fetch->advance(bytes);
      meanwhile->send(spacing * spacing * bytes);
    }
  }
  some(c.outputs);
}

// Columns that cover the rows; the last overlaps the one before it if it can.
template <int taps, int spacing, bool odd_first, class T>
void collect_columns(const CollectRows& c) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  const int64_t last = c.cells % spacing == 0 ? c.cells / spacing - step : -1;
  Fetch fetch(c.next);
  Meanwhile meanwhile(c.finished);
  for (int64_t at = 0; at * spacing < c.cells; at += step) {
    collect_column<taps, spacing, odd_first, T>(c, last >= 0 && at > last ? last : at, &fetch,
                                                &meanwhile);
  }
  meanwhile.finish();
}
template <int taps, class T>
void collect_taps(const CollectRows& c) {
  if (c.spacing == 1) return collect_columns<taps, 1, false, T>(c);
  if (c.pad % 2 == 0) return collect_columns<taps, 2, false, T>(c);
  collect_columns<taps, 2, true, T>(c);
}
template <class T>
void collect(const CollectRows& c) {
  c.taps == 3 ? collect_taps<3, T>(c) : collect_taps<2, T>(c);
}

}  // namespace

const CollectKernels* collect_kernels() {
  static const CollectKernels table = {{unpack<float>, unpack<double>},
                                       {collect<float>, collect<double>}};
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(CollectKernels, collect_kernels)
}  // namespace ndpool
#endif
