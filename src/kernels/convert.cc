// Array elements to lanes and back: any strides, any alignment, each value rounded at most once.
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/convert.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/ahead.h"
#include "kernels/halves.h"
#include "kernels/quotients.h"

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

// Halves as integer keys with the order of max or min: -0 becomes +0, NaN the key that wins.
template <class T>
inline constexpr int16_t kInfinityBits = std::is_same_v<T, Float16> ? 0x7C00 : 0x7F80;
// Without branches, so that loops of it become vectors.
template <Extreme extreme, class T>
int16_t key(uint16_t bits) {
  constexpr int16_t kMost = std::numeric_limits<int16_t>::max();
  const auto magnitude = static_cast<int16_t>(bits & kMost);
  const auto sign = static_cast<int16_t>(static_cast<int16_t>(bits) >> 15);  // 0 or -1
  const auto ordered = static_cast<int16_t>((magnitude ^ sign) - sign);
  constexpr int16_t kNan = extreme == kMax ? kMost : static_cast<int16_t>(-kMost);
  return magnitude > kInfinityBits<T> ? kNan : ordered;
}
inline uint16_t unkey(int16_t key) {
  const auto sign = static_cast<int16_t>(key >> 15);
  const auto magnitude = static_cast<uint16_t>((key ^ sign) - sign);
  return static_cast<uint16_t>(magnitude | (static_cast<uint16_t>(sign) & 0x8000U));
}

// n elements side by side, to lanes. Halves are promoted whole vectors at a time.
template <class L, class T>
void lift_run(const char* HWY_RESTRICT from, int64_t n, L* HWY_RESTRICT to) {
  int64_t i = 0;
  if constexpr (std::is_same_v<L, T>) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  } else if constexpr (std::is_same_v<L, float> && std::is_same_v<T, BFloat16>) {
    // The upper half of a float.
    uint32_t* bits = reinterpret_cast<uint32_t*>(to);
    for (; i < n; ++i) bits[i] = uint32_t{read<uint16_t>(from + 2 * i)} << 16;
#if HWY_TARGET == HWY_NEON || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)
    // Where there are instructions for it: emulations forget infinity and NaN.
  } else if constexpr (std::is_same_v<L, float> && std::is_same_v<T, Float16>) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::float16_t, decltype(d)> half;
    const int64_t step = static_cast<int64_t>(hn::Lanes(d));
    hwy::float16_t block[HWY_MAX_BYTES / 4];
    for (; i + step <= n; i += step) {
      std::memcpy(block, from + 2 * i, static_cast<size_t>(step) * 2);
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(half, block)), d, to + i);
    }
#endif
  }
  for (; i < n; ++i) to[i] = lift<L>(read<T>(from + i * int64_t{sizeof(T)}));
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
  const bool packed = s.inner == 1 || s.inner_stride == int64_t{sizeof(T)};
  if (packed && (s.positions == 1 || s.position_stride == s.inner * int64_t{sizeof(T)})) {
    const int64_t n = s.positions * s.inner;
    for (int64_t r = 0; r < s.rows; ++r) {
      fetch_ahead(src + r * s.row_stride, n * int64_t{sizeof(T)});
      lift_run<L, T>(src + r * s.row_stride, n, to + r * n);
    }
    return;
  }
  each<sizeof(T)>(s, src, s.positions * s.inner,
                  [to](const char* from, int64_t lane) { to[lane] = lift<L>(read<T>(from)); });
}
template <class T, Extreme extreme>
void load_key(const Strided& s, const char* src, void* dst) {
  auto* to = static_cast<int16_t*>(dst);
  Strided row = s;
  row.rows = 1;
  const int64_t lanes = s.positions * s.inner;
  for (int64_t r = 0; r < s.rows; ++r, to += lanes) {
    const char* first = src + r * s.row_stride;
    fetch_ahead(first, lanes * int64_t{sizeof(T)});
    each<sizeof(T)>(row, first, lanes, [to](const char* from, int64_t lane) {
      to[lane] = key<extreme, T>(read<uint16_t>(from));
    });
  }
}

#if NDPOOL_VECTOR_HALVES
// Averages of halves from f32 sums, straight into an array whose rows lie side by side. False where
// that cannot be, or where a quotient is so small or large that its remainder may not be exact:
// what was written then is not right.
template <class T>
bool average_halves(const Strided& s, const float* sums, const float* divisors, char* dst) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  const int64_t step = static_cast<int64_t>(hn::Lanes(d)), n = s.positions * s.inner;
  const bool packed = s.inner == 1 || s.inner_stride == 2;
  if (!packed || s.position_stride != 2 * s.inner || n < step) return false;
  auto fine = hn::Eq(hn::Zero(d), hn::Zero(d));
  for (int64_t r = 0; r < s.rows; ++r) {
    for (int64_t begin = 0; begin < n; begin += step) {
      const int64_t i = begin + step <= n ? begin : n - step;
      const auto q = odd_quotient_of(d, hn::LoadU(d, sums + r * n + i), hn::LoadU(d, divisors + i));
      fine = hn::And(fine, has_exact_rest(d, q));
      uint16_t block[HWY_MAX_BYTES / 4];
      hn::StoreU(half_bits<T>(d, q), d16, block);
      std::memcpy(dst + r * s.row_stride + 2 * i, block, static_cast<size_t>(2 * step));
    }
  }
  return hn::AllTrue(d, fine);
}
#endif

template <class L, class T>
void store(const Strided& s, const void* src, int64_t stride, char* dst) {
  const L* from = static_cast<const L*>(src);
  if constexpr (std::is_same_v<L, T>) {
    const bool packed = s.inner == 1 || s.inner_stride == int64_t{sizeof(T)};
    if (packed && (s.positions == 1 || s.position_stride == s.inner * int64_t{sizeof(T)})) {
      const size_t bytes = static_cast<size_t>(s.positions * s.inner) * sizeof(T);
      for (int64_t r = 0; r < s.rows; ++r) {
        std::memcpy(dst + r * s.row_stride, from + r * stride, bytes);
      }
      return;
    }
  }
#if NDPOOL_VECTOR_HALVES
  if constexpr (std::is_same_v<L, float> && kIsHalf<T>) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> d;
    const int64_t step = static_cast<int64_t>(hn::Lanes(d)), n = s.positions * s.inner;
    const bool packed = s.inner == 1 || s.inner_stride == 2;
    if (packed && s.position_stride == 2 * s.inner && n >= step) {
      for (int64_t r = 0; r < s.rows; ++r) {
        for (int64_t begin = 0; begin < n; begin += step) {
          const int64_t i = begin + step <= n ? begin : n - step;
          uint16_t block[HWY_MAX_BYTES / 4];
          hn::StoreU(half_bits<T>(d, hn::LoadU(d, from + r * stride + i)),
                     hn::Rebind<uint16_t, decltype(d)>(), block);
          std::memcpy(dst + r * s.row_stride + 2 * i, block, static_cast<size_t>(2 * step));
        }
      }
      return;
    }
  }
#endif
  each<sizeof(T)>(s, dst, stride, [from](char* to, int64_t lane) {
    if constexpr (std::is_floating_point_v<L>) {
      write<T>(to, RoundTo<T>::from(from[lane]));
    } else {
      write<T>(to, static_cast<T>(from[lane]));
    }
  });
}
void store_key(const Strided& s, const void* src, int64_t stride, char* dst) {
  const auto* from = static_cast<const int16_t*>(src);
  each<sizeof(int16_t)>(s, dst, stride,
                        [from](char* to, int64_t lane) { write(to, unkey(from[lane])); });
}

template <class L, class T>
void finish(const Strided& s, const void* sums, int64_t stride, const int64_t* divisors,
            char* dst) {
  const L* from = static_cast<const L*>(sums);
  const int64_t lanes = s.positions * s.inner;
  const bool packed = (s.inner == 1 || s.inner_stride == int64_t{sizeof(T)}) &&
                      (s.positions == 1 || s.position_stride == s.inner * int64_t{sizeof(T)});
  for (int64_t begin = 0; begin < lanes; begin += kTogether) {
    const int64_t n = lanes - begin < kTogether ? lanes - begin : kTogether;
    int64_t spread[kTogether];
    const int64_t* by = divisors + begin;
    if (s.inner != 1) {
      int64_t position = begin / s.inner, left = s.inner - begin % s.inner;
      for (int64_t k = 0; k < n; ++position, left = s.inner) {
        for (; left > 0 && k < n; --left) spread[k++] = divisors[position];
      }
      by = spread;
    }
    T block[kTogether];
    const auto each_row = [&](auto divide) {
      for (int64_t r = 0; r < s.rows; ++r) {
        divide(from + r * stride + begin);
        char* to = dst + r * s.row_stride;
        if (packed) {
          std::memcpy(to + begin * int64_t{sizeof(T)}, block, static_cast<size_t>(n) * sizeof(T));
          continue;
        }
        for (int64_t k = 0, i = begin; k < n; ++k, ++i) {
          write<T>(to + i / s.inner * s.position_stride + i % s.inner * s.inner_stride, block[k]);
        }
      }
    };
    if constexpr (kIsHalf<T>) {
      each_row([&](const L* sum) { exact_quotients(sum, by, n, block); });
    } else {
      using Fast = Quotients<L, T>;
      const bool fast = all_within(by, n, Fast::kMostDivisor);
      if constexpr (std::is_integral_v<T> && sizeof(L) <= 8) {
        if (const int shift = common_shift(by, n); shift >= 0) {
          each_row([&](const L* sum) { shifted_quotients(sum, shift, n, block); });
          continue;
        }
      }
      typename Fast::F fast_by[kTogether]{};
      for (int64_t k = 0; k < n; ++k) fast_by[k] = static_cast<typename Fast::F>(by[k]);
      each_row([&](const L* sum) {
        if (!fast || !Fast::run(sum, fast_by, n, block)) exact_quotients(sum, by, n, block);
      });
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
  fill_load<int8_t, int8_t, int16_t, int32_t, int64_t, Int128>(t.load[NDPOOL_I8],
                                                               {i8, i16, i32, i64, i128});
  fill_load<uint8_t, uint8_t, int16_t, int32_t, int64_t, Int128>(t.load[NDPOOL_U8],
                                                                 {u8, i16, i32, i64, i128});
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
  t.store[static_cast<int>(u16)][NDPOOL_U8] = store<uint16_t, uint8_t>;
  t.store[static_cast<int>(u64)][NDPOOL_U8] = store<uint64_t, uint8_t>;
  t.store_key[NDPOOL_F16] = store_key;
  t.store_key[NDPOOL_BF16] = store_key;
#if NDPOOL_VECTOR_HALVES
  t.average_halves[NDPOOL_F16] = average_halves<Float16>;
  t.average_halves[NDPOOL_BF16] = average_halves<BFloat16>;
#endif
  fill_finish<int16_t>(t.finish[static_cast<int>(i16)]);
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
