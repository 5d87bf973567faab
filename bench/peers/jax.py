"""JAX: lax.reduce_window, compiled before it is measured, over any axes in any layout."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

from problem import FLOATS, Problem

PACKAGE = "jax"


def setup(threads: int) -> None:
    """XLA_FLAGS and the processors given to the process decide about threads."""
    jax.config.update("jax_enable_x64", False)


def supports(problem: Problem, work: str) -> bool:
    if problem.type == "f64" or problem.mode == "adaptive" or work == "argmax":
        return False
    if problem.op == "smooth":
        return problem.mode == "windowed"
    return problem.op == "max" or (problem.op == "avg" and problem.type in FLOATS)


def prepare(problem: Problem, work: str) -> Callable[[], jax.Array]:
    pool = {"max": _max, "avg": _avg, "smooth": _smooth}[problem.op](problem)
    x = _array(problem.x(), problem)
    if work == "forward":
        given = (x,)
        function = pool
    else:
        given = (x, _array(problem.g(), problem))
        function = lambda x, g: jax.vjp(pool, x)[1](g)[0]  # noqa: E731
    compiled = jax.jit(function).lower(*given).compile()
    return lambda: compiled(*given).block_until_ready()


def to_numpy(result: jax.Array, problem: Problem) -> np.ndarray:
    array = np.asarray(result)
    return array.view(np.uint16) if problem.type == "bf16" else array


def _array(array: np.ndarray, problem: Problem) -> jax.Array:
    return jax.device_put(array.view(ml_dtypes.bfloat16) if problem.type == "bf16" else array)


def _windows(problem: Problem) -> dict[str, object]:
    return {
        "window_dimensions": problem.spread(problem.window, 1),
        "window_strides": problem.spread(problem.stride, 1),
        "window_dilation": problem.spread(problem.dilation, 1),
        "padding": [(p, p) for p in problem.spread(problem.padding, 0)],
    }


def _max(problem: Problem) -> Callable[[jax.Array], jax.Array]:
    if problem.mode == "global":
        return lambda x: jnp.max(x, problem.axes, keepdims=True)

    def pool(x: jax.Array) -> jax.Array:
        lowest = -jnp.inf if problem.type in FLOATS else jnp.iinfo(x.dtype).min
        return lax.reduce_window(x, np.array(lowest, x.dtype), lax.max, **_windows(problem))

    return pool


def _avg(problem: Problem) -> Callable[[jax.Array], jax.Array]:
    if problem.mode == "global":
        return lambda x: jnp.mean(x, problem.axes, keepdims=True)
    taps = np.float32(np.prod(problem.window))

    def pool(x: jax.Array) -> jax.Array:
        wide = x.astype(jnp.float32)
        total = lax.reduce_window(wide, np.float32(0), lax.add, **_windows(problem))
        return (total / taps).astype(x.dtype)

    return pool


def _smooth(problem: Problem) -> Callable[[jax.Array], jax.Array]:
    """One strided slice for each tap, and their logsumexp: XLA fuses them."""
    steps = problem.spread(problem.stride, 1)

    def pool(x: jax.Array) -> jax.Array:
        padded = jnp.pad(x, [(p, p) for p in problem.spread(problem.padding, 0)])
        taps = []
        for tap in itertools.product(*map(range, problem.window)):
            offset = tuple(t * d for t, d in zip(tap, problem.dilation, strict=True))
            start = problem.spread(offset, 0)
            stop = [
                at + (size - 1) * step + 1
                for at, size, step in zip(start, problem.out_shape, steps, strict=True)
            ]
            taps.append(lax.slice(padded, start, stop, steps))
        return jax.nn.logsumexp(jnp.stack(taps), axis=0)

    return pool
