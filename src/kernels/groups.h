// Groups of elements that move together, such as the colours of a pixel. Included once per SIMD
// target.
#if defined(NDPOOL_SRC_KERNELS_GROUPS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_GROUPS_H_
#undef NDPOOL_SRC_KERNELS_GROUPS_H_
#else
#define NDPOOL_SRC_KERNELS_GROUPS_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

// Copies `count` groups of `inner` elements, from from_of(i) to to_of(i).
template <int kInner, class From, class To>
HWY_INLINE void copy_groups_of(int64_t count, From from_of, To to_of) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to_of(i), from_of(i), kInner * sizeof *from_of(i));
  }
}
template <class From, class To>
HWY_INLINE void copy_groups(int64_t count, int64_t inner, From from_of, To to_of) {
  switch (inner) {
    case 1:
      return copy_groups_of<1>(count, from_of, to_of);
    case 2:
      return copy_groups_of<2>(count, from_of, to_of);
    case 3:
      return copy_groups_of<3>(count, from_of, to_of);
    case 4:
      return copy_groups_of<4>(count, from_of, to_of);
    default:
      for (int64_t i = 0; i < count; ++i) {
        const auto* HWY_RESTRICT from = from_of(i);
        auto* HWY_RESTRICT to = to_of(i);
        for (int64_t c = 0; c < inner; ++c) to[c] = from[c];
      }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Copies groups of up to 16 bytes that lie `distance` bytes apart, at least as far as they are
// long, side by side: as many as 16 bytes hold by one load, shuffle and store. What is stored too
// much is overwritten by the next groups. Returns how many are done.
HWY_INLINE int64_t pack_some(int64_t count, int64_t bytes, const char* from, int64_t distance,
                             char* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::FixedTag<uint8_t, 16> d;
  const int64_t some = (16 - bytes) / distance + 1;
  uint8_t index[16]{};
  for (int64_t k = 0; k < some * bytes; ++k) {
    index[k] = static_cast<uint8_t>(k / bytes * distance + k % bytes);
  }
  const auto order = hn::LoadU(d, index);
  // There must be groups behind to be read, and to be written over.
  const int64_t behind = 15 / bytes;
  int64_t i = 0;
  for (; i + behind < count; i += some) {
    const auto v = hn::LoadU(d, reinterpret_cast<const uint8_t*>(from + i * distance));
    hn::StoreU(hn::TableLookupBytes(v, order), d, reinterpret_cast<uint8_t*>(to + i * bytes));
  }
  return i;
}
#endif

// Copies groups that lie `step` elements apart side by side.
template <class T>
HWY_INLINE void pack_groups(int64_t count, int64_t inner, const T* from, int64_t step, T* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if (inner <= 16 / int64_t{sizeof(T)} && step >= inner) {
    i = pack_some(count, inner * int64_t{sizeof(T)}, reinterpret_cast<const char*>(from),
                  step * int64_t{sizeof(T)}, reinterpret_cast<char*>(to));
  }
#endif
  copy_groups(
      count - i, inner, [&](int64_t k) { return from + (i + k) * step; },
      [&](int64_t k) { return to + (i + k) * inner; });
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_GROUPS_H_
