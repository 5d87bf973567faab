// ndpool for micro-controllers: pooling layers without heap, exceptions, RTTI or threads.
//
//   using namespace ndpool::tiny;
//   constexpr auto pool = MaxPool2D(3, 3, 2, 2).padding(1).input(16, 32, 32);  // channels, H, W
//   static_assert(pool.ok());
//   float x[pool.input_size()], y[pool.output_size()];       // memory is known when linking
//   uint8_t mask[pool.mask_bytes()];                         // one byte an output
//
//   Error error = pool.forward(x, y);                        // inference
//   error = pool.forward(x, y, mask);                        // training
//   error = pool.backward(gy, mask, gx);
//   if (error != Error::none) log(text(error));
//
// C++17, freestanding: nothing is included but C's <stdint.h> and <stddef.h>. All state is in the
// caller's buffers, so layers can be shared and calls interrupted. Elements are float, int8_t,
// uint8_t or int16_t. Results are those of the desktop engine, bit for bit, float averages and all
// gradients included. (Do not compile with -ffast-math: NaN would lose its rank.)
#ifndef NDPOOL_TINY_HPP_
#define NDPOOL_TINY_HPP_

#include "ndpool/tiny/error.hpp"   // IWYU pragma: export — Error, text()
#include "ndpool/tiny/layer.hpp"   // IWYU pragma: export — Layer, over any number of axes
#include "ndpool/tiny/layers.hpp"  // IWYU pragma: export — MaxPool1D and its kin
#include "ndpool/tiny/span.hpp"    // IWYU pragma: export — span(pointer, count)
#include "ndpool/tiny/stream.hpp"  // IWYU pragma: export — Stream, rows in and rows out

#endif  // NDPOOL_TINY_HPP_
