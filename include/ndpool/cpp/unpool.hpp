// Unpooling: each value back to the place its index names.
#ifndef NDPOOL_CPP_UNPOOL_HPP_
#define NDPOOL_CPP_UNPOOL_HPP_

#include <cstdint>

#include "ndpool/cpp/exec.hpp"
#include "ndpool/cpp/result.hpp"
#include "ndpool/cpp/types.hpp"
#include "ndpool/cpp/view.hpp"

namespace ndpool::inline front {

// Where each y goes: indices run over `axes` of output_shape, as forward_with_index gives them.
struct Unpool {
  Type type = Type::f32;
  Ints y_shape = {};
  Ints output_shape = {};
  Ints axes = {};
};

namespace detail {

// Checks the arrays of an unpool call or its derivative, then makes it.
// y and index have y_shape, out has output_shape; which of y and out is written is the call's
// affair.
template <class CCall>
Result<void> unpool_call(const Unpool& unpool, const Memory& y, const Memory& index,
                         const Memory& out, const char* y_name, const char* out_name,
                         const Exec& exec, CCall c_call) {
  if (auto error = check_array(y, y_name, unpool.type, unpool.y_shape)) return *error;
  if (auto error = check_array(index, "index", Type::i64, unpool.y_shape)) return *error;
  if (auto error = check_array(out, out_name, unpool.type, unpool.output_shape)) return *error;
  ndpool_unpool_desc desc;
  ndpool_unpool_desc_init(&desc);
  desc.type = static_cast<std::int32_t>(unpool.type);
  const auto c_ints = [](const Ints& ints) {
    return ndpool_ints{ints.data(), static_cast<std::int64_t>(ints.size())};
  };
  desc.y_shape = c_ints(unpool.y_shape);
  desc.output_shape = c_ints(unpool.output_shape);
  desc.axes = c_ints(unpool.axes);
  const CExec c_exec(exec);
  ndpool_error error = {};
  const std::int32_t status = c_call(&desc, c_exec.get(), &error);
  return outcome(status, error);
}

}  // namespace detail

// Each y to its index, zeros elsewhere; of several y with one index the last stays.
inline Result<void> try_unpool(const Unpool& unpool, Input y, Input index, Output out,
                               const Exec& exec = {}) {
  return detail::unpool_call(
      unpool, y.memory(), index.memory(), out.memory(), "y", "out", exec,
      [&](const ndpool_unpool_desc* desc, const ndpool_exec* c_exec, ndpool_error* error) {
        return ndpool_unpool(desc, detail::c_array(y), detail::c_array(index), detail::c_array(out),
                             c_exec, error);
      });
}

// dy from the gradient g of the unpooled array.
inline Result<void> try_unpool_vjp(const Unpool& unpool, Input g, Input index, Output dy,
                                   const Exec& exec = {}) {
  return detail::unpool_call(
      unpool, dy.memory(), index.memory(), g.memory(), "dy", "g", exec,
      [&](const ndpool_unpool_desc* desc, const ndpool_exec* c_exec, ndpool_error* error) {
        return ndpool_unpool_vjp(desc, detail::c_array(g), detail::c_array(index),
                                 detail::c_array(dy), c_exec, error);
      });
}

inline void unpool(const Unpool& unpool, Input y, Input index, Output out, const Exec& exec = {}) {
  try_unpool(unpool, y, index, out, exec).value();
}
inline void unpool_vjp(const Unpool& unpool, Input g, Input index, Output dy,
                       const Exec& exec = {}) {
  try_unpool_vjp(unpool, g, index, dy, exec).value();
}

}  // namespace ndpool::inline front

#endif  // NDPOOL_CPP_UNPOOL_HPP_
