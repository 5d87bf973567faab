// Pooling and its derivatives.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "call.h"
#include "handlers.h"

namespace ndpool::jax {
namespace {

using Buffer = ffi::AnyBuffer;
using Output = ffi::Result<ffi::AnyBuffer>;

// x to y, then to the compact argmax if `argmax`, then to the index if there is one more result:
// int64, or int32, for which the caller has seen to it that the plane is small enough.
ffi::Error forward(ffi::ThreadPool threads, Buffer x, Output y, ffi::RemainingRets more,
                   std::string_view tokens, bool argmax) {
  return guarded([&]() -> ffi::Error {
    Call call(threads);
    const auto plan = call.plan(tokens, x);
    if (!plan) return call.refused();
    ndpool_array winners = {}, numbers = {};
    if (argmax) winners = out(*more.get<Buffer>(0).value());
    std::vector<int64_t> wide;
    int32_t* narrow = nullptr;
    if (more.size() > (argmax ? 1 : 0)) {
      Output index = more.get<Buffer>(argmax ? 1 : 0).value();
      numbers = out(*index);
      if (index->element_type() == ffi::DataType::S32) {
        wide.resize(index->element_count());
        narrow = static_cast<int32_t*>(numbers.data);
        numbers.data = wide.data();
      }
    }
    const int32_t status =
        ndpool_forward(plan.get(), in(x), out(*y), winners, numbers, call.exec(), call.error());
    if (status != NDPOOL_OK) return call.refused();
    std::transform(wide.begin(), wide.end(), narrow,
                   [](int64_t number) { return static_cast<int32_t>(number); });
    return ffi::Error::Success();
  });
}

// x, if the operation is not linear, and dx to dy.
ffi::Error jvp(ffi::ThreadPool threads, ffi::RemainingArgs args, Output dy,
               std::string_view tokens) {
  return guarded([&]() -> ffi::Error {
    Call call(threads);
    const Buffer x = args.get<Buffer>(0).value(), dx = args.get<Buffer>(args.size() - 1).value();
    const auto plan = call.plan(tokens, x);
    if (!plan) return call.refused();
    return call.finish(
        ndpool_jvp(plan.get(), in(x), in(dx), {}, out(*dy), call.exec(), call.error()));
  });
}

ffi::Error jvp_argmax(ffi::ThreadPool threads, Buffer argmax, Buffer dx, Output dy,
                      std::string_view tokens) {
  return guarded([&]() -> ffi::Error {
    Call call(threads);
    const auto plan = call.plan(tokens, dx);
    if (!plan) return call.refused();
    return call.finish(
        ndpool_jvp_argmax(plan.get(), in(argmax), in(dx), out(*dy), call.exec(), call.error()));
  });
}

// x, if the operation is not linear, and g to dx.
ffi::Error vjp(ffi::ThreadPool threads, ffi::RemainingArgs args, Output dx,
               std::string_view tokens) {
  return guarded([&]() -> ffi::Error {
    Call call(threads);
    const Buffer x = args.get<Buffer>(0).value(), g = args.get<Buffer>(args.size() - 1).value();
    const auto plan = call.plan(tokens, *dx);
    if (!plan) return call.refused();
    return call.finish(ndpool_vjp(plan.get(), in(x), in(g), out(*dx), call.exec(), call.error()));
  });
}

ffi::Error vjp_argmax(ffi::ThreadPool threads, Buffer argmax, Buffer g, Output dx,
                      std::string_view tokens) {
  return guarded([&]() -> ffi::Error {
    Call call(threads);
    const auto plan = call.plan(tokens, *dx);
    if (!plan) return call.refused();
    return call.finish(
        ndpool_vjp_argmax(plan.get(), in(argmax), in(g), out(*dx), call.exec(), call.error()));
  });
}

ffi::Error hvp(ffi::ThreadPool threads, Buffer x, Buffer g, Buffer v, Output hx,
               std::string_view tokens) {
  return guarded([&]() -> ffi::Error {
    Call call(threads);
    const auto plan = call.plan(tokens, x);
    if (!plan) return call.refused();
    return call.finish(
        ndpool_hvp(plan.get(), in(x), in(g), in(v), out(*hx), call.exec(), call.error()));
  });
}

// One result from any arguments, and from two.
auto from_any() {
  return ffi::Ffi::Bind()
      .Ctx<ffi::ThreadPool>()
      .RemainingArgs()
      .Ret<Buffer>()
      .Attr<std::string_view>("tokens");
}
auto from_two() {
  return ffi::Ffi::Bind()
      .Ctx<ffi::ThreadPool>()
      .Arg<Buffer>()
      .Arg<Buffer>()
      .Ret<Buffer>()
      .Attr<std::string_view>("tokens");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(ndpool_jax_forward, forward,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Buffer>()
                                  .Ret<Buffer>()
                                  .RemainingRets()
                                  .Attr<std::string_view>("tokens")
                                  .Attr<bool>("argmax"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(ndpool_jax_jvp, jvp, from_any());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ndpool_jax_jvp_argmax, jvp_argmax, from_two());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ndpool_jax_vjp, vjp, from_any());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ndpool_jax_vjp_argmax, vjp_argmax, from_two());
XLA_FFI_DEFINE_HANDLER_SYMBOL(ndpool_jax_hvp, hvp,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .Arg<Buffer>()
                                  .Arg<Buffer>()
                                  .Arg<Buffer>()
                                  .Ret<Buffer>()
                                  .Attr<std::string_view>("tokens"));

}  // namespace ndpool::jax
