// What a column of small windows keeps of each row of cells, and makes of some of them: values,
// along or down first, or winners. `Cells` as in columns.h. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_COLUMN_POOLS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_COLUMN_POOLS_H_
#undef NDPOOL_SRC_KERNELS_COLUMN_POOLS_H_
#else
#define NDPOOL_SRC_KERNELS_COLUMN_POOLS_H_
#endif

#include <cstdint>
#include <type_traits>

#include "hwy/highway.h"
#include "kernels/kernels.h"
#include "kernels/numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

template <class Op, int taps, class V>
HWY_INLINE V fold(const V* v) {
  const V two = Op::many(v[0], v[1]);
  if constexpr (taps == 2) return two;
  return Op::many(two, v[2]);
}

// What is kept of a row of cells, and what becomes of `taps` such rows. (Rows have constructors,
// because those that compilers make are not made for the SIMD target.)
//
// Along each row first: one vector is kept. (Sums, if they are exact: of whole numbers.)
template <class Cells, class Op, int taps, int spacing>
class AlongFirst {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  static constexpr bool kLate = false;
  // For memory, at stride 2: loops as compilers make them, which keep less in registers, then take
  // up to a quarter less time (AMD Zen 3; why is not understood).
  static constexpr bool kWaits = Cells::kRuns && spacing == 2;
  struct Row {
    HWY_INLINE Row() : best(hn::Zero(D())) {}
    HWY_INLINE explicit Row(V v) : best(v) {}
    V best;
  };
  HWY_INLINE AlongFirst(const ColumnRows& c, int64_t o, bool)
      : to_(static_cast<T*>(c.dst) + o), outputs_(c.outputs * c.dilation), finish_(c.divisor) {}
  HWY_INLINE Row along(const V* tap) const { return Row(kSums<Op> ? tap[0] : fold<Op, taps>(tap)); }
  static HWY_INLINE Row before(Row row) { return row; }
  template <class Column>
  HWY_INLINE void down(const Row* rows, const Column&) {
    V best[taps];
    for (int j = 0; j < taps; ++j) best[j] = rows[j].best;
    const V y = fold<Op, taps>(best);
    finish_.store(spacing == 2 ? Cells::ordered(y) : y, to_);
    to_ += outputs_;
  }

 private:
  struct Plain {
    HWY_INLINE explicit Plain(int64_t) {}
    static HWY_INLINE void store(V v, T* to) { Cells::store(v, to); }
  };
  T* to_;
  int64_t outputs_;
  std::conditional_t<kSums<Op>, typename Cells::Quotient, Plain> finish_;
};

// Down first, as sums of floats must; what lies between pairs is sorted out once for all rows of a
// window.
template <class Cells, class Op, int taps, int spacing>
class DownFirst {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  static constexpr bool kLate = Cells::kRuns && spacing == 2, kWaits = false;
  struct Row {
    HWY_INLINE Row() : first(hn::Zero(D())), second(first), third(first) {}
    HWY_INLINE Row(V a, V b, V c) : first(a), second(b), third(c) {}
    V first, second, third;
  };
  HWY_INLINE DownFirst(const ColumnRows& c, int64_t o, bool)
      : to_(static_cast<T*>(c.dst) + o), outputs_(c.outputs * c.dilation), quotient_(c.divisor) {}
  HWY_INLINE Row along(const V* tap) const { return {tap[0], tap[1], tap[taps - 1]}; }
  static HWY_INLINE Row before(Row row) { return row; }
  template <class Column>
  HWY_INLINE void down(const Row* rows, const Column& column) {
    const auto join = [rows](V Row::* tap) HWY_ATTR {
      const V two = Op::many(rows[0].*tap, rows[1].*tap);
      return taps == 3 ? Op::many(two, rows[taps - 1].*tap) : two;
    };
    V tap[taps];
    tap[0] = join(&Row::first);
    tap[1] = join(&Row::second);
    if constexpr (taps == 3) tap[2] = join(&Row::third);
    column.template taps_of<kLate>(tap);
    if constexpr (kSums<Op>) {
      quotient_.store(fold<Op, taps>(tap), to_);
    } else {
      Cells::store(fold<Op, taps>(tap), to_);
    }
    to_ += outputs_;
  }

 private:
  T* to_;
  int64_t outputs_;
  typename Cells::Quotient quotient_;
};

template <class Cells, class Op, int taps, int spacing>
using Values =
    std::conditional_t<kSums<Op> ? !Cells::kWhole : Cells::kRuns && spacing == 2,
                       DownFirst<Cells, Op, taps, spacing>, AlongFirst<Cells, Op, taps, spacing>>;

// The first winner, and its number. The neighbours that stand for absent cells never replace what
// comes before them; where they come first, they have their own number. Numbers count down from 0
// until they are stored: a mask is the number of tap 1, and of two numbers that of the later tap is
// the smaller.
template <class Cells, class Op, int taps, int spacing>
class Winners {
 public:
  using T = typename Cells::T;
  using D = typename Cells::D;
  using V = hn::Vec<D>;
  using DI = hn::RebindToSigned<D>;
  using N = hn::Vec<DI>;
  static constexpr bool kLate = false, kWaits = false;
  struct Row {
    HWY_INLINE Row() : best(hn::Zero(D())), number(hn::Zero(DI())) {}
    HWY_INLINE Row(V v, N n) : best(v), number(n) {}
    V best;
    N number;
  };
  HWY_INLINE Winners(const ColumnRows& c, int64_t o, bool left)
      : to_(c.dst ? static_cast<T*>(c.dst) + o : nullptr),
        winners_(c.winners + o),
        outputs_(c.outputs * c.dilation),
        left_(left),
        first_(hn::IfThenElseZero(hn::FirstN(DI(), 1), hn::Set(DI(), -1))) {}
  HWY_INLINE Row along(const V* tap) const {
    const auto take = Op::replaces(tap[1], tap[0]);
    Row row(better(take, tap[1], tap[0]), hn::VecFromMask(DI(), hn::RebindMask(DI(), take)));
    if (left_) row.number = hn::Min(row.number, first_);
    if constexpr (taps == 3) contend(tap[2], hn::Set(DI(), -2), &row);
    return row;
  }
  // The first row once more, as a row before it: it keeps its numbers.
  static HWY_INLINE Row before(Row row) {
    return {row.best, hn::Add(row.number, hn::Set(DI(), -taps))};
  }
  template <class Column>
  HWY_INLINE void down(const Row* rows, const Column&) {
    const DI di;
    Row row = rows[0];
    contend(rows[1].best, hn::Add(rows[1].number, hn::Set(di, -taps)), &row);
    if constexpr (taps == 3) {
      contend(rows[2].best, hn::Add(rows[2].number, hn::Set(di, -2 * taps)), &row);
    }
    if (to_) {
      Cells::store(spacing == 2 ? Cells::ordered(row.best) : row.best, to_);
      to_ += outputs_;
    }
    const hn::Rebind<int8_t, D> bytes;
    const auto numbers = hn::Abs(hn::DemoteTo(bytes, row.number));
    const hn::RebindToUnsigned<decltype(bytes)> unsigned_bytes;
    hn::StoreU(hn::BitCast(unsigned_bytes, spacing == 2 ? Cells::ordered_bytes(numbers) : numbers),
               unsigned_bytes, winners_);
    winners_ += outputs_;
  }

 private:
  template <class M>
  static HWY_INLINE V better(M take, V v, V best) {
    return kNumbers<Op> ? Op::many(v, best) : hn::IfThenElse(take, v, best);
  }
  HWY_INLINE void contend(V v, N number, Row* row) const {
    const auto take = Op::replaces(v, row->best);
    const auto later = hn::RebindMask(DI(), take);
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4
    row->number = hn::Min(row->number, hn::IfThenElseZero(later, number));
#else
    row->number = hn::IfThenElse(later, number, row->number);
#endif
    row->best = better(take, v, row->best);
  }

  T* to_;
  uint8_t* winners_;
  int64_t outputs_;
  bool left_;
  N first_;
};

#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_COLUMN_POOLS_H_
