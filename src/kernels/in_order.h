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
  kStreamed,      // past the caches, to whole vectors
  kMoved,         // past the caches, to any place: lanes of two vectors make one that is written
  kMovedInCache,  // the same, not past them: of a vector that lies in two lines, each costs a store
};
constexpr bool is_moved(Way way) { return way == Way::kMoved || way == Way::kMovedInCache; }

template <Way way>
class InOrder {
 public:
  using D = hn::ScalableTag<float>;
  using V = hn::Vec<D>;

  explicit InOrder(float* to) : to_(to) {
    const D d;
    if constexpr (is_moved(way)) {
      skip_ = reinterpret_cast<uintptr_t>(to) / sizeof(float) % hn::Lanes(d);
      to_ = to - skip_;
      wait_from(hn::Lanes(d) - skip_);
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
      store_with(v);
      before_ = v;
    }
  }
  // The first `count` lanes, at most a vector.
  HWY_INLINE void put_some([[maybe_unused]] V v, [[maybe_unused]] size_t count) {
    static_assert(is_moved(way));
#if HWY_TARGET <= HWY_AVX3
    const D d;
    const bool full = count >= from_;
    if (full) store_with(v);
    before_ = lanes_of_two(d, before_, v, lane_numbers(d, static_cast<int64_t>(count)));
    wait_from(from_ - count + (full ? hn::Lanes(d) : 0));
#endif
  }
  // Writes what is left. (Who sees to it that others see what was streamed is the job.)
  void finish() {
    if constexpr (is_moved(way)) {
      float last[hn::MaxLanes(D())];
      hn::StoreU(before_, D(), last);
      const size_t waiting = hn::Lanes(D()) - from_;
      if (waiting > skip_) {
        std::memcpy(to_ + skip_, last + from_ + skip_, (waiting - skip_) * sizeof(float));
      }
    }
  }

 private:
  HWY_INLINE void wait_from(size_t lane) {
    from_ = lane;
#if HWY_TARGET <= HWY_AVX3
    numbers_ = lane_numbers(D(), static_cast<int64_t>(lane));
#endif
  }
  // What waits, and the first lanes of v behind it.
  HWY_INLINE void store_with([[maybe_unused]] V v) {
#if HWY_TARGET <= HWY_AVX3
    const D d;
    const V whole = lanes_of_two(d, before_, v, numbers_);
    if (HWY_UNLIKELY(skip_ != 0)) {
      hn::BlendedStore(whole, hn::Not(hn::FirstN(d, skip_)), d, to_);
      skip_ = 0;
    } else if constexpr (way == Way::kMoved) {
      hn::Stream(whole, d, to_);
    } else {
      hn::Store(whole, d, to_);
    }
    to_ += hn::Lanes(d);
#endif
  }

  float* to_;
  // Lanes of the last vector, from `from_` on, wait for those that follow them. At first they are
  // `skip_` lanes that lie before all that is written, and stay as they are.
  V before_ = hn::Zero(D());
  size_t from_ = hn::Lanes(D()), skip_ = 0;
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
