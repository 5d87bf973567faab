// Windows along rows: vectors follow one another, and what is joined of 1, 2, 4 ... lanes up to
// each lane stays in registers until the next vector has come.
#include <bit>
#include <cstdint>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/neighbours.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/lanes_of_two.h"
#include "kernels/numbers.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

using Sixteen = hn::CappedTag<float, 16>;
using V = hn::Vec<Sixteen>;
constexpr int64_t kLanes = 16;

// Lanes that lie so many before those of a vector, which has another before it.
HWY_INLINE LaneNumbers<Sixteen> so_many_before(int64_t lanes) {
  return lane_numbers(Sixteen(), kLanes - lanes);
}

// Calls join(v) for vectors of each row, from one in which no window ends on, and stores what comes
// of those that hold the ends of windows.
template <class Join>
HWY_INLINE void each_row_of(const NeighbourRows& n, Join join) {
  const Sixteen d;
  const int64_t before = (n.taps - 1 + kLanes - 1) / kLanes * kLanes;
  for (int64_t r = 0; r < n.rows; ++r) {
    const float* x = n.src + r * n.src_row + n.taps - 1 - before;
    float* y = n.dst + r * n.dst_row;
    for (int64_t i = 0; i < before; i += kLanes, x += kLanes) join(hn::LoadU(d, x));
    int64_t i = 0;
    for (; i + kLanes <= n.lanes; i += kLanes) hn::StoreU(join(hn::LoadU(d, x + i)), d, y + i);
    if (i == n.lanes) continue;
    const auto some = hn::FirstN(d, static_cast<size_t>(n.lanes - i));
    hn::BlendedStore(join(hn::LoadU(d, x + i)), some, d, y + i);
  }
}

// Windows of more than 2^(steps-1) taps and at most 2^steps.
template <class Op, int steps>
void extremes_in(const NeighbourRows& n) {
  const Sixteen d;
  LaneNumbers<Sixteen> from[steps];
  for (int s = 0; s + 1 < steps; ++s) from[s] = so_many_before(int64_t{1} << s);
  from[steps - 1] = so_many_before(n.taps - (int64_t{1} << (steps - 1)));
  V last[steps];
  for (V& v : last) v = hn::Zero(d);
  each_row_of(n, [&](V v) HWY_ATTR {
    for (int s = 0; s < steps; ++s) {
      const V joined = Op::many(v, lanes_of_two(d, last[s], v, from[s]));
      last[s] = v;
      v = joined;
    }
    return v;
  });
}
template <class Op>
void extremes(const NeighbourRows& n) {
  const int steps = std::bit_width(static_cast<uint64_t>(n.taps - 1));
  if (steps <= 1) return extremes_in<Op, 1>(n);
  if (steps == 2) return extremes_in<Op, 2>(n);
  if (steps == 3) return extremes_in<Op, 3>(n);
  if (steps == 4) return extremes_in<Op, 4>(n);
  extremes_in<Op, 5>(n);
}

// Sums of the last 1, 2, 4 ... 2^(levels-1) lanes up to each lane, and those of `taps` lanes,
// joined from them as the tree does: the largest first.
template <int levels>
class Sums {
 public:
  explicit Sums(int64_t taps) : bits_(static_cast<uint64_t>(taps)) {
    for (int level = 0; level < levels; ++level) {
      twice_[level] = so_many_before(int64_t{1} << level);
      behind_[level] = so_many_before(taps & ((int64_t{1} << level) - 1));
      last_[level] = hn::Zero(Sixteen());
    }
  }
  // *wide: twice as many as the largest.
  HWY_INLINE V next(V v, V* wide) {
    const Sixteen d;
    V sum = v;
    for (int level = 0; level < levels; ++level) {
      if ((bits_ >> level & 1) != 0) {
        const bool first = (bits_ & ((uint64_t{1} << level) - 1)) == 0;
        sum = first ? v : hn::Add(lanes_of_two(d, last_[level], v, behind_[level]), sum);
      }
      const V twice = hn::Add(lanes_of_two(d, last_[level], v, twice_[level]), v);
      last_[level] = v;
      v = twice;
    }
    *wide = v;
    return sum;
  }

 private:
  uint64_t bits_;
  LaneNumbers<Sixteen> twice_[levels], behind_[levels];
  V last_[levels];
};

template <int levels>
void sums_in(const NeighbourRows& n) {
  const Sixteen d;
  const Divide<float> divide(n.divisor == 0 ? 1 : n.divisor);
  const V factor = hn::Set(d, divide.factor), divisor = hn::Set(d, divide.divisor);
  Sums<levels> sums(n.taps);
  V wide;
  if (divide.exact) {
    each_row_of(n, [&](V v) HWY_ATTR { return hn::Mul(sums.next(v, &wide), factor); });
  } else {
    each_row_of(n, [&](V v) HWY_ATTR { return hn::Div(sums.next(v, &wide), divisor); });
  }
}
void sums(const NeighbourRows& n) {
  const int levels = std::bit_width(static_cast<uint64_t>(n.taps));
  if (levels == 1) return sums_in<1>(n);
  if (levels == 2) return sums_in<2>(n);
  if (levels == 3) return sums_in<3>(n);
  if (levels == 4) return sums_in<4>(n);
  sums_in<5>(n);
}

void wide_sums(const WideSums& w) {
  const Sixteen d;
  Sums<4> sums(w.taps);
  float *wide_at = w.wide - (WideSums::kWide - 1), *rest_at = w.rest - (w.taps - 1);
  const int64_t end = w.lanes + WideSums::kWide - 1;
  for (int64_t i = 0; i < end; i += kLanes) {
    V wide;
    const V rest = sums.next(hn::LoadU(d, w.src + i), &wide);
    hn::StoreU(wide, d, wide_at + i);
    if (w.taps > 0) hn::StoreU(rest, d, rest_at + i);
  }
}

constexpr NeighbourKernels kTable = {{extremes<OfNumbers<Max>>, extremes<OfNumbers<Min>>},
                                     {extremes<OfAnything<Max>>, extremes<OfAnything<Min>>},
                                     sums,
                                     wide_sums};

#else

constexpr NeighbourKernels kTable;

#endif

}  // namespace

const NeighbourKernels* neighbour_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(NeighbourKernels, neighbour_kernels)
}  // namespace ndpool
#endif
