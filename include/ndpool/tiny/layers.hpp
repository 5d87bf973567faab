// The layers by the names that people know. Elements are floats unless said otherwise:
// MaxPool2D(2, 2), MaxPool2D<int8_t>(2, 2). A negative stride means the kernel.
#ifndef NDPOOL_TINY_LAYERS_HPP_
#define NDPOOL_TINY_LAYERS_HPP_

#include <stdint.h>

#include "ndpool/tiny/layer.hpp"
#include "ndpool/tiny/number.hpp"

namespace ndpool::tiny {
namespace detail {

template <Op op, class T>
struct Pool1D : Layer<op, T, 1> {
  constexpr explicit Pool1D(int32_t kernel, int32_t stride = -1)
      : Layer<op, T, 1>(Layer<op, T, 1>({kernel}).stride(stride)) {}
};

template <Op op, class T>
struct Pool2D : Layer<op, T, 2> {
  constexpr Pool2D(int32_t kernel_h, int32_t kernel_w, int32_t stride_h = -1, int32_t stride_w = -1)
      : Layer<op, T, 2>(Layer<op, T, 2>({kernel_h, kernel_w}).stride(stride_h, stride_w)) {}
};

// From (channels, sizes…) to (channels, 1, …), or to (channels) if keepdims is false. Of signals:
// GlobalAvgPool<float, 1>().
template <Op op, class T, int Rank>
struct GlobalPool : Layer<op, T, Rank> {
  constexpr explicit GlobalPool(bool keepdims = true)
      : Layer<op, T, Rank>(Layer<op, T, Rank>({}).global(keepdims)) {}
};

}  // namespace detail

template <class T = float>
struct MaxPool1D : detail::Pool1D<Op::max, T> {
  using detail::Pool1D<Op::max, T>::Pool1D;
};
MaxPool1D(int32_t, int32_t = -1) -> MaxPool1D<float>;

template <class T = float>
struct MinPool1D : detail::Pool1D<Op::min, T> {
  using detail::Pool1D<Op::min, T>::Pool1D;
};
MinPool1D(int32_t, int32_t = -1) -> MinPool1D<float>;

template <class T = float>
struct AvgPool1D : detail::Pool1D<Op::avg, T> {
  using detail::Pool1D<Op::avg, T>::Pool1D;
};
AvgPool1D(int32_t, int32_t = -1) -> AvgPool1D<float>;

template <class T = float>
struct MaxPool2D : detail::Pool2D<Op::max, T> {
  using detail::Pool2D<Op::max, T>::Pool2D;
};
MaxPool2D(int32_t, int32_t, int32_t = -1, int32_t = -1) -> MaxPool2D<float>;

template <class T = float>
struct MinPool2D : detail::Pool2D<Op::min, T> {
  using detail::Pool2D<Op::min, T>::Pool2D;
};
MinPool2D(int32_t, int32_t, int32_t = -1, int32_t = -1) -> MinPool2D<float>;

template <class T = float>
struct AvgPool2D : detail::Pool2D<Op::avg, T> {
  using detail::Pool2D<Op::avg, T>::Pool2D;
};
AvgPool2D(int32_t, int32_t, int32_t = -1, int32_t = -1) -> AvgPool2D<float>;

template <class T = float, int Rank = 2>
struct GlobalMaxPool : detail::GlobalPool<Op::max, T, Rank> {
  using detail::GlobalPool<Op::max, T, Rank>::GlobalPool;
};
GlobalMaxPool(bool = true) -> GlobalMaxPool<float, 2>;

template <class T = float, int Rank = 2>
struct GlobalMinPool : detail::GlobalPool<Op::min, T, Rank> {
  using detail::GlobalPool<Op::min, T, Rank>::GlobalPool;
};
GlobalMinPool(bool = true) -> GlobalMinPool<float, 2>;

template <class T = float, int Rank = 2>
struct GlobalAvgPool : detail::GlobalPool<Op::avg, T, Rank> {
  using detail::GlobalPool<Op::avg, T, Rank>::GlobalPool;
};
GlobalAvgPool(bool = true) -> GlobalAvgPool<float, 2>;

// Any number of axes: MaxPool<float, 3>({2, 2, 2}).
template <class T, int Rank>
using MaxPool = Layer<Op::max, T, Rank>;
template <class T, int Rank>
using MinPool = Layer<Op::min, T, Rank>;
template <class T, int Rank>
using AvgPool = Layer<Op::avg, T, Rank>;

}  // namespace ndpool::tiny

#endif  // NDPOOL_TINY_LAYERS_HPP_
