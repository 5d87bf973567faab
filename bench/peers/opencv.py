"""OpenCV: dilate and boxFilter, plane by plane, for windows around every cell."""

from __future__ import annotations

import math
from collections.abc import Callable

import cv2
import numpy as np

from problem import Problem

PACKAGE = "opencv-python-headless"


def setup(threads: int) -> None:
    cv2.setNumThreads(threads)


def supports(problem: Problem, work: str) -> bool:
    if work != "forward" or not problem.centred or problem.channels != "first":
        return False
    return problem.dims == 2 and (
        (problem.op == "max" and problem.type in ("u8", "u16", "i16", "f32"))
        or (problem.op == "avg" and problem.type == "f32")
    )


def prepare(problem: Problem, work: str) -> Callable[[], np.ndarray]:
    x = problem.x()
    y = np.empty_like(x)
    flat = (math.prod(problem.shape[:2]), *problem.shape[2:])
    planes = list(zip(x.reshape(flat), y.reshape(flat), strict=True))
    if problem.op == "max":
        element = np.ones(problem.window, np.uint8)

        def call() -> np.ndarray:
            for source, target in planes:
                cv2.dilate(source, element, target)
            return y
    else:
        size = problem.window[::-1]

        def call() -> np.ndarray:
            for source, target in planes:
                cv2.boxFilter(source, -1, size, target, borderType=cv2.BORDER_CONSTANT)
            return y

    return call


def to_numpy(result: np.ndarray, problem: Problem) -> np.ndarray:
    return result
