"""A picture of input, max pool and average pool, the windows, and the cells that win.

ndpool show --demo                      in the terminal
ndpool show in.npy --out picture.png    heat maps (PNG or SVG); lines for one axis
ndpool show in.npy --window 3x3 --stride 2x2 --gradient --out picture.svg
ndpool show volume.npy --slice 0,5      the last two axes of a slice
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import ndpool

from .._arrays import AnyArray
from . import _figures, _images, _npy
from ._atomic import replacing
from ._errors import Refused, Usage
from ._terminal import heat
from ._text import numbers

NAME = "show"
HELP = "a picture of what pooling does"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, nargs="?", metavar="IN")
    parser.add_argument("--demo", action="store_true", help="an 8x8 map with a bright block")
    parser.add_argument("--out", type=Path, help=".png or .svg; without it: the terminal")
    parser.add_argument("--window", default="2x2")
    parser.add_argument("--stride", help="default: the window")
    parser.add_argument("--slice", help="indices on the first axes: 0,5 (default: zeros)")
    parser.add_argument("--gradient", action="store_true", help="what flows back from max")


def feature_map() -> AnyArray:
    """A block of 5.0 in noise: the map of the lesson."""
    x = np.zeros((8, 8))
    x[2:4, 2:4] = 5.0
    return x + np.random.default_rng(0).normal(0, 0.3, x.shape)


def _load(args: argparse.Namespace) -> AnyArray:
    if args.demo == (args.input is not None):
        raise Usage("give a file, or --demo")
    if args.demo:
        return feature_map()
    if not args.input.is_file():
        raise Refused(f"{args.input} is no file")
    if args.input.suffix.lower() != ".npy":
        x = _images.read(args.input)
        return (x[..., :3].mean(-1) if x.ndim == 3 else x).astype(np.float64)
    x = _npy.read(args.input)
    if x.dtype.kind not in "fiub":
        raise Refused(f"{args.input} holds {x.dtype} values, which have no picture")
    if x.ndim == 0 or x.size == 0:
        raise Refused(f"{args.input} has shape {x.shape}: there is nothing to show")
    while x.ndim > 2:
        x = x[0] if not args.slice else x
        if args.slice:
            break
    if args.slice:
        try:
            where = tuple(int(part) for part in args.slice.split(","))
            x = x[where]
        except (ValueError, IndexError) as error:
            raise Usage(f"--slice {args.slice}: {error}") from None
        if x.ndim not in (1, 2):
            raise Usage(f"--slice {args.slice} leaves {x.ndim} axes; one or two can be shown")
    return np.asarray(x, np.float64)


def run(args: argparse.Namespace) -> None:
    x = _load(args)
    window = numbers(args.window, "--window")
    stride = numbers(args.stride, "--stride") if args.stride else window
    if args.out and args.out.suffix.lower() not in (".png", ".svg"):
        raise Usage(f"{args.out}: the name must end with .png or .svg")
    if x.ndim == 1:
        figure = _figures.lines(x, window[-1], stride[-1]) if args.out else None
    else:
        size = (window * 2)[:2] if len(window) == 1 else window[:2]
        step = (stride * 2)[:2] if len(stride) == 1 else stride[:2]
        if not args.out:
            return _print(x, (size[0], size[1]), (step[0], step[1]))
        pools = {"max pool": ndpool.max_pool, "average pool": ndpool.avg_pool}
        figure = _figures.side_by_side(
            x, (size[0], size[1]), (step[0], step[1]), pools, args.gradient
        )
    if figure is None:
        return _print(x[None], (1, window[-1]), (1, stride[-1]))
    save(figure, args.out)
    print(args.out)


def save(figure: object, out: Path) -> None:
    with replacing(out) as path:
        figure.savefig(path, format=out.suffix[1:].lower(), dpi=150, metadata=_dateless(out))  # type: ignore[attr-defined]
    _figures.pyplot().close(figure)


def _dateless(out: Path) -> dict[str, None] | None:
    return {"Date": None} if out.suffix.lower() == ".svg" else None


def _print(x: AnyArray, window: tuple[int, int], stride: tuple[int, int]) -> None:
    y, index = ndpool.max_pool(x, window, stride, return_indices=True)
    mean = ndpool.avg_pool(x, window, stride)
    marked = np.zeros(x.size, bool)
    marked[index.ravel()] = True
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    sizes = f"window {window[0]}x{window[1]}, stride {stride[0]}x{stride[1]}"
    print(f"input {x.shape[0]}x{x.shape[1]} ({sizes}; * wins its window)")
    print("\n".join(heat(x, low, high, marked.reshape(x.shape))))
    for title, values in (("max pool", y), ("average pool", mean)):
        print(f"\n{title} {values.shape[0]}x{values.shape[1]}")
        print("\n".join(heat(values, low, high)))
