"""The receptive field after each layer: how many input cells one output sees.

  ndpool rf conv3 pool2/2 conv3 pool2/2 conv3
  ndpool rf conv7/2+3 pool3/2+1 conv3x5+1x2@2 --input 224x224

A layer is KIND KERNEL [/STRIDE] [+PADDING] [@DILATION], numbers per axis joined by x. KIND is conv
or pool. Without a stride a convolution has 1, a pool its kernel.
"""

from __future__ import annotations

import argparse
import re
from typing import Any

import ndpool

from ._errors import Usage
from ._text import dump, numbers, shape_text, table

NAME = "rf"
HELP = "receptive field, jump and start after each layer"

_LAYER = re.compile(r"(conv|pool)([\dx]+)(?:/([\dx]+))?(?:\+([\dx]+))?(?:@([\dx]+))?")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "layers", nargs="+", metavar="layer", help="such as conv3, pool2/2, conv3+1@2"
    )
    parser.add_argument("--input", help="size of the input, to see sizes and coverage: 224x224")
    parser.add_argument("--json", action="store_true")


def layer(text: str) -> tuple[Any, ...]:
    found = _LAYER.fullmatch(text)
    if not found:
        raise Usage(f"layer {text!r} is not of the form conv3, pool2/2 or conv3x5/2x1+1@2")
    kind, kernel, stride, padding, dilation = found.groups()
    size = numbers(kernel, "kernel")
    usual = size if kind == "pool" else (1,)
    return (
        kind,
        size,
        numbers(stride, "stride") if stride else usual,
        numbers(padding, "padding") if padding else (0,),
        numbers(dilation, "dilation") if dilation else (1,),
    )


def _each(value: Any, axes: int) -> list[Any]:
    found = list(value) if isinstance(value, (tuple, list)) else [value]
    return found * axes if len(found) == 1 else found


def run(args: argparse.Namespace) -> None:
    layers = [layer(text) for text in args.layers]
    fields = ndpool.receptive_field(layers)
    sizes = None if args.input is None else list(numbers(args.input, "--input"))
    axes = max(len(v) for one in layers for v in one[1:])
    if sizes:
        if axes > 1 and len(sizes) not in (1, axes):
            raise Usage(f"--input {args.input} has {len(sizes)} axes, the layers have {axes}")
        axes = max(axes, len(sizes))
    start_sizes = _each(sizes, axes) if sizes else []
    now = list(start_sizes)
    rows, records = [], []
    for text, one, field in zip(args.layers, layers, fields):
        size, jump, start = (_each(v, axes) for v in field)
        record: dict[str, Any] = {"layer": text, "size": size, "jump": jump, "start": start}
        row = [text, shape_text(size), shape_text(jump), "x".join(f"{s:g}" for s in start)]
        if sizes:
            for i in range(axes):
                k, s, p, d = (_each(v, axes)[i] for v in one[1:])
                now[i] = ndpool.max_pool.output_shape((now[i],), (k,), s, p, d, empty="identity")[0]
            cover = [min(1.0, r / n) for r, n in zip(size, start_sizes)]
            record |= {"output": list(now), "coverage": cover}
            row += [shape_text(now), "x".join(f"{100 * c:.0f}%" for c in cover)]
        records.append(record)
        rows.append(row)
    if args.json:
        print(dump(records))
        return
    head = ["layer", "field", "jump", "start", *(["output", "coverage"] if sizes else [])]
    print(table(head, rows))
    print(
        "\nfield: input cells that one output sees; jump: cells from one field to the next;"
        "\nstart: the centre of the first field (the centre of cell 0 is 0)"
        + ("; coverage: field over input" if sizes else "")
    )
