// Rows turned into columns, a few at a time. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_TURN_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_TURN_H_
#undef NDPOOL_SRC_KERNELS_TURN_H_
#else
#define NDPOOL_SRC_KERNELS_TURN_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR
// 16 bytes at `from`, and 16 at some distance for each further part of a vector.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_blocks(D d, const T* from, int64_t distance) {
  if constexpr (hn::MaxLanes(D()) * sizeof(T) == 16) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, hn::LoadU(half, from + distance), hn::LoadU(half, from));
  }
}

// Four rows of 4-byte lanes: of each 16 bytes of theirs, the columns.
template <class D>
HWY_INLINE void turn_blocks(D d, const hn::Vec<D>* rows, hn::Vec<D>* columns) {
  const hn::Repartition<uint64_t, D> pairs;
  const auto low01 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[0], rows[1]));
  const auto low23 = hn::BitCast(pairs, hn::InterleaveLower(d, rows[2], rows[3]));
  const auto high01 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[0], rows[1]));
  const auto high23 = hn::BitCast(pairs, hn::InterleaveUpper(d, rows[2], rows[3]));
  columns[0] = hn::BitCast(d, hn::InterleaveLower(pairs, low01, low23));
  columns[1] = hn::BitCast(d, hn::InterleaveUpper(pairs, low01, low23));
  columns[2] = hn::BitCast(d, hn::InterleaveLower(pairs, high01, high23));
  columns[3] = hn::BitCast(d, hn::InterleaveUpper(pairs, high01, high23));
}

// The first lanes of as many rows as a vector (of 32 bytes at most) has lanes: column[c] holds lane
// c of each row. 4 lanes of 4 bytes, or 2 of 8, are read from each.
template <class D, class T>
HWY_INLINE void load_columns(D d, const T* from, int64_t row, hn::Vec<D>* column) {
  if constexpr (sizeof(T) == 4) {
    hn::Vec<D> rows[4];
    for (int r = 0; r < 4; ++r) rows[r] = load_blocks(d, from + r * row, 4 * row);
    turn_blocks(d, rows, column);
  } else {
    const auto r0 = load_blocks(d, from, 2 * row), r1 = load_blocks(d, from + row, 2 * row);
    column[0] = hn::InterleaveLower(d, r0, r1);
    column[1] = hn::InterleaveUpper(d, r0, r1);
  }
}

// As many rows of 4-byte lanes as a vector (of 32 bytes at most) has lanes, turned.
template <class D>
HWY_INLINE void turn_vectors(D d, const hn::Vec<D>* rows, hn::Vec<D>* columns) {
  constexpr int kSide = hn::MaxLanes(D());
  static_assert(kSide <= 8);
  hn::Vec<D> blocks[kSide];
  for (int r = 0; r < kSide; r += 4) turn_blocks(d, rows + r, blocks + r);
  for (int c = 0; c < 4; ++c) {
    if constexpr (kSide == 8) {
      columns[c] = hn::ConcatLowerLower(d, blocks[c + 4], blocks[c]);
      columns[c + 4] = hn::ConcatUpperUpper(d, blocks[c + 4], blocks[c]);
    } else {
      columns[c] = blocks[c];
    }
  }
}

// As many rows of one or two bytes as a vector (of 16 bytes at most) has lanes, turned. Rows that
// are zipped with those half of all further down, as often as that halves them, come out as
// columns.
template <class D, class T>
HWY_INLINE void turn_square(D d, const T* from, int64_t src_row, T* to, int64_t dst_row) {
  constexpr int kSide = hn::MaxLanes(D());
  hn::Vec<D> rows[kSide], zipped[kSide];
  for (int r = 0; r < kSide; ++r) rows[r] = hn::LoadU(d, from + r * src_row);
  for (int times = 1; times < kSide; times *= 2) {
    for (int r = 0; r < kSide / 2; ++r) {
      zipped[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + kSide / 2]);
      zipped[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + kSide / 2]);
    }
    for (int r = 0; r < kSide; ++r) rows[r] = zipped[r];
  }
  for (int c = 0; c < kSide; ++c) hn::StoreU(rows[c], d, to + c * dst_row);
}
#endif

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_TURN_H_
