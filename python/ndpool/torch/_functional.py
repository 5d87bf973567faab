"""torch.nn.functional's pooling with torch's arguments and defaults, on ndpool's engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .. import _arguments as a
from .._errors import PoolError
from . import _autograd as autograd
from ._kernels import TorchPoolError, type_of
from ._maker import Maker

Size = int | Sequence[int]

_EMPTY = a.empty_token("identity")  # windows of padding alone are no error in torch


def _numbers(value: Any, name: str, d: int) -> tuple[int, ...]:
    numbers = a.integers(value, name)
    if len(numbers) not in (1, d):
        raise TorchPoolError(f"{name} has {len(numbers)} numbers for {d} pooled axes")
    return tuple(numbers * d if len(numbers) == 1 else numbers)


def _describe(
    d: int,
    op: str,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    *more: str,
) -> a.Described:
    """A window of torch's as the tokens of a plan; an empty stride is the kernel."""
    window = _numbers(kernel_size, "kernel_size", d)
    steps = window if stride is None or stride in ((), []) else _numbers(stride, "stride", d)
    return a.windowed(
        *(op, window, steps, _numbers(padding, "padding", d), _numbers(dilation, "dilation", d)),
        *(d, "ceil" if ceil_mode else "floor"),
        *more,
    )


def _describe_adaptive(d: int, op: str, output_size: Any) -> a.Described:
    return a.adaptive(op, output_size, d)


_windowed = Maker(_describe)
_adaptive = Maker(_describe_adaptive)


def _check_rank(x: Tensor, d: int, name: str) -> None:
    if x.dim() not in (d + 1, d + 2):
        raise TorchPoolError(
            f"{name} expects {d + 1} axes (channels and {d}) or {d + 2} (batch too), "
            f"but the input has shape {tuple(x.shape)}"
        )


def _run(
    maker: Maker, x: Tensor, d: int, name: str, args: tuple[Any, ...], index: bool = False
) -> tuple[Tensor, Tensor | None]:
    type_of(x)
    _check_rank(x, d, name)
    return autograd.pool(x, maker, (d, *args), {}, index)


def _max_pool(
    d: int,
    input: Tensor,
    kernel_size: Size,
    stride: Any,
    padding: Size,
    dilation: Size,
    ceil_mode: bool,
    return_indices: bool,
) -> Any:
    args = ("max", kernel_size, stride, padding, dilation, bool(ceil_mode), _EMPTY)
    y, index = _run(_windowed, input, d, f"max_pool{d}d", args, return_indices)
    return (y, index) if return_indices else y


def max_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """As torch.nn.functional.max_pool1d."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """As torch.nn.functional.max_pool2d."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """As torch.nn.functional.max_pool3d."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    d: int,
    input: Tensor,
    kernel_size: Size,
    stride: Any,
    padding: Size,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    if divisor_override == 0:
        raise TorchPoolError("divisor must be not zero")
    try:
        divisor = a.divisor_token(divisor_override)
    except PoolError as error:
        raise TorchPoolError(str(error)) from None
    more = (a.counting_token(bool(count_include_pad)), divisor, _EMPTY)
    args = ("avg", kernel_size, stride, padding, 1, bool(ceil_mode), *more)
    return _run(_windowed, input, d, f"avg_pool{d}d", args)[0]


def avg_pool1d(
    input: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """As torch.nn.functional.avg_pool1d."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """As torch.nn.functional.avg_pool2d."""
    return _avg_pool(
        *(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    )


def avg_pool3d(
    input: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """As torch.nn.functional.avg_pool3d."""
    return _avg_pool(
        *(3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    )


def _lp_pool(
    d: int, input: Tensor, norm_type: float, kernel_size: Size, stride: Any, ceil_mode: bool
) -> Tensor:
    more = a.exponent_token(norm_type)
    args = ("lp", kernel_size, stride, 0, 1, bool(ceil_mode), more)
    return _run(_windowed, input, d, f"lp_pool{d}d", args)[0]


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """As torch.nn.functional.lp_pool1d, but of |x| and of the taps that are there."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """As torch.nn.functional.lp_pool2d, but of |x| and of the taps that are there."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Size,
    stride: Any = None,
    ceil_mode: bool = False,
) -> Tensor:
    """As torch.nn.functional.lp_pool3d, but of |x| and of the taps that are there."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _sizes(output_size: Any, d: int) -> tuple[int | None, ...]:
    if output_size is None or a.is_one(output_size):
        return (output_size,) * d
    if len(output_size) == 1:
        return tuple(output_size) * d
    return tuple(output_size)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """As torch.nn.functional.adaptive_avg_pool1d."""
    return _run(_adaptive, input, 1, "adaptive_avg_pool1d", ("avg", _sizes(output_size, 1)))[0]


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """As torch.nn.functional.adaptive_avg_pool2d."""
    return _run(_adaptive, input, 2, "adaptive_avg_pool2d", ("avg", _sizes(output_size, 2)))[0]


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """As torch.nn.functional.adaptive_avg_pool3d."""
    return _run(_adaptive, input, 3, "adaptive_avg_pool3d", ("avg", _sizes(output_size, 3)))[0]


def _adaptive_max_pool(d: int, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    args = ("max", _sizes(output_size, d))
    y, index = _run(_adaptive, input, d, f"adaptive_max_pool{d}d", args, return_indices)
    return (y, index) if return_indices else y


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """As torch.nn.functional.adaptive_max_pool1d."""
    return _adaptive_max_pool(1, input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """As torch.nn.functional.adaptive_max_pool2d."""
    return _adaptive_max_pool(2, input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """As torch.nn.functional.adaptive_max_pool3d."""
    return _adaptive_max_pool(3, input, output_size, return_indices)


def _max_unpool(
    d: int,
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Any,
    padding: Size,
    output_size: Any,
) -> Tensor:
    type_of(input)
    type_of(indices, "indices")
    _check_rank(input, d, f"max_unpool{d}d")
    if indices.dtype != torch.int64:
        raise TorchPoolError(f"max_unpool{d}d: indices must be int64, not {indices.dtype}")
    window = _numbers(kernel_size, "kernel_size", d)
    steps = window if stride is None or stride in ((), []) else _numbers(stride, "stride", d)
    pads = _numbers(padding, "padding", d)
    default = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-d:], steps, pads, window)]
    sizes = default
    if output_size is not None:
        sizes = [int(n) for n in output_size][-d:]
        for i, (size, usual) in enumerate(zip(sizes, default)):
            if not usual - steps[i] < size < usual + steps[i]:
                raise ValueError(
                    f"invalid output_size {list(output_size)} (axis {i} must be between "
                    f"{usual - steps[i]} and {usual + steps[i]})"
                )
    return autograd.unpool(input, indices, [*input.shape[:-d], *sizes], d)


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    output_size: Any = None,
) -> Tensor:
    """As torch.nn.functional.max_unpool1d."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    output_size: Any = None,
) -> Tensor:
    """As torch.nn.functional.max_unpool2d."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Size,
    stride: Any = None,
    padding: Size = 0,
    output_size: Any = None,
) -> Tensor:
    """As torch.nn.functional.max_unpool3d."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
