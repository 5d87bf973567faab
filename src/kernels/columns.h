// Small windows, column by column of vectors: see ColumnRows. `Cells` says how cells of a type are
// lanes:
//   T, D            the type, and the lanes that it is computed in
//   load(at)        neighbouring cells, as many as there are lanes
//   pairs(at)       as many pairs of neighbours
//   even(p), odd(p) the first, and the second, of pairs; the first pair in the first lane and the
//                   last in the last, those between them in any order
//   ordered(v)      such lanes in their order
//   up(v), down(v)  where their neighbours were, anything in the lane that is left
//   kRuns           true: pairs cost more than neighbours, which are joined first and then taken
//                   apart; then there is one(at), a cell in all lanes
//   kWhole          true: sums are exact, whichever cells come first
//   kPairSums       true: there is sum_along<taps, left, right>(at), neighbours added
//   store(v, to)    lanes that are cells
//   kPairs          true: they are those of pair_columns.h
//   kAllSquares     false: no squares of 2x2 taps with spacing 1, and no row of one vector that
//                   lacks a cell at both ends; code that few would use is code all the same
//   Quotient(divisor).store(sum, to)
// Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_COLUMNS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_COLUMNS_H_
#undef NDPOOL_SRC_KERNELS_COLUMNS_H_
#else
#define NDPOOL_SRC_KERNELS_COLUMNS_H_
#endif

#include <type_traits>

#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/column_pools.h"
#include "kernels/kernels.h"
#include "kernels/loaded_once.h"
#include "kernels/moved.h"
#include "kernels/numbers.h"
#include "kernels/pair_columns.h"
#include "kernels/streamer.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// Whether parts of vectors of bytes can be loaded where memory ends beside them.
constexpr bool kLoadsSome = HWY_TARGET <= HWY_AVX3;

// The column of outputs from `o` on. Its first window begins before the row of cells (`left`), its
// last ends behind it (`right`); what lies beside a row is never read.
template <class Cells, class Op, int taps, int spacing, bool padded, bool left, bool right>
class Column {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  static constexpr int kKept = taps - spacing;  // rows of cells that the next window has, too
  static constexpr bool kWholeSums = Cells::kWhole && kSums<Op>;

  HWY_INLINE Column(const ColumnRows& c, int64_t o)
      : src_(static_cast<const T*>(c.src) + o * spacing - c.pad),
        apart_(c.dilation),
        cells_(c.cells * c.dilation),
        cell_rows_(c.cell_rows) {
    const D d;
    for (int t = 0; t < taps; ++t) seen_[t] = hn::Zero(d);
    if constexpr (left) first_ = hn::FirstN(d, 1);
    if constexpr (right) last_ = hn::Not(hn::FirstN(d, hn::Lanes(d) - 1));
  }

  // What the taps of the windows are in a row of cells; `inside`: it exists. `late`: what they are
  // made of instead, by taps_of() when rows have been joined. Of whole numbers to be added, the sum
  // of the taps.
  template <bool inside, bool late>
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
    const T* at = src_ + row * cells_;
    if constexpr (late) {
      load_runs(at, tap);
    } else if constexpr (kSums<Op> && Cells::kPairSums && spacing == 2 &&
                         (kLoadsSome || (!left && !right))) {
      tap[0] = Cells::template sum_along<taps, left, right>(at);
    } else {
      if constexpr (spacing == 1) {
        load_neighbours(at, tap);
      } else {
        load_pairs(at, tap);
      }
      complete(tap);
      if constexpr (kWholeSums) tap[0] = fold<Op, taps>(tap);
    }
    if constexpr (kNumbers<Op>) {
      // NaN stays in a sum. (So does one that +inf and -inf make, which costs a second look.)
      // Some taps are others of the neighbours.
      for (int t = 0; t < taps; ++t) {
        if (taps == 3 && late && t == 2 && (padded || right)) continue;
        if (taps == 3 && !late && (spacing == 1 ? t == 1 : padded && t == 0)) continue;
        seen_[t] = hn::Add(seen_[t], tap[t]);
      }
    }
  }

  // Taps from what read() gave.
  template <bool late>
  HWY_INLINE void taps_of(V* tap) const {
    if constexpr (late) {
      const D d;
      const V even = hn::ConcatEven(d, tap[1], tap[0]), odd = hn::ConcatOdd(d, tap[1], tap[0]);
      const V third = tap[taps - 1];
      if constexpr (taps == 2) {
        tap[0] = right ? odd : even;
        tap[1] = right ? moved_down(d, even, even) : odd;
      } else if constexpr (padded && !right) {
        tap[0] = moved_up(d, odd, third);
        tap[1] = even;
        tap[2] = odd;
      } else {
        tap[0] = even;
        tap[1] = odd;
        tap[2] = moved_down(d, even, third);
      }
      complete(tap);
    }
  }

  HWY_INLINE void next_plane() { src_ += cell_rows_ * cells_; }

  bool seen_nan() const {
    if constexpr (!kNumbers<Op>) {
      return false;
    } else {
      V all = seen_[0];
      for (int t = 1; t < taps; ++t) all = hn::Add(all, seen_[t]);
      return !hn::AllFalse(D(), hn::IsNaN(all));
    }
  }

 private:
  // Puts a neighbour, or 0, for what is absent.
  HWY_INLINE void complete(V* tap) const {
    if constexpr (left) tap[0] = present(tap[0], first_, tap[1]);
    if constexpr (right) tap[taps - 1] = present(tap[taps - 1], last_, tap[taps - 2]);
  }
  static HWY_INLINE V present(V v, hn::Mask<D> absent, V neighbour) {
    if constexpr (kSums<Op>) {
      return hn::IfThenZeroElse(absent, v);
    } else {
      return hn::IfThenElse(absent, neighbour, v);
    }
  }

  HWY_INLINE void load_neighbours(const T* at, V* tap) const {
    for (int t = left ? 1 : 0; t < (right ? taps - 1 : taps); ++t) {
      tap[t] = Cells::load(at + t * apart_);
      if constexpr (kNumbers<Op>) tap[t] = loaded_once(tap[t]);
    }
    if constexpr (left) tap[0] = moved_up(D(), tap[1], tap[1]);
    if constexpr (right) tap[taps - 1] = moved_down(D(), tap[taps - 2], tap[taps - 2]);
  }

  // Two cells of each window lie side by side, and the third between two such pairs.
  HWY_INLINE void load_pairs(const T* at, V* tap) const {
    constexpr bool kSecond = taps == 2 ? right : padded && !right;  // it has the second tap
    const auto pairs = Cells::pairs(taps == 2 ? at - kSecond : at + kSecond);
    const V even = Cells::even(pairs), odd = Cells::odd(pairs);
    if constexpr (taps == 2) {
      tap[0] = right ? odd : even;
      tap[1] = right ? Cells::down(even) : odd;
    } else if constexpr (kSecond) {
      tap[0] = left ? Cells::up(odd) : Cells::even(Cells::pairs(at));
      tap[1] = even;
      tap[2] = odd;
    } else {
      tap[0] = even;
      tap[1] = odd;
      tap[2] = right ? Cells::down(even) : Cells::odd(Cells::pairs(at + 1));
    }
  }

  // Neighbouring cells in two vectors, and the one before or behind them in a third.
  HWY_INLINE void load_runs(const T* at, V* run) const {
    const size_t lanes = hn::Lanes(D());
    if constexpr (taps == 2) {
      if constexpr (right) --at;
    } else if constexpr (padded && !right) {
      run[2] = left ? hn::Zero(D()) : Cells::one(at);
      ++at;
    } else {
      run[2] = right ? hn::Zero(D()) : Cells::one(at + 2 * lanes);
    }
    run[0] = loaded_once(Cells::load(at));
    run[1] = loaded_once(Cells::load(at + lanes));
  }

  const T* src_;
  int64_t apart_, cells_, cell_rows_;  // taps; rows
  V seen_[taps];
  hn::Mask<D> first_, last_;
};

template <class Cells>
HWY_INLINE size_t outputs_at_once() {
  return hn::Lanes(typename Cells::D()) / (Cells::kPairs ? 2 : 1);
}

template <template <class, class, int, int> class Pool, class Cells, class Op, int taps,
          int spacing, bool padded, bool left, bool right>
HWY_INLINE bool column(const ColumnRows& c, int64_t o, Fetch* next, Meanwhile* finished) {
  using Read =
      std::conditional_t<Cells::kPairs, PairColumn<Cells, Op, taps, spacing, padded, left, right>,
                         Column<Cells, Op, taps, spacing, padded, left, right>>;
  constexpr int kKept = Read::kKept;
  const size_t bytes = outputs_at_once<Cells>() * sizeof(typename Cells::T);
  Read cells(c, o);
  using Kept = Pool<Cells, Op, taps, spacing>;
  Kept pool(c, o, left);
  if constexpr (Kept::kWaits) {
    typename Kept::Row kept[taps];
    typename Read::V tap[taps];
    int64_t row = c.first;
    const auto step = [&](auto inside) HWY_ATTR {
      for (int j = kKept; j < taps; ++j) {
        cells.template read<inside(), Kept::kLate>(row + j, tap);
        kept[j] = pool.along(tap);
      }
      pool.down(kept, cells);
      row += spacing;
      for (int j = 0; j < kKept; ++j) kept[j] = kept[j + spacing];
    };
    for (int j = 0; j < kKept; ++j) {
      cells.template read<false, Kept::kLate>(row + j, tap);
      kept[j] = pool.along(tap);
    }
    int64_t left_over = c.rows;
    for (; left_over > 0 && row < 0; --left_over) step(std::false_type());
    for (; left_over > 0 && row + taps <= c.cell_rows; --left_over) {
      next->advance(bytes * spacing * spacing);
      step(std::true_type());
      finished->send(bytes);
    }
    for (; left_over > 0; --left_over) step(std::false_type());
    return !cells.seen_nan();
  }
  // Copies, which nothing that is written can be part of.
  Fetch fetch = *next;
  Meanwhile meanwhile = *finished;
  for (int64_t plane = 0; plane < c.planes; ++plane) {
    typename Kept::Row kept[taps];
    int64_t row = c.first;  // of cells
    const auto read = [&](auto inside, int64_t at) HWY_ATTR __attribute__((always_inline)) {
      typename Read::V tap[taps];
      cells.template read<inside(), Kept::kLate>(at, tap);
      const typename Kept::Row got = pool.along(tap);
      return !inside() && at < 0 ? pool.before(got) : got;
    };
    const auto step = [&](auto inside) HWY_ATTR __attribute__((always_inline)) {
      for (int j = kKept; j < taps; ++j) kept[j] = read(inside, row + j);
      pool.down(kept, cells);
      row += spacing;
      for (int j = 0; j < kKept; ++j) kept[j] = kept[j + spacing];
    };
    for (int j = 0; j < kKept; ++j) kept[j] = read(std::false_type(), row + j);
    int64_t left_over = c.rows;
    for (; left_over > 0 && row + kKept < 0; --left_over) step(std::false_type());
    const int64_t most = (c.cell_rows - taps - row) / spacing + 1;
    int64_t whole = row + taps > c.cell_rows ? 0 : left_over < most ? left_over : most;
    left_over -= whole;
    // As many steps at a time as rows take to come round to the registers that they began in.
    // (Pairs of integers take so few instructions that what else is done matters.)
    constexpr int kSteps = spacing == 1 ? taps : Cells::kPairs && !kNumbers<Op> ? 2 : 1;
    if constexpr (kSteps > 1) {
      for (; whole >= kSteps; whole -= kSteps) {
        fetch.advance(kSteps * spacing * spacing * bytes);
        step(std::true_type());
        step(std::true_type());
        if constexpr (kSteps == 3) step(std::true_type());
        meanwhile.send(kSteps * bytes);
      }
    }
    for (; whole > 0; --whole) {
      fetch.advance(bytes * spacing * spacing);
      step(std::true_type());
      meanwhile.send(bytes);
    }
    for (; left_over > 0; --left_over) step(std::false_type());
    cells.next_plane();
  }
  *next = fetch;
  *finished = meanwhile;
  return !cells.seen_nan();
}

template <template <class, class, int, int> class Pool, class Cells, class Op, int taps,
          int spacing, bool padded>
bool rows(const ColumnRows& c) {
  const int64_t lanes = static_cast<int64_t>(outputs_at_once<Cells>());
  const bool before = c.pad > 0;
  const bool behind = (c.outputs - 1) * spacing - c.pad + (taps - 1) * c.dilation >= c.cells;
  Fetch fetch(c.next, c.later);
  Meanwhile meanwhile(c.finished);
  bool fine = true;
  for (int64_t i = 0; i < c.outputs && fine; i += lanes) {
    const int64_t o = i + lanes <= c.outputs ? i : c.outputs - lanes;
    const bool left = before && o == 0, right = behind && o + lanes == c.outputs;
    if constexpr (spacing == 1 && taps == 3 && Cells::kAllSquares) {
      if (left && right) {
        fine = column<Pool, Cells, Op, taps, spacing, padded, true, true>(c, o, &fetch, &meanwhile);
        continue;
      }
    }
    if constexpr (spacing == 1 || padded) {
      if (left) {
        fine =
            column<Pool, Cells, Op, taps, spacing, padded, true, false>(c, o, &fetch, &meanwhile);
        continue;
      }
    }
    if (right) {
      fine = column<Pool, Cells, Op, taps, spacing, padded, false, true>(c, o, &fetch, &meanwhile);
    } else {
      fine = column<Pool, Cells, Op, taps, spacing, padded, false, false>(c, o, &fetch, &meanwhile);
    }
  }
  fetch.finish();
  meanwhile.finish();
  return fine;
}

template <template <class, class, int, int> class Pool, class Cells, class Op>
bool columns_of_pairs(const ColumnRows& c) {
  if (c.taps == 2) return rows<Pool, Cells, Op, 2, 2, false>(c);
  return c.pad == 0 ? rows<Pool, Cells, Op, 3, 2, false>(c) : rows<Pool, Cells, Op, 3, 2, true>(c);
}

template <template <class, class, int, int> class Pool, class Cells, class Op>
bool columns_of_neighbours(const ColumnRows& c) {
  if constexpr (Cells::kAllSquares) {
    if (c.taps == 2) return rows<Pool, Cells, Op, 2, 1, false>(c);
  }
  return rows<Pool, Cells, Op, 3, 1, false>(c);
}

template <template <class, class, int, int> class Pool, class Cells, class Op>
bool columns(const ColumnRows& c) {
  using Kept = Pool<Cells, Op, 3, 2>;
  if constexpr (kNumbers<Op> && Kept::kLate) {
    // Memory that is read and written at once comes no faster, but slower if it is asked for in
    // haste (measured, not understood): the longer way.
    if (c.streamed && c.spacing == 2) return columns_of_pairs<AlongFirst, Cells, Op>(c);
  }
  return c.spacing == 2 ? columns_of_pairs<Pool, Cells, Op>(c)
                        : columns_of_neighbours<Pool, Cells, Op>(c);
}

// Vectors of so many bytes, where rows fill more than one of them; but not for blocks that go past
// the caches (measured: a quarter slower).
constexpr size_t kWideBytes = HWY_TARGET <= HWY_AVX3 ? 64 : 32;

template <bool (*narrow)(const ColumnRows&), bool (*wide)(const ColumnRows&), int64_t wide_outputs>
bool of_any_width(const ColumnRows& c) {
  return c.outputs > wide_outputs && !(c.streamed && c.taps == c.spacing) ? wide(c) : narrow(c);
}

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_COLUMNS_H_
