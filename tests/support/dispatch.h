// From an element type's enum to the C++ type that tests hold its values in.
#ifndef NDPOOL_TESTS_SUPPORT_DISPATCH_H_
#define NDPOOL_TESTS_SUPPORT_DISPATCH_H_

#include <cstdint>

#include "ndpool/ndpool.h"

namespace ndpool::test {

// Calls visit(T()), where T is float for f16, bf16 and f32, and uint8_t for bool.
template <class Visit>
void with_type(int32_t type, Visit visit) {
  switch (type) {
    case NDPOOL_F16:
    case NDPOOL_BF16:
    case NDPOOL_F32:
      return visit(float{});
    case NDPOOL_F64:
      return visit(double{});
    case NDPOOL_I8:
      return visit(int8_t{});
    case NDPOOL_U8:
    case NDPOOL_BOOL:
      return visit(uint8_t{});
    case NDPOOL_I16:
      return visit(int16_t{});
    case NDPOOL_U16:
      return visit(uint16_t{});
    case NDPOOL_I32:
      return visit(int32_t{});
    case NDPOOL_U32:
      return visit(uint32_t{});
    case NDPOOL_I64:
      return visit(int64_t{});
    default:
      return visit(uint64_t{});
  }
}

}  // namespace ndpool::test

#endif  // NDPOOL_TESTS_SUPPORT_DISPATCH_H_
