"""Pooling with derivatives of every kind in eager mode: reverse, forward, second order, vmap.

Operators of torch.library know no forward mode, and torch.compile no functions that have one. So
compiled code takes the operators, and everything else the functions here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from .._arguments import keeps
from . import _kernels as kernels
from . import _operators as operators
from ._maker import Maker
from ._operators import to_front

functorch = torch._C._functorch


def _compute(name: str, *args: Any) -> Tensor:
    """The kernel of that name, or the operator where batched gradients or tangents are mapped."""
    mapped = any(
        isinstance(t, Tensor)
        and (functorch.is_legacy_batchedtensor(t) or functorch.is_batchedtensor(t))
        for t in args
    )
    result: Tensor = getattr(operators if mapped else kernels, name)(*args)
    return result


class _Pool(Function):
    """y, and the argmax and index as far as they are wanted (else empty)."""

    @staticmethod
    def forward(x: Tensor, tokens: str, index: bool) -> tuple[Tensor, Tensor, Tensor]:
        y, argmax, places = kernels.pool(x, tokens, keeps(tokens) == "argmax", index)
        none = x.new_empty(0, dtype=torch.uint8)
        return y, none if argmax is None else argmax, none.clone() if places is None else places

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        x, ctx.tokens, _ = inputs
        _, argmax, places = output
        ctx.mark_non_differentiable(argmax, places)
        ctx.set_materialize_grads(False)
        ctx.shape = x.shape
        kept = {"argmax": argmax, "x": x, "": None}[keeps(ctx.tokens)]
        ctx.save_for_backward(kept)
        ctx.save_for_forward(kept)

    @staticmethod
    def backward(ctx: Any, g: Tensor | None, *_: Any) -> tuple[Tensor | None, None, None]:
        if g is None:
            return None, None, None
        (kept,) = ctx.saved_tensors
        return _Cotangent.apply(kept, g, ctx.tokens, ctx.shape), None, None

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, *_: Any) -> tuple[Tensor | None, None, None]:
        if dx is None:
            return None, None, None
        (kept,) = ctx.saved_tensors
        return _Tangent.apply(kept, dx, ctx.tokens), None, None

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, tokens: str, index: bool) -> Any:
        y, argmax, places = _Pool.apply(to_front(x, in_dims[0], info.batch_size), tokens, index)
        dims = (0, 0 if argmax.dim() == y.dim() else None, 0 if index else None)
        return (y, argmax, places), dims


class _Cotangent(Function):
    """Jᵀ·g: linear in g, and for smooth max and Lp not linear in what was kept, x."""

    @staticmethod
    def forward(kept: Tensor | None, g: Tensor, tokens: str, shape: Sequence[int]) -> Tensor:
        return _compute("cotangent", kept, g, tokens, shape)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        kept, g, ctx.tokens, ctx.shape = inputs
        ctx.save_for_backward(kept, g)
        ctx.save_for_forward(kept, g)

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> tuple[Tensor | None, Tensor, None, None]:
        kept, g = ctx.saved_tensors
        of_x = None
        if kernels.has_second_order(ctx.tokens) and ctx.needs_input_grad[0]:
            of_x = _Second.apply(kept, g, gg, ctx.tokens)
        return of_x, _Tangent.apply(kept, gg, ctx.tokens), None, None

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, dg: Tensor | None, *_: Any) -> Tensor:
        kept, g = ctx.saved_tensors
        parts = []
        if dg is not None:
            parts.append(_Cotangent.apply(kept, dg, ctx.tokens, ctx.shape))
        if dx is not None and kernels.has_second_order(ctx.tokens):
            parts.append(_Second.apply(kept, g, dx, ctx.tokens))
        return sum(parts[1:], parts[0]) if parts else g.new_zeros(ctx.shape)

    @staticmethod
    def vmap(info: Any, in_dims: Any, kept: Any, g: Tensor, tokens: str, shape: Any) -> Any:
        moved = [to_front(x, dim, info.batch_size) for x, dim in zip((kept, g), in_dims)]
        return _Cotangent.apply(*moved, tokens, (info.batch_size, *shape)), 0


class _Tangent(Function):
    """J·dx: linear in dx."""

    @staticmethod
    def forward(kept: Tensor | None, dx: Tensor, tokens: str) -> Tensor:
        return _compute("tangent", kept, dx, tokens)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        kept, dx, ctx.tokens = inputs
        ctx.shape = dx.shape
        ctx.save_for_backward(kept, dx)
        ctx.save_for_forward(kept, dx)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, Tensor, None]:
        kept, dx = ctx.saved_tensors
        of_x = None
        if kernels.has_second_order(ctx.tokens) and ctx.needs_input_grad[0]:
            of_x = _Second.apply(kept, g, dx, ctx.tokens)
        return of_x, _Cotangent.apply(kept, g, ctx.tokens, ctx.shape), None

    @staticmethod
    def jvp(ctx: Any, v: Tensor | None, ddx: Tensor | None, *_: Any) -> Tensor:
        kept, dx = ctx.saved_tensors
        if v is not None and kernels.has_second_order(ctx.tokens):
            raise NotImplementedError(
                "forward mode over forward mode of smooth max and Lp; "
                "use forward over reverse: torch.func.jacfwd(torch.func.jacrev(f))"
            )
        if ddx is None:
            return _Tangent.apply(kept, torch.zeros_like(dx), ctx.tokens)
        return _Tangent.apply(kept, ddx, ctx.tokens)

    @staticmethod
    def vmap(info: Any, in_dims: Any, kept: Any, dx: Tensor, tokens: str) -> Any:
        moved = [to_front(x, dim, info.batch_size) for x, dim in zip((kept, dx), in_dims)]
        return _Tangent.apply(*moved, tokens), 0


class _Second(Function):
    """The second-order product. It has no derivative of its own."""

    @staticmethod
    def forward(x: Tensor, g: Tensor, v: Tensor, tokens: str) -> Tensor:
        return _compute("second", x, g, v, tokens)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        raise NotImplementedError("ndpool has no third derivatives of smooth max and Lp")

    jvp = backward

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, g: Tensor, v: Tensor, tokens: str) -> Any:
        moved = [to_front(t, dim, info.batch_size) for t, dim in zip((x, g, v), in_dims)]
        return _Second.apply(*moved, tokens), 0


class _Unpool(Function):
    """Each y at its index: linear in y."""

    @staticmethod
    def forward(y: Tensor, index: Tensor, shape: Sequence[int], axes: int) -> Tensor:
        return _compute("unpool", y, index, shape, axes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        _, index, ctx.shape, ctx.axes = inputs
        ctx.save_for_backward(index)
        ctx.save_for_forward(index)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor, None, None, None]:
        return _UnpoolVjp.apply(g, ctx.saved_tensors[0], ctx.axes), None, None, None

    @staticmethod
    def jvp(ctx: Any, dy: Tensor, *_: Any) -> Tensor:
        return _Unpool.apply(dy, ctx.saved_tensors[0], ctx.shape, ctx.axes)

    @staticmethod
    def vmap(info: Any, in_dims: Any, y: Tensor, index: Tensor, shape: Any, axes: int) -> Any:
        moved = [to_front(t, dim, info.batch_size) for t, dim in zip((y, index), in_dims)]
        return _Unpool.apply(*moved, (info.batch_size, *shape), axes), 0


class _UnpoolVjp(Function):
    """What lies at each index: linear in g."""

    @staticmethod
    def forward(g: Tensor, index: Tensor, axes: int) -> Tensor:
        return _compute("unpool_vjp", g, index, axes)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        g, index, ctx.axes = inputs
        ctx.shape = g.shape
        ctx.save_for_backward(index)
        ctx.save_for_forward(index)

    @staticmethod
    def backward(ctx: Any, gg: Tensor) -> tuple[Tensor, None, None]:
        return _Unpool.apply(gg, ctx.saved_tensors[0], ctx.shape, ctx.axes), None, None

    @staticmethod
    def jvp(ctx: Any, dg: Tensor, *_: Any) -> Tensor:
        return _UnpoolVjp.apply(dg, ctx.saved_tensors[0], ctx.axes)

    @staticmethod
    def vmap(info: Any, in_dims: Any, g: Tensor, index: Tensor, axes: int) -> Any:
        moved = [to_front(t, dim, info.batch_size) for t, dim in zip((g, index), in_dims)]
        return _UnpoolVjp.apply(*moved, axes), 0


_PLAIN = (Tensor, torch.nn.Parameter)


def _traced(*tensors: Tensor) -> bool:
    """Whether there may be no data to look at: compiled, exported, or a subclass of Tensor."""
    return torch.compiler.is_compiling() or any(type(t) not in _PLAIN for t in tensors)


def _transformed() -> bool:
    """Whether torch.func or forward mode is at work."""
    return functorch.peek_interpreter_stack() is not None or forward_ad._current_level >= 0


def pool(
    x: Tensor, maker: Maker, args: tuple[Any, ...], kwargs: dict[str, Any], index: bool = False
) -> tuple[Tensor, Tensor | None]:
    """y, and the flat index of the winners if wanted."""
    if _traced(x):
        tokens = maker.tokens(x, args, kwargs)
        if index:
            y, _, places = operators.pool_index(x, tokens)
            return y, places
        if keeps(tokens) == "argmax":
            return operators.pool_argmax(x, tokens)[0], None
        return operators.pool(x, tokens), None
    if _transformed() or (x.requires_grad and torch.is_grad_enabled()):
        y, _, places = _Pool.apply(x, maker.tokens(x, args, kwargs), index)
        return y, places if index else None
    y, _, wanted = kernels.run_pool(x, maker.plan(x, args, kwargs), False, index)
    return y, wanted


def unpool(y: Tensor, index: Tensor, shape: Sequence[int], axes: int) -> Tensor:
    """Each y at its index over the last axes."""
    if _traced(y, index):
        result: Tensor = operators.unpool(y, index, shape, axes)
        return result
    result = _Unpool.apply(y, index, tuple(shape), axes)
    return result
