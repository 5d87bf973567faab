// Windows that slide over rows, one row further: see SlideRow.
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/slide.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/order.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

// `vectors` vectors of a row of sliding windows, from lane i on.
template <class Op, int vectors, class D, class T>
HWY_INLINE void slide_vectors(D d, const SlideRow& s, int64_t i, const T* x, const T* previous,
                              T* to) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto row = [i](const void* ring) { return static_cast<const T*>(ring) + i; };
  hn::Vec<D> v[vectors];
  for (int k = 0; k < vectors; ++k) {
    v[k] = Op::many(hn::LoadU(d, previous + k * step), hn::LoadU(d, x + k * step));
  }
  for (int level = 1; level < s.levels; ++level) {
    T* slot = static_cast<T*>(s.slot[level]) + i;
    for (int k = 0; k < vectors; ++k) {
      const auto old = hn::LoadU(d, slot + k * step);
      hn::StoreU(v[k], d, slot + k * step);
      v[k] = Op::many(old, v[k]);
    }
  }
  T* top = static_cast<T*>(s.slot[s.levels]) + i;
  for (int k = 0; k < vectors; ++k) hn::StoreU(v[k], d, top + k * step);
  if (!to) return;
  int part = 0;
  if (s.start != SlideRow::Start::level) {
    const T* start = s.start == SlideRow::Start::x ? x : row(s.part[part++]);
    for (int k = 0; k < vectors; ++k) v[k] = hn::LoadU(d, start + k * step);
  }
  for (; part < s.parts; ++part) {
    const T* other = row(s.part[part]);
    for (int k = 0; k < vectors; ++k) v[k] = Op::many(hn::LoadU(d, other + k * step), v[k]);
  }
  for (int k = 0; k < vectors; ++k) hn::StoreU(v[k], d, to + k * step);
}

template <class Op, class T>
void slide(const SlideRow& s) {
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const T *x = static_cast<const T*>(s.x), *previous = static_cast<const T*>(s.previous);
  T* to = static_cast<T*>(s.dst);
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    for (; i + 4 * step <= s.lanes; i += 4 * step) {
      slide_vectors<Op, 4>(d, s, i, x + i, previous + i, to ? to + i : nullptr);
    }
  }
  for (; i + step <= s.lanes; i += step) {
    slide_vectors<Op, 1>(d, s, i, x + i, previous + i, to ? to + i : nullptr);
  }
  if (i == s.lanes) return;
  // The rest of the row in vectors of their own: rows of the source end here.
  constexpr size_t kMost = hn::MaxLanes(hn::ScalableTag<T>());
  const size_t bytes = static_cast<size_t>(s.lanes - i) * sizeof(T);
  T rest[3][kMost]{};
  std::memcpy(rest[0], x + i, bytes);
  std::memcpy(rest[1], previous + i, bytes);
  slide_vectors<Op, 1>(d, s, i, rest[0], rest[1], to ? rest[2] : nullptr);
  if (to) std::memcpy(to + i, rest[2], bytes);
}

template <class E, class T>
struct Sliding {
  static void run(const SlideRow& s) { slide<Extremum<E>, T>(s); }
};

SlideKernels make_table() {
  SlideKernels t{};
  fill<Sliding, Max>(t.extreme[kMax]);
  fill<Sliding, Min>(t.extreme[kMin]);
  t.sum[static_cast<int>(Lane::i16)] = slide<Sum, int16_t>;
  t.sum[static_cast<int>(Lane::i32)] = slide<Sum, int32_t>;
  t.sum[static_cast<int>(Lane::i64)] = slide<Sum, int64_t>;
  t.sum[static_cast<int>(Lane::f32)] = slide<Sum, float>;
  t.sum[static_cast<int>(Lane::f64)] = slide<Sum, double>;
  return t;
}

}  // namespace

const SlideKernels* slide_kernels() {
  static const SlideKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(SlideKernels, slide_kernels)
}  // namespace ndpool
#endif
