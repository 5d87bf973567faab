"""The operators torch.ops.ndpool.*: what torch.compile and torch.export see of a pooling.

Each has a fake (shapes without data), a rule for vmap, and a derivative that is made of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .._arguments import keeps
from . import _kernels as kernels

custom_op = torch.library.custom_op


@custom_op("ndpool::pool", mutates_args=())
def pool(x: Tensor, tokens: str) -> Tensor:
    return kernels.pool(x, tokens)[0]


@custom_op("ndpool::pool_argmax", mutates_args=())
def pool_argmax(x: Tensor, tokens: str) -> tuple[Tensor, Tensor]:
    y, argmax, _ = kernels.pool(x, tokens, argmax=True)
    assert argmax is not None
    return y, argmax


@custom_op("ndpool::pool_index", mutates_args=())
def pool_index(x: Tensor, tokens: str) -> tuple[Tensor, Tensor, Tensor]:
    y, argmax, index = kernels.pool(x, tokens, argmax=True, index=True)
    assert argmax is not None and index is not None
    return y, argmax, index


@custom_op("ndpool::tangent", mutates_args=())
def tangent(kept: Tensor | None, dx: Tensor, tokens: str) -> Tensor:
    return kernels.tangent(kept, dx, tokens)


@custom_op("ndpool::cotangent", mutates_args=())
def cotangent(kept: Tensor | None, g: Tensor, tokens: str, shape: Sequence[int]) -> Tensor:
    return kernels.cotangent(kept, g, tokens, shape)


@custom_op("ndpool::second", mutates_args=())
def second(x: Tensor, g: Tensor, v: Tensor, tokens: str) -> Tensor:
    return kernels.second(x, g, v, tokens)


@custom_op("ndpool::unpool", mutates_args=())
def unpool(y: Tensor, index: Tensor, shape: Sequence[int], axes: int) -> Tensor:
    return kernels.unpool(y, index, shape, axes)


@custom_op("ndpool::unpool_vjp", mutates_args=())
def unpool_vjp(g: Tensor, index: Tensor, axes: int) -> Tensor:
    return kernels.unpool_vjp(g, index, axes)


# ---- Shapes without data ------------------------------------------------------------------------


def _outputs(x: Tensor, tokens: str, *more: torch.dtype | None) -> list[Tensor]:
    plan = kernels.plan_of(x, tokens)
    types = [kernels.DTYPES[plan.out_type]]
    types += [kernels.DTYPES[plan.argmax_type] if dtype is None else dtype for dtype in more]
    return [kernels.empty_like(x, plan.output_shape, dtype) for dtype in types]


pool.register_fake(lambda x, tokens: _outputs(x, tokens)[0])
pool_argmax.register_fake(lambda x, tokens: tuple(_outputs(x, tokens, None)))
pool_index.register_fake(lambda x, tokens: tuple(_outputs(x, tokens, None, torch.int64)))
tangent.register_fake(lambda kept, dx, tokens: _outputs(dx, tokens)[0])
cotangent.register_fake(lambda kept, g, tokens, shape: kernels.empty_like(g, shape, g.dtype))
second.register_fake(lambda x, g, v, tokens: kernels.empty_like(x, x.shape, x.dtype))
unpool.register_fake(lambda y, index, shape, axes: kernels.empty_like(y, shape, y.dtype))
unpool_vjp.register_fake(lambda g, index, axes: kernels.empty_like(g, index.shape, g.dtype))


# ---- Derivatives --------------------------------------------------------------------------------


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    x, ctx.tokens = inputs
    ctx.shape = x.shape
    kept = keeps(ctx.tokens)
    ctx.save_for_backward(x if kept == "x" else output[1] if kept == "argmax" else None)
    ctx.set_materialize_grads(False)


def _back(ctx: Any, g: Tensor | None, *_: Any) -> tuple[Tensor | None, None]:
    if g is None:
        return None, None
    (kept,) = ctx.saved_tensors
    return cotangent(kept, g, ctx.tokens, ctx.shape), None


for _forward in (pool, pool_argmax, pool_index):
    _forward.register_autograd(_back, setup_context=_keep)


def _keep_cotangent(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    kept, g, ctx.tokens, _ = inputs
    ctx.save_for_backward(kept, g)


def _back_cotangent(ctx: Any, gg: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
    kept, g = ctx.saved_tensors
    of_x = second(kept, g, gg, ctx.tokens) if kernels.has_second_order(ctx.tokens) else None
    return of_x, tangent(kept, gg, ctx.tokens), None, None


cotangent.register_autograd(_back_cotangent, setup_context=_keep_cotangent)


def _keep_tangent(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    kept, dx, ctx.tokens = inputs
    ctx.shape = dx.shape
    ctx.save_for_backward(kept, dx)


def _back_tangent(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor, None]:
    kept, dx = ctx.saved_tensors
    of_x = second(kept, g, dx, ctx.tokens) if kernels.has_second_order(ctx.tokens) else None
    return of_x, cotangent(kept, g, ctx.tokens, ctx.shape), None


tangent.register_autograd(_back_tangent, setup_context=_keep_tangent)


def _keep_unpool(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, index, _, ctx.axes = inputs
    ctx.save_for_backward(index)


def _back_unpool(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
    return unpool_vjp(g, ctx.saved_tensors[0], ctx.axes), None, None, None


unpool.register_autograd(_back_unpool, setup_context=_keep_unpool)


def _keep_unpool_vjp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    g, index, ctx.axes = inputs
    ctx.shape = g.shape
    ctx.save_for_backward(index)


def _back_unpool_vjp(ctx: Any, gg: Tensor) -> tuple[Tensor, None, None]:
    return unpool(gg, ctx.saved_tensors[0], ctx.shape, ctx.axes), None, None


unpool_vjp.register_autograd(_back_unpool_vjp, setup_context=_keep_unpool_vjp)


# ---- vmap: one more leading axis ----------------------------------------------------------------


def to_front(x: Tensor | None, dim: int | None, size: int) -> Tensor | None:
    """With the mapped axis first; a tensor that is not mapped is repeated."""
    if x is None:
        return None
    return x.expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def _mapped(
    op: Callable[..., Any], tensors: int, shape_at: int | None = None
) -> Callable[..., Any]:
    def rule(info: Any, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        moved: list[Any] = [
            to_front(x, dim, info.batch_size) for x, dim in zip(args[:tensors], in_dims[:tensors])
        ]
        rest = list(args[tensors:])
        if shape_at is not None:
            rest[shape_at] = [info.batch_size, *rest[shape_at]]
        result = op(*moved, *rest)
        return result, (0,) * len(result) if isinstance(result, tuple) else 0

    return rule


pool.register_vmap(_mapped(pool, 1))
pool_argmax.register_vmap(_mapped(pool_argmax, 1))
pool_index.register_vmap(_mapped(pool_index, 1))
tangent.register_vmap(_mapped(tangent, 2))
cotangent.register_vmap(_mapped(cotangent, 2, 1))
second.register_vmap(_mapped(second, 3))
unpool.register_vmap(_mapped(unpool, 2, 0))
unpool_vjp.register_vmap(_mapped(unpool_vjp, 2))
