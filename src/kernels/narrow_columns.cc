// Small windows of halves, and of integers of one and two bytes, column by column: in lanes twice
// as wide, so that two neighbours are the halves of a lane.
#include <cstdint>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow_columns.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/columns.h"
#include "kernels/narrow_cells.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if NDPOOL_VECTOR_HALVES

// Lanes are of two cells.
template <class T, bool (*narrow)(const ColumnRows&), bool (*wide)(const ColumnRows&)>
constexpr auto kAnyWidth = of_any_width<narrow, wide, kWideBytes / (2 * sizeof(T))>;

template <class E, class T, size_t bytes>
bool whole_extremes(const ColumnRows& c) {
  using Op = Extremum<E>;
  return c.spacing == 2 ? columns_of_pairs<PairExtremes, Pairs<T, T, bytes>, Op>(c)
                        : columns_of_neighbours<Values, Integers<T, bytes>, Op>(c);
}

template <class T>
ColumnKernels whole_kernels_of() {
  ColumnKernels k;
  k.lanes = static_cast<int64_t>(hn::Lanes(typename Integers<T, 32>::D()));
  k.extremes[kMax].anything =
      kAnyWidth<T, whole_extremes<Max, T, 32>, whole_extremes<Max, T, kWideBytes>>;
  k.extremes[kMin].anything =
      kAnyWidth<T, whole_extremes<Min, T, 32>, whole_extremes<Min, T, kWideBytes>>;
  k.average = kAnyWidth<T, columns<Values, Integers<T, 32>, Sum>,
                        columns<Values, Integers<T, kWideBytes>, Sum>>;
  return k;
}

// At spacing 2, columns of numbers alone.
template <class E, class Half, template <size_t> class Cells, size_t bytes>
bool half_numbers(const ColumnRows& c) {
  return c.spacing == 2 ? columns_of_pairs<HalfExtremes, HalfPairs<E, Half, bytes>, OfNumbers<E>>(c)
                        : columns_of_neighbours<Values, Cells<bytes>, Extremum<E>>(c);
}

template <class E, class Half, template <size_t> class Cells>
ColumnKernels::Kinds half_extremes() {
  return {kAnyWidth<uint16_t, half_numbers<E, Half, Cells, 32>,
                    half_numbers<E, Half, Cells, kWideBytes>>,
          columns<Values, Cells<32>, Extremum<E>>};
}

template <class Half, template <size_t> class Cells>
ColumnKernels half_kernels_of() {
  ColumnKernels k;
  k.lanes = static_cast<int64_t>(hn::Lanes(typename Cells<32>::D()));
  k.extremes[kMax] = half_extremes<Max, Half, Cells>();
  k.extremes[kMin] = half_extremes<Min, Half, Cells>();
  k.average =
      kAnyWidth<uint16_t, columns<Values, Cells<32>, Sum>, columns<Values, Cells<kWideBytes>, Sum>>;
  return k;
}

NarrowColumnKernels make_table() {
  NarrowColumnKernels t;
  t.of[NDPOOL_F16] = half_kernels_of<Float16, Float16s>();
  t.of[NDPOOL_BF16] = half_kernels_of<BFloat16, BFloat16s>();
  t.of[NDPOOL_I8] = whole_kernels_of<int8_t>();
  t.of[NDPOOL_U8] = whole_kernels_of<uint8_t>();
  t.of[NDPOOL_I16] = whole_kernels_of<int16_t>();
  t.of[NDPOOL_U16] = whole_kernels_of<uint16_t>();
  return t;
}

#else

NarrowColumnKernels make_table() { return {}; }

#endif

}  // namespace

const NarrowColumnKernels* narrow_column_kernels() {
  static const NarrowColumnKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(NarrowColumnKernels, narrow_column_kernels)
}  // namespace ndpool
#endif
