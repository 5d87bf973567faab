"""Pool a file: .npy, .png, .jpg or .tif in and out.

  ndpool pool in.npy out.npy --op max --window 3x3 --stride 2 --padding 1
  ndpool pool photo.png small.png --op avg --window 4x4

Large .npy files are mapped and pooled in pieces, so that memory stays small whatever their size.
Pictures are pooled over height and width. OUT appears whole or not at all.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import _core
from .._arrays import AnyArray, dtype_of, type_of
from . import _images, _npy, _options
from ._atomic import replacing
from ._errors import Refused, Usage
from ._progress import Progress
from ._text import shape_text

NAME = "pool"
HELP = "pool a file (.npy, .png, .jpg, .tif)"

_PIECE = 32 << 20  # bytes of input and output at a time
_KNOWN = (".npy", *_images.PICTURES, *_images.TIFFS)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("input", type=Path, metavar="IN")
    parser.add_argument("output", type=Path, metavar="OUT")
    _options.add(parser)


def run(args: argparse.Namespace) -> None:
    for path in (args.input, args.output):
        if path.suffix.lower() not in _KNOWN:
            raise Usage(f"{path}: the name must end with one of {' '.join(_KNOWN)}")
    if not args.input.exists():
        raise Refused(f"{args.input} does not exist")
    if args.input.is_dir():
        raise Refused(f"{args.input} is a directory; name a file")
    is_picture = args.input.suffix.lower() in _images.PICTURES
    if is_picture and args.axes is None:
        args.axes = "0,1"
    operation, positional, kwargs = _options.operation(args)
    if (
        is_picture
        and args.window is not None
        and isinstance(positional[0], tuple)
        and len(positional[0]) == 1
    ):
        positional = (positional[0] * 2, *positional[1:])
    x = _npy.read(args.input) if args.input.suffix.lower() == ".npy" else _images.read(args.input)
    if not x.dtype.isnative and x.nbytes > _PIECE:
        raise Refused(
            f"{args.input} has another byte order, and is too large to convert as a whole"
        )
    plan, _ = operation._pool.plan(type_of(x.dtype), x.shape, positional, kwargs)
    if not x.dtype.isnative:
        x = x.astype(x.dtype.newbyteorder("="))
    with replacing(args.output) as path:
        if args.output.suffix.lower() == ".npy":
            y = _npy.create(path, plan.output_shape, dtype_of(plan.out_type))
            _fill(plan, x, y)
            if isinstance(y.base, np.memmap):
                y.base.flush()
        else:
            y = np.empty(plan.output_shape, dtype_of(plan.out_type))
            _fill(plan, x, y)
            _images.write(path, args.output, y)
    print(
        f"{args.input} {shape_text(x.shape)} -> {args.output} {shape_text(plan.output_shape)}",
        file=sys.stderr,
    )


def _fill(plan: _core.Plan, x: AnyArray, y: AnyArray) -> None:
    """Piece by piece along the first axis, each as a tile of the whole."""
    if y.size == 0:
        return
    with Progress(y.shape[0], "pooling") as progress:
        for begin, end, first, last in _pieces(plan, x, y):
            starts: Any = [0] * (x.ndim - 1)
            _core.forward_tile(
                plan, x[first:last], [first, *starts], y[begin:end], [begin, *starts]
            )
            progress.advance(end - begin)


def _pieces(plan: _core.Plan, x: AnyArray, y: AnyArray) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of outputs on the first axis, and of the cells that they need."""
    outputs = y.shape[0]
    each = max(1, outputs * _PIECE // max(1, x.nbytes + y.nbytes))
    for begin in range(0, outputs, each):
        end = min(outputs, begin + each)
        yield begin, end, *plan.cells_of(0, begin, end)
