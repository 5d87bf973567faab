"""The engine on CPU tensors: memory in place, the layout of x kept, torch's number of threads.

``tokens`` is a pooling without type and shape, such as "max w2x2 axes=-2,-1"; pooled axes are
counted from the end, so that more leading axes change nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _core
from .._arguments import keeps
from .._arrays import TYPE_OF_NAME
from .._errors import PoolError

TYPES = {getattr(torch, name): number for name, number in TYPE_OF_NAME.items()}
DTYPES = {number: dtype for dtype, number in TYPES.items()}


_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


class TorchPoolError(PoolError, RuntimeError):
    """A refused call; a RuntimeError too, as torch's own refusals are."""


def type_of(x: Tensor, name: str = "input") -> int:
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a Tensor, not {type(x).__name__}")
    if x.dtype not in TYPES:
        raise TypeError(f"{name} has type {x.dtype}, which ndpool does not have")
    if x.device.type not in ("cpu", "meta"):
        raise TorchPoolError(f"{name} is on {x.device}; ndpool runs on the CPU: use {name}.cpu()")
    if x.layout is not torch.strided or x.is_nested:
        raise TorchPoolError(f"{name} is {x.layout}; ndpool needs a dense tensor: to_dense()")
    return TYPES[x.dtype]


def plan_of(x: Tensor, tokens: str) -> _core.Plan:
    return _plan(tokens, type_of(x), x.shape)


def _plan(tokens: str, number: int, shape: Sequence[int]) -> _core.Plan:
    try:
        return _core.plan(tokens, number, [int(size) for size in shape])
    except PoolError as error:
        raise TorchPoolError(str(error)) from None


def memory(x: Tensor) -> tuple[int, int, tuple[int, ...], tuple[int, ...]]:
    """As the engine's core takes it: address, type, shape, strides in bytes."""
    size = x.element_size()
    return x.data_ptr(), TYPES[x.dtype], tuple(x.shape), tuple(s * size for s in x.stride())


def empty_like(x: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """A new tensor in the memory format of x: channels last stay last."""
    if not x.is_contiguous():
        form = _LAST.get(x.dim())
        if form is not None and len(shape) == x.dim() and x.is_contiguous(memory_format=form):
            return torch.empty(tuple(shape), dtype=dtype, device=x.device, memory_format=form)
    return torch.empty(shape, dtype=dtype, device=x.device)


def _run(function: Any, plan: _core.Plan, *tensors: Tensor | None) -> None:
    held = [None if t is None else t.resolve_neg() for t in tensors]  # while the engine reads them
    args = [None if t is None else memory(t) for t in held]
    if not any(t is not None and t.is_meta for t in held):
        function(plan, *args, threads=torch.get_num_threads())


def pool(
    x: Tensor, tokens: str, argmax: bool = False, index: bool = False
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """y, and if wanted the compact argmax and the flat index."""
    return run_pool(x, plan_of(x, tokens), argmax, index)


def run_pool(
    x: Tensor, plan: _core.Plan, argmax: bool, index: bool
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    shape = plan.output_shape
    y = empty_like(x, shape, DTYPES[plan.out_type])
    taps = empty_like(x, shape, DTYPES[plan.argmax_type]) if argmax else None
    places = empty_like(x, shape, torch.int64) if index else None
    _run(_core.forward, plan, x, y, taps, places)
    return y, taps, places


def tangent(kept: Tensor | None, dx: Tensor, tokens: str) -> Tensor:
    """J·dx, from what the forward call kept: the compact argmax, x, or nothing."""
    plan = plan_of(dx, tokens)
    dy = empty_like(dx, plan.output_shape, DTYPES[plan.out_type])
    if keeps(tokens) == "argmax":
        _run(_core.jvp_argmax, plan, kept, dx, dy)
    else:
        _run(_core.jvp, plan, kept, dx, None, dy)
    return dy


def cotangent(kept: Tensor | None, g: Tensor, tokens: str, shape: Sequence[int]) -> Tensor:
    """Jᵀ·g, from what the forward call kept."""
    plan = _plan(tokens, type_of(g), shape)
    dx = empty_like(g, shape, g.dtype)
    _run(_core.vjp_argmax if keeps(tokens) == "argmax" else _core.vjp, plan, kept, g, dx)
    return dx


def second(x: Tensor, g: Tensor, v: Tensor, tokens: str) -> Tensor:
    """The derivative in x of ⟨v, Jᵀ(x)·g⟩: smooth max and Lp."""
    plan = plan_of(x, tokens)
    hx = empty_like(x, x.shape, x.dtype)
    _run(_core.hvp, plan, x, g, v, hx)
    return hx


def unpool(y: Tensor, index: Tensor, shape: Sequence[int], axes: int) -> Tensor:
    """Each y at its index over the last axes."""
    type_of(y)
    out = empty_like(y, shape, y.dtype)
    return _unpooled(_core.unpool, y, index, out, axes)


def unpool_vjp(g: Tensor, index: Tensor, axes: int) -> Tensor:
    """What lies at each index."""
    return _unpooled(_core.unpool_vjp, g, index, empty_like(g, index.shape, g.dtype), axes)


def _unpooled(function: Any, source: Tensor, index: Tensor, target: Tensor, axes: int) -> Tensor:
    if source.device.type == "meta":
        return target
    source = source.resolve_neg()
    try:
        function(
            *(memory(source), memory(index), memory(target)),
            list(range(-axes, 0)),
            threads=torch.get_num_threads(),
        )
    except PoolError as error:
        raise TorchPoolError(str(error)) from None
    return target


def has_second_order(tokens: str) -> bool:
    return tokens.startswith(("smooth", "lp"))
