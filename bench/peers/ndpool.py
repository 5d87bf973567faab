"""ndpool, through its C interface. NDPOOL_LIBRARY names the library."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from native import Library, Plan
from problem import Problem

_threads = 1


def setup(threads: int) -> None:
    global _threads
    _threads = threads


def supports(problem: Problem, work: str) -> bool:
    return True


def prepare(problem: Problem, work: str) -> Callable[[], np.ndarray]:
    plan = Plan(Library(Path(os.environ["NDPOOL_LIBRARY"])), problem.line, _threads)
    y = np.empty(problem.out_shape, problem.dtype)
    if work == "forward":
        return plan.forward(problem.x(), y, None)
    if work == "argmax":
        return plan.forward(problem.x(), y, np.empty(problem.out_shape, plan.argmax_dtype))
    dx = np.empty(problem.shape, problem.dtype)
    if problem.op == "avg":
        return plan.vjp(None, problem.g(), dx)
    if problem.op == "smooth":
        return plan.vjp(problem.x(), problem.g(), dx)
    argmax = np.empty(problem.out_shape, plan.argmax_dtype)
    plan.forward(problem.x(), y, argmax)()
    return plan.vjp_argmax(argmax, problem.g(), dx)


def to_numpy(result: np.ndarray, problem: Problem) -> np.ndarray:
    return result
