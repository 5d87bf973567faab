"""A process that runs one peer (or ndpool, or the limit) for compare.py.

Questions come in as lines of JSON, one answer goes out for each. A process of its own for each peer
keeps thread pools, allocators and CPU flags of one from reaching another.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import problem as problems

# Relative and absolute: what a correct peer may differ by. Sums in another order, and f16 or bf16
# results rounded after each step. Integer averages: the rounding of halves is a choice.
TOLERANCES = {"f64": (1e-9, 1e-9), "f32": (1e-4, 1e-5), "f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2)}
INTEGER_TOLERANCE = (0.0, 1.0)


def pin(threads: int) -> None:
    """Leaves this process as many processors as threads: peers may start more, it gains nothing."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def difference(problem: problems.Problem, found: np.ndarray, reference: np.ndarray) -> str:
    """What is wrong with a result; nothing if nothing is."""
    if found.shape != reference.shape:
        return f"shape {found.shape} instead of {reference.shape}"
    relative, absolute = TOLERANCES.get(problem.type, INTEGER_TOLERANCE)
    ours = problems.to_floats(reference, problem.type)
    error = np.abs(problems.to_floats(found, problem.type) - ours)
    excess = float((error - relative * np.abs(ours)).max())
    return "" if excess <= absolute else f"differs by {float(error.max()):.3g}"


class Worker:
    """The state between questions: the peer, and the call that is prepared."""

    def __init__(self, name: str, threads: int) -> None:
        self.peer = importlib.import_module(f"peers.{name}")
        self.peer.setup(threads)
        self.problem: problems.Problem
        self.call: Callable[[], Any] | None = None

    def hello(self) -> dict[str, Any]:
        package = getattr(self.peer, "PACKAGE", None)
        return {"version": importlib.metadata.version(package) if package else ""}

    def prepare(self, work: str, line: str) -> dict[str, Any]:
        """Makes the arrays and calls once. A peer without an answer says so."""
        self.problem = problems.parse(line)
        if not self.peer.supports(self.problem, work):
            return {"supported": False}
        self.call = self.peer.prepare(self.problem, work)
        begin = time.perf_counter()
        self.result = self.call()
        return {"supported": True, "seconds": time.perf_counter() - begin}

    def save(self, path: str) -> dict[str, Any]:
        np.save(path, self.peer.to_numpy(self.result, self.problem))
        return {}

    def check(self, path: str) -> dict[str, Any]:
        reference = np.load(path)
        return {
            "difference": difference(
                self.problem, self.peer.to_numpy(self.result, self.problem), reference
            )
        }

    def time(self, calls: int) -> dict[str, Any]:
        """The best of some calls in a row."""
        assert self.call
        self.result = None
        best = float("inf")
        for _ in range(calls):
            begin = time.perf_counter()
            result = self.call()
            best = min(best, time.perf_counter() - begin)
            del result  # outside the measurement, and before the next result needs the memory
        return {"seconds": best}

    def release(self) -> dict[str, Any]:
        self.call = self.result = None
        return {}


def main() -> None:
    name, threads = sys.argv[1], int(sys.argv[2])
    # Answers have a pipe of their own: what a peer prints goes to the log instead.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    pin(threads)
    worker = Worker(name, threads)
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = getattr(worker, question.pop("do"))(**question)
        except Exception as error:  # noqa: BLE001  whatever a peer throws is its answer
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
