"""A map of numbers in the terminal: shades in colour, or numbers where there is no colour."""

from __future__ import annotations

import os
import sys

import numpy as np

from .._arrays import AnyArray

_VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
_MOST = 24


def colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"


def _colour(part: float) -> tuple[int, int, int]:
    place = min(max(part, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    i = min(int(place), len(_VIRIDIS) - 2)
    a, b = _VIRIDIS[i], _VIRIDIS[i + 1]
    r, g, blue = (round(p + (q - p) * (place - i)) for p, q in zip(a, b))
    return r, g, blue


def heat(values: AnyArray, low: float, high: float, marked: AnyArray | None = None) -> list[str]:
    """One line per row; marked cells carry a star. Large maps show their first rows and columns."""
    rows, columns = min(values.shape[0], _MOST), min(values.shape[1], _MOST)
    lines = []
    for i in range(rows):
        line = ""
        for j in range(columns):
            value = float(values[i, j])
            star = "*" if marked is not None and marked[i, j] else " "
            cell = f"{round(value, 1) + 0.0:5.1f}{star}"
            if colours() and np.isfinite(value):
                red, green, blue = _colour((value - low) / ((high - low) or 1))
                ink = 0 if red * 3 + green * 6 + blue > 1400 else 255
                cell = f"\x1b[48;2;{red};{green};{blue}m\x1b[38;2;{ink};{ink};{ink}m{cell}\x1b[0m"
            line += cell
        lines.append(line + (" …" if columns < values.shape[1] else ""))
    return lines + (["…"] if rows < values.shape[0] else [])
