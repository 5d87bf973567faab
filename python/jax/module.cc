// ndpool._jax: the engine for XLA. Handlers of its foreign function interface, as capsules; all
// that is computed is computed by the library.
#include <nanobind/nanobind.h>

#include "handlers.h"

namespace nb = nanobind;

NB_MODULE(_jax, m) {
  m.attr("API_VERSION") = nb::make_tuple(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR);
  m.def("handlers", [] {
    nb::dict handlers;
    const auto add = [&](const char* name, XLA_FFI_Handler* handler) {
      handlers[name] = nb::capsule(reinterpret_cast<void*>(handler));
    };
    add("ndpool_forward", ndpool_jax_forward);
    add("ndpool_jvp", ndpool_jax_jvp);
    add("ndpool_jvp_argmax", ndpool_jax_jvp_argmax);
    add("ndpool_vjp", ndpool_jax_vjp);
    add("ndpool_vjp_argmax", ndpool_jax_vjp_argmax);
    add("ndpool_hvp", ndpool_jax_hvp);
    add("ndpool_unpool", ndpool_jax_unpool);
    add("ndpool_unpool_vjp", ndpool_jax_unpool_vjp);
    return handlers;
  });
}
