"""Pictures of pooling, in colours that are even in brightness and safe for colour-blind eyes."""

from __future__ import annotations

from typing import Any

import numpy as np

import ndpool

from .._arrays import AnyArray
from ._errors import Failed

_MARK = "#ff4f00"  # stands out on every colour of the scale
_GRID = "white"


def pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise Failed("pictures need matplotlib: pip install 'ndpool[plot]'") from None
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "ndpool"
    from matplotlib import pyplot as plt

    return plt


def _numbers(ax: Any, values: AnyArray, low: float, high: float) -> None:
    """The value in each cell, if there are few, in a colour that can be read on it."""
    if values.size > 100:
        return
    size = 11 if values.size <= 16 else 8
    for (i, j), value in np.ndenumerate(values):
        dark = (value - low) / ((high - low) or 1) < 0.6
        ax.text(
            *(j, i, _short(value)),
            ha="center", va="center", fontsize=size, color="white" if dark else "black",
        )  # fmt: skip


def _short(value: float) -> str:
    """One digit after the point, two for a share such as 1/3; no minus before a zero."""
    share = 0 < value < 1 and abs(value * 3 - round(value * 3)) < 1e-9
    return f"{value:.2f}" if share else f"{round(float(value), 1) + 0.0:.1f}"


def _heat(ax: Any, values: AnyArray, title: str, low: float, high: float) -> Any:
    image = ax.imshow(values, vmin=low, vmax=high, cmap="viridis", interpolation="nearest")
    ax.set_title(title, fontsize=12)
    ax.set_xticks([])
    ax.set_yticks([])
    _numbers(ax, values, low, high)
    return image


def side_by_side(
    x: AnyArray,
    window: tuple[int, int],
    stride: tuple[int, int],
    operations: dict[str, Any],
    gradient: bool = False,
) -> Any:
    """A map, what each operation makes of it, and if wanted what flows back from max."""
    plt = pyplot()
    results = {title: pool(x, window, stride) for title, pool in operations.items()}
    panels = 1 + len(results) + int(gradient)
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    figure, axes = plt.subplots(1, panels, figsize=(3.6 * panels + 0.8, 4.0), layout="constrained")
    image = _heat(axes[0], x, f"input {x.shape[0]}×{x.shape[1]}", low, high)
    _windows(axes[0], x.shape, window, stride)
    _winners(axes[0], x, window, stride)
    for ax, (title, y) in zip(axes[1:], results.items()):
        _heat(ax, y, f"{title} {y.shape[0]}×{y.shape[1]}", low, high)
    figure.colorbar(image, ax=axes[: 1 + len(results)], fraction=0.03, label="value")
    if gradient:
        y, pull = ndpool.max_pool.vjp(x, window, stride)
        back = pull(np.ones_like(y))
        _heat(axes[-1], back, "gradient of max (own scale)", 0.0, float(back.max()))
        _windows(axes[-1], x.shape, window, stride)
    return figure


def _windows(
    ax: Any, shape: tuple[int, ...], window: tuple[int, int], stride: tuple[int, int]
) -> None:
    """The borders of the windows; of overlapping ones the first only, dashed."""
    from matplotlib.patches import Rectangle

    rows = ndpool.max_pool.output_shape(shape, window, stride)
    overlap = window[0] > stride[0] or window[1] > stride[1]
    if rows[0] * rows[1] > 400:
        return
    for i in range(1 if overlap else rows[0]):
        for j in range(1 if overlap else rows[1]):
            ax.add_patch(
                Rectangle(
                    (j * stride[1] - 0.5, i * stride[0] - 0.5), window[1], window[0],
                    fill=False, edgecolor=_GRID, linewidth=2, linestyle="--" if overlap else "-",
                )
            )  # fmt: skip


def _winners(ax: Any, x: AnyArray, window: tuple[int, int], stride: tuple[int, int]) -> None:
    """A ring around each cell that wins its window."""
    _, index = ndpool.max_pool(x, window, stride, return_indices=True)
    if index.size > 400:
        return
    rows, columns = np.divmod(np.unique(index), x.shape[1])
    size = 260 / max(x.shape) * 8
    ax.scatter(columns, rows, s=size, facecolors="none", edgecolors=_MARK, linewidths=2)
    ax.set_xlabel("rings: the cells that max keeps", fontsize=9)


def lines(x: AnyArray, window: int, stride: int) -> Any:
    """A signal, and what max and average make of it, each over the middle of its window."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    ax.plot(x, color="0.6", label=f"input, {x.size} cells", linewidth=1)
    for pool, name, colour, mark in (
        (ndpool.max_pool, "max", _MARK, "o"),
        (ndpool.avg_pool, "average", "#0072b2", "s"),
    ):
        y = pool(x, (window,), stride)
        centre = np.arange(y.size) * stride + (window - 1) / 2
        ax.plot(centre, y, marker=mark, markersize=4, color=colour, label=f"{name}, {y.size} cells")
    ax.set_xlabel("cell")
    ax.legend()
    return figure


def ties() -> Any:
    """Where the gradient of max goes when two cells are equally large."""
    plt = pyplot()
    x = np.array([[3.0, 3.0, 1.0, 2.0], [0.0, 1.0, 2.0, 2.0]])
    policies = ("first", "last", "all", "split")
    figure, axes = plt.subplots(1, 5, figsize=(15, 2.6), layout="constrained")
    _heat(axes[0], x, "input, windows 2×2", 0.0, 3.0)
    _windows(axes[0], x.shape, (2, 2), (2, 2))
    for ax, policy in zip(axes[1:], policies):
        y, pull = ndpool.max_pool.vjp(x, (2, 2), ties=policy)
        _heat(ax, pull(np.ones_like(y)), f'ties="{policy}"', 0.0, 1.0)
        _windows(ax, x.shape, (2, 2), (2, 2))
    return figure


def photograph(picture: AnyArray, window: int) -> Any:
    """A grey photograph shrunk by each operation."""
    plt = pyplot()
    x = picture.astype(np.float32) / 255
    shown = {
        f"input {x.shape[0]}×{x.shape[1]}": x,
        f"max {window}×{window}": ndpool.max_pool(x, (window, window)),
        f"average {window}×{window}": ndpool.avg_pool(x, (window, window)),
        f"smooth max {window}×{window}, β = 8": ndpool.smooth_max_pool(
            x, (window, window), beta=8.0, mean=True
        ),
    }
    figure, axes = plt.subplots(1, 4, figsize=(15, 5.2), layout="constrained")
    for ax, (title, values) in zip(axes, shown.items()):
        ax.imshow(values, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        ax.set_title(title, fontsize=12)
        ax.axis("off")
    return figure


def fields(records: list[tuple[str, int]]) -> Any:
    """The receptive field after each layer, as bars to scale."""
    plt = pyplot()
    figure, ax = plt.subplots(figsize=(8, 0.5 * len(records) + 1.4), layout="constrained")
    names = [f"{i + 1}. {name}" for i, (name, _) in enumerate(records)]
    sizes = [size for _, size in records]
    ax.barh(names, sizes, color="#0072b2")
    for i, size in enumerate(sizes):
        ax.text(size + 0.15, i, str(size), va="center")
    ax.invert_yaxis()
    ax.set_xlabel("input cells that one output sees, per axis")
    ax.set_xlim(0, max(sizes) * 1.1)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    return figure
