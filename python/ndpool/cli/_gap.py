"""What global average pooling saves: a classifier on one number per channel instead of all cells.

ndpool gap 4x32x7x7 --classes 1000
"""

from __future__ import annotations

import argparse
import math

from ._errors import Refused
from ._text import dump, numbers, shape_text, table

NAME = "gap"
HELP = "what global average pooling saves against flattening"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shape", help="of the feature maps: batch x channels x size...: 4x32x7x7")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--json", action="store_true")


def run(args: argparse.Namespace) -> None:
    shape = numbers(args.shape, "shape")
    if len(shape) < 3 or min(shape) < 1 or args.classes < 1:
        raise Refused(
            f"{args.shape} with {args.classes} classes: give batch, channels and at least one "
            "size, all at least 1"
        )
    batch, channels, *sizes = shape
    flat = channels * math.prod(sizes)
    rows = []
    for name, features in (("flatten", flat), ("global average", channels)):
        parameters = (features + 1) * args.classes
        rows.append((name, shape_text((batch, features)), features, parameters))
    saved = 100 * (flat - channels) / flat
    if args.json:
        keys = ("method", "output", "features", "parameters")
        print(dump({"methods": [dict(zip(keys, r)) for r in rows], "saved_percent": saved}))
        return
    print(table(("method", "output", "features", "classifier parameters"), rows))
    print(
        f"\nGlobal average pooling saves {saved:.0f} % of the classifier's weights: "
        f"{channels} features per image instead of {flat}."
    )
