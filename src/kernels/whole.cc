// Windows that are whole planes: elements that lie side by side, to one.
#include <bit>
#include <cstdint>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/whole.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/order.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

constexpr int64_t kFetched = 1024;  // bytes ahead

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

template <class E, class T>
struct Extremes {
  static void run(int64_t n, const void* x, void* y) {
    using Op = Extremum<E>;
    const hn::ScalableTag<T> d;
    using V = hn::Vec<decltype(d)>;
    const T* from = static_cast<const T*>(x);
    const int64_t step = static_cast<int64_t>(hn::Lanes(d));
    T best = from[0];
    int64_t i = 0;
    if (n >= 4 * step) {
      V a = hn::LoadU(d, from), b = a, c = a, e = a;
      for (; i + 4 * step <= n; i += 4 * step) {
        const T* at = from + i;
        hwy::Prefetch(at + kFetched / sizeof(T));
        hwy::Prefetch(at + 2 * step + kFetched / sizeof(T));
        a = Op::many(a, hn::LoadU(d, at));
        b = Op::many(b, hn::LoadU(d, at + step));
        c = Op::many(c, hn::LoadU(d, at + 2 * step));
        e = Op::many(e, hn::LoadU(d, at + 3 * step));
      }
      // What is left of whole vectors, and the last vector, which overlaps another.
      for (; i < n; i += step) a = Op::many(a, hn::LoadU(d, from + (i + step <= n ? i : n - step)));
      best = folded<Op>(d, Op::many(Op::many(a, b), Op::many(c, e)));
    } else {
      for (; i < n; ++i) best = Op::one(best, from[i]);
    }
    *static_cast<T*>(y) = best;
  }
};

// Up to 8 elements.
template <class T>
HWY_INLINE T few(const T* x, int64_t n) {
  T sum[8];
  for (int64_t i = 0; i < n; ++i) sum[i] = x[i];
  for (; n > 1; n = (n + 1) / 2) {
    for (int64_t i = 0; i < n / 2; ++i) sum[i] = sum[2 * i] + sum[2 * i + 1];
    if (n % 2 != 0) sum[n / 2] = sum[n - 1];
  }
  return sum[0];
}

// Sums of each 8 neighbours, the last of fewer; returns how many there are.
template <class T>
HWY_INLINE int64_t eighths(const T* x, int64_t n, T* to) {
  int64_t i = 0, count = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  const auto pairs = [d](V a, V b) HWY_ATTR {
    return hn::Add(hn::ConcatEven(d, b, a), hn::ConcatOdd(d, b, a));
  };
  for (; i + 8 * step <= n; i += 8 * step, count += step) {
    const T* at = x + i;
    for (int64_t k = 0; k < 8 * step; k += 64 / int64_t{sizeof(T)}) {
      hwy::Prefetch(at + k + kFetched / sizeof(T));
    }
    const auto load = [d, at, step](int64_t k) HWY_ATTR { return hn::LoadU(d, at + k * step); };
    const V low = pairs(pairs(load(0), load(1)), pairs(load(2), load(3)));
    const V high = pairs(pairs(load(4), load(5)), pairs(load(6), load(7)));
    hn::StoreU(pairs(low, high), d, to + count);
  }
#endif
  for (; i < n; i += 8) to[count++] = few(x + i, n - i < 8 ? n - i : 8);
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

WholeKernels make_table() {
  WholeKernels t{};
  fill<Extremes, Max>(t.extreme[kMax]);
  fill<Extremes, Min>(t.extreme[kMin]);
  t.sum[0] = tree<float>;
  t.sum[1] = tree<double>;
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
