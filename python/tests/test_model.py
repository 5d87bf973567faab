"""Every operation against an independent model, and derivatives against slopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model import max_pool, windows
from strategies import Case, cases

import ndpool

FEW = st.sampled_from([-2.0, -1.0, -0.0, 0.0, 1.0, 1.5, 3.0, np.inf, -np.inf, np.nan])
PLAIN = st.floats(-4, 4, width=32)


def split(case: Case) -> Any:
    return windows(*case)


@given(cases(elements=FEW), st.sampled_from([1, -1]))
def test_max_and_min_and_their_indices_equal_the_model(case: Case, sign: int) -> None:
    operation = ndpool.max_pool if sign == 1 else ndpool.min_pool
    values, cells, _, index = split(case)
    full = cells.any(-1)
    y, places = operation(
        case.x, *case.arguments, rounding=case.rounding, empty="identity", return_indices=True
    )
    expected, expected_places = max_pool(values, cells, index, sign)
    where = np.broadcast_to(full, y.shape)
    np.testing.assert_array_equal(y[where], expected[where])
    np.testing.assert_array_equal(places[where], expected_places[where])
    assert (y[~where] == -sign * np.inf).all() and (places[~where] == -1).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "float16"])
def test_max_equals_the_model_in_other_types(dtype: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(0, 100, (2, 3, 9, 8)).astype(dtype)
    values, cells, _, index = windows(x, (3, 2), (2, 2), ((1, 1), (0, 1)), (1, 1))
    y = ndpool.max_pool(x, (3, 2), 2, ((1, 1), (0, 1)))
    assert y.dtype == x.dtype
    np.testing.assert_array_equal(y, max_pool(values, cells, index)[0])


@given(cases(elements=PLAIN), st.sampled_from(["cells", "pads", "own"]))
def test_averages_equal_the_model(case: Case, divisor: str) -> None:
    values, cells, known, _ = split(case)
    count = {"cells": cells.sum(-1), "pads": known.sum(-1), "own": 3}[divisor]
    options = {"cells": {"count_include_pad": False}, "pads": {}, "own": {"divisor": 3}}[divisor]
    y = ndpool.avg_pool(
        case.x, *case.arguments, rounding=case.rounding, empty="identity", **options
    )
    with np.errstate(invalid="ignore"):
        expected = np.where(cells, values, 0).sum(-1) / count
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


@given(cases(dtype=np.int16, elements=st.integers(-9, 9)))
def test_integer_averages_round_halves_away_from_zero(case: Case) -> None:
    values, _, known, _ = split(case)
    total, count = values.astype(int).sum(-1), known.sum(-1)
    y = ndpool.avg_pool(case.x, *case.arguments, rounding=case.rounding)
    expected = np.sign(total) * ((2 * np.abs(total) + count) // (2 * count))
    np.testing.assert_array_equal(y, expected)
    exact = ndpool.avg_pool(case.x, *case.arguments, rounding=case.rounding, dtype="float64")
    np.testing.assert_array_equal(exact, total / count)


@given(cases(elements=PLAIN), st.sampled_from([0.5, 1.0, 3.0, -2.0]), st.booleans())
def test_smooth_max_equals_the_model(case: Case, beta: float, mean: bool) -> None:
    values, _, known, _ = split(case)
    terms = np.where(known, np.exp(beta * values), 0).sum(-1)
    expected = np.log(terms / (known.sum(-1) if mean else 1)) / beta
    y = ndpool.smooth_max_pool(
        case.x, *case.arguments, rounding=case.rounding, beta=beta, mean=mean
    )
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)


@given(cases(elements=PLAIN), st.sampled_from([0.5, 1.0, 2.0, 3.0, np.inf]))
def test_lp_equals_the_model(case: Case, p: float) -> None:
    values, cells, _, _ = split(case)
    sizes = np.where(cells, np.abs(values), 0)
    expected = sizes.max(-1) if np.isinf(p) else (sizes**p).sum(-1) ** (1 / p)
    y = ndpool.lp_pool(case.x, *case.arguments, rounding=case.rounding, p=p)
    np.testing.assert_allclose(y, expected, rtol=1e-11, atol=1e-12)


OPERATIONS = {
    **{
        f"max {ties}": (ndpool.max_pool, {"ties": ties})
        for ties in ("first", "last", "all", "split")
    },
    "min": (ndpool.min_pool, {"ties": "split"}),
    "avg": (ndpool.avg_pool, {}),
    "avg of cells": (ndpool.avg_pool, {"count_include_pad": False}),
    "smooth": (ndpool.smooth_max_pool, {"beta": 1.5}),
    "lp": (ndpool.lp_pool, {"p": 3.0}),
}


@pytest.mark.parametrize("name", OPERATIONS)
@given(case=cases(elements=st.sampled_from([-1.0, 0.5, 1.0, 2.0])), seed=st.integers(0, 999))
def test_jvp_and_vjp_are_adjoint(name: str, case: Case, seed: int) -> None:
    operation, options = OPERATIONS[name]
    if "smooth" not in name and "lp" not in name:
        options = {**options, "empty": "identity"}
    options = {**options, "rounding": case.rounding}
    rng = np.random.default_rng(seed)
    dx = rng.standard_normal(case.x.shape)
    y, dy = operation.jvp(case.x, dx, *case.arguments, **options)
    same, pull = operation.vjp(case.x, *case.arguments, **options)
    np.testing.assert_array_equal(y, same)
    g = rng.standard_normal(y.shape)
    np.testing.assert_allclose((g * dy).sum(), (pull(g) * dx).sum(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [n for n in OPERATIONS if n != "max all"])
@given(case=cases(elements=st.nothing() | st.just(0.0)), seed=st.integers(0, 999))
def test_tangents_are_slopes_where_nothing_ties(name: str, case: Case, seed: int) -> None:
    operation, options = OPERATIONS[name]
    options = {**options, "rounding": case.rounding}
    if "smooth" not in name and "lp" not in name:
        options = {**options, "empty": "identity"}
    rng = np.random.default_rng(seed)
    x = rng.permutation(case.x.size).reshape(case.x.shape) / 4 + 0.5  # all different
    dx = rng.standard_normal(x.shape)
    step = 1e-6
    above = operation(x + step * dx, *case.arguments, **options)
    below = operation(x - step * dx, *case.arguments, **options)
    _, dy = operation.jvp(x, dx, *case.arguments, **options)
    with np.errstate(invalid="ignore"):
        slope = (above - below) / (2 * step)
    known = np.isfinite(slope)
    np.testing.assert_allclose(dy[known], slope[known], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("operation", [ndpool.smooth_max_pool, ndpool.lp_pool])
def test_second_order_products_are_slopes_of_the_gradient(operation: Any) -> None:
    rng = np.random.default_rng(5)
    x, v = rng.uniform(0.5, 2, (3, 8)), rng.standard_normal((3, 8))
    y, _ = operation.vjp(x, (3,), 2, 1)
    g = rng.standard_normal(y.shape)
    step = 1e-6
    above = operation.vjp(x + step * v, (3,), 2, 1)[1](g)
    below = operation.vjp(x - step * v, (3,), 2, 1)[1](g)
    np.testing.assert_allclose(
        operation.hvp(x, g, v, (3,), 2, 1), (above - below) / (2 * step), rtol=1e-5, atol=1e-6
    )


def test_global_pooling_equals_numpy_with_and_without_the_axes() -> None:
    x = np.random.default_rng(1).standard_normal((2, 3, 4, 5))
    for axes, numpy_axes in ((2, (2, 3)), ((0, -1), (0, 3)), (1, 3)):
        for keep in (False, True):
            y = ndpool.global_max_pool(x, axes=axes, keepdims=keep)
            np.testing.assert_array_equal(y, x.max(numpy_axes, keepdims=keep))
            y = ndpool.global_avg_pool(x, axes=axes, keepdims=keep)
            np.testing.assert_allclose(y, x.mean(numpy_axes, keepdims=keep), rtol=1e-13)
    y, pull = ndpool.global_avg_pool.vjp(x)
    np.testing.assert_allclose(pull(np.ones((2, 3))), np.full(x.shape, 1 / 20))
    y, places = ndpool.global_min_pool(x, return_indices=True)
    np.testing.assert_array_equal(places, x.reshape(2, 3, -1).argmin(-1))


def test_adaptive_windows_cover_the_axis_as_defined() -> None:
    x = np.random.default_rng(2).standard_normal((2, 13, 7))
    y = ndpool.adaptive_avg_pool(x, (6, None))
    assert y.shape == (2, 6, 7)
    for i in range(6):
        cells = x[:, i * 13 // 6 : -(-(i + 1) * 13 // 6)]
        np.testing.assert_allclose(y[:, i], cells.mean(1), rtol=1e-13)
    assert ndpool.adaptive_max_pool(x, 3, axes=2).shape == (2, 3, 3)


def test_unpool_puts_values_back_and_its_gradient_takes_them_out() -> None:
    x = np.random.default_rng(4).standard_normal((2, 6, 8))
    y, index = ndpool.max_pool(x, (2, 2), return_indices=True)
    back, pull = ndpool.max_unpool.vjp(y, index, x.shape, axes=2)
    np.testing.assert_array_equal(back, np.where(back != 0, x, 0))
    assert (back != 0).sum() == y.size
    np.testing.assert_array_equal(pull(x), y)
    again, dy = ndpool.max_unpool.jvp(y, 2 * y, index.astype(np.int32), x.shape, axes=(1, 2))
    np.testing.assert_array_equal(again, back)
    np.testing.assert_array_equal(dy, 2 * back)
