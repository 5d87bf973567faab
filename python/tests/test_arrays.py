"""What may be handed in and out: layouts, types, other libraries' arrays, out=."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ndpool

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 6, 8)).astype(np.float32)
Y = ndpool.max_pool(X, (2, 2))


def layouts() -> dict[str, np.ndarray]:
    wide = np.zeros((6, 12, 24), np.float32)
    wide[::2, ::2, ::3] = X
    shifted = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(X.shape)
    locked = X.copy()
    locked.flags.writeable = False
    return {
        "row-major": X,
        "Fortran order": np.asfortranarray(X),
        "with gaps": wide[::2, ::2, ::3],
        "reversed": X[::-1, ::-1, ::-1].copy()[::-1, ::-1, ::-1],
        "transposed": np.ascontiguousarray(X.transpose(2, 0, 1)).transpose(1, 2, 0),
        "read-only": locked,
        "unaligned": shifted,
        "big-endian": X.astype(">f4"),
        "a matrix subclass": X.view(type("Sub", (np.ndarray,), {})),
    }


@pytest.mark.parametrize("name", layouts())
def test_any_layout_gives_the_same_bits(name: str) -> None:
    x = layouts()[name]
    y = ndpool.max_pool(x, (2, 2))
    assert type(y) is np.ndarray and y.dtype == np.float32
    np.testing.assert_array_equal(y, Y)
    y, pull = ndpool.avg_pool.vjp(x, (2, 2))
    np.testing.assert_array_equal(y, ndpool.avg_pool(X, (2, 2)))
    np.testing.assert_array_equal(pull(Y), np.repeat(np.repeat(Y, 2, 1), 2, 2) / 4)


def test_a_broadcast_array_is_read_as_it_is() -> None:
    x = np.broadcast_to(X[0], (1000, 6, 8))
    np.testing.assert_array_equal(ndpool.max_pool(x, (2, 2)), np.broadcast_to(Y[0], (1000, 3, 4)))


def test_memory_mapped_files_are_read_in_place(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    np.testing.assert_array_equal(ndpool.max_pool(mapped, (2, 2)), Y)


def test_lists_and_objects_with_array_or_dlpack_are_taken() -> None:
    class WithArray:
        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return X

    class WithDlpack:
        def __dlpack__(self, **options: Any) -> Any:
            return X.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    class OnAnotherDevice(WithDlpack):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 0)

    np.testing.assert_array_equal(ndpool.max_pool(WithArray(), (2, 2)), Y)
    np.testing.assert_array_equal(ndpool.max_pool(WithDlpack(), (2, 2)), Y)
    np.testing.assert_array_equal(ndpool.max_pool([[1, 2], [3, 4]], (2, 2)), [[4]])
    with pytest.raises(ndpool.PoolError, match="another device"):
        ndpool.max_pool(OnAnotherDevice(), (2, 2))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_every_float_type_keeps_its_type_forward_and_back(dtype: Any) -> None:
    x = RNG.integers(-8, 8, (2, 4, 4)).astype(dtype)
    for operation in (ndpool.max_pool, ndpool.avg_pool, ndpool.smooth_max_pool, ndpool.lp_pool):
        y, pull = operation.vjp(x, (2, 2))
        assert y.dtype == x.dtype and pull(y).dtype == x.dtype
        assert operation(x, (2, 2)).dtype == x.dtype
    np.testing.assert_array_equal(
        ndpool.max_pool(x, (2, 2)).astype(float), ndpool.max_pool(x.astype(float), (2, 2))
    )
    assert ndpool.avg_pool(x, (2, 2), dtype=ml_dtypes.bfloat16).dtype == ml_dtypes.bfloat16


def test_out_is_written_and_returned(tmp_path: Path) -> None:
    out = np.empty_like(Y)
    assert ndpool.max_pool(X, (2, 2), out=out) is out
    np.testing.assert_array_equal(out, Y)
    pair = (np.empty_like(Y), np.empty(Y.shape, np.int64))
    y, index = ndpool.max_pool(X, (2, 2), return_indices=True, out=pair)
    assert y is pair[0] and index is pair[1]
    mapped = np.memmap(tmp_path / "y", np.float32, "w+", shape=Y.shape)
    assert ndpool.max_pool(X, (2, 2), out=mapped) is mapped
    np.testing.assert_array_equal(mapped, Y)
    scores = np.empty(3, np.float32)
    assert ndpool.global_max_pool(X, out=scores) is scores
    _, pull = ndpool.max_pool.vjp(X, (2, 2))
    dx = np.empty_like(X)
    assert pull(Y, out=dx) is dx


def test_refused_outputs_are_left_alone() -> None:
    holder = np.full((3, 3, 8), 7, np.float32)
    locked = np.full(Y.shape, 7, np.float32)
    locked.flags.writeable = False
    for out, error in (
        (np.full(Y.shape, 7, np.float64), TypeError),
        (np.full(Y.shape, 7, ">f4"), TypeError),
        (Y.tolist(), TypeError),
        (np.full((3, 3, 5), 7, np.float32), ndpool.PoolError),
        (holder[:, :, ::2], ndpool.PoolError),
        (locked, ndpool.PoolError),
    ):
        with pytest.raises(error, match="out"):
            ndpool.max_pool(X, (2, 2), out=out)
        if isinstance(out, np.ndarray):
            assert (out == 7).all()
    shared = X.copy()
    before = shared.copy()
    with pytest.raises(ndpool.PoolError, match="share memory"):
        ndpool.max_pool(shared, (2, 2), out=shared.reshape(-1)[: Y.size].reshape(Y.shape))
    np.testing.assert_array_equal(shared, before)


def test_a_pull_keeps_what_it_needs() -> None:
    for ties in ("first", "all"):
        x = X.copy()
        _, pull = ndpool.max_pool.vjp(x, (2, 2), ties=ties)
        before = pull(Y)
        x[:] = 0
        np.testing.assert_array_equal(pull(Y), before)
    assert ndpool.max_pool.vjp(X, (2, 2))[1].nbytes == Y.size
    assert ndpool.avg_pool.vjp(X, (2, 2))[1].nbytes == 0


def test_gradients_are_converted_to_the_type_of_x() -> None:
    _, pull = ndpool.max_pool.vjp(X, (2, 2))
    dx = pull(np.ones(Y.shape, np.int64))
    assert dx.dtype == np.float32 and dx.sum() == Y.size
    with pytest.raises(ndpool.PoolError, match=r"shape \(3, 3, 4\)"):
        pull(np.ones((3, 3, 5)))


def test_empty_batches_give_empty_results() -> None:
    x = np.zeros((0, 3, 4, 4), np.float32)
    y, index = ndpool.max_pool(x, (2, 2), return_indices=True)
    assert y.shape == index.shape == (0, 3, 2, 2)
    y, pull = ndpool.avg_pool.vjp(x, (2, 2))
    assert pull(y).shape == x.shape


def test_operations_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(ndpool.max_pool)) is ndpool.max_pool
    assert pickle.loads(pickle.dumps(ndpool.max_unpool)) is ndpool.max_unpool
