// What flows back to rows of cells: see CollectRows.
#include <cstring>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/collect.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/tap_numbers.h"
#include "kernels/streamer.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

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

// The numbers with which a cell has won, by the taps that it is.
template <class D, int taps>
struct Taps {
  HWY_INLINE explicit Taps(uint32_t first) {
    for (int r = 0; r < taps; ++r) {
      for (int t = 0; t < taps; ++t) {
        number[r][t] = Numbers<D>::set(first + static_cast<uint32_t>(r * taps + t));
      }
    }
  }
  hn::Vec<typename Numbers<D>::DN> number[taps][taps];
};

// One column of vectors, from cell spacing*at on, downwards. `edge`: it reaches beyond the rows of
// outputs, where others lie; beyond the plane nothing is read.
template <class D, int taps, int spacing, bool odd_first, bool edge>
class Column {
 public:
  using T = hn::TFromD<D>;
  static constexpr bool kEdge = edge;
  static constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

  HWY_INLINE Column(const CollectRows& c, const Taps<D, taps>& own, int64_t at)
      : first_(first_output(c, at)),
        outputs_(c.outputs),
        cells_(c.cells),
        left_(c.cells - at * spacing),
        to_(static_cast<T*>(c.dst) + at * spacing),
        own_(own) {
    const D d;
    const int64_t skip = first_ + c.first * c.outputs;
    g_ = static_cast<const T*>(c.g) + skip;
    winners_ = c.winners + skip;
    for (int r = 0; r < taps; ++r) sum_[r] = odd_[r] = hn::Zero(d);
    if constexpr (edge) {
      const DI di;
      for (int i = 0; i < kReads; ++i) {
        const auto output = hn::Iota(di, static_cast<S>(first_ + i));
        const auto absent = hn::Or(hn::Gt(hn::Zero(di), output),
                                   hn::Gt(output, hn::Set(di, static_cast<S>(outputs_ - 1))));
        absent_[i] = Numbers<D>::from_lanes(hn::BitCast(DU(), hn::VecFromMask(di, absent)));
      }
    }
  }

  // Whether all outputs that may hold a cell of the column are in the row.
  static bool inside(const CollectRows& c, int64_t at) {
    const int64_t first = first_output(c, at);
    return first >= 0 && first + kReach <= c.outputs;
  }
  // The first of the rows of outputs around which a vector can be read, and the one behind them.
  HWY_INLINE int64_t readable_begin() const {
    return !edge || first_ >= 0 ? 0 : (outputs_ - 1 - first_) / outputs_;
  }
  HWY_INLINE int64_t readable_end(int64_t rows) const {
    const int64_t behind = first_ + kReach - outputs_;
    return !edge || behind <= 0 ? rows : rows - (outputs_ - 1 + behind) / outputs_;
  }
  HWY_INLINE bool whole() const { return left_ >= spacing * kLanes; }

  // What a row of outputs gives to its rows of cells is added to their sums. Sums begin with +0, so
  // that none is -0.
  HWY_INLINE void add() {
    N number[kReads];
    V gradient[kReads];
    for (int i = 0; i < kReads; ++i) {
      number[i] = Numbers<D>::load(winners_ + i);
      gradient[i] = hn::LoadU(D(), g_ + i);
      if constexpr (edge) number[i] = hn::Or(number[i], absent_[i]);
    }
    add_outputs(number, gradient);
  }
  // The same where the plane ends: a vector of the row is read, and its lanes are moved.
  HWY_INLINE void add_moved() {
    static_assert(edge);
    const DI di;
    N number[kReads];
    V gradient[kReads];
    for (int i = 0; i < kReads; ++i) {
      const int64_t most = outputs_ - kLanes, at = first_ + i;
      const int64_t move = at < 0 ? -at : at > most ? most - at : 0;
      const auto lanes = hn::And(hn::Iota(di, static_cast<S>(-move)), hn::Set(di, S{kLanes - 1}));
      const auto indices = hn::IndicesFromVec(DU(), hn::BitCast(DU(), lanes));
      const hn::Vec<DU> bytes = load_bytes(DU(), winners_ + i + move);
      const V lane = hn::LoadU(D(), g_ + i + move);
      const N moved = Numbers<D>::from_lanes(hn::TableLookupLanes(bytes, indices));
      number[i] = hn::Or(moved, absent_[i]);
      gradient[i] = hn::BitCast(D(), hn::TableLookupLanes(hn::BitCast(DU(), lane), indices));
    }
    add_outputs(number, gradient);
  }
  // The first rows of cells are finished.
  template <bool in_one_piece>
  HWY_INLINE void store(int r) {
    T rest[spacing * kLanes];
    T* to = in_one_piece ? to_ : rest;
    if constexpr (spacing == 1) {
      hn::StoreU(sum_[r], D(), to);
    } else {
      store_pairs(D(), odd_first ? odd_[r] : sum_[r], odd_first ? sum_[r] : odd_[r], to);
    }
    if constexpr (!in_one_piece) {
      const int64_t most = spacing * kLanes;
      std::memcpy(to_, rest, static_cast<size_t>(left_ < most ? left_ : most) * sizeof(T));
    }
    to_ += cells_;
  }
  HWY_INLINE void move_on() {
    for (int r = 0; r < taps; ++r) {
      sum_[r] = r + spacing < taps ? sum_[r + spacing] : hn::Zero(D());
      odd_[r] = r + spacing < taps ? odd_[r + spacing] : hn::Zero(D());
    }
  }

 private:
  using I = hwy::MakeUnsigned<T>;
  using S = hwy::MakeSigned<T>;
  using DU = hn::RebindToUnsigned<D>;
  using DI = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  using N = hn::Vec<typename Numbers<D>::DN>;
  // Vectors of outputs that hold the cells, each one output further than the one before it.
  static constexpr int kReads = spacing == 1 ? taps : taps == 3 || odd_first ? 2 : 1;
  static constexpr int64_t kReach = kLanes + kReads - 1;

  static int64_t first_output(const CollectRows& c, int64_t at) {
    if constexpr (spacing == 1) return at + c.pad - (taps - 1);
    return at + c.pad / 2 - (taps == 3 && !odd_first ? 1 : 0);
  }

  HWY_INLINE void add_outputs(const N* number, const V* gradient) {
    if constexpr (spacing == 1) {
      for (int i = 0; i < taps; ++i) add_tap(taps - 1 - i, number[i], gradient[i], sum_);
    } else {
      // Cells that are tap 0 or 2 of windows, and between them those that are tap 1.
      constexpr int kOdd = taps == 3 && !odd_first ? 1 : 0;
      if constexpr (taps == 3) add_tap(2, number[0], gradient[0], sum_);
      add_tap(0, number[kReads - 1], gradient[kReads - 1], sum_);
      add_tap(1, number[kOdd], gradient[kOdd], odd_);
    }
    g_ += outputs_;
    winners_ += outputs_;
  }
  HWY_INLINE void add_tap(int tap, N number, V gradient, V* sums) {
    const D d;
    for (int r = 0; r < taps; ++r) {
      const auto won = Numbers<D>::equal(number, own_.number[r][tap]);
      sums[r] = added_where(d, won, sums[r], gradient);
    }
  }

  int64_t first_, outputs_, cells_, left_;
  T* to_;
  const T* g_;
  const uint8_t* winners_;
  V sum_[taps], odd_[taps];
  const Taps<D, taps>& own_;
  N absent_[kReads];
};

template <class Column, int spacing, class Taps>
HWY_INLINE void collect_column(const CollectRows& c, const Taps& own, int64_t at, Fetch* g,
                               Fetch* winners, Meanwhile* meanwhile) {
  constexpr int64_t kGroup = 4;  // rows
  constexpr size_t kBytes = Column::kLanes * sizeof(typename Column::T);
  Column column(c, own, at);
  const int64_t rows = c.rows;
  const int64_t readable_begin = column.readable_begin();
  const int64_t readable_end = column.readable_end(c.output_rows);
  int64_t o = c.first, row = -c.ahead;
  while (row < rows) {
    const bool readable = o >= readable_begin && o < readable_end;
    if (readable && row >= 0 && row + spacing <= rows && column.whole()) {
      // Copies, which nothing that is written can be part of.
      Fetch fetch_g = *g, fetch_winners = *winners;
      Meanwhile sent = *meanwhile;
      const int64_t below = (rows - row) / spacing, there = readable_end - o;
      for (int64_t left = below < there ? below : there; left > 0;) {
        const int64_t group = left < kGroup ? left : kGroup;
        for (int64_t i = 0; i < group; ++i) {
          column.add();
          for (int r = 0; r < spacing; ++r) column.template store<true>(r);
          column.move_on();
        }
        left -= group;
        o += group;
        row += spacing * group;
        fetch_g.advance(kGroup * kBytes);
        fetch_winners.advance(kGroup * Column::kLanes);
        sent.send(kGroup * spacing * spacing * kBytes);
      }
      *g = fetch_g;
      *winners = fetch_winners;
      *meanwhile = sent;
      continue;
    }
    // Some rows of outputs are not there, and some rows of cells lie outside; of some cells only a
    // part.
    if (readable) {
      column.add();
    } else if constexpr (Column::kEdge) {
      if (o < c.output_rows) column.add_moved();
    }
    for (int r = 0; r < spacing; ++r) {
      if (row + r < 0 || row + r >= rows) continue;
      column.whole() ? column.template store<true>(r) : column.template store<false>(r);
    }
    column.move_on();
    ++o;
    row += spacing;
  }
}

// Columns that cover the rows; the last overlaps the one before it if it can.
template <class D, int taps, int spacing, bool odd_first>
void collect_columns(const CollectRows& c) {
  using Inside = Column<D, taps, spacing, odd_first, false>;
  using Edge = Column<D, taps, spacing, odd_first, true>;
  const int64_t step = static_cast<int64_t>(hn::Lanes(D()));
  const int64_t last = c.cells % spacing == 0 ? c.cells / spacing - step : -1;
  const Taps<D, taps> own(c.number);
  Fetch g(c.next_g, c.later), winners(c.next_winners, c.later);
  Meanwhile meanwhile(c.finished);
  for (int64_t i = 0; i * spacing < c.cells; i += step) {
    const int64_t at = last >= 0 && i > last ? last : i;
    if (Inside::inside(c, at)) {
      collect_column<Inside, spacing>(c, own, at, &g, &winners, &meanwhile);
    } else {
      collect_column<Edge, spacing>(c, own, at, &g, &winners, &meanwhile);
    }
  }
  g.finish();
  winners.finish();
  meanwhile.finish();
}
template <class D, int taps>
void collect_taps(const CollectRows& c) {
  if (c.spacing == 1) return collect_columns<D, taps, 1, false>(c);
  if (c.pad % 2 == 0) return collect_columns<D, taps, 2, false>(c);
  collect_columns<D, taps, 2, true>(c);
}
template <class D>
void collect_lanes(const CollectRows& c) {
  c.taps == 3 ? collect_taps<D, 3>(c) : collect_taps<D, 2>(c);
}

// Vectors for rows of which the widest would be too wide.
template <class T>
using Narrow = hn::CappedTag<T, 32 / sizeof(T)>;

template <class T>
void collect(const CollectRows& c) {
  using Wide = hn::ScalableTag<T>;
  if constexpr (hn::MaxLanes(Wide()) > hn::MaxLanes(Narrow<T>())) {
    if (c.outputs < static_cast<int64_t>(hn::Lanes(Wide()))) return collect_lanes<Narrow<T>>(c);
  }
  collect_lanes<Wide>(c);
}

template <class T>
int64_t least() {
  return static_cast<int64_t>(hn::Lanes(Narrow<T>()));
}

}  // namespace

const CollectKernels* collect_kernels() {
  static const CollectKernels table = {{least<float>(), least<double>()},
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
