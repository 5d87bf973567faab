"""ndpool.jax against NumPy and against lax, mapped, and refused."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndpool

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax_calls import SEED, Function, both, close, every_call, random, run, same, some_calls  # noqa: E402

import ndpool.jax as nj  # noqa: E402

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
