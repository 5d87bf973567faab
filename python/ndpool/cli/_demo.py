"""A demonstration: pictures and tables of what pooling does, in a folder."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import ndpool

from . import _bench, _figures, _gap, _rf
from ._errors import Failed
from ._show import _print, feature_map, save

NAME = "demo"
HELP = "pictures, tables and a measured line, to begin with"

_LAYERS = ["conv3", "pool2/2", "conv3", "pool2/2", "conv3"]


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="default: demo")


def _say(text: str) -> None:
    print(f"\n\x1b[1m{text}\x1b[0m" if _bold() else f"\n{text}", flush=True)


def _bold() -> bool:
    from ._terminal import colours

    return colours()


def run(args: argparse.Namespace) -> None:
    folder: Path = args.folder
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []

    def keep(figure: object, name: str) -> None:
        save(figure, folder / name)
        made.append(folder / name)

    x = feature_map()
    _say("1. A bright block in noise, pooled by 2x2")
    _print(x, (2, 2), (2, 2))
    keep(
        _figures.side_by_side(
            x,
            (2, 2),
            (2, 2),
            {
                "max": ndpool.max_pool,
                "average": ndpool.avg_pool,
                "smooth max, β = 2,": partial(ndpool.smooth_max_pool, beta=2.0, mean=True),
            },
            gradient=True,
        ),
        "feature-map.png",
    )
    _say("2. A photograph, shrunk by each operation")
    keep(_figures.photograph(_portrait(), 8), "photograph.png")
    print(f"{made[-1]}: max keeps the brightest cell, the average the mean, smooth max is between")
    _say("3. How much of the input one output sees")
    _rf.run(argparse.Namespace(layers=_LAYERS, input=None, json=False))
    sizes = [f.size for f in ndpool.receptive_field([_rf.layer(text) for text in _LAYERS])]
    keep(_figures.fields(list(zip(_LAYERS, sizes))), "receptive-field.png")
    _say("4. What global average pooling saves")
    _gap.run(argparse.Namespace(shape="4x32x7x7", classes=1000, json=False))
    _say("5. Where the gradient goes when cells are equally large")
    keep(_figures.ties(), "ties.png")
    print(f"{made[-1]}: to the first winner, the last, all of them, or shared between them")
    _say("6. How fast it is here")
    records = {r["library"]: r for r in _bench.measure(4, 5)}
    ours, theirs = records["ndpool"]["max_ms"], records["numpy"]["max_ms"]
    print(
        f"2x2 max of 4x64x112x112 float32: ndpool {ours:.2f} ms, NumPy {theirs:.1f} ms: "
        f"{theirs / ours:.0f} times as fast"
    )
    _say("Pictures")
    for path in made:
        print(path)


def _portrait() -> np.ndarray:
    """The photograph that matplotlib carries, in grey."""
    try:
        from matplotlib import cbook
        from PIL import Image
    except ImportError:
        raise Failed(
            "the demonstration needs matplotlib and Pillow: pip install 'ndpool[plot]'"
        ) from None
    file: Any = cbook.get_sample_data("grace_hopper.jpg")
    with file, Image.open(file) as image:
        return np.asarray(image.convert("L"))
