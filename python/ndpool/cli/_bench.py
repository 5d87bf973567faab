"""This machine in a minute: the limit of memory, ndpool, and what else is installed.

The limit reads every input byte once and writes every output byte once, as fast as NumPy does.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import ndpool

from ._text import dump, table

NAME = "bench"
HELP = "how fast pooling is on this machine"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch", type=int, default=8, help="of 64x112x112 maps (default: 8)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")


def _peers(x: Any) -> dict[str, tuple[Callable[[], Any] | None, Callable[[], Any]]]:
    """For each library: max 2x2 and average 2x2 of x."""
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
    out = np.empty((n, c, h // 2, w // 2), x.dtype)
    found: dict[str, tuple[Callable[[], Any] | None, Callable[[], Any]]] = {
        "ndpool": (
            lambda: ndpool.max_pool(x, (2, 2), out=out),
            lambda: ndpool.avg_pool(x, (2, 2), out=out),
        ),
        "numpy": (lambda: blocks.max((3, 5)), lambda: blocks.mean((3, 5))),
    }
    try:
        import torch
        import torch.nn.functional as functional

        torch.set_num_threads(ndpool.get_num_threads())
        tensor = torch.from_numpy(x)
        found["torch"] = (
            lambda: functional.max_pool2d(tensor, 2),
            lambda: functional.avg_pool2d(tensor, 2),
        )
    except ImportError:
        pass
    try:
        import onnxruntime

        session = {
            kind: onnxruntime.InferenceSession(_onnx(kind, x.shape))
            for kind in ("MaxPool", "AveragePool")
        }
        found["onnxruntime"] = (
            lambda: session["MaxPool"].run(None, {"x": x}),
            lambda: session["AveragePool"].run(None, {"x": x}),
        )
    except ImportError:
        pass
    try:
        import cv2

        half = (w // 2, h // 2)
        planes = x.reshape(-1, h, w)
        found["opencv"] = (
            None,  # it has no max of blocks
            lambda: [cv2.resize(p, half, interpolation=cv2.INTER_AREA) for p in planes],
        )
    except ImportError:
        pass
    return found


def _onnx(kind: str, shape: tuple[int, ...]) -> bytes:
    """A model of one 2x2 pool."""
    from onnx import TensorProto, helper

    out = [*shape[:2], shape[2] // 2, shape[3] // 2]
    node = helper.make_node(kind, ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])
    graph = helper.make_graph(
        [node],
        "pool",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, out)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    serialized: bytes = model.SerializeToString()
    return serialized


def _limit(x: Any) -> Callable[[], Any]:
    quarter = x.reshape(-1)[: x.size // 4]
    out = np.empty_like(quarter)

    def move() -> None:
        np.copyto(out, quarter)
        x.max()

    return move


def measure(batch: int, rounds: int) -> list[dict[str, Any]]:
    x = np.random.default_rng(0).standard_normal((batch, 64, 112, 112), dtype=np.float32)
    calls: dict[tuple[str, str], Callable[[], Any]] = {("limit", "max"): _limit(x)}
    calls[("limit", "avg")] = calls[("limit", "max")]
    for name, (largest, mean) in _peers(x).items():
        if largest is not None:
            calls[(name, "max")] = largest
        calls[(name, "avg")] = mean
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for key, call in calls.items():
            start = time.perf_counter()
            call()
            best[key] = min(best[key], time.perf_counter() - start)
    records = []
    for name in dict.fromkeys(name for name, _ in calls):
        record: dict[str, Any] = {"library": name}
        for op in ("max", "avg"):
            seconds = best.get((name, op))
            record[f"{op}_ms"] = None if seconds is None else seconds * 1e3
            record[f"{op}_to_ndpool"] = None if seconds is None else seconds / best[("ndpool", op)]
        records.append(record)
    return records


def run(args: argparse.Namespace) -> None:
    records = measure(args.batch, args.rounds)
    if args.json:
        print(dump(records))
        return
    columns = [f"{op}_{kind}" for op in ("max", "avg") for kind in ("ms", "to_ndpool")]
    rows = [
        [r["library"], *("-" if r[c] is None else f"{r[c]:.2f}" for c in columns)] for r in records
    ]
    print(
        f"2x2 pooling of {args.batch}x64x112x112 float32, {ndpool.get_num_threads()} threads, "
        f"best of {args.rounds}"
    )
    print(table(("library", "max, ms", "/ ndpool", "average, ms", "/ ndpool"), rows))
