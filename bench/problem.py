"""The problems of the comparison: their lines, their shapes, their data.

Every process of a run reads the same line and makes the same arrays from it, so that nothing large
travels between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

WORKS = ("forward", "argmax", "vjp")
# NumPy has no bf16: its bits travel as uint16.
DTYPES = {
    "f16": np.float16,
    "bf16": np.uint16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "u16": np.uint16,
    "i32": np.int32,
}
FLOATS = ("f16", "bf16", "f32", "f64")
# Prime, so that no window of the listed problems meets the same number twice: which of two equal
# cells gets a gradient is a choice in which peers differ.
PERIOD = 1_000_003


@dataclass(frozen=True)
class Problem:
    """One problem line. Window, stride, dilation and padding have a number for each pooled axis."""

    line: str
    op: str
    type: str
    shape: tuple[int, ...]
    mode: str  # windowed, adaptive or global
    axes: tuple[int, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    padding: tuple[int, ...]
    outputs: tuple[int, ...]  # on the pooled axes

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def dims(self) -> int:
        """The number of pooled axes."""
        return len(self.axes)

    @cached_property
    def out_shape(self) -> tuple[int, ...]:
        return self.spread(self.outputs, self.shape)

    @property
    def dtype(self) -> type:
        return DTYPES[self.type]

    @property
    def channels(self) -> str | None:
        """Where a framework would find the channels: first, last, or nowhere."""
        if self.dims != self.rank - 2:
            return None
        if self.axes == tuple(range(2, self.rank)):
            return "first"
        return "last" if self.axes == tuple(range(1, self.rank - 1)) else None

    @property
    def disjoint(self) -> bool:
        """Windows side by side: no overlap, no gap, no padding."""
        return self.mode == "windowed" and self.stride == self.window and self.plain

    @property
    def centred(self) -> bool:
        """One output for each cell, in the middle of its window: a filter of image processing."""
        return (
            self.mode == "windowed"
            and all(s == d == 1 for s, d in zip(self.stride, self.dilation, strict=True))
            and all(w == 2 * p + 1 for w, p in zip(self.window, self.padding, strict=True))
        )

    @property
    def plain(self) -> bool:
        """Neither padding nor dilation."""
        return not any(self.padding) and all(d == 1 for d in self.dilation)

    def spread(self, values: tuple[int, ...], rest: tuple[int, ...] | int) -> tuple[int, ...]:
        """`values` on the pooled axes, `rest` on the others."""
        full = [rest] * self.rank if isinstance(rest, int) else list(rest)
        for axis, value in zip(self.axes, values, strict=True):
            full[axis] = value
        return tuple(full)

    def x(self) -> np.ndarray:
        return _data(self, self.shape, seed=1)

    def g(self) -> np.ndarray:
        return _data(self, self.out_shape, seed=2)


def parse(line: str) -> Problem:
    """Reads the part of the grammar of src/problem.h that peers have an answer to."""
    words = line.split()
    if len(words) < 4:
        raise ValueError(f"{line!r}: expected an op, a type, a shape and a window")
    op, element, shape_text, *tokens = words
    if element not in DTYPES:
        raise ValueError(f"{line!r}: the comparison has no data of type {element!r}")
    shape = _numbers(shape_text)
    found: dict[str, tuple[int, ...]] = {}
    mode = "windowed"
    for token in tokens:
        if token == "global":
            mode = "global"
        elif token.startswith("axes="):
            found["axes"] = tuple(int(a) % len(shape) for a in token[5:].split(","))
        elif token[0] in "wasdp" and token[1:].replace("x", "").isdigit():
            found[token[0]] = _numbers(token[1:])
        else:
            raise ValueError(f"{line!r}: the comparison does not read {token!r}")
    if "a" in found:
        mode = "adaptive"
    sizes = found.get("axes") or found.get("w") or found.get("a")
    if sizes is None:
        raise ValueError(f"{line!r}: expected a window (w3x3), adaptive sizes (a7x7) or axes=")
    dims = len(sizes)
    axes = found.get("axes", tuple(range(len(shape) - dims, len(shape))))
    cells = tuple(shape[a] for a in axes)

    def each(key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        values = found.get(key, default)
        return values * dims if len(values) == 1 else values

    window = each("w", cells)
    stride = each("s", window)
    dilation, padding = each("d", (1,)), each("p", (0,))
    outputs = each("a", (1,))
    if mode == "windowed":
        outputs = tuple(
            (n + 2 * p - (w - 1) * d - 1) // s + 1
            for n, w, s, d, p in zip(cells, window, stride, dilation, padding, strict=True)
        )
    return Problem(line, op, element, shape, mode, axes, window, stride, dilation, padding, outputs)


@dataclass(frozen=True)
class Entry:
    """One line of the table: what to measure, and the heading it stands under."""

    heading: str
    work: str
    problem: Problem

    @property
    def text(self) -> str:
        return f"{self.work} | {self.problem.line}"


def entry(text: str, heading: str = "Lines of your own") -> Entry:
    """Reads `work | problem line`."""
    work, bar, line = (part.strip() for part in text.partition("|"))
    if not bar or work not in WORKS:
        raise ValueError(f"{text!r}: expected `work | problem`, work being one of {WORKS}")
    return Entry(heading, work, parse(line))


def read_entries(path: Path) -> Iterator[Entry]:
    """The lines of a file; `## ` begins a heading, `#` alone a comment."""
    heading = ""
    for raw in path.read_text(encoding="utf-8").splitlines():
        text = raw.strip()
        if text.startswith("## "):
            heading = text[3:]
        elif text and not text.startswith("#"):
            yield entry(text, heading)


def to_floats(array: np.ndarray, element: str) -> np.ndarray:
    """f64 (f32 for what f32 holds) with the values of `array`, for comparisons."""
    if element == "bf16":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64 if element in ("f64", "i32") else np.float32, copy=False)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split("x"))


def _data(problem: Problem, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """A block of different numbers in random order, again and again: quick to make."""
    random = np.random.default_rng(seed)
    if problem.type in FLOATS:
        block = (random.permutation(PERIOD) * (2 / PERIOD) - 1).astype(np.float32)
        if problem.type == "bf16":
            block = (block.view(np.uint32) >> 16).astype(np.uint16)
        block = block.astype(problem.dtype, copy=False)
    else:
        limits = np.iinfo(problem.dtype)
        block = random.integers(limits.min, limits.max, PERIOD, problem.dtype, endpoint=True)
    return np.resize(block, math.prod(shape)).reshape(shape)
