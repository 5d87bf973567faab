// ndpool: pooling over any number of axes, forward and differentiated. The C++20 interface.
//
//   ndpool::Array<float> x({4, 4}, values);
//   auto y = ndpool::max_pool(x, {.window = {2, 2}});            // one line, throws PoolError
//
//   auto plan = ndpool::Plan::make({.op = ndpool::Op::max,       // plan once, run often
//                                   .shape = {32, 64, 112, 112},
//                                   .window = {3, 3}, .stride = {2}, .padding = {1}});
//   if (!plan) std::puts(plan.error().message.c_str());          // errors are values
//   else plan->forward(x, y);                                    // on spans, vectors, strided
//   views
//
// All of it is a front over the C interface in ndpool.h: no C++ type crosses into the library. The
// inline namespace keeps its names apart from the library's own where both are linked statically.
#ifndef NDPOOL_NDPOOL_HPP_
#define NDPOOL_NDPOOL_HPP_

#include "ndpool/cpp/exec.hpp"       // IWYU pragma: export — threads, runner, scratch, tiles
#include "ndpool/cpp/functions.hpp"  // IWYU pragma: export — max_pool(x, …) and its kin on Arrays
#include "ndpool/cpp/plan.hpp"       // IWYU pragma: export — Pool and Plan
#include "ndpool/cpp/result.hpp"     // IWYU pragma: export — Error, Result, PoolError
#include "ndpool/cpp/types.hpp"      // IWYU pragma: export — enumerations, float16, bfloat16
#include "ndpool/cpp/unpool.hpp"     // IWYU pragma: export — the way back from indices
#include "ndpool/cpp/view.hpp"       // IWYU pragma: export — View, Compact

#endif  // NDPOOL_NDPOOL_HPP_
