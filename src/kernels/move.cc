// Rows moved without arithmetic: strided picks, their inverse, and copies past the caches.
#include <cstring>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/move.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/divide.h"
#include "kernels/groups.h"
#include "kernels/streamer.h"
#include "kernels/tap_rows.h"
#include "kernels/turn.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// to[i] = from[2*i]; `from` has 2*count-1 elements at least.
template <class T>
HWY_INLINE void pick_even(int64_t count, const T* HWY_RESTRICT from, T* HWY_RESTRICT to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (; i + step < count; i += step) {
    const auto low = hn::LoadU(d, from + 2 * i), high = hn::LoadU(d, from + 2 * i + step);
    hn::StoreU(hn::ConcatEven(d, high, low), d, to + i);
  }
#endif
  for (; i < count; ++i) to[i] = from[2 * i];
}

// to[2*i] = a[i], to[2*i+1] = b[i].
template <class T>
HWY_INLINE void zip(int64_t count, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b,
                    T* HWY_RESTRICT to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (; i + step <= count; i += step) {
    hn::StoreInterleaved2(hn::LoadU(d, a + i), hn::LoadU(d, b + i), d, to + 2 * i);
  }
#endif
  for (; i < count; ++i) {
    to[2 * i] = a[i];
    to[2 * i + 1] = b[i];
  }
}

#if HWY_TARGET != HWY_SCALAR
// A tile of 16 bytes a row, turned; no more than `columns` of its columns are stored.
template <class T>
HWY_INLINE void transpose_tile(int64_t columns, const T* from, int64_t src_row, T* to,
                               int64_t dst_row) {
  constexpr int kWide = 16 / sizeof(T);
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  hn::Vec<decltype(d)> column[kWide];
  load_columns(d, from, src_row, column);
  for (int c = 0; c < kWide && c < columns; ++c) hn::StoreU(column[c], d, to + c * dst_row);
}
#endif

// Phases of a row that begin side by side, as many lanes of each as all have: to[phase][i] =
// from[i*step + phase]. Returns how many lanes of each are done.
template <class T>
HWY_INLINE int64_t split_side_by_side([[maybe_unused]] const SplitRows& s,
                                      [[maybe_unused]] const T* from, [[maybe_unused]] T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) >= 4) {
    const hn::CappedTag<T, 32 / sizeof(T)> d;
    const int64_t high = static_cast<int64_t>(hn::Lanes(d)), wide = 16 / sizeof(T);
    int64_t count = s.counts[0];
    for (int phase = 1; phase < s.phases; ++phase) {
      if (s.starts[phase] != s.starts[0] + phase) return 0;
      if (s.counts[phase] < count) count = s.counts[phase];
    }
    if (s.phases >= wide && count >= high) {
      // Tiles at the edges overlap the ones before them.
      for (; i < count; i += high) {
        const int64_t at = i + high <= count ? i : count - high;
        for (int64_t after = 0; after < s.phases; after += wide) {
          const int64_t c = after + wide <= s.phases ? after : s.phases - wide;
          transpose_tile(wide, from + at * s.step + c, s.step, to + c * s.phase + at, s.phase);
        }
      }
      return count;
    }
    // A tile reads up to three lanes that belong to no phase: no more than a step.
    for (; i + high < count; i += high) {
      transpose_tile(s.phases, from + i * s.step, s.step, to + i, s.phase);
    }
  }
#endif
  return i;
}

template <class T>
void split(const SplitRows& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T* from = static_cast<const T*>(s.src) + r * s.src_row;
    T* row = static_cast<T*>(s.dst) + r * s.dst_row;
    const int64_t done =
        s.inner == 1 && !s.table && s.step > 2 ? split_side_by_side(s, from + s.starts[0], row) : 0;
    for (int phase = 0; phase < s.phases; ++phase) {
      const T* HWY_RESTRICT first = s.table ? from : from + s.starts[phase] * s.inner;
      T* HWY_RESTRICT to = row + phase * s.phase;
      const int64_t count = s.counts[phase];
      if (s.table) {
        const int32_t* table = s.table + phase * count;
        copy_groups(
            count, s.inner, [&](int64_t i) { return from + table[i] * s.inner; },
            [&](int64_t i) { return to + i * s.inner; });
      } else if (s.inner == 1 && s.step == 2) {
        pick_even(count, first, to);
      } else if (s.inner == 1) {
        for (int64_t i = done; i < count; ++i) to[i] = first[i * s.step];
      } else {
        pack_groups(count, s.inner, first, s.step * s.inner, to);
      }
    }
  }
}

template <class T>
void join(const SplitRows& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T* row = static_cast<const T*>(s.src) + r * s.src_row;
    T* HWY_RESTRICT to = static_cast<T*>(s.dst) + r * s.dst_row;
    if (s.inner == 1 && s.step == 2 && s.phases == 2 && s.starts[0] == 0 && s.starts[1] == 1) {
      zip(s.counts[1], row, row + s.phase, to);
      if (s.counts[0] > s.counts[1]) to[2 * s.counts[1]] = row[s.counts[1]];
      continue;
    }
    for (int phase = 0; phase < s.phases; ++phase) {
      const T* HWY_RESTRICT from = row + phase * s.phase;
      T* first = to + s.starts[phase] * s.inner;
      const int64_t count = s.counts[phase];
      copy_groups(
          count, s.inner, [&](int64_t i) { return from + i * s.inner; },
          [&](int64_t i) { return first + i * s.step * s.inner; });
    }
  }
}

template <class T>
void repeat(int64_t rows, int64_t row_stride, void* block, int64_t count, const int32_t* to,
            const int32_t* from) {
  T* row = static_cast<T*>(block);
  for (int64_t r = 0; r < rows; ++r, row += row_stride) {
    for (int64_t i = 0; i < count; ++i) row[to[i]] = row[from[i]];
  }
}

#if HWY_TARGET != HWY_SCALAR
// What a tile of a matrix has: rows (kHigh) and columns (kWide).
template <class Element>
struct Tile {
  using T = Element;
  using D = hn::CappedTag<T, 32 / sizeof(T)>;
  static constexpr int64_t kHigh = hn::MaxLanes(D()), kWide = 16 / sizeof(T);
  static HWY_INLINE void turn(const T* from, int64_t src_row, T* to, int64_t dst_row) {
    transpose_tile(kWide, from, src_row, to, dst_row);
  }
};
template <class Element, int side>
struct Square {
  using T = Element;
  static constexpr int64_t kHigh = side, kWide = side;
  static HWY_INLINE void turn(const T* from, int64_t src_row, T* to, int64_t dst_row) {
    turn_square(hn::CappedTag<T, side>(), from, src_row, to, dst_row);
  }
};

// Tiles at the edges overlap the ones before them; false, if there is no room for one.
template <class Piece, class T>
HWY_INLINE bool transpose_by(int64_t rows, int64_t columns, const T* from, int64_t src_row, T* to,
                             int64_t dst_row) {
  constexpr size_t kTilesAhead = 4096;  // bytes
  constexpr int64_t kHigh = Piece::kHigh, kWide = Piece::kWide;
  if (rows < kHigh || columns < kWide) return false;
  for (int64_t next = 0; next < rows; next += kHigh) {
    const int64_t r = next + kHigh <= rows ? next : rows - kHigh;
    for (int64_t after = 0; after < columns; after += kWide) {
      const int64_t c = after + kWide <= columns ? after : columns - kWide;
      // Rows without gaps between them are read as one piece of memory, tile by tile.
      const T* ahead = from + r * src_row + after * kHigh + kTilesAhead / sizeof(T);
      hwy::Prefetch(ahead);
      hwy::Prefetch(ahead + 64 / sizeof(T));
      Piece::turn(from + r * src_row + c, src_row, to + c * dst_row + r, dst_row);
    }
  }
  return true;
}
#endif

// By tiles; what is too small for one goes by elements.
template <class T>
void transpose(int64_t rows, int64_t columns, const void* src, int64_t src_row, void* dst,
               int64_t dst_row) {
  const T* from = static_cast<const T*>(src);
  T* to = static_cast<T*>(dst);
  if (rows == 1 && dst_row == 1) {
    std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(T));
    return;
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(T) == 1) {
    if (transpose_by<Square<T, 16>>(rows, columns, from, src_row, to, dst_row)) return;
  }
  if constexpr (sizeof(T) <= 2) {
    if (transpose_by<Square<T, 8>>(rows, columns, from, src_row, to, dst_row)) return;
  } else if (transpose_by<Tile<T>>(rows, columns, from, src_row, to, dst_row)) {
    return;
  }
#endif
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) to[c * dst_row + r] = from[r * src_row + c];
  }
}

#if HWY_TARGET != HWY_SCALAR
// n quotients, at least a vector of them, each twice; the last vector overlaps the one before it.
template <class D, class T>
HWY_INLINE void quotients_twice(D d, const Divide<T>& divide, int64_t n, const T* HWY_RESTRICT from,
                                T* HWY_RESTRICT to) {
  const auto factor = hn::Set(d, divide.factor), divisor = hn::Set(d, divide.divisor);
  each_vector(d, n, [&](int64_t i) HWY_ATTR {
    const auto v = hn::LoadU(d, from + i);
    const auto q = divide.exact ? hn::Mul(v, factor) : hn::Div(v, divisor);
    hn::StoreInterleaved2(q, q, d, to + 2 * i);
  });
}
#endif

template <class T>
void repeat_divided(const Repeat& shape, const void* src, void* dst) {
  const T* HWY_RESTRICT from = static_cast<const T*>(src);
  T* HWY_RESTRICT to = static_cast<T*>(dst);
  const Divide<T> divide(shape.divisor);
  const int64_t inner = shape.inner, times = shape.times;
  const int64_t whole = shape.places / times < shape.groups ? shape.places / times : shape.groups;
  constexpr int64_t kMostFetched = 8192 / int64_t{sizeof(T)};
  const int64_t gradients = shape.groups * inner;
  fetch_ahead(from, gradients < kMostFetched ? gradients : kMostFetched);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<T, 32 / sizeof(T)> d;
  if (inner == 1 && times == 2 && whole >= static_cast<int64_t>(hn::Lanes(d))) {
    quotients_twice(d, divide, whole, from, to);
    i = whole;
  }
#endif
  if (inner == 1) {
    for (; i < whole; ++i) {
      const T value = divide(from[i]);
      for (int64_t k = 0; k < times; ++k) to[i * times + k] = value;
    }
  }
  for (; i < whole; ++i) {
    T* first = to + i * times * inner;
    for (int64_t c = 0; c < inner; ++c) first[c] = divide(from[i * inner + c]);
    for (int64_t k = 1; k < times; ++k) {
      std::memcpy(first + k * inner, first, static_cast<size_t>(inner) * sizeof(T));
    }
  }
  int64_t place = whole * times;
  for (; place < shape.places && place < shape.groups * times; ++place) {
    for (int64_t c = 0; c < inner; ++c) to[place * inner + c] = divide(from[whole * inner + c]);
  }
  std::memset(to + place * inner, 0,
              static_cast<size_t>((shape.places - place) * inner) * sizeof(T));
}

void stream(const void* src, void* dst, size_t bytes) {
  Streamer streamer(src, dst);
  streamer.advance(bytes);
  streamer.finish(bytes);
}

uint64_t largest(const char* first, int64_t count, int64_t distance) {
  uint8_t most = 0;
  if (distance != 1) {
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t value = static_cast<uint8_t>(first[i * distance]);
      most = value > most ? value : most;
    }
    return most;
  }
  const hn::ScalableTag<uint8_t> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const uint8_t* from = reinterpret_cast<const uint8_t*>(first);
  auto a = hn::Zero(d), b = hn::Zero(d);
  int64_t i = 0;
  for (; i + 2 * step <= count; i += 2 * step) {
    a = hn::Max(a, hn::LoadU(d, from + i));
    b = hn::Max(b, hn::LoadU(d, from + i + step));
  }
  uint8_t lanes[HWY_MAX_BYTES];
  hn::StoreU(hn::Max(a, b), d, lanes);
  for (int64_t k = 0; k < step; ++k) most = lanes[k] > most ? lanes[k] : most;
  for (; i < count; ++i) most = from[i] > most ? from[i] : most;
  return most;
}

bool are_present(const uint8_t* numbers, int64_t planes, int64_t plane, const uint8_t* absent,
                 const uint8_t* kinds, uint8_t below) {
  bool fine = true;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  if (plane >= step) {
    const auto table = hn::LoadDup128(d, kinds);
    auto most = hn::Zero(d), missed = hn::Zero(d);
    for (; planes > 0; --planes, numbers += plane) {
      for (int64_t i = 0; i < plane; i += step) {
        const int64_t at = i + step <= plane ? i : plane - step;
        const auto v = hn::LoadU(d, numbers + at);
        most = hn::Max(most, v);
        const auto kind = hn::TableLookupBytes(table, v);
        missed = hn::Or(missed, hn::And(kind, hn::LoadU(d, absent + at)));
      }
    }
    fine = hn::AllTrue(d, hn::Lt(most, hn::Set(d, below))) &&
           hn::AllTrue(d, hn::Eq(missed, hn::Zero(d)));
    return fine;
  }
#endif
  for (; planes > 0; --planes, numbers += plane) {
    for (int64_t i = 0; i < plane; ++i) {
      fine = fine && numbers[i] < below && (kinds[numbers[i]] & absent[i]) == 0;
    }
  }
  return fine;
}

MoveKernels make_table() {
  MoveKernels t{};
  t.split[0] = split<uint8_t>;
  t.split[1] = split<uint16_t>;
  t.split[2] = split<uint32_t>;
  t.split[3] = split<uint64_t>;
  t.join[0] = join<uint8_t>;
  t.join[1] = join<uint16_t>;
  t.join[2] = join<uint32_t>;
  t.join[3] = join<uint64_t>;
  t.repeat[0] = repeat<uint8_t>;
  t.repeat[1] = repeat<uint16_t>;
  t.repeat[2] = repeat<uint32_t>;
  t.repeat[3] = repeat<uint64_t>;
  t.transpose[0] = transpose<uint8_t>;
  t.transpose[1] = transpose<uint16_t>;
  t.transpose[2] = transpose<uint32_t>;
  t.transpose[3] = transpose<uint64_t>;
  t.repeat_divided[0] = repeat_divided<float>;
  t.repeat_divided[1] = repeat_divided<double>;
  t.largest = largest;
  t.are_present = are_present;
  t.stream = stream;
  t.flush = [] { hwy::FlushStream(); };
  return t;
}

}  // namespace

const MoveKernels* move_kernels() {
  static const MoveKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(MoveKernels, move_kernels)
}  // namespace ndpool
#endif
