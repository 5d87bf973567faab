// Each operation on checked arrays. All that can be refused has been; outputs are written here.
#ifndef NDPOOL_SRC_OPERATIONS_H_
#define NDPOOL_SRC_OPERATIONS_H_

#include "call.h"
#include "plan.h"
#include "taps.h"

namespace ndpool {

// forward.cc: separable. Arrays that are not wanted have no data.
int32_t extreme_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& y,
                        const ArrayArg& argmax, const ArrayArg& index, ndpool_error* error);
int32_t extreme_jvp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                    const ArrayArg& y, const ArrayArg& dy,
                    ndpool_error* error);  // ties first, last
// y from x, dy from dx, or both.
int32_t average(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& y,
                const ArrayArg& dx, const ArrayArg& dy, ndpool_error* error);
int32_t average_vjp(const Plan& plan, const Exec& exec, const ArrayArg& g, const ArrayArg& dx,
                    ndpool_error* error);

// windows.cc: tap by tap. smooth max, Lp, and max and min under ties all and split.
// tap_lanes: see taps.h.
int32_t windows_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                        const ArrayArg& y, const ArrayArg& dy, ndpool_error* error,
                        int64_t tap_lanes = kTapLanes);

// terms.cc: smooth max and Lp, by terms of cells where that can be, else tap by tap.
int32_t terms_forward(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& dx,
                      const ArrayArg& y, const ArrayArg& dy, ndpool_error* error);
int32_t terms_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                  const ArrayArg& dx, ndpool_error* error);
// What a thread needs for the former.
size_t terms_bytes(const Plan& plan);

// Gradients are added up in boxes of at most so many cells.
inline constexpr int64_t kBoxElements = 16384;

// winner_vjp.cc: max and min with one winner per window, from the compact argmax or from x.
int32_t argmax_vjp(const Plan& plan, const Exec& exec, const ArrayArg& argmax, const ArrayArg& g,
                   const ArrayArg& dx, ndpool_error* error);
int32_t winner_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                   const ArrayArg& dx, ndpool_error* error);

// winner_jvp.cc: the tangents that the winners of a compact argmax carry.
int32_t argmax_jvp(const Plan& plan, const Exec& exec, const ArrayArg& argmax, const ArrayArg& dx,
                   const ArrayArg& dy, ndpool_error* error);

// vjp.cc: the operations of windows.cc. With v, the second-order product.
int32_t windows_vjp(const Plan& plan, const Exec& exec, const ArrayArg& x, const ArrayArg& g,
                    const ArrayArg& v, const ArrayArg& dx, ndpool_error* error,
                    int64_t tap_lanes = kTapLanes);

// unpool.cc
int32_t unpool(const ndpool_unpool_desc& desc, bool vjp, ndpool_const_array from,
               ndpool_const_array index, ndpool_array to, const ndpool_exec* exec,
               ndpool_error* error);

}  // namespace ndpool

#endif  // NDPOOL_SRC_OPERATIONS_H_
