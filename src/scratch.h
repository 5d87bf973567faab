// How much scratch one thread of any call of a plan can need.
#ifndef NDPOOL_SRC_SCRATCH_H_
#define NDPOOL_SRC_SCRATCH_H_

#include <cstddef>
#include <cstdint>

#include "plan.h"

namespace ndpool {

// An upper bound over all operations, layouts and tiles.
size_t scratch_bytes(const Plan& plan);
// Of going tap by tap alone, with so many lanes (see taps.h).
size_t window_scratch_bytes(const Plan& plan, int64_t tap_lanes);

}  // namespace ndpool

#endif  // NDPOOL_SRC_SCRATCH_H_
