"""Threads, forks and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import ndpool

X = np.random.default_rng(1).standard_normal((8, 16, 64, 64)).astype(np.float32)
Y = ndpool.max_pool(X, (3, 3), 2, 1)


def pooled(_: int) -> bool:
    return bool((ndpool.max_pool(X, (3, 3), 2, 1) == Y).all())


def test_many_threads_may_call_at_once() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(pooled, range(64)))


# In a process of its own: libraries of other tests have threads that do not survive a fork.
FORKS = """
import os, multiprocessing
from test_processes import pooled

if __name__ == "__main__":
    assert pooled(0)
    child = os.fork()
    if child == 0:
        os._exit(0 if pooled(0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert all(pool.map(pooled, range(8)))
    assert pooled(0)
"""


def test_calls_work_after_a_fork_and_in_pools_of_processes(tmp_path: Path) -> None:
    script = tmp_path / "forks.py"
    script.write_text(FORKS)
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_stops_a_long_call_and_the_next_is_right(threads: int) -> None:
    long = np.random.default_rng(2).standard_normal((4, 16, 256, 256))  # f64 goes tap by tap
    before = ndpool.get_num_threads()
    ndpool.set_num_threads(threads)
    sent = []

    def interrupt() -> None:
        time.sleep(0.2)
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    try:
        killer = threading.Thread(target=interrupt)
        killer.start()
        with pytest.raises(KeyboardInterrupt):
            ndpool.lp_pool(long, (101, 101), 1, 50, p=3.0)  # which takes minutes
        waited = time.perf_counter() - sent[0]
        killer.join()
        assert pooled(0)
    finally:
        ndpool.set_num_threads(before)
    # The promise is 200 ms on a quiet machine; tests run beside others, on any machine.
    assert waited < 10.0, f"stopped after {waited:.3f} s"


def test_the_lock_is_released_while_a_call_runs() -> None:
    done = threading.Event()
    x = X.astype(np.float64)  # which goes tap by tap
    work = threading.Thread(target=lambda: (ndpool.lp_pool(x, (9, 9), 1, 4, p=3.0), done.set()))
    work.start()
    ticks = 0
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    work.join()
    assert ticks > 3
