"""The limit: every byte of the inputs read once, every byte of the outputs written once.

NDPOOL_BENCH_LIMIT names the library. With several threads each has its share of the bytes.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from native import Library, Limit, Plan
from problem import Problem

_threads = 1


def setup(threads: int) -> None:
    global _threads
    _threads = threads


def supports(problem: Problem, work: str) -> bool:
    return True


def prepare(problem: Problem, work: str) -> Callable[[], None]:
    """Plain and streaming stores take turns for a moment; the faster one is kept."""
    path = Path(os.environ["NDPOOL_BENCH_LIMIT"])
    read, write = traffic(problem, work)
    shares = [Limit(path, read // _threads, write // _threads) for _ in range(_threads)]
    pool = ThreadPoolExecutor(_threads) if _threads > 1 else None

    def call(streaming: bool) -> None:
        if pool:
            list(pool.map(lambda share: share.run(streaming), shares))
        else:
            shares[0].run(streaming)

    best = {False: math.inf, True: math.inf}
    for _ in range(5):
        for streaming in best:
            begin = time.perf_counter()
            call(streaming)
            best[streaming] = min(best[streaming], time.perf_counter() - begin)
    streaming = best[True] < best[False]
    return lambda: call(streaming)


def traffic(problem: Problem, work: str) -> tuple[int, int]:
    """Bytes to read and to write."""
    element = np.dtype(problem.dtype).itemsize
    x, y = math.prod(problem.shape) * element, math.prod(problem.out_shape) * element
    plan = Plan(Library(Path(os.environ["NDPOOL_LIBRARY"])), problem.line, 1)
    winners = math.prod(problem.out_shape) * plan.argmax_dtype.itemsize
    if work == "forward":
        return x, y
    if work == "argmax":
        return x, y + winners
    return {"max": y + winners, "avg": y, "smooth": x + y}[problem.op], x
