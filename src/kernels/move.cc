// Rows moved without arithmetic: strided picks, their inverse, and copies past the caches.
#include <cstring>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/move.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

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

template <class T>
void split(const SplitRows& s) {
  for (int64_t r = 0; r < s.rows; ++r) {
    const T* from = static_cast<const T*>(s.src) + r * s.src_row;
    T* row = static_cast<T*>(s.dst) + r * s.dst_row;
    for (int phase = 0; phase < s.phases; ++phase) {
      const T* HWY_RESTRICT first = s.table ? from : from + s.starts[phase] * s.inner;
      T* HWY_RESTRICT to = row + phase * s.phase;
      const int64_t count = s.counts[phase];
      if (s.table) {
        const int32_t* table = s.table + phase * count;
        if (s.inner == 1) {
          for (int64_t i = 0; i < count; ++i) to[i] = from[table[i]];
        } else {
          for (int64_t i = 0; i < count; ++i) {
            for (int64_t c = 0; c < s.inner; ++c)
              to[i * s.inner + c] = from[table[i] * s.inner + c];
          }
        }
      } else if (s.inner == 1 && s.step == 2) {
        pick_even(count, first, to);
      } else if (s.inner == 1) {
        for (int64_t i = 0; i < count; ++i) to[i] = first[i * s.step];
      } else {
        for (int64_t i = 0; i < count; ++i) {
          for (int64_t c = 0; c < s.inner; ++c)
            to[i * s.inner + c] = first[i * s.step * s.inner + c];
        }
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
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t c = 0; c < s.inner; ++c)
          first[i * s.step * s.inner + c] = from[i * s.inner + c];
      }
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

// Whole cache lines go past the caches, the rest through them.
void stream(const void* src, void* dst, size_t bytes) {
  const hn::ScalableTag<uint8_t> d;
  const size_t step = hn::Lanes(d);
  const uint8_t* from = static_cast<const uint8_t*>(src);
  uint8_t* to = static_cast<uint8_t*>(dst);
  const size_t head = (64 - reinterpret_cast<uintptr_t>(to) % 64) % 64;
  if (bytes < head + 64 || step > 64) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  const size_t end = head + (bytes - head) / 64 * 64;
  for (size_t i = head; i < end; i += step) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::memcpy(to + end, from + end, bytes - end);
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
  t.largest = largest;
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
