// Compact tap numbers that callers hand in.
#ifndef NDPOOL_SRC_ARGMAX_H_
#define NDPOOL_SRC_ARGMAX_H_

#include <cstdint>
#include <cstring>

#include "call.h"
#include "plan.h"

namespace ndpool {

inline uint64_t read_argmax(const char* at, int type) {
  uint8_t u8;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  switch (type) {
    case NDPOOL_U8:
      return std::memcpy(&u8, at, 1), u8;
    case NDPOOL_U16:
      return std::memcpy(&u16, at, 2), u16;
    case NDPOOL_U32:
      return std::memcpy(&u32, at, 4), u32;
    default:
      return std::memcpy(&u64, at, 8), u64;
  }
}

// Whether each number names a cell of its window; if not, the error names the first that does not.
// `bound` is `argmax` after the merge.
int32_t check_argmax(const Plan& plan, const Space& space, const Bound& bound,
                     const ArrayArg& argmax, const Exec& exec, ndpool_error* error);

}  // namespace ndpool

#endif  // NDPOOL_SRC_ARGMAX_H_
