"""A bar on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from types import TracebackType

_WIDTH = 30


class Progress:
    def __init__(self, total: int, label: str) -> None:
        self._total, self._label, self._done = max(total, 1), label, 0
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        self.advance(0)
        return self

    def advance(self, amount: int) -> None:
        self._done += amount
        if not self._shown:
            return
        part = min(1.0, self._done / self._total)
        bar = ("█" * round(part * _WIDTH)).ljust(_WIDTH, "░")
        sys.stderr.write(f"\r{self._label} {bar} {100 * part:3.0f} %")
        sys.stderr.flush()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
