"""The other end of worker.py: a process that answers, or is ended when it takes too long."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Seconds: to import a library, and to make a few calls of which each one is known to be quick.
START_LIMIT = 120.0
TIME_LIMIT = 120.0

# Settings of glibc's malloc: huge pages; nothing goes back to the system; one heap for all threads;
# and no cache of small chunks, which keeps freed aligned memory from being used again.
MALLOC = ("hugetlb=1", "mmap_max=0", "trim_threshold=17179869184", "arena_max=1", "tcache_count=0")


class PeerError(Exception):
    """What a peer had no answer to, in words for the notes of the table."""


def environment(threads: int, library: Path, limit: Path) -> dict[str, str]:
    """The same for every process: few threads, no accelerator, memory kept and on huge pages.

    Most peers allocate their results in each call. They get the same memory again, because ndpool,
    which writes where it is told to, has no page faults either.
    """
    n = str(threads)
    return os.environ | {
        "OMP_NUM_THREADS": n,
        "MKL_NUM_THREADS": n,
        "OPENBLAS_NUM_THREADS": n,
        "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}",
        "JAX_PLATFORMS": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "GLIBC_TUNABLES": ":".join(f"glibc.malloc.{setting}" for setting in MALLOC),
        "NDPOOL_LIBRARY": str(library),
        "NDPOOL_BENCH_LIMIT": str(limit),
    }


class Client:
    """One worker, started when it is first asked, and again after it was ended."""

    def __init__(self, name: str, threads: int, env: dict[str, str], log: Path) -> None:
        self.name = name
        self._command = [sys.executable, str(HERE / "worker.py"), name, str(threads)]
        self._env = env
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def hello(self) -> str:
        """The version of the peer's library."""
        return self._ask(START_LIMIT, do="hello")["version"]

    def prepare(self, work: str, line: str, patience: float) -> float | None:
        """Seconds of the first call, or None if the peer has no such operation."""
        if self._process is None:
            self.hello()
        answer = self._ask(patience, do="prepare", work=work, line=line)
        return answer["seconds"] if answer["supported"] else None

    def save(self, path: Path) -> None:
        self._ask(TIME_LIMIT, do="save", path=str(path))

    def check(self, path: Path) -> None:
        difference = self._ask(TIME_LIMIT, do="check", path=str(path))["difference"]
        if difference:
            raise PeerError(difference)

    def time(self, calls: int) -> float:
        return self._ask(TIME_LIMIT, do="time", calls=calls)["seconds"]

    def release(self) -> None:
        if self._process is not None:
            self._ask(TIME_LIMIT, do="release")

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._env,
                bufsize=0,
            )

    def _ask(self, seconds: float, **question: Any) -> dict[str, Any]:
        if self._process is None:
            self._process = self._start()
        assert self._process.stdin and self._process.stdout
        deadline = time.monotonic() + seconds
        text = b""
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            while not text.endswith(b"\n"):
                left = max(0.0, deadline - time.monotonic())
                if not select.select([self._process.stdout], [], [], left)[0]:
                    raise PeerError(f"over {seconds:.0f} s")
                part = os.read(self._process.stdout.fileno(), 1 << 16)
                if not part:
                    raise PeerError(f"its process ended, see {self._log.name}")
                text += part
        except (PeerError, BrokenPipeError) as error:
            self.stop()
            raise PeerError(str(error)) from error
        answer = json.loads(text)
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer
