"""ndpool.jax: the engine's results under every transformation of JAX's."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndpool

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

import ndpool.jax as nj  # noqa: E402

jax.config.update("jax_disable_most_optimizations", True)  # the tests compile more than they run

SEED = 20261116
Function = Callable[..., Any]

# An operation by name, and arguments for an array of shape (3, 5, 6).
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("max_pool", ((3, 2), 2, 1), {}),
    ("max_pool", ((2,), 1), {"axes": (0,), "ties": "last"}),
    ("max_pool", ((2, 2), (1, 2), ((0, 1), (1, 0))), {"ties": "all", "rounding": "ceil"}),
    ("max_pool", ((2, 2), 1), {"ties": "split", "axes": (2, 0)}),
    ("max_pool", ((2,), 2, 3), {"empty": "identity"}),
    ("min_pool", ((2, 3), 1, "same", 2), {}),
    ("avg_pool", ((3, 3), 2, 1), {}),
    ("avg_pool", ((3, 3), 2, 1), {"count_include_pad": False}),
    ("avg_pool", ((2,), 2, 3), {"empty": "identity", "count_include_pad": False}),
    ("avg_pool", ((2, 2),), {"divisor": -3, "axes": (0, 1)}),
    ("smooth_max_pool", ((3, 3), 2, 1), {"beta": 1.5}),
    ("smooth_max_pool", ((2,), 1), {"beta": -2.0, "mean": True, "axes": (1,)}),
    ("lp_pool", ((3, 3), 2, 1), {}),
    ("lp_pool", ((2, 2), 1), {"p": 3.0, "axes": (0, 2)}),
    ("lp_pool", ((2, 2), 1), {"p": float("inf")}),
    ("global_max_pool", (), {}),
    ("global_min_pool", (), {"axes": (0, 2), "keepdims": True, "ties": "last"}),
    ("global_avg_pool", (), {"axes": (0,)}),
    ("global_smooth_max_pool", (), {"beta": 0.5}),
    ("global_lp_pool", (), {"axes": 1, "p": 1.5}),
    ("adaptive_max_pool", ((2, None),), {}),
    ("adaptive_min_pool", (4,), {"axes": (1,)}),
    ("adaptive_avg_pool", ((2, 4),), {}),
    ("adaptive_smooth_max_pool", ((3, 4),), {"axes": (1, 2)}),
    ("adaptive_lp_pool", ((2,),), {}),
]
IDS = [f"{name}-{number}" for number, (name, _, _) in enumerate(CALLS)]
every_call = pytest.mark.parametrize(("name", "args", "kwargs"), CALLS, ids=IDS)
some_calls = pytest.mark.parametrize(("name", "args", "kwargs"), CALLS[::3], ids=IDS[::3])


def random(shape: tuple[int, ...], seed: int = SEED, dtype: Any = np.float32) -> Any:
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def both(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Function, Any]:
    """JAX's function of x, and NumPy's operation."""
    return lambda x: getattr(nj, name)(x, *args, **kwargs), getattr(ndpool, name)


def same(a: Any, b: Any) -> None:
    """Bit for bit, type and shape too."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a, b)


def close(a: Any, b: Any, tolerance: float = 2e-5) -> None:
    np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=tolerance, atol=tolerance)


def x64() -> AbstractContextManager[Any]:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


# ---- Against ndpool on NumPy arrays -------------------------------------------------------------


@every_call
def test_results_gradients_and_tangents_are_those_of_numpy(
    name: str, args: Any, kwargs: Any
) -> None:
    ours, theirs = both(name, args, kwargs)
    x, dx = np.asarray(random((3, 5, 6))), np.asarray(random((3, 5, 6), 1))
    y, pull = theirs.vjp(x, *args, **kwargs)
    g = np.asarray(random(y.shape, 2))

    def everything(x: Any) -> tuple[Any, ...]:
        _, pull = jax.vjp(ours, x)
        return ours(x), pull(g)[0], jax.jvp(ours, (x,), (dx,))[1]

    _, dy = theirs.jvp(x, dx, *args, **kwargs)
    for got, want in zip(jax.jit(everything)(x), (y, pull(g), dy), strict=True):
        same(got, want)


@some_calls
def test_without_jit_it_is_the_same(name: str, args: Any, kwargs: Any) -> None:
    ours, theirs = both(name, args, kwargs)
    x = random((3, 5, 6))
    y, pull = theirs.vjp(np.asarray(x), *args, **kwargs)
    g = random(y.shape, 2)
    same(ours(x), y)
    same(jax.vjp(ours, x)[1](g)[0], pull(np.asarray(g)))
    same(jax.jvp(ours, (x,), (x,))[1], theirs.jvp(*[np.asarray(x)] * 2, *args, **kwargs)[1])


@some_calls
def test_value_and_grad_under_jit_is_the_pulled_gradient(name: str, args: Any, kwargs: Any) -> None:
    ours, theirs = both(name, args, kwargs)
    x = random((3, 5, 6))
    y, pull = theirs.vjp(np.asarray(x), *args, **kwargs)
    g = random(y.shape, 2)
    g = jnp.where(jnp.isfinite(y), g, 0)

    def loss(x: Any) -> Any:
        y = ours(x)
        return jnp.sum(jnp.where(jnp.isfinite(y), y, 0) * g)

    value, dx = jax.jit(jax.value_and_grad(loss))(x)
    close(value, np.where(np.isfinite(y), y, 0).ravel() @ np.asarray(g).ravel())
    same(dx, pull(np.asarray(g)))


@pytest.mark.parametrize("ties", ["first", "last", "all", "split"])
@pytest.mark.parametrize("name", ["max_pool", "min_pool"])
def test_every_policy_of_ties_sends_gradients_where_it_says(name: str, ties: str) -> None:
    x = jnp.asarray(np.random.default_rng(SEED).integers(0, 3, (4, 7, 7)).astype(np.float32))
    ours, theirs = both(name, ((3, 3), 2, 1), {"ties": ties})
    y, pull = theirs.vjp(np.asarray(x), (3, 3), 2, 1, ties=ties)
    g = random(y.shape, 2)
    same(jax.vjp(ours, x)[1](g)[0], pull(np.asarray(g)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool", "smooth_max_pool", "lp_pool"])
def test_half_precision_works_forward_and_back(name: str, dtype: str) -> None:
    x = random((2, 6, 6)).astype(dtype)
    ours, theirs = both(name, ((3, 3), 2, 1), {})
    y, pull = theirs.vjp(np.asarray(x), (3, 3), 2, 1)
    y_jax, pull_jax = jax.vjp(ours, x)
    same(y_jax, y)
    g = random(y.shape, 2).astype(dtype)
    same(pull_jax(g)[0], pull(np.asarray(g)))
    if name in ("smooth_max_pool", "lp_pool"):
        v = random(x.shape, 3).astype(dtype)
        pushed = jax.jvp(lambda x: jax.vjp(ours, x)[1](g)[0], (x,), (v,))[1]
        same(pushed, theirs.hvp(*map(np.asarray, (x, g, v)), (3, 3), 2, 1))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "bool"])
@pytest.mark.parametrize("name", ["max_pool", "min_pool", "avg_pool"])
def test_integers_are_pooled_exactly(name: str, dtype: str) -> None:
    if dtype == "bool" and name == "avg_pool":
        with pytest.raises(TypeError, match="bool"):
            nj.avg_pool(jnp.zeros((4,), bool), (2,))
        return
    x = jnp.asarray(np.random.default_rng(SEED).integers(0, 100, (2, 6, 6)) % 2**7).astype(dtype)
    ours, theirs = both(name, ((3, 3), 2, 1), {})
    same(jax.jit(ours)(x), theirs(np.asarray(x), (3, 3), 2, 1))


def test_the_mean_of_integers_may_be_a_float_and_has_no_gradient_in_them() -> None:
    x = jnp.array([1, 2, 4, 4])
    same(nj.avg_pool(x, (2,), dtype=jnp.float32), np.array([1.5, 4.0], np.float32))
    y, dy = jax.jvp(
        lambda x: nj.avg_pool(x, (2,), dtype=jnp.float32),
        (x,),
        (np.zeros(4, jax.dtypes.float0),),
    )
    same(dy, np.zeros(2, np.float32))


def test_a_mean_of_another_type_has_gradients_of_the_type_of_x() -> None:
    x = random((8,)).astype(jnp.bfloat16)

    def loss(x: Any) -> Any:
        return nj.avg_pool(x, (2,), dtype=jnp.float32) @ jnp.arange(4.0)

    same(jax.grad(loss)(x), jnp.repeat(jnp.arange(4.0) / 2, 2).astype(jnp.bfloat16))
    close(jax.jit(jax.hessian(lambda x: loss(x) ** 2))(x).astype(jnp.float32)[7, 6], 2 * 1.5 * 1.5)


def test_nan_wins_and_the_first_of_them_has_the_gradient() -> None:
    x = jnp.array([1.0, jnp.nan, jnp.nan, 9.0])
    y, index = nj.max_pool(x, (4,), return_indices=True)
    assert jnp.isnan(y[0]) and index[0] == 1
    same(jax.grad(lambda x: nj.max_pool(x, (4,))[0])(x), np.float32([0, 1, 0, 0]))


# ---- Against lax --------------------------------------------------------------------------------


def problems(rank: int, count: int, most_dilation: int, inside: bool) -> list[dict[str, Any]]:
    """Random geometries over all axes. inside: every window holds cells."""
    random = np.random.default_rng([SEED, rank, most_dilation])
    most = {1: 12, 2: 9, 3: 7, 4: 5, 5: 4}[rank]
    found: list[dict[str, Any]] = []
    while len(found) < count:
        window = random.integers(1, 4, rank)
        dilation = random.integers(1, most_dilation + 1, rank)
        extent = (window - 1) * dilation + 1
        shape = random.integers(1, most + 1, rank)
        stride = random.integers(1, 4, rank)
        padding = random.integers(0, 3, (rank, 2))
        if inside:
            shape = np.maximum(shape, extent)
            padding = np.minimum(padding, extent[:, None] - 1)
        if (shape + padding.sum(1) >= extent).all():
            arrays = {"window": window, "stride": stride, "dilation": dilation, "shape": shape}
            given: dict[str, Any] = {name: tuple(v.tolist()) for name, v in arrays.items()}
            given["padding"] = tuple(map(tuple, padding.tolist()))
            found.append(given)
    return found


def reduce_window(x: Any, op: str, problem: dict[str, Any]) -> Any:
    start, function = {"max": (-np.inf, lax.max), "min": (np.inf, lax.min), "sum": (0.0, lax.add)}[
        op
    ]
    return lax.reduce_window(
        x,
        np.float32(start),
        function,
        window_dimensions=problem["window"],
        window_strides=problem["stride"],
        padding=problem["padding"],
        window_dilation=problem["dilation"],
    )


def pool(x: Any, op: str, problem: dict[str, Any]) -> Any:
    geometry = [problem[name] for name in ("window", "stride", "padding", "dilation")]
    if op == "sum":
        return nj.avg_pool(x, *geometry, divisor=1)
    return getattr(nj, f"{op}_pool")(x, *geometry, empty="identity")


def distinct(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Small whole numbers, no two alike: sums are exact, and there are no ties."""
    count = int(np.prod(shape))
    numbers = np.random.default_rng(SEED).permutation(count) - count // 2
    return numbers.reshape(shape).astype(np.float32)


def agree(found: list[dict[str, Any]], function: Function) -> None:
    """function(x, problem) gives two results that are to be the same. Compiled as one program."""
    inputs = [distinct(problem["shape"]) for problem in found]
    results = jax.jit(lambda inputs: list(map(function, inputs, found)))(inputs)
    for problem, (ours, theirs) in zip(found, results, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=f"{SEED=} {problem}")


@pytest.mark.parametrize("op", ["max", "min", "sum"])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_results_are_those_of_reduce_window(rank: int, op: str) -> None:
    agree(
        problems(rank, 12, 3, inside=False),
        lambda x, problem: (pool(x, op, problem), reduce_window(x, op, problem)),
    )


@pytest.mark.parametrize(("op", "dilation"), [("max", 1), ("min", 1), ("sum", 3)])
@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_gradients_are_those_of_reduce_window(rank: int, op: str, dilation: int) -> None:
    def gradients(x: Any, problem: dict[str, Any]) -> list[Any]:
        both = [jax.vjp(lambda x, f=f: f(x, op, problem), x) for f in (pool, reduce_window)]
        return [pull(distinct(y.shape))[0] for y, pull in both]

    agree(problems(rank, 4, dilation, inside=True), gradients)


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_gradients_of_dilated_max_which_lax_lacks_are_those_of_numpy(rank: int) -> None:
    for problem in problems(rank, 3, 3, inside=True):
        x = distinct(problem["shape"])
        y, pull = jax.vjp(lambda x: pool(x, "max", problem), x)
        geometry = [problem[name] for name in ("window", "stride", "padding", "dilation")]
        _, pull_numpy = ndpool.max_pool.vjp(x, *geometry, empty="identity")
        g = distinct(y.shape)
        same(pull(g)[0], pull_numpy(g))


def test_lax_still_lacks_gradients_of_dilated_max() -> None:
    problem = {"window": (2,), "stride": (1,), "padding": ((0, 0),), "dilation": (2,)}
    with pytest.raises((NotImplementedError, TypeError, ValueError)):
        jax.grad(lambda x: reduce_window(x, "max", problem).sum())(jnp.arange(5.0))
    same(
        jax.grad(lambda x: pool(x, "max", problem).sum())(jnp.arange(5.0)),
        np.float32([0, 0, 1, 1, 1]),
    )


# ---- vmap ---------------------------------------------------------------------------------------


@every_call
def test_vmap_is_a_loop(name: str, args: Any, kwargs: Any) -> None:
    ours, _ = both(name, args, kwargs)
    x = np.asarray(random((4, 3, 5, 6)))
    want = np.stack([ours(item) for item in x])
    same(jax.vmap(ours)(x), want)
    mapped = jax.jit(jax.vmap(ours, in_axes=2, out_axes=-1))
    same(mapped(np.moveaxis(x, 0, 2)), np.moveaxis(want, 0, -1))


@every_call
def test_vmap_of_grad_and_grad_of_vmap_are_loops(name: str, args: Any, kwargs: Any) -> None:
    ours, theirs = both(name, args, kwargs)
    x = np.asarray(random((4, 3, 5, 6)))
    pulls = [theirs.vjp(item, *args, **kwargs) for item in x]
    finite = np.isfinite(pulls[0][0])
    weights = np.arange(1, finite.size + 1, dtype=np.float32).reshape(finite.shape) * finite
    want = np.stack([pull(weights) for _, pull in pulls])

    def loss(x: Any) -> Any:
        return jnp.sum(jnp.where(finite, ours(x), 0) * weights)

    mapped = jax.vmap(jax.grad(loss), in_axes=-1, out_axes=-1)
    outside = jax.grad(lambda x: jax.vmap(loss)(x).sum())
    a, b = jax.jit(lambda x: (mapped(jnp.moveaxis(x, 0, -1)), outside(x)))(x)
    same(a, np.moveaxis(want, 0, -1))
    same(b, want)


def test_vmap_over_several_axes() -> None:
    x = random((2, 3, 5, 4, 6))
    inner = jax.vmap(lambda x: nj.max_pool(x, (2,), axes=(0,)), in_axes=-1, out_axes=-1)
    got = jax.vmap(jax.vmap(inner), in_axes=1, out_axes=1)(x)
    same(got, nj.max_pool(x, (2,), axes=(2,)))


def test_vmap_of_tangents_alone_is_the_jacobian() -> None:
    x = random((6,))
    for ties in ("first", "all"):
        f = lambda x, ties=ties: nj.max_pool(x, (3,), 1, ties=ties)  # noqa: E731
        same(jax.jit(jax.jacfwd(f))(x), jax.jit(jax.jacrev(f))(x))


def test_vmap_with_indices_and_unpool() -> None:
    x = random((4, 3, 6))
    y, index = jax.vmap(lambda x: nj.max_pool(x, (2,), return_indices=True))(x)
    want, numbers = ndpool.max_pool(np.asarray(x), (2,), return_indices=True)
    same(y, want)
    np.testing.assert_array_equal(index, numbers)
    back = jax.vmap(lambda y, i: nj.max_unpool(y, i, (3, 6), axes=1))(y, index)
    same(back, ndpool.max_unpool(want, numbers, (4, 3, 6), axes=1))


# ---- Second order -------------------------------------------------------------------------------


def taps(x: Any) -> Any:
    """Windows of 3 with stride 1 and padding 1 along the last axis, as another axis."""
    padded = jnp.pad(x, ((0, 0), (1, 1)))
    return jnp.stack([padded[:, t : t + x.shape[1]] for t in range(3)], -1)


# What ndpool computes, and the same in plain JAX.
CURVED: dict[str, tuple[Function, Function]] = {
    **{
        f"smooth {beta}": (
            lambda x, beta=beta: nj.smooth_max_pool(x, (3,), 1, 1, beta=beta),
            lambda x, beta=beta: jax.nn.logsumexp(beta * taps(x), -1) / beta,
        )
        for beta in (2.0, -1.5)
    },
    **{
        f"lp {p}": (
            lambda x, p=p: nj.lp_pool(x, (3,), 1, 1, p=p),
            lambda x, p=p: ((jnp.abs(taps(x)) + 1e-30) ** p).sum(-1) ** (1 / p),
        )
        for p in (1.0, 1.5, 2.0, 3.0)
    },
}
# Away from 0, where Lp has a corner.
POINT = np.float32([[0.25, -2.25, 1.25, 0.5], [-1.5, 0.75, 2.0, 1.0]])


def losses(case: str) -> tuple[Function, Function]:
    ours, plain = CURVED[case]
    return lambda x: jnp.sin(ours(x)).sum(), lambda x: jnp.sin(plain(x)).sum()


@pytest.mark.parametrize("case", CURVED)
def test_second_order_of_smooth_max_and_lp_is_that_of_plain_jax(case: str) -> None:
    ours, plain = losses(case)
    want = jax.jit(jax.hessian(plain))(POINT)
    modes = (jax.jacfwd, jax.jacrev)
    orders = [outer(inner(ours)) for outer in modes for inner in modes]
    for got in jax.jit(lambda x: [order(x) for order in orders])(POINT):
        close(got, want, 1e-4)


@pytest.mark.parametrize("case", ["smooth 2.0", "lp 2.0", "lp 3.0"])
def test_third_order_of_smooth_max_and_lp_is_that_of_plain_jax(case: str) -> None:
    ours, plain = (
        jax.jit(jax.jacfwd(lambda x, f=f: jax.jvp(jax.grad(f), (x,), (POINT,))[1]))
        for f in losses(case)
    )
    close(ours(POINT), plain(POINT), 1e-3)


@pytest.mark.parametrize("case", ["smooth 2.0", "lp 3.0"])
def test_compositions_agree_with_the_hessian(case: str) -> None:
    loss, plain = losses(case)
    hessian = np.asarray(jax.jit(jax.hessian(plain))(POINT)).reshape(8, 8)
    v = np.asarray(random(POINT.shape))
    pushed = (hessian @ v.reshape(8)).reshape(POINT.shape)
    compositions: dict[str, Function] = {
        "jvp of grad": lambda x: jax.jvp(jax.grad(loss), (x,), (v,))[1],
        "grad of jvp": jax.grad(lambda x: jax.jvp(loss, (x,), (v,))[1]),
        "grad of grad": jax.grad(lambda x: jnp.vdot(jax.grad(loss)(x), v)),
    }
    for name, composition in compositions.items():
        mapped = jax.jit(jax.vmap(composition, in_axes=1, out_axes=1))
        got = mapped(np.stack([0 * POINT + 1, POINT], 1))[:, 1]
        np.testing.assert_allclose(got, pushed, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize("name", ["max_pool", "avg_pool"])
def test_second_order_of_piecewise_linear_operations_is_that_of_what_follows(name: str) -> None:
    x = random((6,))
    pool = getattr(nj, name)
    jacobian = np.asarray(jax.jit(jax.jacrev(lambda x: pool(x, (2,), 1)))(x))
    hessian = jax.jit(jax.hessian(lambda x: (pool(x, (2,), 1) ** 3).sum()))(x)
    close(hessian, jacobian.T @ np.diag(6 * np.asarray(pool(x, (2,), 1))) @ jacobian)


def test_infinite_cells_have_no_second_order() -> None:
    x = jnp.array([1.0, jnp.inf, jnp.inf, 2.0, 0.5])
    for f in (
        lambda x: nj.smooth_max_pool(x, (3,), 2).sum(),
        lambda x: nj.lp_pool(x, (3,), 2).sum(),
    ):
        for hessian in (jax.hessian(f), jax.jacfwd(jax.jacfwd(f))):
            same(jax.jit(hessian)(x), np.zeros((5, 5), np.float32))


def test_lp_of_zeros_has_derivatives_of_zero() -> None:
    for p in (2.0, 3.0):
        f = lambda x, p=p: nj.lp_pool(x, (2,), p=p).sum()  # noqa: E731
        same(jax.grad(f)(jnp.zeros(4)), np.zeros(4, np.float32))
        same(jax.jit(jax.hessian(f))(jnp.zeros(4)), np.zeros((4, 4), np.float32))
        same(jax.jit(jax.jacfwd(jax.jacfwd(f)))(jnp.zeros(4)), np.zeros((4, 4), np.float32))


# ---- Other transformations ----------------------------------------------------------------------


def test_reverse_mode_keeps_one_byte_per_output_of_max() -> None:
    x = random((4, 16, 16))
    _, pull = jax.vjp(lambda x: nj.max_pool(x, (3, 3), 2, 1), x)
    kept = jax.tree.leaves(pull)
    assert [(leaf.dtype, leaf.shape) for leaf in kept] == [(jnp.uint8, (4, 8, 8))]


def test_linearize_transpose_checkpoint_and_scan() -> None:
    x = random((4, 8))
    f = lambda x: nj.smooth_max_pool(x, (3,), 1, 1)  # noqa: E731
    loss = lambda f: lambda x: (f(x) ** 2).sum()  # noqa: E731
    want = jax.grad(loss(f))(x)
    close(jax.grad(loss(jax.checkpoint(f)))(x), want, 1e-6)
    same(jax.linearize(f, x)[1](x), jax.jvp(f, (x,), (x,))[1])
    mean = lambda x: nj.avg_pool(x, (2,))  # noqa: E731
    g = random((4, 4), 1)
    same(jax.linear_transpose(mean, x)(g)[0], jax.vjp(mean, x)[1](g)[0])

    def scanned(x: Any) -> Any:
        return lax.scan(lambda carry, _: (f(carry), carry.sum()), x, None, length=3)[0]

    close(jax.grad(loss(scanned))(x), jax.grad(loss(lambda x: f(f(f(x)))))(x), 1e-5)


def test_calls_work_where_jit_is_disabled() -> None:
    x = random((4, 8))
    want = jax.grad(lambda x: nj.max_pool(x, (2,)).sum())(x)
    with jax.disable_jit():
        same(jax.grad(lambda x: nj.max_pool(x, (2,)).sum())(x), want)


@pytest.mark.skipif(not hasattr(jax, "shard_map"), reason="this JAX has it elsewhere")
def test_shards_and_gathered_arrays_have_the_same_gradients() -> None:
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, numpy as np, ndpool, ndpool.jax as nj
from jax.sharding import NamedSharding, PartitionSpec
mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
parts = PartitionSpec("d")
x = np.arange(72, dtype=np.float32).reshape(2, 6, 6) % 7
f = lambda x: nj.max_pool(x, (3, 3), 1)
sharded = jax.shard_map(f, mesh=mesh, in_specs=parts, out_specs=parts)
y, pull = ndpool.max_pool.vjp(x, (3, 3), 1)
for g in (f, sharded):
    grad = jax.jit(jax.grad(lambda x: (g(x) ** 2).sum()))
    print(np.array_equal(grad(jax.device_put(x, NamedSharding(mesh, parts))), pull(2 * y)))
"""
    assert run(code).split() == ["True", "True"]


def test_a_compiled_function_may_run_on_many_threads() -> None:
    x = random((8, 16, 64, 64))
    f = jax.jit(jax.value_and_grad(lambda x: nj.max_pool(x, (3, 3), 2, 1).sum()))
    value, dx = f(x)
    with ThreadPoolExecutor(8) as threads:
        for again, gradient in threads.map(lambda _: jax.block_until_ready(f(x)), range(16)):
            same(again, value)
            same(gradient, dx)


def test_independent_calls_in_one_program_do_not_wait_for_each_other() -> None:
    x = random((64, 32, 32))

    @jax.jit
    def f(x: Any) -> Any:
        return [nj.lp_pool(x * k, (3, 3), 1, 1, p=3.0) for k in range(1, 9)]

    for k, y in enumerate(f(x), 1):
        same(y, ndpool.lp_pool(np.asarray(x * k), (3, 3), 1, 1, p=3.0))


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [call for call in CALLS if 0 not in np.ravel(call[2].get("axes", 1))],
)
def test_empty_batches_work(name: str, args: Any, kwargs: Any) -> None:
    ours, theirs = both(name, args, kwargs)
    x = jnp.zeros((0, 5, 6))
    assert ours(x).shape == theirs.output_shape((0, 5, 6), *args, **kwargs)
    assert jax.jit(jax.grad(lambda x: ours(x).sum()))(x).shape == x.shape
    assert jax.jvp(ours, (x,), (x,))[1].shape == ours(x).shape


# ---- Indices and unpool -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max_pool", "min_pool"])
@pytest.mark.parametrize("ties", ["first", "last", "all"])
def test_indices_name_the_first_winner_and_values_keep_their_gradient(name: str, ties: str) -> None:
    x = jnp.asarray(np.random.default_rng(SEED).integers(0, 3, (2, 6, 6)).astype(np.float32))
    ours, theirs = both(name, ((3, 3), 1, 1), {"ties": ties, "return_indices": True})
    want, numbers = theirs(np.asarray(x), (3, 3), 1, 1, return_indices=True)
    y, index = jax.jit(ours)(x)
    same(y, want)
    same(index, numbers.astype(np.int32))
    without, _ = both(name, ((3, 3), 1, 1), {"ties": ties})
    g = random(y.shape, 2)
    same(
        jax.grad(lambda x: jnp.vdot(g, ours(x)[0]))(x),
        jax.grad(lambda x: jnp.vdot(g, without(x)))(x),
    )


def test_indices_are_int64_and_doubles_are_doubles_with_x64() -> None:
    with x64():
        x = random((2, 6, 6), dtype=np.float64)
        y, index = jax.jit(lambda x: nj.max_pool(x, (2, 2), return_indices=True))(x)
        want, numbers = ndpool.max_pool(np.asarray(x), (2, 2), return_indices=True)
        same(y, want)
        same(index, numbers)
        assert nj.max_unpool(y, index, x.shape, axes=2).dtype == np.float64
        assert nj.avg_pool(x.astype(jnp.float32), (2,), dtype="float64").dtype == np.float64
        f = lambda x: nj.lp_pool(x, (2,), p=3.0).sum()  # noqa: E731
        orders = jax.jit(lambda x: (jax.hessian(f)(x), jax.jacfwd(jax.jacfwd(f))(x)))
        close(*orders(np.asarray(x[0, 0])), 1e-13)


def test_empty_windows_have_index_minus_one() -> None:
    _, index = nj.max_pool(jnp.ones(2), (2,), 2, 2, empty="identity", return_indices=True)
    same(index, np.int32([-1, 0, -1]))


def test_planes_that_int32_cannot_number_are_refused_only_with_indices() -> None:
    x = jax.ShapeDtypeStruct((2, 1 << 16, 1 << 16), jnp.uint8)
    assert jax.eval_shape(nj.global_max_pool, x).shape == (2,)
    with pytest.raises(ndpool.PoolError, match="jax_enable_x64"):
        jax.eval_shape(lambda x: nj.global_max_pool(x, return_indices=True), x)
    with x64():
        assert (
            jax.eval_shape(lambda x: nj.global_max_pool(x, return_indices=True), x)[1].dtype
            == jnp.int64
        )


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_unpool_is_that_of_numpy_with_indices_of_any_type(dtype: str) -> None:
    x = random((2, 6, 6))
    y, index = nj.max_pool(x, (2, 2), 1, axes=(0, 2), return_indices=True)
    index = index.astype(dtype)
    theirs = ndpool.max_unpool
    want, pull = theirs.vjp(np.asarray(y), np.asarray(index), (2, 6, 6), axes=(0, 2))
    f = jax.jit(lambda y: nj.max_unpool(y, index, (2, 6, 6), axes=(0, 2)))
    got, pull_jax = jax.vjp(f, y)
    same(got, want)
    same(pull_jax(x)[0], pull(np.asarray(x)))
    same(jax.jvp(f, (y,), (2 * y,))[1], 2 * want)
    close(
        jax.hessian(lambda y: (f(y) ** 2).sum())(y[:1] * 0 + y)[0, 0, 0],
        2 * jax.grad(lambda y: f(y).sum())(y)[0, 0, 0] * jnp.zeros(y.shape).at[0, 0, 0].set(1),
    )


def test_an_index_that_names_no_cell_is_refused_when_the_call_runs() -> None:
    with pytest.raises(Exception, match="outside \\[0, 4\\)"):
        jax.block_until_ready(nj.max_unpool(jnp.ones(2), jnp.array([0, 4]), (4,), axes=1))


# ---- Refusals -----------------------------------------------------------------------------------

X = np.ones((2, 8, 8), np.float32)
REFUSED: list[tuple[Function, type[Exception], str]] = [
    (lambda: nj.max_pool(X, 2), ndpool.PoolError, "how many axes"),
    (lambda: nj.max_pool(X, (9, 9)), ndpool.PoolError, "covers 9 cells"),
    (lambda: nj.max_pool(X, (2, 2), axes=(0, 3)), ndpool.PoolError, "axis"),
    (lambda: nj.max_pool(X, (2,), 2, 3), ndpool.PoolError, "identity"),
    (lambda: nj.max_pool(X, (3,), rounding="exact"), ndpool.PoolError, "remainder"),
    (lambda: nj.max_pool(X, (2.0,)), TypeError, "float"),
    (lambda: nj.max_pool(X.astype(complex), (2,)), TypeError, "complex"),
    (lambda: nj.max_pool(None, (2,)), TypeError, "None"),
    (lambda: nj.max_pool("text", (2,)), TypeError, "text"),
    (lambda: nj.max_pool([[1, 2], [3]], (2,)), TypeError, "no array"),
    (lambda: nj.max_pool(np.ma.masked_array([1.0, 2.0], [True, False]), (2,)), TypeError, "masked"),
    (lambda: nj.max_pool(1.0, (2,)), ndpool.PoolError, "rank 0"),
    (lambda: nj.max_pool(X[..., :0], (2,)), ndpool.PoolError, "no cells"),
    (lambda: nj.max_pool(X, (2,), out=X), TypeError, "out="),
    (lambda: nj.max_pool(X, (2,), return_indices=1), TypeError, "return_indices"),
    (lambda: nj.avg_pool(X, (2,), return_indices=True), TypeError, "return_indices"),
    (lambda: nj.avg_pool(X, (2,), dtype="float64"), TypeError, "jax_enable_x64"),
    (lambda: nj.avg_pool(X, (2,), dtype="int32"), TypeError, "i32|float|int"),
    (lambda: nj.smooth_max_pool(X.astype(int), (2,)), TypeError, "i32"),
    (lambda: nj.smooth_max_pool(X, (2,), beta=0), ndpool.PoolError, "beta"),
    (lambda: jax.jit(nj.max_pool)(X, (2, 2)), TypeError, "window"),
    (lambda: nj.max_unpool(X, X, X.shape, axes=1), TypeError, "integers"),
    (lambda: nj.max_unpool(X, X[0].astype(int), X.shape, axes=1), ndpool.PoolError, "shape"),
    (lambda: nj.max_unpool(X, X.astype(int), (8, 8), axes=1), ndpool.PoolError, "rank"),
    (lambda: nj.max_unpool(X, X.astype(int), (2, 9, 8), axes=1), ndpool.PoolError, "axis 1"),
    (lambda: nj.max_unpool(X, X.astype(int), (2, 8, -8), axes=1), ndpool.PoolError, "negative"),
    (lambda: nj.max_unpool(X, X.astype(int), X.shape, axes=(5,)), ndpool.PoolError, "rank 3"),
    (lambda: nj.max_unpool(X, X.astype(int), X.shape, axes=(1, -2)), ndpool.PoolError, "twice"),
    (lambda: nj.max_unpool(X, X.astype(int), X.shape, axes=None), TypeError, "axes"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED, ids=range(len(REFUSED)))
def test_bad_input_is_refused_when_the_call_is_traced(
    call: Function, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
    with pytest.raises(error, match=text):
        jax.eval_shape(call)


# ---- The module ---------------------------------------------------------------------------------


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_ndpool_does_not_import_jax() -> None:
    assert run("import sys, ndpool; print('jax' in sys.modules)").strip() == "False"


def test_without_jax_ndpool_works_and_ndpool_jax_says_what_to_install() -> None:
    shown = run(
        "import sys; sys.modules['jax'] = None\n"
        "import ndpool; print(ndpool.max_pool([1.0, 2.0], (2,)))\n"
        "try: import ndpool.jax\n"
        "except ImportError as error: print(error)"
    )
    assert "[2.]" in shown and "pip install 'ndpool[jax]'" in shown


def test_an_interface_newer_than_that_of_xla_is_not_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ndpool import _jax, _jax_primitives

    monkeypatch.setattr(_jax, "API_VERSION", (99, 0))
    with pytest.raises(ImportError, match="newer jaxlib than"):
        _jax_primitives._register_handlers()


def test_every_operation_of_ndpool_is_there_and_has_its_arguments_in_its_help() -> None:
    assert set(nj.__all__) == {name for name in ndpool.__all__ if name.endswith("pool")}
    for name in nj.__all__:
        function = getattr(nj, name)
        assert function.__module__ == "ndpool.jax" and function.__name__ == name
        assert "out" not in function.__doc__.split() or name == "max_unpool"
        assert ">>>" not in function.__doc__


def test_the_examples_of_the_module_and_of_the_page_run() -> None:
    assert doctest.testmod(nj).failed == 0
    page = Path(__file__).parents[2] / "docs" / "jax.md"
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    assert blocks
    for block in blocks:
        exec(block, names)
