// The functions that XLA calls, one per primitive of ndpool._jax_primitives.
#ifndef NDPOOL_PYTHON_JAX_HANDLERS_H_
#define NDPOOL_PYTHON_JAX_HANDLERS_H_

#include "xla/ffi/api/c_api.h"

extern "C" {
XLA_FFI_Error* ndpool_jax_forward(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_jvp(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_jvp_argmax(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_vjp(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_vjp_argmax(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_hvp(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_unpool(XLA_FFI_CallFrame* frame);
XLA_FFI_Error* ndpool_jax_unpool_vjp(XLA_FFI_CallFrame* frame);
}

#endif  // NDPOOL_PYTHON_JAX_HANDLERS_H_
