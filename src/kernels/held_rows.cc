// Extrema over small planes: each row is joined along in registers, and what comes of it downwards,
// through a ring of as many rows as a window has.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/held_rows.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/lanes_of_two.h"
#include "kernels/order.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET <= HWY_AVX3

using Row = hn::CappedTag<float, HeldRows::kLanes>;

// The last vectors of a row, and one before them: where steps ahead differ.
constexpr int kEnds = 3;

// Of the lanes of the vector k of a row, those that lie `distance` behind them, in it or in the
// next one; but none after the last cell, which has joined what lies before it.
LaneNumbers<Row> lanes_behind(int64_t k, int64_t distance, int64_t last) {
  uint32_t numbers[HeldRows::kLanes];
  for (int64_t i = 0; i < HeldRows::kLanes; ++i) {
    const int64_t lane = k * HeldRows::kLanes + i;
    const int64_t other = std::min(lane + distance, std::max(lane, last));
    numbers[i] = static_cast<uint32_t>(other - k * HeldRows::kLanes);
  }
  return hn::LoadU(hn::RebindToUnsigned<Row>(), numbers);
}

// A row of cells in `vectors` vectors. kBack and kAhead: how many steps there are, if not -1.
template <class E, int vectors, int kBack, int kAhead>
bool pool(const HeldRows& held, int64_t planes, const float* x, float* ring, float* y) {
  const Row d;
  using V = hn::Vec<Row>;
  constexpr int64_t kLanes = HeldRows::kLanes, kLast = (vectors - 1) * kLanes;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const HeldRows h = held;
  const V absent = hn::Set(d, std::is_same_v<E, Max> ? -kInfinity : kInfinity);
  const auto last_cells = hn::FirstN(d, static_cast<size_t>(h.cells - kLast));
  const auto last_outputs = hn::FirstN(d, static_cast<size_t>(h.outputs - kLast));
  const int back = kBack < 0 ? h.back : kBack, ahead = kAhead < 0 ? h.ahead : kAhead;
  LaneNumbers<Row> before[HeldRows::kMostSteps], behind[HeldRows::kMostSteps][kEnds];
  for (int s = 0; s < back; ++s) before[s] = lane_numbers(d, kLanes - h.distance[s]);
  for (int s = 0; s < ahead; ++s) {
    for (int64_t k = 0; k < kEnds; ++k) {
      behind[s][k] = lanes_behind(vectors - kEnds + k, h.distance[back + s], h.cells - 1);
    }
  }
  V seen[vectors];
  for (V& v : seen) v = hn::Zero(d);
  for (int64_t p = 0; p < planes; ++p, x += h.plane) {
    const auto slot_at = [ring](int64_t slot) { return ring + slot * vectors * kLanes; };
    const auto leave_out = [&](float* slot) HWY_ATTR {
      for (int k = 0; k < vectors; ++k) hn::StoreU(absent, d, slot + k * kLanes);
    };
    for (int64_t slot = 0; slot < h.pad; ++slot) leave_out(slot_at(slot));
    V above[vectors];  // of the rows since the ring was full
    for (V& v : above) v = absent;
    const float* row = x;
    int64_t slot = h.pad, rows = h.rows, output = h.pad - h.taps + 1;
    for (; output < h.output_rows; ++output) {
      float* const here = slot_at(slot);
      if (rows-- > 0) {
        V v[vectors];
        for (int k = 0; k < vectors - 1; ++k) v[k] = hn::LoadU(d, row + k * kLanes);
        v[vectors - 1] = load_some(d, absent, last_cells, row + kLast);
        for (int k = 0; k < vectors; ++k) seen[k] = hn::Add(seen[k], v[k]);
        row += h.cells;
        HWY_UNROLL(4)
        for (int s = 0; s < back; ++s) {
          for (int k = vectors - 1; k >= 0; --k) {
            v[k] = E::extreme(v[k], lanes_of_two(d, k > 0 ? v[k - 1] : absent, v[k], before[s]));
          }
        }
        HWY_UNROLL(4)
        for (int s = 0; s < ahead; ++s) {
          for (int k = 0; k < vectors; ++k) {
            const V next = v[k + 1 < vectors ? k + 1 : k];
            const int end = k + kEnds < vectors ? 0 : k + kEnds - vectors;
            v[k] = E::extreme(v[k], lanes_of_two(d, v[k], next, behind[s][end]));
          }
        }
        for (int k = 0; k < vectors; ++k) {
          above[k] = E::extreme(above[k], v[k]);
          hn::StoreU(v[k], d, here + k * kLanes);
        }
      } else {
        leave_out(here);
      }
      const bool full = ++slot == h.taps;
      if (output >= 0) {
        V v[vectors];
        for (int k = 0; k < vectors; ++k) v[k] = above[k];
        if (!full) {
          const float* const older = here + vectors * kLanes;
          for (int k = 0; k < vectors; ++k) {
            v[k] = E::extreme(v[k], hn::LoadU(d, older + k * kLanes));
          }
        }
        for (int k = 0; k < vectors - 1; ++k) hn::StoreU(v[k], d, y + k * kLanes);
        hn::BlendedStore(v[vectors - 1], last_outputs, d, y + kLast);
        y += h.outputs;
      }
      if (!full) continue;
      // Each row of the ring becomes the extremum of itself and those below it.
      V below[vectors];
      for (int k = 0; k < vectors; ++k) below[k] = hn::LoadU(d, here + k * kLanes);
      while (--slot > 0) {
        float* const upper = slot_at(slot - 1);
        for (int k = 0; k < vectors; ++k) {
          below[k] = E::extreme(below[k], hn::LoadU(d, upper + k * kLanes));
          hn::StoreU(below[k], d, upper + k * kLanes);
        }
      }
      for (V& v : above) v = absent;
    }
  }
  auto nan = hn::IsNaN(seen[0]);
  for (int k = 1; k < vectors; ++k) nan = hn::Or(nan, hn::IsNaN(seen[k]));
  return hn::AllFalse(d, nan);
}

// Windows whose pads are half as wide as themselves take one step ahead.
template <class E, int vectors>
HeldFn by_steps(const HeldRows& h) {
  if (h.ahead == 1 && h.back == 1) return pool<E, vectors, 1, 1>;
  if (h.ahead == 1 && h.back == 2) return pool<E, vectors, 2, 1>;
  if (h.ahead == 1 && h.back == 3) return pool<E, vectors, 3, 1>;
  return pool<E, vectors, -1, -1>;
}
template <class E>
bool pool_any(const HeldRows& h, int64_t planes, const float* x, float* ring, float* y) {
  const int64_t vectors = (h.cells - 1) / HeldRows::kLanes + 1;
  const HeldFn fn = vectors == 1   ? by_steps<E, 1>(h)
                    : vectors == 2 ? by_steps<E, 2>(h)
                    : vectors == 3 ? by_steps<E, 3>(h)
                                   : by_steps<E, 4>(h);
  return fn(h, planes, x, ring, y);
}

constexpr HeldKernels kTable = {{pool_any<Max>, pool_any<Min>}};

#else

constexpr HeldKernels kTable;

#endif

}  // namespace

const HeldKernels* held_kernels() { return &kTable; }

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(HeldKernels, held_kernels)
}  // namespace ndpool
#endif
