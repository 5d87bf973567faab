#ifndef NDPOOL_SRC_DIRECT_H_
#define NDPOOL_SRC_DIRECT_H_

#include "plan.h"

namespace ndpool {

// Whether a plan is so small that windows are best pooled one by one.
bool can_go_direct(const Plan& plan);

// y from x, both whole, in row-major order and aligned.
void direct_forward(const Plan& plan, const void* x, void* y);

}  // namespace ndpool

#endif  // NDPOOL_SRC_DIRECT_H_
