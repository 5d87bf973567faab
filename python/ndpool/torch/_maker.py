"""From the arguments of a call to the tokens of its plan."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .. import _core
from .._arguments import Described
from .._errors import PoolError
from ._kernels import TorchPoolError, type_of


class Maker:
    """describe(*args, **kwargs), with plans that are found again by their arguments."""

    def __init__(self, describe: Callable[..., Described]) -> None:
        self._describe = describe
        self._pool = _core.Pool(describe, lambda x: x)

    def plan(self, x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _core.Plan:
        try:
            return self._pool.plan(type_of(x), x.shape, args, kwargs)[0]
        except PoolError as error:
            raise TorchPoolError(str(error)) from None

    def tokens(self, x: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """The tokens for x, its axes counted from the end, so that vmap may put axes in front."""
        if torch.compiler.is_compiling():
            tokens: str = _constant_tokens(self._describe, x.dim(), args, tuple(kwargs.items()))
            return tokens
        return from_the_end(self.plan(x, args, kwargs).tokens, x.dim())

    def dropped(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[int, ...]:
        """The axes that the result does not keep."""
        if torch.compiler.is_compiling():
            dropped: tuple[int, ...] = _constant_dropped(
                self._describe, args, tuple(kwargs.items())
            )
            return dropped
        return self._describe(*args, **kwargs).dropped


@torch.compiler.assume_constant_result
def _constant_tokens(describe: Callable[..., Described], rank: int, args: Any, kwargs: Any) -> str:
    return from_the_end(describe(*args, **dict(kwargs)).tokens, rank)


@torch.compiler.assume_constant_result
def _constant_dropped(
    describe: Callable[..., Described], args: Any, kwargs: Any
) -> tuple[int, ...]:
    return describe(*args, **dict(kwargs)).dropped


@functools.lru_cache(maxsize=4096)
def from_the_end(tokens: str, rank: int) -> str:
    words = tokens.split()
    for i, word in enumerate(words):
        if word.startswith("axes="):
            axes = [int(axis) for axis in word[5:].split(",")]
            words[i] = "axes=" + ",".join(str(x - rank if x >= 0 else x) for x in axes)
    return " ".join(words)
