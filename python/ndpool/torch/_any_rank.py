"""ndpool's own operations on tensors, over any axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .. import _operations
from .._operation import Operation
from . import _autograd as autograd
from ._kernels import type_of
from ._maker import Maker


def _on_tensors(operation: Operation[Any]) -> Callable[..., Any]:
    maker = Maker(operation._describe)
    is_global = operation.__name__.startswith("global")

    def pooled(
        x: Tensor, *args: Any, return_indices: bool = False, out: None = None, **kwargs: Any
    ) -> Any:
        if out is not None:
            raise TypeError("out= is for NumPy arrays; tensors are returned")
        type_of(x, "x")
        if isinstance(kwargs.get("dtype"), torch.dtype):
            kwargs["dtype"] = str(kwargs["dtype"]).removeprefix("torch.")
        y, index = autograd.pool(x, maker, args, kwargs, return_indices)
        dropped = maker.dropped(args, kwargs) if is_global else ()
        if dropped:
            axes = {axis % x.dim() for axis in dropped}
            shape = [n for axis, n in enumerate(y.shape) if axis not in axes]
            y = y.reshape(shape)
            index = None if index is None else index.reshape(shape)
        return (y, index) if return_indices else y

    pooled.__name__ = pooled.__qualname__ = operation.__name__
    pooled.__doc__ = f"ndpool.{operation.__name__} on tensors, differentiable.\n\n" + str(
        operation.__doc__
    )
    pooled.__signature__ = operation.__signature__  # type: ignore[attr-defined]
    return pooled


max_pool = _on_tensors(_operations.max_pool)
min_pool = _on_tensors(_operations.min_pool)
avg_pool = _on_tensors(_operations.avg_pool)
smooth_max_pool = _on_tensors(_operations.smooth_max_pool)
lp_pool = _on_tensors(_operations.lp_pool)
global_max_pool = _on_tensors(_operations.global_max_pool)
global_min_pool = _on_tensors(_operations.global_min_pool)
global_avg_pool = _on_tensors(_operations.global_avg_pool)
global_smooth_max_pool = _on_tensors(_operations.global_smooth_max_pool)
global_lp_pool = _on_tensors(_operations.global_lp_pool)
adaptive_max_pool = _on_tensors(_operations.adaptive_max_pool)
adaptive_min_pool = _on_tensors(_operations.adaptive_min_pool)
adaptive_avg_pool = _on_tensors(_operations.adaptive_avg_pool)
adaptive_smooth_max_pool = _on_tensors(_operations.adaptive_smooth_max_pool)
adaptive_lp_pool = _on_tensors(_operations.adaptive_lp_pool)
