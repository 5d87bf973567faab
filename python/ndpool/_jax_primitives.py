"""Primitives that XLA computes by calling the engine, and how they are mapped over a batch.

All take ``tokens``, a problem line without type and shape whose axes count from the end: an axis
put in front, as vmap does, changes nothing. Their derivatives are in ``_jax_derivatives``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import ShapedArray as Aval
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir

from . import _arguments, _core, _jax
from ._arrays import TYPE_OF_NAME, dtype_of, type_of

Params = dict[str, Any]


def _register_handlers() -> None:
    """Tells XLA. One that is older than its interface here would no longer start at all."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h").read_text()
    numbers = re.findall(r"^#define XLA_FFI_API_(?:MAJOR|MINOR) (\d+)", header, re.M)
    if _jax.API_VERSION > tuple(map(int, numbers)):
        raise ImportError(
            f"this ndpool was built for a newer jaxlib than {jax.lib.__version__}: upgrade jax, or "
            "build ndpool with the jaxlib that is installed (pip install --no-build-isolation)"
        )
    for name, handler in _jax.handlers().items():
        jax.ffi.register_ffi_target(name, handler, platform="cpu")


_register_handlers()


def plan_of(tokens: str, x: Any) -> _core.Plan:
    """The plan for arrays like x."""
    return _core.plan(tokens, type_of(x.dtype), x.shape)


def keeps(plan: _core.Plan) -> str:
    """What derivatives need from the forward call: "argmax", "x", or "" for nothing.

    An argmax in 64 bits (windows of more than 2^32 taps) is no type that JAX always has.
    """
    kept = _arguments.keeps(plan.tokens)
    wide = kept == "argmax" and plan.argmax_type == TYPE_OF_NAME["uint64"]
    return "x" if wide else kept


def _batched(
    primitive: Primitive, args: Sequence[Any], dims: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """The batch as the first axis of all arguments, and of the result."""
    size = next(x.shape[dim] for x, dim in zip(args, dims, strict=True) if dim is not None)
    args = [
        jnp.broadcast_to(x, (size, *x.shape)) if dim is None else jnp.moveaxis(x, dim, 0)
        for x, dim in zip(args, dims, strict=True)
    ]
    if "shape" in params:
        params["shape"] = (size, *params["shape"])
    result = primitive.bind(*args, **params)
    return result, [0] * len(result) if primitive.multiple_results else 0


def _primitive(
    name: str,
    result: Callable[..., Any],
    target: Callable[[Params], str],
    attributes: Callable[[Params], Params],
) -> Primitive:
    """A primitive that calls a handler. result(*operands, **params) gives the types of results,
    target(params) the handler's name, attributes(params) what the handler is told."""
    primitive = Primitive(name)
    primitive.multiple_results = name == "ndpool_forward"
    primitive.def_abstract_eval(result)

    def lower(context: Any, *operands: Any, **params: Any) -> Any:
        return jax.ffi.ffi_lowering(target(params))(context, *operands, **attributes(params))

    mlir.register_lowering(primitive, lower, platform="cpu")
    batching.primitive_batchers[primitive] = partial(_batched, primitive)

    @lru_cache(maxsize=4096)
    def compiled(**params: Any) -> Any:
        return jax.jit(partial(primitive.bind, **params))

    def run(*operands: Any, **params: Any) -> Any:
        with jax.disable_jit(False):  # what is not compiled cannot call a handler
            return compiled(**params)(*operands)

    primitive.def_impl(run)
    return primitive


def _tokens(params: Params) -> Params:
    return {"tokens": params["tokens"]}


def _like(operand: Any, shape: Sequence[int], dtype: Any) -> Aval:
    """An array on the same devices (in shard_map, varying over the same of them)."""
    return operand.update(shape=tuple(shape), dtype=dtype, weak_type=False)


# ---- Pooling ------------------------------------------------------------------------------------


def _forward_result(x: Any, *, tokens: str, argmax: bool, index: str | None) -> list[Aval]:
    plan = plan_of(tokens, x)
    results = [_like(x, plan.output_shape, dtype_of(plan.out_type))]
    if argmax:
        results.append(_like(x, plan.output_shape, dtype_of(plan.argmax_type)))
    if index:
        results.append(_like(x, plan.output_shape, np.dtype(index)))
    return results


def _jvp_result(*operands: Any, tokens: str, kept: str) -> Aval:
    plan = plan_of(tokens, operands[-1])
    return _like(operands[0], plan.output_shape, dtype_of(plan.out_type))


def _vjp_result(*operands: Any, tokens: str, kept: str, shape: tuple[int, ...]) -> Aval:
    return _like(operands[0], shape, operands[-1].dtype)


def _hvp_result(x: Any, g: Any, v: Any, *, tokens: str) -> Aval:
    return _like(x, x.shape, x.dtype)


def _linear_target(name: str) -> Callable[[Params], str]:
    return lambda params: name + ("_argmax" if params["kept"] == "argmax" else "")


# x → y, then the compact argmax if asked for, then the index of the type asked for.
forward_p = _primitive(
    "ndpool_forward",
    _forward_result,
    lambda params: "ndpool_forward",
    lambda params: {"tokens": params["tokens"], "argmax": params["argmax"]},
)
# dx → dy = J·dx and g → dx = Jᵀ·g, each after what was kept of x: all of it, its argmax or nothing.
jvp_p = _primitive("ndpool_jvp", _jvp_result, _linear_target("ndpool_jvp"), _tokens)
vjp_p = _primitive("ndpool_vjp", _vjp_result, _linear_target("ndpool_vjp"), _tokens)
# x, g, v → the derivative in x of ⟨v, Jᵀ(x)·g⟩: smooth max and Lp.
hvp_p = _primitive("ndpool_hvp", _hvp_result, lambda params: "ndpool_hvp", _tokens)


# ---- Unpool -------------------------------------------------------------------------------------


def _unpool_result(y: Any, index: Any, *, axes: tuple[int, ...], shape: tuple[int, ...]) -> Aval:
    return _like(y, shape, y.dtype)


def _unpool_vjp_result(g: Any, index: Any, *, axes: tuple[int, ...]) -> Aval:
    return _like(g, index.shape, g.dtype)


def _axes(params: Params) -> Params:
    return {"axes": np.array(params["axes"], np.int64)}


# y and index → the result; its gradient and index → dy.
unpool_p = _primitive("ndpool_unpool", _unpool_result, lambda params: "ndpool_unpool", _axes)
unpool_vjp_p = _primitive(
    "ndpool_unpool_vjp", _unpool_vjp_result, lambda params: "ndpool_unpool_vjp", _axes
)
