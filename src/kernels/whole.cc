// Windows that are whole planes: elements that lie side by side, to one.
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/whole.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/order.h"
#include "kernels/numbers.h"
#include "kernels/tap_rows.h"
#include "kernels/turn.h"
#include "kernels/turned_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

// Little is fetched ahead here: processors foresee what is read from one end to the other.

// All lanes to one.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> folded(D, hn::Vec<D> v) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    const hn::Half<D> half;
    return folded<Op>(half, Op::many(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
#endif
  return hn::GetLane(v);
}

// n elements, at least a vector of them; the last one overlaps another.
template <class Op, class D, class T>
HWY_INLINE T extreme_of(D d, int64_t n, const T* from) {
  using V = hn::Vec<D>;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  V a = hn::LoadU(d, from), b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    const T* at = from + i;
    a = Op::many(a, hn::LoadU(d, at));
    b = Op::many(b, hn::LoadU(d, at + step));
    c = Op::many(c, hn::LoadU(d, at + 2 * step));
    e = Op::many(e, hn::LoadU(d, at + 3 * step));
  }
  for (; i < n; i += step) a = Op::many(a, hn::LoadU(d, from + (i + step <= n ? i : n - step)));
  return folded<Op>(d, Op::many(Op::many(a, b), Op::many(c, e)));
}

// In the widest vectors that fit.
template <class Op, class D, class T>
HWY_INLINE T widest_extreme_of(D d, int64_t n, const T* from) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (hn::MaxLanes(D()) > 1) {
    if (n < static_cast<int64_t>(hn::Lanes(d))) {
      return widest_extreme_of<Op>(hn::Half<D>(), n, from);
    }
  }
#endif
  return extreme_of<Op>(d, n, from);
}

template <class E, class T>
struct Extremes {
  static void run(int64_t n, const void* x, void* y) {
    *static_cast<T*>(y) =
        widest_extreme_of<Extremum<E>>(hn::ScalableTag<T>(), n, static_cast<const T*>(x));
  }
};

template <class T>
HWY_INLINE T eight(const T* x) {
  return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}
// 1 to 8 elements.
template <class T>
HWY_INLINE T few(const T* x, int64_t n) {
  switch (n) {
    case 1:
      return x[0];
    case 2:
      return x[0] + x[1];
    case 3:
      return (x[0] + x[1]) + x[2];
    case 4:
      return (x[0] + x[1]) + (x[2] + x[3]);
    case 5:
      return ((x[0] + x[1]) + (x[2] + x[3])) + x[4];
    case 6:
      return ((x[0] + x[1]) + (x[2] + x[3])) + (x[4] + x[5]);
    case 7:
      return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + x[6]);
    default:
      return eight(x);
  }
}

#if HWY_TARGET != HWY_SCALAR
// Sums of each 8 neighbours while there are enough of them for a vector of sums, then in vectors of
// half the width.
template <class D, class T>
HWY_INLINE void vectors_of_eighths(D d, const T* x, int64_t n, T* to, int64_t* count) {
  using V = hn::Vec<D>;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto pairs = [d](V a, V b) HWY_ATTR {
    return hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
  };
  for (; 8 * (*count + step) <= n; *count += step) {
    const T* at = x + 8 * *count;
    const auto load = [d, at, step](int64_t k) HWY_ATTR { return hn::LoadU(d, at + k * step); };
    const V low = pairs(pairs(load(0), load(1)), pairs(load(2), load(3)));
    const V high = pairs(pairs(load(4), load(5)), pairs(load(6), load(7)));
    hn::StoreU(pairs(low, high), d, to + *count);
  }
  if constexpr (hn::MaxLanes(D()) * sizeof(T) > 16) {
    vectors_of_eighths(hn::Half<D>(), x, n, to, count);
  }
}
#endif

// Sums of each 8 neighbours, the last of fewer; returns how many there are.
template <class T>
HWY_INLINE int64_t eighths(const T* x, int64_t n, T* to) {
  int64_t count = 0;
#if HWY_TARGET != HWY_SCALAR
  vectors_of_eighths(hn::ScalableTag<T>(), x, n, to, &count);
#endif
  for (; 8 * (count + 1) <= n; ++count) to[count] = eight(x + 8 * count);
  if (8 * count < n) {
    to[count] = few(x + 8 * count, n - 8 * count);
    ++count;
  }
  return count;
}

// A tree of trees: blocks of a power of two are its subtrees.
template <class T>
void tree(int64_t n, const void* x, void* y) {
  constexpr int64_t kBlock = 4096;
  const T* from = static_cast<const T*>(x);
  T waiting[64];
  int depth = 0;
  for (int64_t begin = 0, number = 0; begin < n; begin += kBlock, ++number) {
    T sums[2][kBlock / 8];
    int64_t count = eighths(from + begin, n - begin < kBlock ? n - begin : kBlock, sums[0]);
    int now = 0;
    for (; count > 8; now = 1 - now) count = eighths(sums[now], count, sums[1 - now]);
    T sum = few(sums[now], count);
    for (int joins = std::countr_one(static_cast<uint64_t>(number)); joins > 0; --joins) {
      sum = waiting[--depth] + sum;
    }
    waiting[depth++] = sum;
  }
  for (; depth > 1; --depth) waiting[depth - 2] = waiting[depth - 2] + waiting[depth - 1];
  *static_cast<T*>(y) = waiting[0];
}

// Rows one by one.
template <class Op, class T>
void single_rows(int64_t count, int64_t n, const T* from, int64_t pitch, T* to, int64_t to_pitch) {
  for (int64_t r = 0; r < count; ++r) {
    if constexpr (kSums<Op>) {
      tree<T>(n, from + r * pitch, to + r * to_pitch);
    } else {
      to[r * to_pitch] = widest_extreme_of<Op>(hn::ScalableTag<T>(), n, from + r * pitch);
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Lanes to places that lie `pitch` apart.
template <class D, class T>
HWY_INLINE void put_apart(D d, hn::Vec<D> v, T* to, int64_t pitch) {
  if (pitch == 1) {
    hn::StoreU(v, d, to);
    return;
  }
  T lanes[hn::MaxLanes(D())];
  hn::StoreU(v, d, lanes);
  for (size_t k = 0; k < hn::Lanes(d); ++k) to[static_cast<int64_t>(k) * pitch] = lanes[k];
}
#endif

// Rows of f32, some at a time.
template <class E>
void extreme_rows(int64_t count, int64_t n, const void* x, int64_t pitch, void* y,
                  int64_t to_pitch) {
  using Op = Extremum<E>;
  const float* from = static_cast<const float*>(x);
  float* to = static_cast<float*>(y);
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 8> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (count >= step && n >= 4) {
    for (int64_t next = 0; next < count; next += step) {
      const int64_t r = next + step <= count ? next : count - step;
      hn::Vec<decltype(d)> v;
      if (n < 2 * step) {
        v = joined_columns<Op>(d, n, from + r * pitch, pitch);
      } else if (!extremes_of_rows<E>(d, n, from + r * pitch, pitch, &v)) {
        single_rows<Op>(step, n, from + r * pitch, pitch, to + r * to_pitch, to_pitch);
        continue;
      }
      put_apart(d, v, to + r * to_pitch, to_pitch);
    }
    return;
  }
#endif
  single_rows<Op>(count, n, from, pitch, to, to_pitch);
}

template <class T>
void short_sums(int64_t count, int64_t n, const void* x, int64_t pitch, void* y, int64_t to_pitch) {
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (count >= step && n >= int64_t{16 / sizeof(T)}) {
    for (int64_t next = 0; next < count; next += step) {
      const int64_t r = next + step <= count ? next : count - step;
      const auto v = joined_columns<Sum>(d, n, from + r * pitch, pitch);
      put_apart(d, v, to + r * to_pitch, to_pitch);
    }
    return;
  }
#endif
  single_rows<Sum>(count, n, from, pitch, to, to_pitch);
}

#if HWY_TARGET != HWY_SCALAR
// `count` rows, `pitch` apart, as the tree joins them.
template <int count, class D, class T>
HWY_INLINE hn::Vec<D> sum_of_few(D d, const T* at, int64_t pitch) {
  if constexpr (count == 1) {
    return hn::LoadU(d, at);
  } else {
    constexpr int kLeft = count > 4 ? 4 : count > 2 ? 2 : 1;
    return hn::Add(sum_of_few<kLeft>(d, at, pitch),
                   sum_of_few<count - kLeft>(d, at + kLeft * pitch, pitch));
  }
}

// Some vectors of each row of a plane, joined from row to row as the tree joins them, in the order
// of memory. `far`: what is behind the plane is fetched.
template <class D, int count, bool far>
class Strip {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;

 public:
  // The last vector ends with the row.
  Strip(int64_t columns, int64_t first) : columns_(columns) {
    const int64_t step = static_cast<int64_t>(hn::Lanes(D()));
    for (int k = 0; k < count; ++k) {
      const int64_t at = first + k * step;
      places_[k] = at + step > columns && columns >= step ? columns - step : at;
    }
  }

  HWY_INLINE void sum(int64_t rows, const T* at, T* to) const {
    constexpr int kBlock = 32;
    Sums waiting[64];
    int depth = 0;
    for (int64_t number = 0; rows > 0; ++number, rows -= kBlock, at += kBlock * columns_) {
      const bool whole = rows >= kBlock;
      Sums sums = whole ? block<kBlock>(at) : part<kBlock>(rows, at);
      int joins = whole ? std::countr_one(static_cast<uint64_t>(number)) : 0;
      for (; joins > 0; --joins) sums = joined(waiting[--depth], sums);
      waiting[depth++] = sums;
    }
    Sums sums = waiting[--depth];
    while (depth > 0) sums = joined(waiting[--depth], sums);
    for (int k = 0; k < count; ++k) hn::StoreU(sums.v[k], D(), to + places_[k]);
  }

 private:
  struct Sums {
    V v[count];
  };
  static HWY_INLINE Sums joined(const Sums& a, const Sums& b) {
    Sums sums;
    for (int k = 0; k < count; ++k) sums.v[k] = hn::Add(a.v[k], b.v[k]);
    return sums;
  }
  HWY_INLINE Sums row(const T* at) const {
    if constexpr (far) fetch_ahead(at, columns_);
    Sums sums;
    for (int k = 0; k < count; ++k) sums.v[k] = hn::LoadU(D(), at + places_[k]);
    return sums;
  }
  // Of a power of two of rows.
  template <int rows>
  HWY_INLINE Sums block(const T* at) const {
    if constexpr (rows == 1) {
      return row(at);
    } else {
      const Sums first = block<rows / 2>(at);
      return joined(first, block<rows / 2>(at + rows / 2 * columns_));
    }
  }
  // Of 1 to `most` rows.
  template <int most>
  HWY_INLINE Sums part(int64_t rows, const T* at) const {
    if constexpr (most == 1) {
      return row(at);
    } else {
      constexpr int kHalf = most / 2;
      if (rows <= kHalf) return part<kHalf>(rows, at);
      const Sums first = block<kHalf>(at);
      return joined(first, part<kHalf>(rows - kHalf, at + kHalf * columns_));
    }
  }

  int64_t columns_;
  int64_t places_[count];
};

// A few vectors, as the tree joins them.
template <int count, class V>
HWY_INLINE V sum_of_vectors(const V* v) {
  if constexpr (count == 1) {
    return v[0];
  } else {
    constexpr int kLeft = count > 4 ? 4 : count > 2 ? 2 : 1;
    return hn::Add(sum_of_vectors<kLeft>(v), sum_of_vectors<count - kLeft>(v + kLeft));
  }
}

template <int most, class V>
HWY_INLINE V sum_of_up_to(int64_t count, const V* v) {
  if constexpr (most > 1) {
    if (count < most) return sum_of_up_to<most - 1>(count, v);
  }
  return sum_of_vectors<most>(v);
}

// Planes of f32 without gaps, of no more columns than a vector has lanes: as many at a time as that
// are summed down, turned, and summed along, in registers. Vectors reach into the next row. Returns
// how many were done.
template <int rows>
int64_t sum_small_planes(int64_t count, int64_t columns, const float* x, float* y) {
  const hn::CappedTag<float, 8> d;
  using V = hn::Vec<decltype(d)>;
  constexpr int kSide = hn::MaxLanes(d);
  const int64_t cells = rows * columns, read = cells - columns + kSide;  // of a plane
  int64_t done = 0;
  for (; (count - done - kSide + 1) * cells >= read; done += kSide) {
    V v[kSide], column[kSide];
    for (int p = 0; p < kSide; ++p) v[p] = sum_of_few<rows>(d, x + (done + p) * cells, columns);
    turn_vectors(d, v, column);
    hn::StoreU(sum_of_up_to<kSide>(columns, column), d, y + done);
  }
  return done;
}
using SmallPlanesFn = int64_t (*)(int64_t count, int64_t columns, const float* x, float* y);
constexpr SmallPlanesFn kSmallPlanes[] = {
    sum_small_planes<2>, sum_small_planes<3>, sum_small_planes<4>, sum_small_planes<5>,
    sum_small_planes<6>, sum_small_planes<7>, sum_small_planes<8>};
#endif

#if HWY_TARGET != HWY_SCALAR
// Down all columns of a plane.
template <bool far, class D, class T>
HWY_INLINE void sum_down(D d, int64_t rows, int64_t columns, const T* x, T* to) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  int64_t first = 0;
  for (; columns - first > 3 * step; first += 4 * step) {
    Strip<D, 4, far>(columns, first).sum(rows, x, to);
  }
  if (columns - first > 2 * step) {
    Strip<D, 3, far>(columns, first).sum(rows, x, to);
  } else if (columns - first > step) {
    Strip<D, 2, far>(columns, first).sum(rows, x, to);
  } else if (columns > first) {
    Strip<D, 1, far>(columns, first).sum(rows, x, to);
  }
}

// Sums down some planes lie side by side before they are joined along.
template <bool far, class D, class T>
HWY_INLINE void sum_down_and_along(D d, int64_t count, int64_t rows, int64_t columns, const T* x,
                                   int64_t pitch, T* y, int64_t y_pitch) {
  constexpr int64_t kTogether = WholeKernels::kTogether;
  constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(d));
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), cells = rows * columns;
  // Apart by whole vectors, so that none is read from two that were written.
  const int64_t apart = (columns + step - 1) / step * step;
  alignas(64) T sums[kTogether * (WholeKernels::kMostColumns + kLanes)];
  T copy[WholeKernels::kMostCells + kLanes];
  for (int64_t first = 0; first < count; first += kTogether) {
    const int64_t planes = first + kTogether <= count ? kTogether : count - first;
    for (int64_t p = 0; p < planes; ++p) {
      const T* from = x + (first + p) * pitch;
      const int64_t behind = (count - first - p) * cells;
      if (columns < step && (pitch != cells || behind < cells - columns + step)) {
        // Behind the last row there may be too little to read.
        std::memcpy(copy, from, static_cast<size_t>(cells) * sizeof(T));
        std::memset(copy + cells, 0, static_cast<size_t>(kLanes) * sizeof(T));
        from = copy;
      }
      sum_down<far>(d, rows, columns, from, sums + p * apart);
    }
    T* to = y + first * y_pitch;
    if (columns <= WholeKernels::kMostRow) {
      short_sums<T>(planes, columns, sums, apart, to, y_pitch);
    } else {
      single_rows<Sum, T>(planes, columns, sums, apart, to, y_pitch);
    }
  }
}
#endif

template <class T>
void sum_planes(int64_t count, int64_t rows, int64_t columns, const void* x, int64_t pitch, void* y,
                int64_t y_pitch, [[maybe_unused]] bool far) {
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  const hn::ScalableTag<T> wide;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const T* from = static_cast<const T*>(x);
  T* to = static_cast<T*>(y);
  if constexpr (std::is_same_v<T, float>) {
    const bool plain = pitch == rows * columns && y_pitch == 1;
    if (plain && rows <= 8 && columns <= step && step == int64_t{hn::MaxLanes(d)}) {
      const int64_t done = kSmallPlanes[rows - 2](count, columns, from, to);
      count -= done;
      from += done * pitch;
      to += done;
    }
  }
  // A wide vector that is in two lines of the cache is waited for twice if it is in neither.
  if (far) {
    sum_down_and_along<true>(d, count, rows, columns, from, pitch, to, y_pitch);
  } else if (columns < static_cast<int64_t>(hn::Lanes(wide))) {
    sum_down_and_along<false>(d, count, rows, columns, from, pitch, to, y_pitch);
  } else {
    sum_down_and_along<false>(wide, count, rows, columns, from, pitch, to, y_pitch);
  }
#else
  for (int64_t p = 0; p < count; ++p) {
    const T* from = static_cast<const T*>(x) + p * pitch;
    T sums[WholeKernels::kMostColumns], column[8];
    T waiting[64];
    for (int64_t c = 0; c < columns; ++c) {
      int depth = 0;
      for (int64_t r = 0, number = 0; r < rows; r += 8, ++number) {
        const int64_t some = rows - r < 8 ? rows - r : 8;
        for (int64_t k = 0; k < some; ++k) column[k] = from[(r + k) * columns + c];
        T sum = few(column, some);
        for (int j = some < 8 ? 0 : std::countr_one(static_cast<uint64_t>(number)); j > 0; --j) {
          sum = waiting[--depth] + sum;
        }
        waiting[depth++] = sum;
      }
      for (; depth > 1; --depth) waiting[depth - 2] = waiting[depth - 2] + waiting[depth - 1];
      sums[c] = waiting[0];
    }
    tree<T>(columns, sums, static_cast<T*>(y) + p * y_pitch);
  }
#endif
}

WholeKernels make_table() {
  WholeKernels t{};
  fill<Extremes, Max>(t.extreme[kMax]);
  fill<Extremes, Min>(t.extreme[kMin]);
  t.sum[0] = tree<float>;
  t.sum[1] = tree<double>;
  t.sum_rows[0] = short_sums<float>;
  t.sum_rows[1] = short_sums<double>;
  t.sum_planes[0] = sum_planes<float>;
  t.sum_planes[1] = sum_planes<double>;
  t.extreme_rows[kMax] = extreme_rows<Max>;
  t.extreme_rows[kMin] = extreme_rows<Min>;
  return t;
}

}  // namespace

const WholeKernels* whole_kernels() {
  static const WholeKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(WholeKernels, whole_kernels)
}  // namespace ndpool
#endif
