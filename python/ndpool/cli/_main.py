"""Words in, exit codes out: 0 done, 1 failed, 2 wrong usage, 3 input refused, 130 interrupted."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import ndpool

from . import _bench, _completion, _demo, _explain, _gap, _pool, _rf, _show
from ._errors import Failed, Refused, Usage

_COMMANDS = (_pool, _explain, _rf, _show, _gap, _bench, _demo, _completion)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="ndpool",
        description="Pooling over any number of axes: on files, explained, drawn, measured.",
        epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 3 input refused, 130 interrupted.",
    )
    top.add_argument("--version", action="version", version=f"ndpool {ndpool.__version__}")
    commands = top.add_subparsers(metavar="command", required=True)
    for module in _COMMANDS:
        sub = commands.add_parser(
            module.NAME,
            help=module.HELP,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(sub)
        sub.set_defaults(run=module.run, parser=sub, top=top)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    args = parser().parse_args(argv)
    try:
        args.run(args)
        sys.stdout.flush()
        return 0
    except Usage as error:
        print(f"ndpool {args.parser.prog.split()[-1]}: {error}", file=sys.stderr)
        return 2
    except (Refused, ndpool.PoolError, TypeError) as error:
        print(f"ndpool: {error}", file=sys.stderr)
        return 3
    except (Failed, OSError, MemoryError) as error:
        text = str(error)
        if isinstance(error, OSError) and error.filename is not None:
            text = f"{error.strerror}: {error.filename}"
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        print(f"ndpool: {text or 'not enough memory'}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("ndpool: interrupted", file=sys.stderr)
        return 130
