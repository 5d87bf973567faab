// Array elements to lanes and back: any strides, any alignment, each value rounded at most once.
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"
#include "kernels/ratio.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace ndpool::HWY_NAMESPACE {
namespace {

template <class T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <class T>
void write(char* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class L, class T>
L lift(T value) {
  if constexpr (kIsHalf<T>) {
    return static_cast<L>(to_float(value));
  } else {
    return static_cast<L>(value);
  }
}

// f16 and bf16 as i16 keys with the order of max or min: -0 becomes +0, NaN the key that wins.
template <Extreme extreme, class T>
int16_t key(T value) {
  constexpr uint16_t kInfinity = std::is_same_v<T, Float16> ? 0x7C00 : 0x7F80;
  const uint16_t bits = value.bits, magnitude = bits & 0x7FFF;
  if (magnitude > kInfinity) return extreme == kMax ? INT16_MAX : INT16_MIN;
  if (magnitude == 0) return 0;
  return static_cast<int16_t>(bits & 0x8000 ? bits ^ 0x7FFF : bits);
}
template <class T>
T unkey(int16_t key) {
  const uint16_t bits = static_cast<uint16_t>(key);
  return {static_cast<uint16_t>(bits & 0x8000 ? bits ^ 0x7FFF : bits)};
}

// Calls body(element address, lane number) for each element, contiguous runs in loops of their own.
template <size_t size, class Address, class Body>
void each(const Strided& s, Address array, int64_t lane_stride, Body body) {
  const bool packed = s.inner == 1 || s.inner_stride == int64_t{size};
  const bool one_run = packed && s.position_stride == s.inner * int64_t{size};
  for (int64_t r = 0; r < s.rows; ++r) {
    Address row = array + r * s.row_stride;
    const int64_t lane = r * lane_stride;
    if (one_run) {
      const int64_t n = s.positions * s.inner;
      for (int64_t i = 0; i < n; ++i) body(row + i * int64_t{size}, lane + i);
    } else if (s.inner == 1) {
      for (int64_t p = 0; p < s.positions; ++p) body(row + p * s.position_stride, lane + p);
    } else {
      for (int64_t p = 0; p < s.positions; ++p) {
        Address at = row + p * s.position_stride;
        for (int64_t c = 0; c < s.inner; ++c) {
          body(at + c * s.inner_stride, lane + p * s.inner + c);
        }
      }
    }
  }
}

template <class T, class L>
void load(const Strided& s, const char* src, void* dst) {
  L* to = static_cast<L*>(dst);
  each<sizeof(T)>(s, src, s.positions * s.inner,
                  [to](const char* from, int64_t lane) { to[lane] = lift<L>(read<T>(from)); });
}
template <class T, Extreme extreme>
void load_key(const Strided& s, const char* src, void* dst) {
  int16_t* to = static_cast<int16_t*>(dst);
  each<sizeof(T)>(s, src, s.positions * s.inner,
                  [to](const char* from, int64_t lane) { to[lane] = key<extreme>(read<T>(from)); });
}
template <class L, class T>
void store(const Strided& s, const void* src, int64_t stride, char* dst) {
  const L* from = static_cast<const L*>(src);
  each<sizeof(T)>(s, dst, stride, [from](char* to, int64_t lane) {
    if constexpr (std::is_floating_point_v<L>) {
      write<T>(to, RoundTo<T>::from(from[lane]));
    } else {
      write<T>(to, static_cast<T>(from[lane]));
    }
  });
}
template <class T>
void store_key(const Strided& s, const void* src, int64_t stride, char* dst) {
  const int16_t* from = static_cast<const int16_t*>(src);
  each<sizeof(T)>(s, dst, stride,
                  [from](char* to, int64_t lane) { write<T>(to, unkey<T>(from[lane])); });
}

template <class L, class T>
void finish(const Strided& s, const void* sums, int64_t stride, const int64_t* divisors,
            char* dst) {
  const L* from = static_cast<const L*>(sums);
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t p = 0; p < s.positions; ++p) {
      const int64_t divisor = divisors[p];
      for (int64_t c = 0; c < s.inner; ++c) {
        char* to = dst + r * s.row_stride + p * s.position_stride + c * s.inner_stride;
        const L sum = from[r * stride + p * s.inner + c];
        if constexpr (std::is_integral_v<T>) {
          write<T>(to, rounded_quotient<T>(sum, divisor));
        } else {
          write<T>(to, nearest_ratio<T>(sum, divisor));
        }
      }
    }
  }
}

template <class T, class... L>
void fill_load(LoadFn* table, const Lane (&lanes)[sizeof...(L)]) {
  const LoadFn all[] = {load<T, L>...};
  for (size_t i = 0; i < sizeof...(L); ++i) table[static_cast<int>(lanes[i])] = all[i];
}

template <class L>
void fill_store(StoreFn* table) {
  table[NDPOOL_F16] = store<L, Float16>;
  table[NDPOOL_BF16] = store<L, BFloat16>;
  table[NDPOOL_F32] = store<L, float>;
  table[NDPOOL_F64] = store<L, double>;
}

template <class L>
void fill_finish(FinishFn* table) {
  const FinishFn all[kTypes] = {finish<L, Float16>,
                                finish<L, BFloat16>,
                                finish<L, float>,
                                finish<L, double>,
                                finish<L, int8_t>,
                                finish<L, uint8_t>,
                                finish<L, int16_t>,
                                finish<L, uint16_t>,
                                finish<L, int32_t>,
                                finish<L, uint32_t>,
                                finish<L, int64_t>,
                                finish<L, uint64_t>,
                                nullptr};
  for (int type = 0; type < kTypes; ++type) table[type] = all[type];
}

ConvertKernels make_table() {
  ConvertKernels t{};
  using enum Lane;
  fill_load<Float16, float, double>(t.load[NDPOOL_F16], {f32, f64});
  fill_load<BFloat16, float, double>(t.load[NDPOOL_BF16], {f32, f64});
  fill_load<float, float, double>(t.load[NDPOOL_F32], {f32, f64});
  fill_load<double, double>(t.load[NDPOOL_F64], {f64});
  fill_load<int8_t, int8_t, int32_t, int64_t, Int128>(t.load[NDPOOL_I8], {i8, i32, i64, i128});
  fill_load<uint8_t, uint8_t, int32_t, int64_t, Int128>(t.load[NDPOOL_U8], {u8, i32, i64, i128});
  fill_load<int16_t, int16_t, int32_t, int64_t, Int128>(t.load[NDPOOL_I16], {i16, i32, i64, i128});
  fill_load<uint16_t, uint16_t, int32_t, int64_t, Int128>(t.load[NDPOOL_U16],
                                                          {u16, i32, i64, i128});
  fill_load<int32_t, int32_t, int64_t, Int128>(t.load[NDPOOL_I32], {i32, i64, i128});
  fill_load<uint32_t, uint32_t, int64_t, Int128>(t.load[NDPOOL_U32], {u32, i64, i128});
  fill_load<int64_t, int64_t, Int128>(t.load[NDPOOL_I64], {i64, i128});
  fill_load<uint64_t, uint64_t, Int128>(t.load[NDPOOL_U64], {u64, i128});
  fill_load<uint8_t, uint8_t>(t.load[NDPOOL_BOOL], {u8});
  t.load_key[kMax][NDPOOL_F16] = load_key<Float16, kMax>;
  t.load_key[kMin][NDPOOL_F16] = load_key<Float16, kMin>;
  t.load_key[kMax][NDPOOL_BF16] = load_key<BFloat16, kMax>;
  t.load_key[kMin][NDPOOL_BF16] = load_key<BFloat16, kMin>;
  fill_store<float>(t.store[static_cast<int>(f32)]);
  fill_store<double>(t.store[static_cast<int>(f64)]);
  t.store[static_cast<int>(i8)][NDPOOL_I8] = store<int8_t, int8_t>;
  t.store[static_cast<int>(u8)][NDPOOL_U8] = store<uint8_t, uint8_t>;
  t.store[static_cast<int>(u8)][NDPOOL_BOOL] = store<uint8_t, uint8_t>;
  t.store[static_cast<int>(i16)][NDPOOL_I16] = store<int16_t, int16_t>;
  t.store[static_cast<int>(u16)][NDPOOL_U16] = store<uint16_t, uint16_t>;
  t.store[static_cast<int>(i32)][NDPOOL_I32] = store<int32_t, int32_t>;
  t.store[static_cast<int>(u32)][NDPOOL_U32] = store<uint32_t, uint32_t>;
  t.store[static_cast<int>(i64)][NDPOOL_I64] = store<int64_t, int64_t>;
  t.store[static_cast<int>(u64)][NDPOOL_U64] = store<uint64_t, uint64_t>;
  // Compact tap numbers are kept in 4 or 8 bytes while computing, and stored in 1, 2, 4 or 8.
  t.store[static_cast<int>(u32)][NDPOOL_U8] = store<uint32_t, uint8_t>;
  t.store[static_cast<int>(u32)][NDPOOL_U16] = store<uint32_t, uint16_t>;
  t.store_key[NDPOOL_F16] = store_key<Float16>;
  t.store_key[NDPOOL_BF16] = store_key<BFloat16>;
  fill_finish<int32_t>(t.finish[static_cast<int>(i32)]);
  fill_finish<int64_t>(t.finish[static_cast<int>(i64)]);
  fill_finish<Int128>(t.finish[static_cast<int>(i128)]);
  return t;
}

}  // namespace

const ConvertKernels* convert_kernels() {
  static const ConvertKernels table = make_table();
  return &table;
}

}  // namespace ndpool::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "kernels/per_target.h"
namespace ndpool {
NDPOOL_PER_TARGET(ConvertKernels, convert_kernels)
}  // namespace ndpool
#endif
