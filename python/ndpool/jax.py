"""Pooling on JAX arrays, under jit, grad, jvp, vmap and what is made of them.

>>> import jax, jax.numpy as jnp, ndpool.jax
>>> x = jnp.arange(16.0).reshape(4, 4)
>>> ndpool.jax.max_pool(x, (2, 2))
Array([[ 5.,  7.],
       [13., 15.]], dtype=float32)
>>> jax.grad(lambda x: ndpool.jax.max_pool(x, (2, 2)).sum())(x)[3]
Array([0., 1., 0., 1.], dtype=float32)

The operations of ndpool with the same arguments, but ``out=``. On the CPU: XLA calls ndpool, which
runs on XLA's threads. See docs/jax.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

import numpy as np

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise ImportError(f"ndpool.jax needs JAX: pip install 'ndpool[jax]' ({error})") from None
try:
    from . import _jax as _jax
except ImportError as error:
    raise ImportError(
        "this ndpool was built without jaxlib, so it has no ndpool.jax: "
        f"pip install --force-reinstall ndpool ({error})"
    ) from None

from . import _core, _operations
from ._arguments import Axes, Described, flag, integers, pooled_axes
from ._arrays import dtype_of, type_of
from ._errors import PoolError
from ._jax_derivatives import register
from ._jax_primitives import forward_p, unpool_p
from ._operation import Operation

__all__ = [
    "adaptive_avg_pool",
    "adaptive_lp_pool",
    "adaptive_max_pool",
    "adaptive_min_pool",
    "adaptive_smooth_max_pool",
    "avg_pool",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "global_min_pool",
    "global_smooth_max_pool",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "min_pool",
    "smooth_max_pool",
]

P = ParamSpec("P")

register()


# ---- Arguments ----------------------------------------------------------------------------------


def _as_array(x: Any, name: str) -> jax.Array:
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; ndpool would not see the mask: fill it first")
    try:
        array = jnp.asarray(x)
    except ValueError as error:
        raise TypeError(f"{name} is no array: {error}") from None
    if not all(isinstance(size, int) for size in array.shape):
        raise PoolError(f"{name} has shape {array.shape}; ndpool plans for sizes that are numbers")
    return array


def _from_the_end(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(axis - rank if axis >= 0 else axis for axis in axes)


def _tokens_from_the_end(tokens: str, rank: int) -> str:
    """The tokens with axes that still mean the same after an axis was put in front."""

    def rewritten(token: str) -> str:
        if not token.startswith("axes="):
            return token
        axes = _from_the_end([int(axis) for axis in token[5:].split(",")], rank)
        return "axes=" + ",".join(map(str, axes))

    return " ".join(map(rewritten, tokens.split()))


def _available(number: int, name: str) -> None:
    """Refuses types that JAX would silently make narrower."""
    dtype = dtype_of(number)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(f"{name}: {dtype} needs jax.config.update('jax_enable_x64', True)")


def _index_type(plan: _core.Plan, described: Described) -> str:
    """int32, or int64 where x64 is on."""
    dtype = np.dtype(jax.dtypes.canonicalize_dtype(np.int64))
    axes = next(token for token in described.tokens.split() if token.startswith("axes="))
    cells = 1
    for axis in axes[5:].split(","):
        cells *= plan.input_shape[int(axis)]
    if dtype == np.int32 and cells > 2**31 - 1:
        raise PoolError(
            f"return_indices: the pooled axes have {cells} cells, more than int32 can number; "
            "jax.config.update('jax_enable_x64', True) makes the indices int64"
        )
    return str(dtype.name)


# ---- Operations ---------------------------------------------------------------------------------


def _run(describe: Callable[..., Described], x: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if kwargs.get("out") is not None:
        raise TypeError("out= has no meaning here: JAX's arrays are not written to")
    wanted = flag(kwargs.get("return_indices", False), "return_indices")
    x = _as_array(x, "x")
    described = describe(*args, **kwargs)
    plan = _core.plan(described.tokens, type_of(x.dtype), x.shape)
    _available(plan.out_type, "dtype")
    tokens = _tokens_from_the_end(described.tokens, x.ndim)
    index = _index_type(plan, described) if wanted else None
    results = forward_p.bind(x, tokens=tokens, argmax=False, index=index)
    if described.dropped:
        results = [jnp.squeeze(result, described.dropped) for result in results]
    return tuple(results) if wanted else results[0]


def _documentation(describe: Callable[..., Described]) -> str:
    """That of the NumPy operation, without what is not so here."""
    text = inspect.getdoc(describe) or ""
    lines = text.partition("\n>>>")[0].strip().splitlines()
    kept = "\n".join(line for line in lines if not line.startswith("out:"))
    return kept.replace("pooled axes, int64.", "pooled axes, int32 (int64 with x64).")


def _operation(operation: Operation[P]) -> Callable[..., Any]:
    describe = operation._describe

    def call(x: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        return _run(describe, x, args, kwargs)

    described = inspect.signature(operation)
    kept = [parameter for name, parameter in described.parameters.items() if name != "out"]
    call.__name__ = call.__qualname__ = operation.__name__
    call.__doc__ = _documentation(describe)
    call.__signature__ = described.replace(parameters=kept)  # type: ignore[attr-defined]
    return call


max_pool = _operation(_operations.max_pool)
min_pool = _operation(_operations.min_pool)
avg_pool = _operation(_operations.avg_pool)
smooth_max_pool = _operation(_operations.smooth_max_pool)
lp_pool = _operation(_operations.lp_pool)
global_max_pool = _operation(_operations.global_max_pool)
global_min_pool = _operation(_operations.global_min_pool)
global_avg_pool = _operation(_operations.global_avg_pool)
global_smooth_max_pool = _operation(_operations.global_smooth_max_pool)
global_lp_pool = _operation(_operations.global_lp_pool)
adaptive_max_pool = _operation(_operations.adaptive_max_pool)
adaptive_min_pool = _operation(_operations.adaptive_min_pool)
adaptive_avg_pool = _operation(_operations.adaptive_avg_pool)
adaptive_smooth_max_pool = _operation(_operations.adaptive_smooth_max_pool)
adaptive_lp_pool = _operation(_operations.adaptive_lp_pool)


def _check_unpool(y: jax.Array, shape: tuple[int, ...], axes: list[int]) -> None:
    """Has the engine look at the shapes, on arrays that a last axis of size 0 makes empty."""
    empty = np.empty((*y.shape, 0), y.dtype)
    _core.unpool(empty, empty.astype(np.int64), np.empty((*shape, 0), y.dtype), axes)


def max_unpool(y: Any, indices: Any, output_shape: Sequence[int], *, axes: Axes) -> jax.Array:
    """Puts each y at its index, zeros elsewhere.

    indices are those of ``return_indices``: flat over ``axes`` of the result, any integer type.
    output_shape is the full shape of the result. Where windows overlapped, an index may be named
    twice: the last y in row-major order stays. An index that names no cell is found when the call
    runs, and raises ``jax.errors.JaxRuntimeError``.
    """
    y, indices = _as_array(y, "y"), _as_array(indices, "indices")
    type_of(y.dtype)  # refuses those that ndpool does not have
    if indices.dtype.kind not in "iu":
        raise TypeError(f"indices must be integers, not {indices.dtype}")
    if indices.shape != y.shape:
        raise PoolError(f"indices have shape {indices.shape}, y has shape {y.shape}")
    shape = tuple(integers(output_shape, "output_shape"))
    if any(size < 0 for size in shape):
        raise PoolError(f"output_shape {shape} has a negative size")
    if len(shape) != y.ndim:
        raise PoolError(f"output_shape {shape} and y's shape {y.shape} differ in rank")
    pooled = pooled_axes(axes)
    if pooled is None:
        raise TypeError("axes must be a number of last axes, or a tuple of axes, not None")
    if any(not -y.ndim <= axis < y.ndim for axis in pooled):
        raise PoolError(f"axes {tuple(pooled)}: y has rank {y.ndim}")
    from_the_end = _from_the_end(pooled, y.ndim)
    _check_unpool(y, shape, [axis + y.ndim for axis in from_the_end])
    result: jax.Array = unpool_p.bind(y, indices, axes=from_the_end, shape=shape)
    return result
