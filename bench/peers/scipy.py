"""SciPy: the filters of ndimage, for windows around every cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage

from problem import Problem

PACKAGE = "scipy"


def setup(threads: int) -> None:
    """It has one thread only."""


def supports(problem: Problem, work: str) -> bool:
    return (
        work == "forward"
        and problem.centred
        and problem.type in ("f32", "f64")
        and problem.op in ("max", "avg")
    )


def prepare(problem: Problem, work: str) -> Callable[[], np.ndarray]:
    x = problem.x()
    y = np.empty_like(x)
    where = {"size": problem.spread(problem.window, 1), "output": y, "mode": "constant"}
    function = ndimage.uniform_filter
    if problem.op == "max":
        function = ndimage.maximum_filter
        where["cval"] = -np.inf

    def call() -> np.ndarray:
        function(x, **where)
        return y

    return call


def to_numpy(result: np.ndarray, problem: Problem) -> np.ndarray:
    return result
