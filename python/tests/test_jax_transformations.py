"""ndpool.jax under second order and other transformations; indices and unpool."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ndpool

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax_calls import CALLS, SEED, Function, both, close, random, run, same, x64  # noqa: E402

import ndpool.jax as nj  # noqa: E402

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
