// Columns of max and min at spacing 2, in lanes that are cells: pairs of neighbours are compared as
// they lie, and their halves meet when a window is finished. `Cells` says how:
//   T, D            the type, and the lanes: twice as many as outputs
//   lanes(at)       cells, as the type of the lanes
//   key(v)          as what they are compared
//   store(v, to)    the results, keys in the lower halves of pairs
//   is_suspect(v)   whether there may be NaN, where v is the extremum of all keys that max and min
//                   do not look for
// Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
#undef NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
#else
#define NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/kernels.h"
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

  // tap[0]: the first two taps of windows in a pair; of three taps, each with its neighbour.
  template <bool inside, bool late>
  HWY_INLINE void read(int64_t row, V* tap) {
    static_assert(!late);
    if constexpr (!inside) {
      // A cell of the window once more changes nothing.
      row = row < 0 ? 0 : row >= cell_rows_ ? cell_rows_ - 1 : row;
    }
    const T* at = src_ + row * cells_;
    if constexpr (taps == 2) {
      const V v = hn::LoadU(D(), Cells::lanes(right ? at - 1 : at));
      tap[0] = seen(Cells::key(right ? without_last(v, at) : v));
    } else if constexpr (left) {
      const V v = hn::LoadU(D(), Cells::lanes(at + 1));
      tap[0] = Op::many(Cells::key(without_first(v, at)), seen(Cells::key(v)));
    } else if constexpr (right) {
      const V v = hn::LoadU(D(), Cells::lanes(at));
      tap[0] = Op::many(seen(Cells::key(v)), Cells::key(without_last(v, at + 1)));
    } else {
      const V first = Cells::key(hn::LoadU(D(), Cells::lanes(at)));
      const V second = seen(Cells::key(hn::LoadU(D(), Cells::lanes(at + 1))));
      // Otherwise the first cell of a row lies in no second vector.
      if constexpr (!padded) seen(first);
      tap[0] = Op::many(first, second);
    }
  }

  HWY_INLINE void next_plane() { src_ += cell_rows_ * cells_; }
  bool seen_nan() const {
    if constexpr (kNumbers<Op>) return Cells::is_suspect(seen_);
    return false;
  }

 private:
  HWY_INLINE V seen(V keys) {
    if constexpr (kNumbers<Op>) seen_ = Op::Opposite::many(seen_, keys);
    return keys;
  }
  // The cells from `at` on, v being those from at + 1 on: its first stands for the one before it.
  HWY_INLINE V without_first(V v, [[maybe_unused]] const T* at) const {
    const D d;
#if HWY_TARGET <= HWY_AVX3
    return hn::IfThenElse(absent_, v, hn::MaskedLoad(hn::Not(absent_), d, Cells::lanes(at)));
#else
    return hn::IfThenElse(absent_, v, moved_up(d, v, v));
#endif
  }
  // The cells from `at` on, v being those from at - 1 on: its last stands for the one behind it.
  HWY_INLINE V without_last(V v, [[maybe_unused]] const T* at) const {
    const D d;
#if HWY_TARGET <= HWY_AVX3
    return hn::IfThenElse(absent_, v, hn::MaskedLoad(hn::Not(absent_), d, Cells::lanes(at)));
#else
    return hn::IfThenElse(absent_, v, moved_down(d, v, v));
#endif
  }

  const T* src_;
  int64_t cells_, cell_rows_;
  V seen_;
  hn::Mask<D> absent_;
};

// The pool of such columns.
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
  HWY_INLINE Row along(const V* tap) const { return Row(tap[0]); }
  static HWY_INLINE Row before(Row row) { return row; }
  template <class Column>
  HWY_INLINE void down(const Row* rows, const Column&) {
    const D d;
    const hn::RepartitionToWide<hn::RebindToUnsigned<D>> pairs;
    V best = Op::many(rows[0].best, rows[1].best);
    if constexpr (taps == 3) best = Op::many(best, rows[2].best);
    const auto upper = hn::ShiftRight<8 * sizeof(T)>(hn::BitCast(pairs, best));
    Cells::store(hn::BitCast(pairs, Op::many(best, hn::BitCast(d, upper))), to_);
    to_ += outputs_;
  }

 private:
  T* to_;
  int64_t outputs_;
};

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_PAIR_COLUMNS_H_
