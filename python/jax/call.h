// What all handlers share: plans, XLA's threads, and errors.
#ifndef NDPOOL_PYTHON_JAX_CALL_H_
#define NDPOOL_PYTHON_JAX_CALL_H_

#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

#include "ndpool/ndpool.h"
#include "xla/ffi/api/ffi.h"

namespace ndpool::jax {

namespace ffi = xla::ffi;

// The ndpool_type of a buffer's elements, or -1.
int type_of(ffi::DataType type);

// One call of the engine on XLA's threads. Handlers run without the interpreter's lock.
class Call {
 public:
  explicit Call(ffi::ThreadPool threads);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The plan of tokens such as "max w2x2 axes=-2,-1" for input like that buffer. Plans that were
  // asked for lately are shared. Null: error() says why.
  std::shared_ptr<const ndpool_plan> plan(std::string_view tokens, const ffi::AnyBuffer& input);

  const ndpool_exec* exec() const { return &exec_; }
  ndpool_error* error() { return &error_; }
  ffi::Error refused() const;
  ffi::Error finish(int32_t status) const;

 private:
  // Calls body(arg, i) for each i in [0, n) on XLA's threads, this one included.
  void parallel_for(int64_t n, void (*body)(void* arg, int64_t i), void* arg);

  ffi::ThreadPool threads_;
  ndpool_runner runner_;
  ndpool_exec exec_ = {};
  ndpool_error error_ = {};
};

inline ndpool_const_array in(const ffi::AnyBuffer& buffer) {
  return {buffer.untyped_data(), nullptr};
}
// Fresh memory comes in small pages, and taking them one by one can cost more than pooling: asks
// for huge ones.
ndpool_array out(const ffi::AnyBuffer& buffer);

// No exception may reach XLA.
template <class Function>
ffi::Error guarded(Function function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return {ffi::ErrorCode::kResourceExhausted, "ndpool: out of memory"};
  }
}

}  // namespace ndpool::jax

#endif  // NDPOOL_PYTHON_JAX_CALL_H_
