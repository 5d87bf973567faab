// Element types (what arrays hold) and lane types (what rows are computed in).
#ifndef NDPOOL_SRC_LANE_H_
#define NDPOOL_SRC_LANE_H_

#include <cstddef>
#include <cstdint>

#include "half.h"
#include "ndpool/ndpool.h"

namespace ndpool {

__extension__ typedef __int128 Int128;

inline constexpr int kTypes = 13;
inline constexpr int kLanes = 11;

// What a row is computed in. f16 and bf16 have no lane of their own: averages and derivatives use
// f32, max and min an i16 key with the same order.
enum class Lane : uint8_t { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, i128 };

inline constexpr size_t lane_size(Lane lane) {
  constexpr size_t kSizes[kLanes] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8, 16};
  return kSizes[static_cast<int>(lane)];
}

inline constexpr size_t type_size(int type) {
  constexpr size_t kSizes[kTypes] = {2, 2, 4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 1};
  return kSizes[type];
}

inline constexpr bool is_type(int type) { return type >= 0 && type < kTypes; }
inline constexpr bool is_float(int type) { return type >= NDPOOL_F16 && type <= NDPOOL_F64; }
inline constexpr bool is_half(int type) { return type == NDPOOL_F16 || type == NDPOOL_BF16; }
inline constexpr bool is_integer(int type) { return type >= NDPOOL_I8 && type <= NDPOOL_U64; }

// The lane whose values are the type's own (bool is u8), for all types but f16 and bf16.
inline constexpr Lane native_lane(int type) {
  constexpr Lane kLane[kTypes] = {Lane::i16, Lane::i16, Lane::f32, Lane::f64, Lane::i8,
                                  Lane::u8,  Lane::i16, Lane::u16, Lane::i32, Lane::u32,
                                  Lane::i64, Lane::u64, Lane::u8};
  return kLane[type];
}

// The lane in which derivatives of max and min and float averages add: f64 for f64, else f32.
inline constexpr Lane float_lane(int type) { return type == NDPOOL_F64 ? Lane::f64 : Lane::f32; }

// The number of the lane of T, float or double, for looking up kernels.
template <class T>
inline constexpr int kLaneNumber = static_cast<int>(sizeof(T) == 4 ? Lane::f32 : Lane::f64);

}  // namespace ndpool

#endif  // NDPOOL_SRC_LANE_H_
