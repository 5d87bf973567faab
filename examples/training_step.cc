// One training step of a max pooling layer that keeps one byte per output between the two passes.
//
// The backward pass of max needs to know only which tap of each window won. A 3x3 window has nine
// taps, so that number fits in a byte; the usual 64-bit index takes eight, and keeping the input
// itself (as some layers do) takes four for each of four times as many numbers.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "ndpool/ndpool.hpp"

namespace {

// Some data that is neither sorted nor constant, the same on every machine.
std::vector<float> make_data(std::int64_t count) {
  std::vector<float> data(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& value : data) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 24) / 256.0F;
  }
  return data;
}

}  // namespace

int main() {
  const ndpool::Plan plan({.op = ndpool::Op::max,
                           .type = ndpool::Type::f32,
                           .shape = {8, 16, 56, 56},
                           .window = {3, 3},
                           .stride = {2},
                           .padding = {1}});
  const std::vector<float> x = make_data(plan.input_count());

  // Forward: y for the next layer, and the compact argmax for ourselves.
  std::vector<float> y(static_cast<std::size_t>(plan.output_count()));
  ndpool::Compact argmax = plan.make_argmax();
  plan.forward(x, y, argmax);

  // … the rest of the network turns y into a loss and hands back its gradient; here the loss is the
  // sum of all outputs, whose gradient is 1 everywhere …
  const std::vector<float> g(y.size(), 1.0F);

  // Backward, from the argmax alone: x may be gone by now.
  std::vector<float> dx(x.size());
  plan.vjp_argmax(argmax, g, dx);

  const std::size_t kept = argmax.bytes().size();
  const std::size_t indices = y.size() * sizeof(std::int64_t);
  std::printf("outputs                      %10zu\n", y.size());
  std::printf("kept as compact argmax (%s)  %10zu bytes\n", ndpool::type_name(argmax.type()), kept);
  std::printf("the same as int64 indices    %10zu bytes\n", indices);
  std::printf("keeping the input instead    %10zu bytes\n", x.size() * sizeof(float));

  // The gradient from x gives the same bits; and every output sent its 1 to exactly one cell.
  std::vector<float> from_x(x.size());
  plan.vjp(x, g, from_x);
  double total = 0;
  for (const float value : dx) total += value;
  std::printf("sum of dx                    %10g\n", total);
  const bool right = dx == from_x && total == static_cast<double>(y.size()) && kept * 8 == indices;
  return right ? 0 : 1;
}
