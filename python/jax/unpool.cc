// Unpool and its derivative.
#include <cstdint>
#include <vector>

#include "call.h"
#include "handlers.h"

namespace ndpool::jax {
namespace {

using Buffer = ffi::AnyBuffer;
using Axes = ffi::Span<const int64_t>;

template <class T>
std::vector<int64_t> widened(const Buffer& index) {
  const T* first = static_cast<const T*>(index.untyped_data());
  return {first, first + index.element_count()};
}

// Indices as the engine wants them. Beyond 2^63 - 1 they become negative, and are refused.
std::vector<int64_t> widened(const Buffer& index) {
  switch (type_of(index.element_type())) {
    case NDPOOL_I8:
      return widened<int8_t>(index);
    case NDPOOL_U8:
      return widened<uint8_t>(index);
    case NDPOOL_I16:
      return widened<int16_t>(index);
    case NDPOOL_U16:
      return widened<uint16_t>(index);
    case NDPOOL_I32:
      return widened<int32_t>(index);
    case NDPOOL_U32:
      return widened<uint32_t>(index);
    default:
      return widened<int64_t>(index);
  }
}

// y and index to the result, or the gradient of the result and index to dy.
template <class Function>
ffi::Error run(Function* function, ffi::ThreadPool threads, const Buffer& from, const Buffer& index,
               const Buffer& to, const Buffer& whole, Axes axes) {
  return guarded([&]() -> ffi::Error {
    ndpool_unpool_desc desc;
    ndpool_unpool_desc_init(&desc);
    desc.type = type_of(from.element_type());
    const auto small = index.dimensions(), large = whole.dimensions();
    desc.y_shape = {small.begin(), static_cast<int64_t>(small.size())};
    desc.output_shape = {large.begin(), static_cast<int64_t>(large.size())};
    desc.axes = {axes.begin(), static_cast<int64_t>(axes.size())};
    const bool wide = index.element_type() == ffi::DataType::S64;
    const std::vector<int64_t> copy = wide ? std::vector<int64_t>() : widened(index);
    const ndpool_const_array numbers = {wide ? index.untyped_data() : copy.data(), nullptr};
    Call call(threads);
    return call.finish(function(&desc, in(from), numbers, out(to), call.exec(), call.error()));
  });
}

ffi::Error unpool(ffi::ThreadPool threads, Buffer y, Buffer index, ffi::Result<Buffer> result,
                  Axes axes) {
  return run(ndpool_unpool, threads, y, index, *result, *result, axes);
}

ffi::Error unpool_vjp(ffi::ThreadPool threads, Buffer g, Buffer index, ffi::Result<Buffer> dy,
                      Axes axes) {
  return run(ndpool_unpool_vjp, threads, g, index, *dy, g, axes);
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    ndpool_jax_unpool, unpool,
    ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Buffer>().Arg<Buffer>().Ret<Buffer>().Attr<Axes>(
        "axes"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    ndpool_jax_unpool_vjp, unpool_vjp,
    ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Buffer>().Arg<Buffer>().Ret<Buffer>().Attr<Axes>(
        "axes"));

}  // namespace ndpool::jax
