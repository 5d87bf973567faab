"""What the tests of ndpool.jax share: calls of every operation, and comparisons."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import pytest

import ndpool

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

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


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout
