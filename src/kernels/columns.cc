// Small windows, column by column of vectors: see ColumnRows.
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/columns.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/divide.h"
#include "kernels/order.h"
#include "kernels/streamer.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// The extremum of numbers: one instruction instead of three.
template <class E>
struct OfNumbers {
  static HWY_INLINE V many(V a, V b) { return E::extreme(a, b); }
  static HWY_INLINE hn::Mask<D> replaces(V b, V a) { return E::beyond(b, a); }
};
// That of anything; NaN stays.
template <class E>
struct OfAnything : Extremum<E> {
  static HWY_INLINE hn::Mask<D> replaces(V b, V a) {
    return hn::AndNot(E::at_least(a, b), hn::Eq(a, a));
  }
};

template <class Op>
constexpr bool kSums = std::is_same_v<Op, Sum>;
template <class Op>
constexpr bool kNumbers = false;
template <class E>
constexpr bool kNumbers<OfNumbers<E>> = true;

// The column of outputs from `o` on. Its first window begins before the row of cells (`left`), its
// last ends behind it (`right`).
template <class Op, int taps, int spacing, bool padded, bool left, bool right>
class Column {
 public:
  static constexpr int kKept = taps - spacing;  // rows of cells that the next window has, too

  HWY_INLINE Column(const ColumnRows& c, int64_t o)
      : src_(static_cast<const float*>(c.src) + o * spacing - c.pad),
        cells_(c.cells),
        cell_rows_(c.cell_rows) {
    const D d;
    for (int t = 0; t < taps; ++t) seen_[t] = hn::Zero(d);
    if constexpr (left || right) {
      int32_t up[hn::MaxLanes(D())], down[hn::MaxLanes(D())];
      const int32_t last = static_cast<int32_t>(hn::Lanes(d)) - 1;
      for (int32_t i = 0; i <= last; ++i) {
        up[i] = i > 0 ? i - 1 : 0;
        down[i] = i < last ? i + 1 : last;
      }
      up_ = hn::SetTableIndices(d, up);
      down_ = hn::SetTableIndices(d, down);
      const hn::RebindToSigned<D> di;
      const auto lane = hn::Iota(di, 0);
      first_ = hn::RebindMask(d, hn::Eq(lane, hn::Zero(di)));
      last_ = hn::RebindMask(d, hn::Eq(lane, hn::Set(di, last)));
    }
  }

  // What the taps of the windows are in a row of cells; `inside`: it exists.
  template <bool inside>
  HWY_INLINE void read(int64_t row, V* tap) {
    const D d;
    if constexpr (!inside) {
      if (row < 0 || row >= cell_rows_) {
        if constexpr (kSums<Op>) {
          for (int t = 0; t < taps; ++t) tap[t] = hn::Zero(d);
          return;
        }
        row = row < 0 ? 0 : cell_rows_ - 1;  // a cell of the window once more changes nothing
      }
    }
    load(src_ + row * cells_, tap);
    if constexpr (kNumbers<Op>) {
      // NaN stays in a sum. (So does one that +inf and -inf make, which costs a second look.)
      // Some taps are others of the neighbours.
      for (int t = 0; t < taps; ++t) {
        if (taps == 3 && (spacing == 1 ? t == 1 : padded && t == 0)) continue;
        seen_[t] = hn::Add(seen_[t], tap[t]);
      }
    }
  }

  bool seen_nan() const {
    if constexpr (!kNumbers<Op>) return false;
    V all = seen_[0];
    for (int t = 1; t < taps; ++t) all = hn::Add(all, seen_[t]);
    return !hn::AllFalse(D(), hn::IsNaN(all));
  }

 private:
  static HWY_INLINE V outside(V v, hn::Mask<D> lane) {
    return kSums<Op> ? hn::IfThenZeroElse(lane, v) : v;
  }
  HWY_INLINE V moved_up(V v) const { return outside(hn::TableLookupLanes(v, up_), first_); }
  HWY_INLINE V moved_down(V v) const { return outside(hn::TableLookupLanes(v, down_), last_); }

  HWY_INLINE void load(const float* at, V* tap) const {
    const D d;
    if constexpr (spacing == 1) {
      for (int t = 0; t < taps; ++t) {
        if (left && t == 0) {
          tap[t] = moved_up(hn::LoadU(d, at + 1));
        } else if (right && t == taps - 1) {
          tap[t] = moved_down(hn::LoadU(d, at + t - 1));
        } else {
          tap[t] = hn::LoadU(d, at + t);
        }
      }
      return;
    }
    // Pairs of cells that lie in one window, and the third between two such pairs.
    constexpr int kPair = taps == 3 && padded ? 1 : 0;
    const auto even = [&](const float* from) HWY_ATTR {
      return hn::ConcatEven(d, hn::LoadU(d, from + hn::Lanes(d)), hn::LoadU(d, from));
    };
    const auto odd = [&](const float* from) HWY_ATTR {
      return hn::ConcatOdd(d, hn::LoadU(d, from + hn::Lanes(d)), hn::LoadU(d, from));
    };
    tap[kPair] = even(at + kPair);
    tap[kPair + 1] = odd(at + kPair);
    if constexpr (taps == 3) {
      if constexpr (!padded) {
        tap[2] = odd(at + 1);
      } else if constexpr (left) {
        tap[0] = moved_up(tap[2]);
        if constexpr (!kSums<Op>) tap[0] = hn::IfThenElse(first_, tap[1], tap[0]);
      } else {
        tap[0] = even(at);
      }
    }
  }

  const float* src_;
  int64_t cells_, cell_rows_;
  V seen_[taps];
  decltype(hn::SetTableIndices(D(), static_cast<const int32_t*>(nullptr))) up_, down_;
  hn::Mask<D> first_, last_;
};

template <class Op, int taps>
HWY_INLINE V fold(const V* v) {
  const V two = Op::many(v[0], v[1]);
  if constexpr (taps == 2) return two;
  return Op::many(two, v[2]);
}

// What is kept of a row of cells, and what becomes of `taps` such rows. Max and min go along each
// row first, sums down first. (Rows have constructors, because those that compilers make are not
// made for the SIMD target.)
template <class Op, int taps>
class Extremes {
 public:
  struct Row {
    HWY_INLINE Row() : best(hn::Zero(D())) {}
    HWY_INLINE explicit Row(V v) : best(v) {}
    V best;
  };
  HWY_INLINE Extremes(const ColumnRows& c, int64_t o, bool)
      : to_(static_cast<float*>(c.dst) + o), outputs_(c.outputs) {}
  HWY_INLINE Row along(const V* tap) const { return Row(fold<Op, taps>(tap)); }
  HWY_INLINE void down(const Row* rows, bool) {
    V best[taps];
    for (int j = 0; j < taps; ++j) best[j] = rows[j].best;
    hn::StoreU(fold<Op, taps>(best), D(), to_);
    to_ += outputs_;
  }

 private:
  float* to_;
  int64_t outputs_;
};

template <class Op, int taps>
class Averages {
 public:
  struct Row {
    HWY_INLINE Row() : first(hn::Zero(D())), second(first), third(first) {}
    HWY_INLINE Row(V a, V b, V c) : first(a), second(b), third(c) {}
    V first, second, third;
  };
  HWY_INLINE Averages(const ColumnRows& c, int64_t o, bool)
      : to_(static_cast<float*>(c.dst) + o), outputs_(c.outputs), divide_(c.divisor) {}
  HWY_INLINE Row along(const V* tap) const { return {tap[0], tap[1], tap[taps - 1]}; }
  HWY_INLINE void down(const Row* rows, bool) {
    const D d;
    const auto sum_of = [rows](V Row::* tap) HWY_ATTR {
      const V two = Op::many(rows[0].*tap, rows[1].*tap);
      return taps == 3 ? Op::many(two, rows[taps - 1].*tap) : two;
    };
    V all = Op::many(sum_of(&Row::first), sum_of(&Row::second));
    if constexpr (taps == 3) all = Op::many(all, sum_of(&Row::third));
    hn::StoreU(divide_.exact ? hn::Mul(all, hn::Set(d, divide_.factor))
                             : hn::Div(all, hn::Set(d, divide_.divisor)),
               d, to_);
    to_ += outputs_;
  }

 private:
  float* to_;
  int64_t outputs_;
  Divide<float> divide_;
};

// The first winner, and its number. The neighbours that stand for absent cells never replace what
// comes before them; where they come first, they have their own number.
template <class Op, int taps>
class Winners {
 public:
  using DU = hn::RebindToUnsigned<D>;
  using N = hn::Vec<DU>;
  struct Row {
    HWY_INLINE Row() : best(hn::Zero(D())), number(hn::Zero(DU())) {}
    HWY_INLINE Row(V v, N n) : best(v), number(n) {}
    V best;
    N number;
  };
  HWY_INLINE Winners(const ColumnRows& c, int64_t o, bool left)
      : to_(c.dst ? static_cast<float*>(c.dst) + o : nullptr),
        winners_(c.winners + o),
        outputs_(c.outputs),
        one_(hn::Set(DU(), 1U)),
        two_(hn::Set(DU(), 2U)),
        row_(hn::Set(DU(), static_cast<uint32_t>(taps))) {
    const DU du;
    const auto lane0 = hn::Eq(hn::Iota(du, 0), hn::Zero(du));
    first_ = left ? hn::IfThenElseZero(lane0, one_) : hn::Zero(du);
  }
  HWY_INLINE Row along(const V* tap) const {
    Row row(tap[0], first_);
    contend(tap[1], one_, &row);
    if constexpr (taps == 3) contend(tap[2], two_, &row);
    return row;
  }
  HWY_INLINE void down(const Row* rows, bool first_absent) {
    const D d;
    Row row = rows[0];
    if (first_absent) row.number = hn::Add(row.number, row_);
    contend(rows[1].best, hn::Add(rows[1].number, row_), &row);
    if constexpr (taps == 3) {
      contend(rows[2].best, hn::Add(rows[2].number, hn::Add(row_, row_)), &row);
    }
    if (to_) {
      hn::StoreU(row.best, d, to_);
      to_ += outputs_;
    }
    const hn::RebindToSigned<D> di;
    const hn::Rebind<uint8_t, D> bytes;
    hn::StoreU(hn::DemoteTo(bytes, hn::BitCast(di, row.number)), bytes, winners_);
    winners_ += outputs_;
  }

 private:
  HWY_INLINE void contend(V v, N number, Row* row) const {
    const auto take = Op::replaces(v, row->best);
    row->number = hn::IfThenElse(hn::RebindMask(DU(), take), number, row->number);
    row->best = kNumbers<Op> ? Op::many(v, row->best) : hn::IfThenElse(take, v, row->best);
  }

  float* to_;
  uint8_t* winners_;
  int64_t outputs_;
  N first_, one_, two_, row_;
};

template <template <class, int> class Pool, class Op, int taps, int spacing, bool padded, bool left,
          bool right>
HWY_INLINE bool column(const ColumnRows& c, int64_t o, Fetch* fetch, Meanwhile* meanwhile) {
  using Cells = Column<Op, taps, spacing, padded, left, right>;
  constexpr int kKept = Cells::kKept;
  const size_t bytes = hn::Lanes(D()) * sizeof(float);
  Cells cells(c, o);
  Pool<Op, taps> pool(c, o, left);
  typename Pool<Op, taps>::Row kept[taps];
  int64_t row = c.first;  // of cells
  const auto step = [&](auto inside) HWY_ATTR {
    V tap[taps];
    for (int j = kKept; j < taps; ++j) {
      cells.template read<inside()>(row + j, tap);
      kept[j] = pool.along(tap);
    }
    pool.down(kept, !inside() && row < 0);
    row += spacing;
    for (int j = 0; j < kKept; ++j) kept[j] = kept[j + spacing];
  };
  for (int j = 0; j < kKept; ++j) {
    V tap[taps];
    cells.template read<false>(row + j, tap);
    kept[j] = pool.along(tap);
  }
  int64_t left_over = c.rows;
  for (; left_over > 0 && row < 0; --left_over) step(std::false_type());
  for (; left_over > 0 && row + taps <= c.cell_rows; --left_over) {
    fetch->advance(bytes * spacing * spacing);
    step(std::true_type());
    meanwhile->send(bytes);
  }
  for (; left_over > 0; --left_over) step(std::false_type());
  return !cells.seen_nan();
}

template <template <class, int> class Pool, class Op, int taps, int spacing, bool padded>
bool rows(const ColumnRows& c) {
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(D()));
  const bool before = c.pad > 0;
  const bool behind = (c.outputs - 1) * spacing - c.pad + taps > c.cells;
  Fetch fetch(c.next);
  Meanwhile meanwhile(c.finished);
  bool fine = true;
  for (int64_t i = 0; i < c.outputs && fine; i += lanes) {
    const int64_t o = i + lanes <= c.outputs ? i : c.outputs - lanes;
    const bool left = before && o == 0, right = behind && o + lanes == c.outputs;
    if constexpr (spacing == 1) {
      if (left && right) {
        fine = column<Pool, Op, taps, spacing, padded, true, true>(c, o, &fetch, &meanwhile);
        continue;
      }
      if (right) {
        fine = column<Pool, Op, taps, spacing, padded, false, true>(c, o, &fetch, &meanwhile);
        continue;
      }
    }
    if (left) {
      fine = column<Pool, Op, taps, spacing, padded, true, false>(c, o, &fetch, &meanwhile);
    } else {
      fine = column<Pool, Op, taps, spacing, padded, false, false>(c, o, &fetch, &meanwhile);
    }
  }
  meanwhile.finish();
  return fine;
}

template <template <class, int> class Pool, class Op>
bool columns(const ColumnRows& c) {
  if (c.taps == 2) {
    return c.spacing == 1 ? rows<Pool, Op, 2, 1, false>(c) : rows<Pool, Op, 2, 2, false>(c);
  }
  if (c.spacing == 1) return rows<Pool, Op, 3, 1, false>(c);
  return c.pad == 0 ? rows<Pool, Op, 3, 2, false>(c) : rows<Pool, Op, 3, 2, true>(c);
}

ColumnKernels make_table() {
  ColumnKernels t;
  t.lanes = static_cast<int64_t>(hn::Lanes(D()));
  t.extremes[kMax] = {columns<Extremes, OfNumbers<Max>>, columns<Extremes, OfAnything<Max>>};
  t.extremes[kMin] = {columns<Extremes, OfNumbers<Min>>, columns<Extremes, OfAnything<Min>>};
  t.winners[kMax] = {columns<Winners, OfNumbers<Max>>, columns<Winners, OfAnything<Max>>};
  t.winners[kMin] = {columns<Winners, OfNumbers<Min>>, columns<Winners, OfAnything<Min>>};
  t.average = columns<Averages, Sum>;
  return t;
}

#else

ColumnKernels make_table() { return {}; }

#endif

}  // namespace

const ColumnKernels* column_kernels() {
  static const ColumnKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(ColumnKernels, column_kernels)
}  // namespace ndpool
#endif
