// The value of a window without a cell, where empty=identity asks for one.
#ifndef NDPOOL_SRC_IDENTITY_H_
#define NDPOOL_SRC_IDENTITY_H_

#include <cstring>
#include <limits>

#include "lane.h"
#include "plan.h"

namespace ndpool {

// Writes to `to` the least (low) or greatest value of a type: the infinities for floats.
inline void write_extreme(int type, bool low, char* to) {
  const auto put = [to](auto value) { std::memcpy(to, &value, sizeof value); };
  const auto put_integer = [&](auto zero) {
    using Limits = std::numeric_limits<decltype(zero)>;
    put(low ? Limits::min() : Limits::max());
  };
  const double infinity =
      low ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  switch (type) {
    case NDPOOL_F16:
      return put(RoundTo<Float16>::from(infinity));
    case NDPOOL_BF16:
      return put(RoundTo<BFloat16>::from(infinity));
    case NDPOOL_F32:
      return put(static_cast<float>(infinity));
    case NDPOOL_F64:
      return put(infinity);
    case NDPOOL_I8:
      return put_integer(int8_t{});
    case NDPOOL_U8:
      return put_integer(uint8_t{});
    case NDPOOL_I16:
      return put_integer(int16_t{});
    case NDPOOL_U16:
      return put_integer(uint16_t{});
    case NDPOOL_I32:
      return put_integer(int32_t{});
    case NDPOOL_U32:
      return put_integer(uint32_t{});
    case NDPOOL_I64:
      return put_integer(int64_t{});
    case NDPOOL_U64:
      return put_integer(uint64_t{});
    default:
      return put(static_cast<uint8_t>(low ? 0 : 1));
  }
}

}  // namespace ndpool

#endif  // NDPOOL_SRC_IDENTITY_H_
