"""Pooling on MyGrad's tensors: ``max_pool`` as ``mygrad.nnet.max_pool``, the others as ndpool's.

>>> import mygrad as mg
>>> from ndpool.mygrad import max_pool
>>> x = mg.tensor([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]])
>>> out = max_pool(x, (2, 2), 1)
>>> out
Tensor([[10., 10.],
        [ 7., 20.]])
>>> out.sum().backward()
>>> x.grad
array([[0., 2., 0.],
       [0., 1., 0.],
       [0., 0., 1.]])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, cast

import ndpool

from ._arguments import Axes, Ints, is_one
from ._arrays import AnyArray
from ._errors import PoolError
from ._operation import Operation

try:
    from mygrad import Tensor, execute_op, no_autodiff
    from mygrad.operation_base import Operation as Node
    from mygrad.typing import ArrayLike
except ImportError as error:
    raise ImportError(
        f"ndpool.mygrad needs MyGrad: pip install 'ndpool[mygrad]' ({error})"
    ) from None

__all__ = [
    "adaptive_avg_pool",
    "adaptive_lp_pool",
    "adaptive_max_pool",
    "adaptive_min_pool",
    "adaptive_smooth_max_pool",
    "avg_pool",
    "global_avg_pool",
    "global_lp_pool",
    "global_max_pool",
    "global_min_pool",
    "global_smooth_max_pool",
    "lp_pool",
    "max_pool",
    "max_unpool",
    "min_pool",
    "smooth_max_pool",
]

_CONSTANT = inspect.Parameter("constant", inspect.Parameter.KEYWORD_ONLY, default=None)


class _Pooling(Node):
    """A node of MyGrad's graph, for any operation of ndpool's."""

    _pull: Callable[[AnyArray], AnyArray]

    def __call__(
        self, x: Tensor, operation: Any, differentiate: bool, *args: Any, **kwargs: Any
    ) -> AnyArray:
        self.variables = (x,)
        y: AnyArray
        if differentiate and not x.constant:
            y, self._pull = operation.vjp(x.data, *args, **kwargs)
        else:
            y = operation(x.data, *args, **kwargs)
        return y

    def backward_var(self, grad: AnyArray, index: int, **kwargs: Any) -> AnyArray:
        return self._pull(grad)


def _pooled(
    operation: Any, x: ArrayLike, constant: bool | None, *args: Any, **kwargs: Any
) -> Tensor:
    differentiate = no_autodiff.state and constant is not True
    return execute_op(
        *(_Pooling, x),
        op_args=(operation, differentiate, *args),
        op_kwargs=kwargs,
        constant=constant,
    )


def max_pool(
    x: ArrayLike, pool: Sequence[int], stride: Ints, *, constant: bool | None = None
) -> Tensor:
    """The largest cell of each window over the last axes, as ``mygrad.nnet.max_pool``.

    x: a tensor, or what MyGrad takes for one, with any number of axes before the pooled ones.
    pool: the window, one number per pooled axis.
    stride: the steps of the window, one number for all axes or one for each. Windows have to reach
        the end of each axis exactly; a remainder is a ValueError.
    constant: True makes the result a constant, that sends no gradient.

    Of equal winners the first in row-major order has the gradient. NaN wins over every number.

    >>> from ndpool.mygrad import max_pool
    >>> max_pool([[0.0, 10.0, 8.0], [9.0, 7.0, 3.0], [5.0, 0.0, 20.0]], pool=(2,), stride=1)
    Tensor([[10., 10.],
            [ 9.,  7.],
            [ 5., 20.]])
    """
    if is_one(pool):
        raise PoolError(f"pool={pool}: give one number per pooled axis, such as ({pool}, {pool})")
    if stride is None:
        raise TypeError("stride must be an integer or one per pooled axis, not None")
    if not is_one(stride) and len(cast(Sequence[int], stride)) != len(pool):
        raise PoolError(f"stride {stride} and pool {pool} differ in length; give one per axis")
    return _pooled(ndpool.max_pool, x, constant, pool, stride, rounding="exact")


def max_unpool(
    y: ArrayLike,
    indices: Any,
    output_shape: Sequence[int],
    *,
    axes: Axes,
    constant: bool | None = None,
) -> Tensor:
    """Each y at its index, zeros elsewhere: ``ndpool.max_unpool``, differentiable in y.

    constant: True makes the result a constant, that sends no gradient.
    """
    return _pooled(ndpool.max_unpool, y, constant, indices, output_shape, axes=axes)


def _on_tensors(operation: Operation[Any]) -> Callable[..., Any]:
    """The operation with a tensor for x and for the result, and MyGrad's ``constant``."""

    def pool(x: ArrayLike, *args: Any, constant: bool | None = None, **kwargs: Any) -> Any:
        if "out" in kwargs:
            raise TypeError("out= has no meaning for tensors; leave it out")
        indexed = kwargs.pop("return_indices", False)
        y = _pooled(operation, x, constant, *args, **kwargs)
        if indexed is False:
            return y
        return y, operation(x, *args, **kwargs, return_indices=indexed)[1]

    name = operation.__name__
    summary = (inspect.getdoc(operation._describe) or "").splitlines()[0]
    kept = [p for p in operation.__signature__.parameters.values() if p.name != "out"]
    pool.__name__ = pool.__qualname__ = name
    pool.__dict__["__signature__"] = inspect.Signature([*kept, _CONSTANT])
    pool.__doc__ = (
        f"{summary} On tensors.\n\n"
        f"The arguments are those of ``ndpool.{name}``, without ``out``.\n"
        "constant: True makes the result a constant, that sends no gradient.\n"
    )
    return pool


min_pool = _on_tensors(ndpool.min_pool)
avg_pool = _on_tensors(ndpool.avg_pool)
smooth_max_pool = _on_tensors(ndpool.smooth_max_pool)
lp_pool = _on_tensors(ndpool.lp_pool)

global_max_pool = _on_tensors(ndpool.global_max_pool)
global_min_pool = _on_tensors(ndpool.global_min_pool)
global_avg_pool = _on_tensors(ndpool.global_avg_pool)
global_smooth_max_pool = _on_tensors(ndpool.global_smooth_max_pool)
global_lp_pool = _on_tensors(ndpool.global_lp_pool)

adaptive_max_pool = _on_tensors(ndpool.adaptive_max_pool)
adaptive_min_pool = _on_tensors(ndpool.adaptive_min_pool)
adaptive_avg_pool = _on_tensors(ndpool.adaptive_avg_pool)
adaptive_smooth_max_pool = _on_tensors(ndpool.adaptive_smooth_max_pool)
adaptive_lp_pool = _on_tensors(ndpool.adaptive_lp_pool)
