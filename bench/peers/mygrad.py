"""MyGrad: its max_pool over trailing axes, in any number of them, without padding."""

from __future__ import annotations

from collections.abc import Callable

import mygrad
import numpy as np
from mygrad.nnet import max_pool

from problem import Problem

PACKAGE = "mygrad"


def setup(threads: int) -> None:
    """It has one thread only."""


def supports(problem: Problem, work: str) -> bool:
    return (
        work == "forward"
        and problem.op == "max"
        and problem.mode == "windowed"
        and problem.plain
        and problem.type in ("f32", "f64")
        and problem.axes == tuple(range(problem.rank - problem.dims, problem.rank))
    )


def prepare(problem: Problem, work: str) -> Callable[[], mygrad.Tensor]:
    # It refuses cells that no window covers: they are cut off before.
    used = tuple(
        (o - 1) * s + w
        for o, s, w in zip(problem.outputs, problem.stride, problem.window, strict=True)
    )
    x = problem.x()[tuple(map(slice, problem.spread(used, problem.shape)))]
    return lambda: max_pool(x, problem.window, problem.stride, constant=True)


def to_numpy(result: mygrad.Tensor, problem: Problem) -> np.ndarray:
    return result.data
