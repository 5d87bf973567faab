// Small planes, joined at every place as if they were one row: see Sheet.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sheets.cc"
#include "hwy/foreach_target.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/numbers.h"
#include "kernels/tap_rows.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

#if HWY_TARGET != HWY_SCALAR

template <class T>
using Few = hn::CappedTag<T, SheetKernels::kMostLanes>;

// Lane by lane from vectors that together cover `lanes`; the last overlaps the one before it.
template <class T, class Body>
HWY_INLINE void cover(int64_t lanes, Body body) {
  const int64_t step = static_cast<int64_t>(hn::Lanes(Few<T>()));
  for (int64_t i = 0; i < lanes; i += step) {
    body(i + step <= lanes ? i : lanes < step ? 0 : lanes - step);
  }
}

// Copies planes of at least one vector, and returns a sum of their cells, in which NaN stays.
template <class T>
HWY_INLINE hn::Vec<Few<T>> copied(const Sheet& s, int64_t planes, const T* x, T* down) {
  const Few<T> d;
  auto seen = hn::Zero(d);
  for (int64_t p = 0; p < planes; ++p) {
    const T* from = x + p * s.x_step;
    T* to = down + s.place + p * s.place_step;
    cover<T>(s.cells, [&](int64_t i) HWY_ATTR {
      hwy::Prefetch(from + planes * s.x_step + i);
      const auto v = hn::LoadU(d, from + i);
      if constexpr (hwy::IsFloat<T>()) seen = hn::Add(seen, v);
      hn::StoreU(v, d, to + i);
    });
  }
  return seen;
}

template <class Op, class T>
HWY_INLINE void run_passes(const SheetAxis& axis, T* memory) {
  const Few<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  for (int p = 0; p < axis.passes; ++p) {
    const SheetAxis::Pass& pass = axis.pass[p];
    const T *a = memory + pass.from, *b = a + pass.distance;
    T* to = memory + pass.to;
    if (pass.radix == 2) {
      for (int64_t i = 0; i < pass.lanes; i += step) {
        hn::StoreU(Op::many(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
      }
    } else {
      const T *c = b + pass.distance, *e = c + pass.distance;
      for (int64_t i = 0; i < pass.lanes; i += step) {
        const auto low = Op::many(hn::LoadU(d, a + i), hn::LoadU(d, b + i));
        const auto high = Op::many(hn::LoadU(d, c + i), hn::LoadU(d, e + i));
        hn::StoreU(Op::many(low, high), d, to + i);
      }
    }
  }
}

// f(join), where join(place) is the windows from that place on.
template <class Op, class T, class F>
HWY_INLINE void with_parts(const SheetAxis& axis, const T* memory, F f) {
  const Few<T> d;
  const T* part[SheetAxis::kMost];
  for (int p = 0; p < axis.parts; ++p) part[p] = memory + axis.part[p];
  const int parts = axis.parts;
  const auto load = [&part, d](int p, int64_t i) HWY_ATTR { return hn::LoadU(d, part[p] + i); };
  if (parts == 1) return f([&](int64_t i) HWY_ATTR { return load(0, i); });
  if (parts == 2) {
    return f([&](int64_t i) HWY_ATTR { return Op::many(load(0, i), load(1, i)); });
  }
  if (axis.passes == 0 || !kSums<Op>) {
    if (parts == 3) {
      return f([&](int64_t i)
                   HWY_ATTR { return Op::many(Op::many(load(0, i), load(1, i)), load(2, i)); });
    }
    const auto four = [&](int64_t i) HWY_ATTR {
      return Op::many(Op::many(load(0, i), load(1, i)), Op::many(load(2, i), load(3, i)));
    };
    if (parts == 4) return f(four);
    if constexpr (!kSums<Op>) {
      if (parts == 5) return f([&](int64_t i) HWY_ATTR { return Op::many(four(i), load(4, i)); });
      return f([&](int64_t i)
                   HWY_ATTR { return Op::many(four(i), Op::many(load(4, i), load(5, i))); });
    }
  }
  if constexpr (kSums<Op>) {
    f([&](int64_t i) HWY_ATTR {
      auto v = load(parts - 1, i);
      for (int p = parts - 2; p >= 0; --p) v = Op::many(load(p, i), v);
      return v;
    });
  }
}

template <class Op, class T>
bool pool(const Sheet& s, int64_t planes, const void* x, void* down_memory, void* along_memory,
          void* y) {
  const Few<T> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  T *down = static_cast<T*>(down_memory), *along = static_cast<T*>(along_memory);
  if (x) {
    const V seen = copied(s, planes, static_cast<const T*>(x), down);
    if constexpr (kNumbers<Op>) {
      if (!hn::AllFalse(d, hn::IsNaN(seen))) return false;
    }
  }
  run_passes<Op>(s.down, down);
  T none;
  std::memcpy(&none, s.absent, sizeof none);
  const V absent = hn::Set(d, none);
  const auto in_row = hn::FirstN(d, static_cast<size_t>(s.row < lanes ? s.row : lanes));
  with_parts<Op>(s.down, down, [&](auto join) HWY_ATTR {
    T* to = along + s.row_place;
    for (int64_t p = 0; p < planes; ++p) {
      int64_t from = p * s.place_step;
      for (int64_t r = 0; r < s.rows; ++r, from += s.row_step, to += s.pitch) {
        if (s.row < lanes) {
          hn::StoreU(hn::IfThenElse(in_row, join(from), absent), d, to);
        } else {
          cover<T>(s.row, [&](int64_t i) HWY_ATTR { hn::StoreU(join(from + i), d, to + i); });
        }
      }
    }
  });
  run_passes<Op>(s.along, along);
  const auto finished = [&](V v) HWY_ATTR {
    if constexpr (kSums<Op> && hwy::IsFloat<T>()) {
      const Divide<T> divide(s.divisor);
      return divide.exact ? hn::Mul(v, hn::Set(d, divide.factor))
                          : hn::Div(v, hn::Set(d, divide.divisor));
    } else {
      return v;
    }
  };
  with_parts<Op>(s.along, along, [&](auto join) HWY_ATTR {
    T* to = static_cast<T*>(y);
    const int64_t end = planes * s.rows * s.pitch;
    for (int64_t from = 0; from < end; from += s.pitch, to += s.outputs) {
      if (s.output_step == 1) {
        cover<T>(s.outputs,
                 [&](int64_t o) HWY_ATTR { hn::StoreU(finished(join(from + o)), d, to + o); });
      } else {
        cover<T>(s.outputs, [&](int64_t o) HWY_ATTR {
          const int64_t at = from + 2 * o;
          hn::StoreU(finished(hn::ConcatEven(d, join(at + lanes), join(at))), d, to + o);
        });
      }
    }
  });
  return true;
}

template <class E, class T>
struct Anything {
  static bool run(const Sheet& s, int64_t planes, const void* x, void* down, void* along, void* y) {
    return pool<OfAnything<E>, T>(s, planes, x, down, along, y);
  }
};
SheetKernels make_table() {
  SheetKernels t;
  constexpr int kF32 = static_cast<int>(Lane::f32), kF64 = static_cast<int>(Lane::f64);
  t.vector_bytes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<uint8_t>()));
  fill<Anything, Max>(t.anything[kMax]);
  fill<Anything, Min>(t.anything[kMin]);
  t.numbers[kMax][kF32] = pool<OfNumbers<Max>, float>;
  t.numbers[kMin][kF32] = pool<OfNumbers<Min>, float>;
  t.numbers[kMax][kF64] = pool<OfNumbers<Max>, double>;
  t.numbers[kMin][kF64] = pool<OfNumbers<Min>, double>;
  t.sum[kF32] = pool<Sum, float>;
  t.sum[kF64] = pool<Sum, double>;
  t.sum[static_cast<int>(Lane::i16)] = pool<Sum, int16_t>;
  t.sum[static_cast<int>(Lane::i32)] = pool<Sum, int32_t>;
  t.sum[static_cast<int>(Lane::i64)] = pool<Sum, int64_t>;
  return t;
}

#else

SheetKernels make_table() { return {}; }

#endif

}  // namespace

const SheetKernels* sheet_kernels() {
  static const SheetKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(SheetKernels, sheet_kernels)
}  // namespace ndpool
#endif
