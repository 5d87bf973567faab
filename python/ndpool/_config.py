"""Threads, and what a bug report should say."""

from __future__ import annotations

import platform
import sys

import numpy as np

from . import _core
from ._arguments import integer


def set_num_threads(n: int) -> None:
    """Threads for calls from now on; 0 for the default: NDPOOL_NUM_THREADS, else all processors."""
    _core.set_num_threads(integer(n, "n"))


def get_num_threads() -> int:
    """How many threads calls use."""
    return _core.get_num_threads()


def show_config() -> None:
    """Prints what a bug report should say."""
    print(f"ndpool   {_core.version()}")
    print(f"targets  {' '.join(_core.targets())} (the first is used)")
    print(f"threads  {_core.get_num_threads()}")
    print(f"python   {sys.version.split()[0]} on {platform.platform()}")
    print(f"numpy    {np.__version__}")
