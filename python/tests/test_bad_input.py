"""Every refusal is a TypeError or a PoolError that says what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ndpool

X = np.ones((1, 2, 8, 8), np.float32)
POOL, TYPE = ndpool.PoolError, TypeError

BAD_ARRAYS: list[tuple[Any, type[Exception], str]] = [
    ("text", TYPE, "not str"),
    (None, TYPE, "not NoneType"),
    ([[1, 2], [3]], TYPE, "no array"),
    (np.array([[object()]]), TYPE, "objects"),
    (np.array(["a"]), TYPE, "no type that ndpool has"),
    (X.astype(np.complex64), TYPE, "complex64"),
    (X.astype(np.longdouble), TYPE, "no type that ndpool has"),
    (np.zeros(4, "datetime64[s]"), TYPE, "no type that ndpool has"),
    (np.zeros(4, [("a", "f4")]), TYPE, "no type that ndpool has"),
    (np.ma.masked_array([1.0, 2.0], [True, False]), TYPE, "masked"),
    (np.float32(1), POOL, "rank 0"),
    (np.zeros(()), POOL, "rank 0"),
    (X[..., :0], POOL, "no cells"),
]

BAD_ARGUMENTS: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ((2,), {}, POOL, "how many axes"),
    (((2.0, 2),), {}, TYPE, "float"),
    (([2.5, 2],), {}, TYPE, "float"),
    (((True, 2),), {}, TYPE, "truth value"),
    ((np.True_,), {"axes": 2}, TYPE, "truth value"),
    (("ab",), {}, TYPE, "'ab'"),
    ((None,), {}, TYPE, "NoneType"),
    (((),), {}, POOL, "empty"),
    (((0, 2),), {}, POOL, "axis 2"),
    (((-1, 2),), {}, POOL, "axis 2"),
    (((2, 2), 0), {}, POOL, "stride"),
    (((2, 2), float("nan")), {}, TYPE, "float"),
    (((2, 2), (1, 1, 1)), {}, POOL, "3 numbers for 2 pooled axes"),
    (((2, 2), 1, -1), {}, POOL, "padding"),
    (((2, 2), 1, "full"), {}, POOL, "padding"),
    (((2, 2), 1, ((1, 2),)), {}, POOL, "1 pairs for 2"),
    (((2, 2), 1, ((1, 2), 1)), {}, POOL, "none of these"),
    (((2, 2), 1, 0, 0), {}, POOL, "dilation"),
    (((2, 2), 10**30), {}, POOL, "64 bits"),
    (((2, 2), 2**62, 2**62), {}, POOL, "overflow|beyond|large|big|fit"),
    (((9, 2),), {}, POOL, "covers 9 cells"),
    (((2, 2),), {"axes": (-1, 3)}, POOL, "twice"),
    (((2, 2),), {"axes": (0, 4)}, POOL, "axis"),
    (((2, 2),), {"axes": (0, 1.5)}, TYPE, "float"),
    (((2, 2),), {"axes": 0}, POOL, "last axes"),
    (((2,) * 65,), {}, POOL, "65"),
    (((2, 2),), {"rounding": "up"}, POOL, "rounding"),
    (((2, 2),), {"rounding": None}, TYPE, "rounding"),
    (((3, 2),), {"rounding": "exact"}, POOL, "remainder"),
    (((2, 2),), {"ties": "random"}, POOL, "ties"),
    (((2, 2), 1, 9), {}, POOL, "empty"),
    (((2, 2),), {"return_indices": 1}, TYPE, "return_indices"),
    (((2, 2), 1, ((1, 2, 3), (1, 2, 3))), {}, POOL, "pair per axis"),
    (((2, 2),), {"windw": 3}, TYPE, "windw"),
]


@pytest.mark.parametrize("x, error, words", BAD_ARRAYS, ids=[case[2] for case in BAD_ARRAYS])
def test_arrays_that_cannot_be_pooled_are_refused(x: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        ndpool.max_pool(x, (2,))


@pytest.mark.parametrize("args, kwargs, error, words", BAD_ARGUMENTS, ids=repr)
def test_arguments_that_make_no_pooling_are_refused(
    args: Any, kwargs: Any, error: Any, words: str
) -> None:
    for _ in range(2):  # what was refused once is not remembered as good
        with pytest.raises(error, match=words):
            ndpool.max_pool(X, *args, **kwargs)


def test_a_float_is_refused_where_the_equal_integer_was_taken_before() -> None:
    ndpool.max_pool(X, (2, 2), 2)
    with pytest.raises(TypeError):
        ndpool.max_pool(X, (2, 2), 2.0)
    with pytest.raises(TypeError):
        ndpool.max_pool(X, (2.0, 2), 2)


def test_numpy_integers_and_negative_axes_are_fine() -> None:
    y = ndpool.max_pool(X, (np.int64(2), np.uint8(4)), np.array([2, 4]), axes=(-1, np.int8(-2)))
    assert y.shape == (1, 2, 2, 4)
    assert ndpool.max_pool(X, np.int32(2), axes=2).shape == (1, 2, 4, 4)


def test_other_operations_refuse_what_they_do_not_have() -> None:
    with pytest.raises(TypeError, match="bool"):
        ndpool.avg_pool(X.astype(bool), (2, 2))
    with pytest.raises(TypeError):
        ndpool.smooth_max_pool(X.astype(int), (2, 2))
    with pytest.raises(TypeError, match="dtype"):
        ndpool.avg_pool(X, (2, 2), dtype="nothing")
    with pytest.raises(TypeError):
        ndpool.avg_pool(X, (2, 2), dtype="int8")
    for beta in (0, float("nan"), float("inf")):
        with pytest.raises(ndpool.PoolError, match="beta"):
            ndpool.smooth_max_pool(X, (2, 2), beta=beta)
    with pytest.raises(TypeError, match="beta"):
        ndpool.smooth_max_pool(X, (2, 2), beta="1")
    with pytest.raises(ndpool.PoolError, match="p is"):
        ndpool.lp_pool(X, (2, 2), p=0)
    with pytest.raises(ndpool.PoolError, match="divisor"):
        ndpool.avg_pool(X, (2, 2), divisor=0)
    with pytest.raises(TypeError, match="count_include_pad"):
        ndpool.avg_pool(X, (2, 2), count_include_pad=1)
    with pytest.raises(TypeError, match="axes"):
        ndpool.global_max_pool(X, axes=None)
    with pytest.raises(ndpool.PoolError, match="output_size"):
        ndpool.adaptive_max_pool(X, 3)
    with pytest.raises(ndpool.PoolError):
        ndpool.adaptive_max_pool(X, (0, 3))
    with pytest.raises(ndpool.PoolError, match="return_indices"):
        ndpool.max_pool.vjp(X, (2, 2), return_indices=True)
    with pytest.raises(TypeError, match="float type"):
        ndpool.max_pool.vjp(X.astype(int), (2, 2))
    with pytest.raises(TypeError, match="float type"):
        ndpool.max_unpool.vjp([1, 2], [0, 1], (4,), axes=1)
    with pytest.raises(TypeError, match="float type"):
        ndpool.max_unpool.jvp([1, 2], [1, 2], [0, 1], (4,), axes=1)
    with pytest.raises(ndpool.PoolError, match="bytes"):
        ndpool.max_unpool([1.0, 2.0], [0, 1], (2**62,), axes=1)
    for method in (ndpool.avg_pool.vjp, ndpool.avg_pool.output_shape):
        with pytest.raises(ndpool.PoolError, match="out= has no meaning"):
            method(X if method == ndpool.avg_pool.vjp else X.shape, (2, 2), out=np.zeros(3))
    with pytest.raises(ndpool.PoolError, match="larger than any float"):
        ndpool.lp_pool(X, (2, 2), p=10**400)
    with pytest.raises(ndpool.PoolError, match="rank 0"):
        ndpool.max_pool.output_shape((), (2,))


def test_indices_that_name_no_cell_are_refused_and_nothing_is_written() -> None:
    out = np.full(4, 7.0)
    for bad in ([0, 4], [-1, 0]):
        with pytest.raises(ndpool.PoolError):
            ndpool.max_unpool([1.0, 2.0], bad, (4,), axes=1, out=out)
        assert (out == 7).all()
    with pytest.raises(TypeError, match="integers"):
        ndpool.max_unpool([1.0, 2.0], [0.0, 1.0], (4,), axes=1)
    with pytest.raises(ndpool.PoolError, match="shape"):
        ndpool.max_unpool([1.0, 2.0], [0], (4,), axes=1)


def test_threads_are_a_number() -> None:
    before = ndpool.get_num_threads()
    try:
        ndpool.set_num_threads(2)
        assert ndpool.get_num_threads() == 2
        for bad in (-1, 10**9):
            with pytest.raises(ndpool.PoolError, match="threads"):
                ndpool.set_num_threads(bad)
        with pytest.raises(TypeError):
            ndpool.set_num_threads(1.5)  # type: ignore[arg-type]
    finally:
        ndpool.set_num_threads(before)
