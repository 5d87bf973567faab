"""The options that say what to pool, shared by the commands."""

from __future__ import annotations

import argparse
from typing import Any

import ndpool

from ._errors import Usage
from ._text import numbers, one_or_all

OPERATIONS = {"max": "max", "min": "min", "avg": "avg", "smooth": "smooth_max", "lp": "lp"}
_OF_OP = {
    "ties": ("max", "min"),
    "count_include_pad": ("avg", "smooth"),
    "divisor": ("avg",),
    "dtype": ("avg",),
    "beta": ("smooth",),
    "mean": ("smooth",),
    "p": ("lp",),
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--op", default="max", choices=OPERATIONS, help="operation (default: max)")
    parser.add_argument("--window", help="taps per axis: 3x3, or 3 with --axes")
    parser.add_argument("--stride", help="default: the window")
    parser.add_argument("--padding", default="0", help="1, 1x2, 1:2x0:1 (lo:hi), same, same_lower")
    parser.add_argument("--dilation", default="1")
    parser.add_argument("--rounding", default="floor", choices=("floor", "ceil", "exact"))
    parser.add_argument("--axes", help="0,1 or -1; a single positive number n: the last n axes")
    parser.add_argument("--adaptive", metavar="SIZE", help="outputs per axis: 7x7")
    parser.add_argument("--global", dest="whole", action="store_true", help="whole axes (--axes)")
    parser.add_argument("--ties", choices=("first", "last", "all", "split"))
    parser.add_argument("--empty", default="error", choices=("error", "identity"))
    parser.add_argument(
        "--no-pad-count", dest="count_include_pad", action="store_false", default=None,
        help="avg, smooth: padding does not count",
    )  # fmt: skip
    parser.add_argument("--divisor", type=int, help="avg: instead of the count")
    parser.add_argument("--dtype", help="avg: type of the result")
    parser.add_argument("--beta", type=float, help="smooth: sharpness (default 1)")
    parser.add_argument(
        "--mean", action="store_true", default=None, help="smooth: minus log(terms)"
    )
    parser.add_argument("--p", type=float, help="lp: exponent (default 2)")


def _axes(text: str | None) -> Any:
    if text is None:
        return None
    try:
        found = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise Usage(f"--axes {text!r} is not a list such as 0,1 or -1") from None
    return found[0] if len(found) == 1 and found[0] > 0 and "," not in text else found


def _padding(text: str) -> Any:
    if text in ("same", "same_lower", "valid"):
        return text
    if ":" not in text:
        return one_or_all(text, "--padding")
    pairs = [part.split(":") for part in text.split("x")]
    if any(len(pair) != 2 for pair in pairs):
        raise Usage(f"--padding {text!r}: give lo:hi on each axis, such as 1:2x0:1")
    return tuple((numbers(lo, "--padding")[0], numbers(hi, "--padding")[0]) for lo, hi in pairs)


def operation(args: argparse.Namespace) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The operation that the options name, and its arguments after x."""
    modes = [args.window is not None, args.adaptive is not None, args.whole]
    if sum(modes) != 1:
        raise Usage("give one of --window, --adaptive and --global")
    prefix = "global_" if args.whole else "" if args.adaptive is None else "adaptive_"
    chosen = getattr(ndpool, f"{prefix}{OPERATIONS[args.op]}_pool")
    kwargs: dict[str, Any] = {}
    axes = _axes(args.axes)
    if axes is not None:
        kwargs["axes"] = axes
    for name, ops in _OF_OP.items():
        value = getattr(args, name)
        if value is None:
            continue
        if args.op not in ops:
            raise Usage(f"--{name.replace('_', '-')} belongs to {' and '.join(ops)}, not {args.op}")
        kwargs[name] = value
    positional: tuple[Any, ...] = ()
    if args.window is not None:
        stride = None if args.stride is None else one_or_all(args.stride, "--stride")
        dilation = one_or_all(args.dilation, "--dilation")
        positional = (
            *(one_or_all(args.window, "--window"), stride, _padding(args.padding), dilation),
        )
        if isinstance(positional[0], int) and axes is None:
            positional = ((positional[0],), *positional[1:])
        kwargs["rounding"] = args.rounding
        if args.op != "lp" and args.empty != "error":
            kwargs["empty"] = args.empty
    else:
        for name in ("stride",):
            if getattr(args, name) is not None:
                raise Usage(f"--{name} belongs to --window")
        if args.padding != "0" or args.dilation != "1" or args.rounding != "floor":
            raise Usage("--padding, --dilation and --rounding belong to --window")
        if args.adaptive is not None:
            positional = (numbers(args.adaptive, "--adaptive"),)
        else:
            kwargs["keepdims"] = True
    return chosen, positional, kwargs
