"""Pooling in plain NumPy, written without a look at the engine: padded arrays and sliding windows.

Pads are NaN-free stand-ins kept apart by a mask, so that any value may be a real cell.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def _outputs(n: int, lo: int, hi: int, extent: int, stride: int, rounding: str) -> int:
    room = n + lo + hi - extent
    if rounding == "ceil":
        count = -(-room // stride) + 1
        return count - 1 if (count - 1) * stride >= n + lo else count
    return room // stride + 1


def windows(
    x: np.ndarray,
    window: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[tuple[int, int], ...],
    dilation: tuple[int, ...],
    rounding: str = "floor",
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Values, whether a tap is a cell, whether it is cell or declared pad, and the cell's index.

    Each has the shape of x's leading axes, the outputs, and one last axis for the taps.
    """
    d = len(window)
    lead = x.ndim - d
    sizes = x.shape[lead:]
    extents = [(k - 1) * e + 1 for k, e in zip(window, dilation)]
    counts = [
        _outputs(n, lo, hi, e, s, rounding)
        for n, (lo, hi), e, s in zip(sizes, padding, extents, stride)
    ]
    over = [
        max(0, (o - 1) * s + e - (n + lo + hi))
        for o, s, e, n, (lo, hi) in zip(counts, stride, extents, sizes, padding)
    ]
    pads = [(lo, hi + more) for (lo, hi), more in zip(padding, over)]

    def spread(array: np.ndarray, fill: Any) -> np.ndarray:
        extra = array.ndim - d
        wide = np.pad(array, [(0, 0)] * extra + pads, constant_values=fill)
        axes = tuple(range(extra, array.ndim))
        view = sliding_window_view(wide, extents, axes)
        steps = tuple(slice(0, (o - 1) * s + 1, s) for o, s in zip(counts, stride))
        taps = tuple(slice(None, None, e) for e in dilation)
        view = view[(slice(None),) * extra + steps + taps]
        return view.reshape(*view.shape[: array.ndim], -1)

    values = spread(x, 0)
    cells = spread(np.ones(sizes, bool), False)
    declared = np.ones([n + lo + hi for n, (lo, hi) in zip(sizes, padding)], bool)
    held, pads = pads, [(0, more) for more in over]
    known = spread(declared, False)
    pads = held
    index = spread(np.arange(int(np.prod(sizes))).reshape(sizes), -1)
    return values, cells, known, index


def max_pool(values: np.ndarray, cells: np.ndarray, index: np.ndarray, sign: int = 1) -> Any:
    """The winners and their indices; sign -1 for min. NaN wins, the first of equals wins."""
    wide = values.astype(np.float64) * sign
    rank = np.where(np.isnan(wide), np.inf, wide)
    beaten = np.where(np.isnan(wide), 1, 0)
    best = np.full(values.shape[:-1], -1)
    for tap in range(values.shape[-1]):
        here = np.broadcast_to(cells[..., tap], best.shape)
        old = np.maximum(best, 0)[..., None]
        old_beaten, old_rank = (np.take_along_axis(a, old, -1)[..., 0] for a in (beaten, rank))
        better = (beaten[..., tap] > old_beaten) | (
            (beaten[..., tap] == old_beaten) & (rank[..., tap] > old_rank)
        )
        best = np.where(here & ((best < 0) | better), tap, best)
    picked = np.take_along_axis(values, best[..., None], -1)[..., 0]
    places = np.take_along_axis(np.broadcast_to(index, values.shape), best[..., None], -1)[..., 0]
    return picked, places
