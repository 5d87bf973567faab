"""NumPy: windows side by side become axes of their own, which are reduced; global at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from problem import Problem

PACKAGE = "numpy"


def setup(threads: int) -> None:
    """It has one thread only."""


def supports(problem: Problem, work: str) -> bool:
    return (
        work == "forward"
        and (problem.disjoint or problem.mode == "global")
        and problem.type != "bf16"
        and (problem.op == "max" or (problem.op == "avg" and problem.type in ("f16", "f32", "f64")))
    )


def prepare(problem: Problem, work: str) -> Callable[[], np.ndarray]:
    x = problem.x()
    reduce = np.max if problem.op == "max" else np.mean
    if problem.mode == "global":
        return lambda: reduce(x, axis=problem.axes, keepdims=True)
    used = tuple(o * w for o, w in zip(problem.outputs, problem.window, strict=True))
    x = x[tuple(map(slice, problem.spread(used, problem.shape)))]
    shape: list[int] = []
    taps: list[int] = []
    for outputs, window in zip(problem.out_shape, problem.spread(problem.window, 1), strict=True):
        shape.append(outputs)
        if window > 1:
            taps.append(len(shape))
            shape.append(window)
    # Where cells are left over, this copies; it is part of the trick, so it is measured.
    return lambda: reduce(x.reshape(shape), axis=tuple(taps))


def to_numpy(result: np.ndarray, problem: Problem) -> np.ndarray:
    return result
