// Vectors of f32 that are written one behind the other. Included once per SIMD target.
#if defined(NDPOOL_SRC_KERNELS_IN_ORDER_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NDPOOL_SRC_KERNELS_IN_ORDER_H_
#undef NDPOOL_SRC_KERNELS_IN_ORDER_H_
#else
#define NDPOOL_SRC_KERNELS_IN_ORDER_H_
#endif

#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/lanes_of_two.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

enum class Way {
  kPlain,
  kStreamed,  // past the caches, to whole vectors
  kMoved,     // past the caches, to any place: lanes of two vectors make one that is written
};

template <Way way>
class InOrder {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit InOrder(float* to) : to_(to) {
    if constexpr (way == Way::kMoved) {
      const auto beyond = reinterpret_cast<uintptr_t>(to) / sizeof(float) % hn::Lanes(D());
      head_ = hn::Lanes(D()) - beyond;
    }
  }
  HWY_INLINE void put(V v) {
    const D d;
    if constexpr (way == Way::kPlain) {
      hn::StoreU(v, d, to_);
      to_ += hn::Lanes(d);
    } else if constexpr (way == Way::kStreamed) {
      hn::Stream(v, d, to_);
      to_ += hn::Lanes(d);
    } else {
      put_moved(v);
    }
  }
  // Writes what is left.
  void finish() {
    if constexpr (way == Way::kMoved) {
      if (!any_) return;
      float last[hn::MaxLanes(D())];
      hn::StoreU(before_, D(), last);
      std::memcpy(to_, last + head_, (hn::Lanes(D()) - head_) * sizeof(float));
    }
    if constexpr (way != Way::kPlain) hwy::FlushStream();
  }

 private:
  HWY_INLINE void put_moved([[maybe_unused]] V v) {
#if HWY_TARGET <= HWY_AVX3
    const D d;
    if (HWY_UNLIKELY(!any_)) {
      hn::BlendedStore(v, hn::FirstN(d, head_), d, to_);
      to_ += head_;
      numbers_ = lane_numbers(d, static_cast<int64_t>(head_));
      any_ = true;
    } else {
      hn::Stream(lanes_of_two(d, before_, v, numbers_), d, to_);
      to_ += hn::Lanes(d);
    }
    before_ = v;
#endif
  }

  float* to_;
  size_t head_ = 0;  // lanes before the first whole vector
  bool any_ = false;
  V before_ = hn::Zero(D());
#if HWY_TARGET <= HWY_AVX3
  LaneNumbers<D> numbers_ = lane_numbers(D(), 0);
#endif
};

constexpr bool kMovesInOrder = HWY_TARGET <= HWY_AVX3;

inline Way way_of(const float* to, bool streamed) {
  if (!streamed) return Way::kPlain;
  const size_t vector = hn::Lanes(hn::ScalableTag<float>()) * sizeof(float);
  return reinterpret_cast<uintptr_t>(to) % vector == 0 ? Way::kStreamed : Way::kMoved;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // NDPOOL_SRC_KERNELS_IN_ORDER_H_
