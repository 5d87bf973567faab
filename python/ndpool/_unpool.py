"""max_unpool: each value back to its index."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _core
from ._arguments import Axes, integers, pooled_axes
from ._arrays import AnyArray, as_array, converted, target
from ._errors import PoolError


def _differentiable(y: Any) -> AnyArray:
    array = as_array(y, "y")
    if array.dtype.kind in "iub":
        raise TypeError(f"derivatives need a float type; y has type {array.dtype}")
    return array


class MaxUnpool:
    """max_unpool(y, indices, output_shape, *, axes, out=None)

    Puts each y at its index, zeros elsewhere. indices are those of ``return_indices``: flat over
    ``axes`` of the result, any integer type. output_shape is the full shape of the result. Where
    windows overlapped, an index may be named twice: the last y in row-major order stays.

    >>> import numpy as np, ndpool
    >>> y, index = ndpool.max_pool(np.array([1.0, 5.0, 2.0, 3.0]), (2,), return_indices=True)
    >>> ndpool.max_unpool(y, index, (4,), axes=1)
    array([0., 5., 0., 3.])

    Differentiated in y: max_unpool.jvp(y, dy, indices, ...) gives the result and its tangent,
    max_unpool.vjp(y, indices, ...) the result and pull, with dy = pull(g).
    """

    __name__ = __qualname__ = "max_unpool"

    def __repr__(self) -> str:
        return "<operation ndpool.max_unpool>"

    def __reduce__(self) -> str:
        return "max_unpool"

    @staticmethod
    def _prepare(
        y: Any, indices: Any, output_shape: Sequence[int], axes: Axes
    ) -> tuple[AnyArray, AnyArray, tuple[int, ...], list[int]]:
        y = as_array(y, "y")
        indices = as_array(indices, "indices")
        if indices.dtype.kind not in "iu":
            raise TypeError(f"indices must be integers, not {indices.dtype}")
        if indices.shape != y.shape:
            raise PoolError(f"indices have shape {indices.shape}, y has shape {y.shape}")
        if indices.dtype == np.uint64 and indices.size and indices.max() >= 2**63:
            raise PoolError("indices beyond 2^63 - 1 name no cell")
        shape = tuple(integers(output_shape, "output_shape"))
        if math.prod(shape) * y.dtype.itemsize >= 2**62:
            raise PoolError(f"output_shape {shape} has more bytes than memory can have")
        if any(size < 0 for size in shape):
            raise PoolError(f"output_shape {shape} has a negative size")
        if len(shape) != y.ndim:
            raise PoolError(f"output_shape {shape} and y's shape {y.shape} differ in rank")
        pooled = pooled_axes(axes)
        if pooled is None:
            raise TypeError("axes must be a number of last axes, or a tuple of axes, not None")
        return y, indices.astype(np.int64, copy=False), shape, pooled

    def __call__(
        self,
        y: Any,
        indices: Any,
        output_shape: Sequence[int],
        *,
        axes: Axes,
        out: AnyArray | None = None,
    ) -> AnyArray:
        y, indices, shape, pooled = self._prepare(y, indices, output_shape, axes)
        result = target(out, "out", y.dtype, shape)
        _core.unpool(y, indices, result, pooled)
        return result

    def jvp(
        self, y: Any, dy: Any, indices: Any, output_shape: Sequence[int], *, axes: Axes
    ) -> tuple[AnyArray, AnyArray]:
        y = _differentiable(y)
        dy = converted(dy, "dy", y.dtype, y.shape)
        return (
            self(y, indices, output_shape, axes=axes),
            self(dy, indices, output_shape, axes=axes),
        )

    def vjp(
        self, y: Any, indices: Any, output_shape: Sequence[int], *, axes: Axes
    ) -> tuple[AnyArray, Callable[..., AnyArray]]:
        y = _differentiable(y)
        y, indices, shape, pooled = self._prepare(y, indices, output_shape, axes)
        kept = indices.copy()
        kind, y_shape = y.dtype, y.shape

        def pull(g: Any, out: AnyArray | None = None) -> AnyArray:
            g = converted(g, "g", kind, shape)
            dy = target(out, "out", kind, y_shape)
            _core.unpool_vjp(g, kept, dy, pooled)
            return dy

        return self(y, indices, shape, axes=axes), pull


max_unpool = MaxUnpool()
