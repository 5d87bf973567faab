"""scikit-image: block_reduce, for windows side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from skimage.measure import block_reduce

from problem import Problem

PACKAGE = "scikit-image"


def setup(threads: int) -> None:
    """It has one thread only."""


def supports(problem: Problem, work: str) -> bool:
    return (
        work == "forward"
        and problem.disjoint
        and problem.type in ("f32", "f64", "u8", "i8", "i16")
        and (problem.op == "max" or (problem.op == "avg" and problem.type in ("f32", "f64")))
    )


def prepare(problem: Problem, work: str) -> Callable[[], np.ndarray]:
    used = tuple(o * w for o, w in zip(problem.outputs, problem.window, strict=True))
    x = problem.x()[tuple(map(slice, problem.spread(used, problem.shape)))]
    block = problem.spread(problem.window, 1)
    function = np.max if problem.op == "max" else np.mean
    return lambda: block_reduce(x, block, function)


def to_numpy(result: np.ndarray, problem: Problem) -> np.ndarray:
    return result
