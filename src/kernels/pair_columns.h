// Columns of max and min at spacing 2, in lanes that are cells: pairs of neighbours are compared as
// they lie, and their halves meet when a window is finished. `Cells` says how:
//   T, D            the type, and the lanes: twice as many as outputs
//   lanes(at)       cells, as the type of the lanes
//   store(v, to)    the results, in the lower halves of pairs
// and for columns of halves that hold no NaN:
//   worst(a, b)     of two lanes, that which would be NaN if one of them were NaN that can lose
//   is_suspect(v)   whether it is
// Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
#undef NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
#else
#define NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/column_pools.h"
#include "kernels/kernels.h"
#include "kernels/loaded_once.h"
#include "kernels/moved.h"
#include "kernels/numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// The interface of Column. What lies beside a row is never read.
template <class Cells, class Op, int taps, int spacing, bool padded, bool left, bool right>
class PairColumn {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  static_assert(spacing == 2 && !(left && right) && !kSums<Op>);
  static constexpr int kKept = taps - spacing;

  HWY_INLINE PairColumn(const ColumnRows& c, int64_t o)
      : src_(static_cast<const T*>(c.src) + o * spacing - c.pad),
        cells_(c.cells),
        cell_rows_(c.cell_rows),
        seen_(hn::Zero(D())) {
    const D d;
    if constexpr (left) absent_ = hn::FirstN(d, 1);
    if constexpr (right) absent_ = hn::Not(hn::FirstN(d, hn::Lanes(d) - 1));
  }

  // tap[0]: the first two taps of windows in a pair; tap[1], of three taps: their neighbours.
  template <bool inside, bool late>
  HWY_INLINE void read(int64_t row, V* tap) {
    static_assert(!late);
    if constexpr (!inside) {
      // A cell of the window once more changes nothing.
      row = row < 0 ? 0 : row >= cell_rows_ ? cell_rows_ - 1 : row;
    }
    const T* at = src_ + row * cells_;
    if constexpr (taps == 2) {
      const V v = load(right ? at - 1 : at);
      tap[0] = seen(right ? present(v, at) : v);
    } else if constexpr (left) {
      const V v = load(at + 1);
      tap[0] = present(v, at);
      tap[1] = seen(v);
    } else if constexpr (right) {
      const V v = load(at);
      tap[0] = seen(v);
      tap[1] = present(v, at + 1);
    } else {
      tap[0] = load(at);
      tap[1] = seen(load(at + 1));
      // Otherwise the first cell of a row lies in no second vector.
      if constexpr (!padded) seen(tap[0]);
    }
  }

  HWY_INLINE void next_plane() { src_ += cell_rows_ * cells_; }
  bool seen_nan() const {
    if constexpr (kNumbers<Op>) return Cells::is_suspect(seen_);
    return false;
  }

 private:
  static HWY_INLINE V load(const T* at) {
    const V v = hn::LoadU(D(), Cells::lanes(at));
    return kNumbers<Op> ? loaded_once(v) : v;
  }
  HWY_INLINE V seen(V v) {
    if constexpr (kNumbers<Op>) seen_ = Cells::worst(seen_, v);
    return v;
  }
  // The cells from `at` on, v being those one further (left) or before (right): where there is
  // none, its neighbour stands for it.
  HWY_INLINE V present(V v, [[maybe_unused]] const T* at) const {
    const D d;
#if HWY_TARGET <= HWY_AVX3
    return hn::IfThenElse(absent_, v, hn::MaskedLoad(hn::Not(absent_), d, Cells::lanes(at)));
#else
    return hn::IfThenElse(absent_, v, left ? moved_up(d, v, v) : moved_down(d, v, v));
#endif
  }

  const T* src_;
  int64_t cells_, cell_rows_;
  V seen_;
  hn::Mask<D> absent_;
};

// The pool of such columns of integers.
template <class Cells, class Op, int taps, int spacing>
class PairExtremes {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  static constexpr bool kLate = false, kWaits = false;
  struct Row {
    HWY_INLINE Row() : best(hn::Zero(D())) {}
    HWY_INLINE explicit Row(V v) : best(v) {}
    V best;
  };
  HWY_INLINE PairExtremes(const ColumnRows& c, int64_t o, bool)
      : to_(static_cast<T*>(c.dst) + o), outputs_(c.outputs) {}
  HWY_INLINE Row along(const V* tap) const {
    return Row(taps == 2 ? tap[0] : Op::many(tap[0], tap[1]));
  }
  static HWY_INLINE Row before(Row row) { return row; }
  template <class Column>
  HWY_INLINE void down(const Row* rows, const Column&) {
    const D d;
    const hn::RepartitionToWide<hn::RebindToUnsigned<D>> pairs;
    V best[taps];
    for (int j = 0; j < taps; ++j) best[j] = rows[j].best;
    const V both = fold<Op, taps>(best);
    const auto upper = hn::ShiftRight<8 * sizeof(T)>(hn::BitCast(pairs, both));
    Cells::store(hn::BitCast(pairs, Op::many(both, hn::BitCast(d, upper))), to_);
    to_ += outputs_;
  }

 private:
  T* to_;
  int64_t outputs_;
};

// That of halves, as they lie: a sign, and a size. The extremum is that of the cells with the
// better sign, if there is one (`some`), and else that of all (`none`). The better sign is + for
// max, whose cells are the larger the larger they are as signed integers, and - for min, with
// unsigned ones; without it, the best is the smallest unsigned one.
template <class Cells, class Op, int taps, int spacing>
class HalfExtremes {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  static constexpr bool kLate = false, kWaits = false;
  struct Row {
    HWY_INLINE Row() : some(hn::Zero(D())), none(some) {}
    HWY_INLINE Row(V a, V b) : some(a), none(b) {}
    V some, none;
  };
  HWY_INLINE HalfExtremes(const ColumnRows& c, int64_t o, bool)
      : to_(static_cast<T*>(c.dst) + o), outputs_(c.outputs) {}
  HWY_INLINE Row along(const V* tap) const {
    const Row first(tap[0], tap[0]);
    return taps == 2 ? first : better(first, Row(tap[taps - 2], tap[taps - 2]));
  }
  static HWY_INLINE Row before(Row row) { return row; }
  template <class Column>
  HWY_INLINE void down(const Row* rows, const Column&) {
    Row best = better(rows[0], rows[1]);
    if constexpr (taps == 3) best = better(best, rows[2]);
    best = better(best, Row(upper(best.some), upper(best.none)));
    const auto negative = hn::Lt(best.some, hn::Zero(D()));
    const V y = Cells::kMax ? hn::IfThenElse(negative, best.none, best.some)
                            : hn::IfThenElse(negative, best.some, best.none);
    Cells::store(hn::BitCast(Pairs(), y), to_);
    to_ += outputs_;
  }

 private:
  using Pairs = hn::RepartitionToWide<hn::RebindToUnsigned<D>>;
  static HWY_INLINE V upper(V v) {
    return hn::BitCast(D(), hn::ShiftRight<8 * sizeof(T)>(hn::BitCast(Pairs(), v)));
  }
  static HWY_INLINE Row better(const Row& a, const Row& b) {
    const D d;
    const hn::RebindToUnsigned<D> du;
    const auto smallest = hn::Min(hn::BitCast(du, a.none), hn::BitCast(du, b.none));
    return {Cells::best(a.some, b.some), hn::BitCast(d, smallest)};
  }

  T* to_;
  int64_t outputs_;
};

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
