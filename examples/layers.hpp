// Pooling layers in the style of small neural network libraries: forward(x), then
// backward(gradient). Copy and change them: each is a few lines over ndpool::Plan.
#ifndef EXAMPLES_LAYERS_HPP_
#define EXAMPLES_LAYERS_HPP_

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "ndpool/ndpool.hpp"

namespace layers {

using Array = ndpool::Array<float>;

// What all layers share. The plan follows the shape of x, and is made again only when that changes.
class Layer {
 public:
  // While training, max layers keep a mask (which tap won) for backward; otherwise nothing is kept.
  void train(bool on) {
    training_ = on;
    if (!on) mask_.reset();
  }
  bool keeps_mask() const { return mask_.has_value(); }

  Array forward(const Array& x) {
    if (!plan_ || plan_->input_shape() != x.shape()) {
      pool_.shape = x.shape();
      plan_.emplace(pool_);
      mask_.reset();
    }
    Array y(plan_->output_shape());
    if (training_ && pool_.op == ndpool::Op::max) {
      if (!mask_) mask_.emplace(plan_->make_argmax());
      plan_->forward(x, y, *mask_);
    } else {
      plan_->forward(x, y);
    }
    return y;
  }

  // The gradient of the loss in x from that in y. Needs forward first, with training on for max.
  Array backward(const Array& grad) const {
    if (!plan_) throw std::logic_error("backward needs a forward call before it");
    Array dx(plan_->input_shape());
    if (pool_.op != ndpool::Op::max) {
      plan_->vjp(ndpool::none, grad, dx);  // an average needs nothing but its geometry
    } else if (mask_) {
      plan_->vjp_argmax(*mask_, grad, dx);
    } else {
      throw std::logic_error("backward of max needs the mask that forward keeps while training");
    }
    return dx;
  }

 protected:
  explicit Layer(ndpool::Pool pool) : pool_(std::move(pool)) {}

  // A window of `kernel` on each of the last `rank` axes; a negative stride means the kernel.
  static ndpool::Pool windowed(ndpool::Op op, std::size_t rank, std::int64_t kernel,
                               std::int64_t stride) {
    return {
        .op = op, .window = ndpool::Ints(rank, kernel), .stride = {stride < 0 ? kernel : stride}};
  }

 private:
  ndpool::Pool pool_;
  std::optional<ndpool::Plan> plan_;
  std::optional<ndpool::Compact> mask_;
  bool training_ = true;
};

struct MaxPool1D : Layer {
  explicit MaxPool1D(std::int64_t kernel, std::int64_t stride = -1)
      : Layer(windowed(ndpool::Op::max, 1, kernel, stride)) {}
};

struct MaxPool2D : Layer {
  explicit MaxPool2D(std::int64_t kernel, std::int64_t stride = -1)
      : Layer(windowed(ndpool::Op::max, 2, kernel, stride)) {}
};

struct AvgPool1D : Layer {
  explicit AvgPool1D(std::int64_t kernel, std::int64_t stride = -1)
      : Layer(windowed(ndpool::Op::avg, 1, kernel, stride)) {}
};

struct AvgPool2D : Layer {
  explicit AvgPool2D(std::int64_t kernel, std::int64_t stride = -1)
      : Layer(windowed(ndpool::Op::avg, 2, kernel, stride)) {}
};

// The mean of the last two axes, which stay with size 1.
struct GlobalAvgPool : Layer {
  GlobalAvgPool()
      : Layer({.op = ndpool::Op::avg, .axes = {-2, -1}, .mode = ndpool::Mode::global}) {}
};

}  // namespace layers

#endif  // EXAMPLES_LAYERS_HPP_
