// across: two blocks into one, element by element; and the strided pick that turns `along` into it.
#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/combine.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/divide.h"
#include "kernels/groups.h"
#include "kernels/order.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Blocks without gaps between rows are one long row.
inline void join_rows(int64_t* rows, int64_t* lanes, int64_t a, int64_t b, int64_t c) {
  if (a == *lanes && b == *lanes && c == *lanes) {
    *lanes *= *rows;
    *rows = 1;
  }
}

template <class Op, class T>
void combine(int64_t rows, int64_t lanes, Buffer dst, const Block& a, const Block& b) {
  const hn::ScalableTag<T> d;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d));
  join_rows(&rows, &lanes, dst.stride, a.stride, b.stride);
  for (int64_t r = 0; r < rows; ++r) {
    T* to = static_cast<T*>(dst.values) + r * dst.stride;
    const T* left = static_cast<const T*>(a.values) + r * a.stride;
    const T* right = static_cast<const T*>(b.values) + r * b.stride;
    int64_t i = 0;
    for (; i + step <= lanes; i += step) {
      hn::StoreU(Op::many(hn::LoadU(d, left + i), hn::LoadU(d, right + i)), d, to + i);
    }
    for (; i < lanes; ++i) to[i] = Op::one(left[i], right[i]);
  }
}

void sum_int128(int64_t rows, int64_t lanes, Buffer dst, const Block& a, const Block& b) {
  for (int64_t r = 0; r < rows; ++r) {
    Int128* to = static_cast<Int128*>(dst.values) + r * dst.stride;
    const Int128* left = static_cast<const Int128*>(a.values) + r * a.stride;
    const Int128* right = static_cast<const Int128*>(b.values) + r * b.stride;
    for (int64_t i = 0; i < lanes; ++i) to[i] = left[i] + right[i];
  }
}

// Lanes whose tap numbers are made ready together: enough to hide the loops around them.
constexpr int64_t kTogether = 256;

// The tap numbers of `n` lanes of a block, from its index and what is added to it.
template <class I>
void read_taps(const Block& block, int64_t at, int64_t n, I* taps) {
  const I add = static_cast<I>(block.add);
  if (!block.index) {
    for (int64_t i = 0; i < n; ++i) taps[i] = add;
  } else {
    const I* index = static_cast<const I*>(block.index) + at;
    for (int64_t i = 0; i < n; ++i) taps[i] = static_cast<I>(index[i] + add);
  }
}

// Of equal values the smaller (kFirst) or larger tap number stays, so blocks may come in any order.
// No branches inside, so that the loop becomes vectors.
template <class E, Winner winner, class T, class I>
void combine_arg(int64_t rows, int64_t lanes, Buffer dst, const Block& a, const Block& b) {
  I left_taps[kTogether], right_taps[kTogether];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t begin = 0; begin < lanes; begin += kTogether) {
      const int64_t n = lanes - begin < kTogether ? lanes - begin : kTogether;
      read_taps(a, r * a.index_stride + begin, n, left_taps);
      read_taps(b, r * b.index_stride + begin, n, right_taps);
      T* to = static_cast<T*>(dst.values) + r * dst.stride + begin;
      I* to_index = static_cast<I*>(dst.index) + r * dst.stride + begin;
      const T* left = static_cast<const T*>(a.values) + r * a.stride + begin;
      const T* right = static_cast<const T*>(b.values) + r * b.stride + begin;
      for (int64_t i = 0; i < n; ++i) {
        const T lv = left[i], rv = right[i];
        const I li = left_taps[i], ri = right_taps[i];
        const bool nearer = winner == kFirst ? ri < li : ri > li;
        const bool take = either(E::beats(rv, lv), both(!E::beats(lv, rv), nearer));
        to[i] = take ? rv : lv;
        to_index[i] = take ? ri : li;
      }
    }
  }
}

template <class T>
void gather(int64_t rows, int64_t outputs, int64_t inner, int64_t step, void* dst,
            int64_t dst_stride, const void* src, int64_t src_stride) {
  for (int64_t r = 0; r < rows; ++r) {
    T* HWY_RESTRICT to = static_cast<T*>(dst) + r * dst_stride;
    const T* HWY_RESTRICT from = static_cast<const T*>(src) + r * src_stride;
    if (inner == 1 && step == 2) {
      for (int64_t o = 0; o < outputs; ++o) to[o] = from[2 * o];
    } else if (inner == 1) {
      for (int64_t o = 0; o < outputs; ++o) to[o] = from[o * step];
    } else {
      copy_groups(
          outputs, inner, [&](int64_t o) { return from + o * step * inner; },
          [&](int64_t o) { return to + o * inner; });
    }
  }
}

template <class T>
void divide(int64_t rows, int64_t lanes, void* block, int64_t stride, const void* divisor) {
  for (int64_t r = 0; r < rows; ++r) {
    T* to = static_cast<T*>(block) + r * stride;
    const T* by = static_cast<const T*>(divisor);
    for (int64_t i = 0; i < lanes; ++i) to[i] /= by[i];
  }
}

template <class T>
void scale(int64_t n, void* block, int64_t divisor) {
  divide_row(n, divisor, static_cast<T*>(block));
}

template <class E>
void fill_extreme(CombineFn* table) {
  using X = Extremum<E>;
  const CombineFn all[kLanes] = {combine<X, int8_t>,
                                 combine<X, uint8_t>,
                                 combine<X, int16_t>,
                                 combine<X, uint16_t>,
                                 combine<X, int32_t>,
                                 combine<X, uint32_t>,
                                 combine<X, int64_t>,
                                 combine<X, uint64_t>,
                                 combine<X, float>,
                                 combine<X, double>,
                                 nullptr};
  for (int lane = 0; lane < kLanes; ++lane) table[lane] = all[lane];
}

template <class E, Winner winner, class I>
void fill_arg(CombineFn* table) {
  const CombineFn all[kLanes] = {combine_arg<E, winner, int8_t, I>,
                                 combine_arg<E, winner, uint8_t, I>,
                                 combine_arg<E, winner, int16_t, I>,
                                 combine_arg<E, winner, uint16_t, I>,
                                 combine_arg<E, winner, int32_t, I>,
                                 combine_arg<E, winner, uint32_t, I>,
                                 combine_arg<E, winner, int64_t, I>,
                                 combine_arg<E, winner, uint64_t, I>,
                                 combine_arg<E, winner, float, I>,
                                 combine_arg<E, winner, double, I>,
                                 nullptr};
  for (int lane = 0; lane < kLanes; ++lane) table[lane] = all[lane];
}

CombineKernels make_table() {
  CombineKernels t{};
  fill_extreme<Max>(t.extreme[kMax]);
  fill_extreme<Min>(t.extreme[kMin]);
  fill_arg<Max, kFirst, uint32_t>(t.arg[kMax][kFirst][0]);
  fill_arg<Max, kFirst, uint64_t>(t.arg[kMax][kFirst][1]);
  fill_arg<Max, kLast, uint32_t>(t.arg[kMax][kLast][0]);
  fill_arg<Max, kLast, uint64_t>(t.arg[kMax][kLast][1]);
  fill_arg<Min, kFirst, uint32_t>(t.arg[kMin][kFirst][0]);
  fill_arg<Min, kFirst, uint64_t>(t.arg[kMin][kFirst][1]);
  fill_arg<Min, kLast, uint32_t>(t.arg[kMin][kLast][0]);
  fill_arg<Min, kLast, uint64_t>(t.arg[kMin][kLast][1]);
  t.sum[static_cast<int>(Lane::f32)] = combine<Sum, float>;
  t.sum[static_cast<int>(Lane::f64)] = combine<Sum, double>;
  t.sum[static_cast<int>(Lane::i16)] = combine<Sum, int16_t>;
  t.sum[static_cast<int>(Lane::i32)] = combine<Sum, int32_t>;
  t.sum[static_cast<int>(Lane::i64)] = combine<Sum, int64_t>;
  t.sum[static_cast<int>(Lane::i128)] = sum_int128;
  t.gather[0] = gather<uint8_t>;
  t.gather[1] = gather<uint16_t>;
  t.gather[2] = gather<uint32_t>;
  t.gather[3] = gather<uint64_t>;
  t.gather[4] = gather<Int128>;
  t.divide[static_cast<int>(Lane::f32)] = divide<float>;
  t.divide[static_cast<int>(Lane::f64)] = divide<double>;
  t.scale[static_cast<int>(Lane::f32)] = scale<float>;
  t.scale[static_cast<int>(Lane::f64)] = scale<double>;
  return t;
}

}  // namespace

const CombineKernels* combine_kernels() {
  static const CombineKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(CombineKernels, combine_kernels)
}  // namespace ndpool
#endif
