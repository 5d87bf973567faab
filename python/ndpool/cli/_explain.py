"""The output shape with the numbers filled in, the three roundings side by side, and the plan.

ndpool explain "max f32 32x64x112x112 w3x3 s2 p1 ceil"
ndpool explain --op max --shape 32x64x112x112 --window 3x3 --stride 2 --padding 1
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np

from .. import _core
from .._arrays import WORDS, dtype_of, type_of
from .._errors import PoolError
from . import _options
from ._errors import Usage
from ._text import bytes_text, dump, numbers, shape_text, table

NAME = "explain"
HELP = "what a pooling gives and how it is computed"
_ROUNDINGS = ("floor", "ceil", "exact")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("line", nargs="?", help='a problem line: "max f32 4x8x8 w2x2"')
    parser.add_argument("--shape", help="of the input: 32x64x112x112")
    parser.add_argument("--type", default="float32", help="of the input (default: float32)")
    _options.add(parser)
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> None:
    options = (args.shape, args.window, args.adaptive, args.whole or None)
    if args.line is not None and any(option is not None for option in options):
        raise Usage("give a problem line or options, not both")
    if args.line is not None:
        plan = _core.parse(args.line)
    elif args.shape is not None:
        operation, positional, kwargs = _options.operation(args)
        tokens = operation._describe(*positional, **kwargs).tokens
        plan = _core.plan(tokens, type_of(args.type), numbers(args.shape, "--shape"))
    else:
        raise Usage('give a problem line such as "max f32 4x8x8 w2x2", or --shape and --window')
    record = describe(plan)
    print(dump(record) if args.json else text(plan, record))


def describe(plan: _core.Plan) -> dict[str, Any]:
    lo, hi = plan.padding
    outputs = {rounding: _outputs(plan, rounding) for rounding in _ROUNDINGS}
    size = {True: _bytes(plan.type), False: _bytes(plan.out_type)}
    axes = [
        {
            "axis": axis,
            "cells": n,
            "padding": [lo[axis], hi[axis]],
            "outputs": plan.output_shape[axis],
            "dropped": plan.dropped[axis],
            **{rounding: shape and shape[axis] for rounding, shape in outputs.items()},
        }
        for axis, n in enumerate(plan.input_shape)
    ]
    return {
        "line": plan.line,
        "input": list(plan.input_shape),
        "output": list(plan.output_shape),
        "type": WORDS[plan.type],
        "output_type": WORDS[plan.out_type],
        "argmax_type": WORDS[plan.argmax_type],
        "axes": axes,
        "bytes_read": math.prod(plan.input_shape) * size[True],
        "bytes_written": math.prod(plan.output_shape) * size[False],
        "plan": plan.explain(),
    }


def _bytes(number: int) -> int:
    return 2 if WORDS[number] == "bf16" else np.dtype(dtype_of(number)).itemsize


def _outputs(plan: _core.Plan, rounding: str) -> tuple[int, ...] | None:
    """The output shape under another rounding; None where it is refused."""
    words = [word for word in plan.line.split() if word not in _ROUNDINGS]
    if not any(word.startswith("w") for word in words[3:]):
        return plan.output_shape
    try:
        return _core.parse(" ".join([*words, rounding])).output_shape
    except PoolError:
        return None


def text(plan: _core.Plan, record: dict[str, Any]) -> str:
    head = ("axis", "cells", "padding", "outputs", "dropped", *_ROUNDINGS)
    rows = [
        [
            *(a["axis"], a["cells"], f"{a['padding'][0]}:{a['padding'][1]}"),
            *(a["outputs"], a["dropped"]),
            *("refused" if a[r] is None else a[r] for r in _ROUNDINGS),
        ]
        for a in record["axes"]
    ]
    read, written = record["bytes_read"], record["bytes_written"]
    return "\n".join(
        [
            f"{shape_text(record['input'])} -> {shape_text(record['output'])}",
            "",
            table(head, rows),
            "",
            record["plan"].rstrip(),
            f"  moves {bytes_text(read)} in and {bytes_text(written)} out; "
            f"compact argmax {record['argmax_type']}, flat index i64",
        ]
    )
