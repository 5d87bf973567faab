// Functions whose size is measured, each linked alone. The layer comes from outside, so that none
// of the work is done by the compiler.
#include "ndpool/tiny.hpp"

using namespace ndpool::tiny;

extern "C" {

Error max2d_f32_forward(const Layer<Op::max, float, 2>& layer, Span<const float> x, Span<float> y) {
  return layer.forward(x, y);
}
Error max2d_i8_forward(const Layer<Op::max, int8_t, 2>& layer, Span<const int8_t> x,
                       Span<int8_t> y) {
  return layer.forward(x, y);
}
Error max2d_f32_forward_mask(const Layer<Op::max, float, 2>& layer, Span<const float> x,
                             Span<float> y, Span<uint8_t> mask) {
  return layer.forward(x, y, mask);
}
Error max2d_i8_forward_mask(const Layer<Op::max, int8_t, 2>& layer, Span<const int8_t> x,
                            Span<int8_t> y, Span<uint8_t> mask) {
  return layer.forward(x, y, mask);
}
Error max2d_f32_backward(const Layer<Op::max, float, 2>& layer, Span<const float> gy,
                         Span<const uint8_t> mask, Span<float> gx) {
  return layer.backward(gy, mask, gx);
}
Error avg2d_f32_forward(const Layer<Op::avg, float, 2>& layer, Span<const float> x, Span<float> y) {
  return layer.forward(x, y);
}
Error avg2d_i8_forward(const Layer<Op::avg, int8_t, 2>& layer, Span<const int8_t> x,
                       Span<int8_t> y) {
  return layer.forward(x, y);
}
Error avg2d_f32_backward(const Layer<Op::avg, float, 2>& layer, Span<const float> gy,
                         Span<float> gx) {
  return layer.backward(gy, gx);
}

// Geometry of shapes that are known only when the program runs.
void max2d_make(Layer<Op::max, float, 2>* layer, int32_t channels, int32_t height, int32_t width) {
  *layer = layer->input(channels, height, width);
}

}  // extern "C"
