"""Every operation: its arguments, and what they mean.

The functions here describe a pooling; ``Operation`` makes of each the object that users call. They
take the arguments after x. ``return_indices`` and ``out`` are listed so that help() and type
checkers know them: the call itself deals with them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from . import _arguments as a
from ._arguments import Axes, Described, Ints, Padding
from ._operation import Operation, SecondOrderOperation

_WINDOWS = """
window, stride, dilation: an int or one per axis. stride=None: the window (blocks side by side).
padding: an int, one per axis, one (lo, hi) pair per axis, "valid", "same" or "same_lower".
axes: a tuple of axes, or an int n for the last n. None: as many last axes as window has numbers.
rounding: "floor" drops what does not fill a window, "ceil" lets the last window overhang,
    "exact" refuses a remainder.
out: an array to write to.
Cells beyond the array are absent from max and min, and zeros for the others."""
_TIES = """
ties: which of several equal winners carry the derivative: "first", "last", "all" or "split".
    NaN wins over every number.
return_indices: also give the flat index of each (first) winner over the pooled axes, int64."""
_EMPTY = """
empty: "error" refuses windows that hold no cell, "identity" fills them."""
_DIVISOR = """
count_include_pad: whether padding counts in the divisor. divisor: a divisor of your own.
dtype: another type for the result."""
_SMOOTH = """
beta: towards the largest (beta > 0, +∞: max) or the smallest (beta < 0).
count_include_pad: whether padding takes part, as zeros. mean: subtract log(terms)/beta."""
_GLOBAL = """
axes: a tuple of axes, or an int n for the last n. keepdims: keep them, with size 1."""
_ADAPTIVE = """
output_size: outputs per axis; None keeps an axis as it is. Window i of O covers the cells from
    ⌊i·n/O⌋ to ⌈(i+1)·n/O⌉.
axes: a tuple of axes, or an int n for the last n. None: as many last axes as output_size has."""


F = TypeVar("F", bound=Callable[..., Described])


def _documented(*parts: str) -> Callable[[F], F]:
    """Adds what several operations say in the same words."""

    def add(function: F) -> F:
        head, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
        function.__doc__ = head + "\n" + "".join(parts) + "\n\n" + example
        return function

    return add


# ---- Windows ------------------------------------------------------------------------------------


@Operation
@_documented(_WINDOWS, _TIES, _EMPTY)
def max_pool(
    window: Ints,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    *,
    axes: Axes = None,
    rounding: str = "floor",
    ties: str = "first",
    empty: str = "error",
    return_indices: bool = False,
    out: Any = None,
) -> Described:
    """The largest cell of each window.

    >>> import numpy as np, ndpool
    >>> x = np.array([[1, 3, 2, 0], [5, 4, 1, 1], [0, 2, 9, 8], [7, 6, 3, 4]], np.float32)
    >>> ndpool.max_pool(x, (2, 2))
    array([[5., 2.],
           [7., 9.]], dtype=float32)
    >>> y, index = ndpool.max_pool(x, (2, 2), return_indices=True)
    >>> index
    array([[ 4,  2],
           [12, 10]])
    >>> y, pull = ndpool.max_pool.vjp(x, (2, 2))
    >>> pull(np.ones_like(y))
    array([[0., 0., 1., 0.],
           [1., 0., 0., 0.],
           [0., 0., 1., 0.],
           [1., 0., 0., 0.]], dtype=float32)
    """
    return a.windowed(
        *("max", window, stride, padding, dilation, axes, rounding),
        *(a.ties_token(ties), a.empty_token(empty)),
    )


@Operation
@_documented(_WINDOWS, _TIES, _EMPTY)
def min_pool(
    window: Ints,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    *,
    axes: Axes = None,
    rounding: str = "floor",
    ties: str = "first",
    empty: str = "error",
    return_indices: bool = False,
    out: Any = None,
) -> Described:
    """The smallest cell of each window.

    >>> import numpy as np, ndpool
    >>> ndpool.min_pool(np.array([3, 1, 2, 0, 5]), (2,), 1)
    array([1, 1, 0, 0])
    """
    return a.windowed(
        *("min", window, stride, padding, dilation, axes, rounding),
        *(a.ties_token(ties), a.empty_token(empty)),
    )


@Operation
@_documented(_WINDOWS, _DIVISOR, _EMPTY)
def avg_pool(
    window: Ints,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    *,
    axes: Axes = None,
    rounding: str = "floor",
    count_include_pad: bool = True,
    divisor: int | None = None,
    empty: str = "error",
    dtype: Any = None,
    out: Any = None,
) -> Described:
    """The mean of each window. Integers are summed exactly, and halves rounded away from zero.

    >>> import numpy as np, ndpool
    >>> ndpool.avg_pool(np.array([1.0, 3.0, 5.0, 9.0]), (2,))
    array([2., 7.])
    >>> ndpool.avg_pool(np.array([1, 2, 4, 4]), (2,))
    array([2, 4])
    >>> ndpool.avg_pool(np.array([1, 2, 4, 4]), (2,), dtype="float32")
    array([1.5, 4. ], dtype=float32)
    """
    return a.windowed(
        *("avg", window, stride, padding, dilation, axes, rounding),
        *(a.counting_token(count_include_pad), a.divisor_token(divisor)),
        *(a.empty_token(empty), a.dtype_token(dtype)),
    )


@SecondOrderOperation
@_documented(_WINDOWS, _SMOOTH, _EMPTY)
def smooth_max_pool(
    window: Ints,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    *,
    axes: Axes = None,
    rounding: str = "floor",
    beta: float = 1.0,
    count_include_pad: bool = True,
    mean: bool = False,
    empty: str = "error",
    out: Any = None,
) -> Described:
    """log(Σ exp(beta·x))/beta of each window: a max with a gradient for every cell.

    >>> import numpy as np, ndpool
    >>> ndpool.smooth_max_pool(np.array([0.0, 0.0, 5.0, 1.0]), (2,)).round(4)
    array([0.6931, 5.0181])
    """
    return a.windowed(
        *("smooth", window, stride, padding, dilation, axes, rounding),
        *(a.beta_token(beta), a.counting_token(count_include_pad)),
        *(a.mean_token(mean), a.empty_token(empty)),
    )


@SecondOrderOperation
@_documented(_WINDOWS)
def lp_pool(
    window: Ints,
    stride: Ints | None = None,
    padding: Padding = 0,
    dilation: Ints = 1,
    *,
    axes: Axes = None,
    rounding: str = "floor",
    p: float = 2.0,
    out: Any = None,
) -> Described:
    """(Σ |x|^p)^(1/p) of each window, without overflow; p = inf: the largest |x|.

    >>> import numpy as np, ndpool
    >>> ndpool.lp_pool(np.array([3.0, -4.0, 5.0, 12.0]), (2,))
    array([ 5., 13.])
    """
    return a.windowed(
        *("lp", window, stride, padding, dilation, axes, rounding), a.exponent_token(p)
    )


# ---- The whole axis -----------------------------------------------------------------------------


@Operation
@_documented(_GLOBAL, _TIES)
def global_max_pool(
    *,
    axes: Axes = 2,
    keepdims: bool = False,
    ties: str = "first",
    return_indices: bool = False,
    out: Any = None,
) -> Described:
    """The largest cell over whole axes.

    >>> import numpy as np, ndpool
    >>> ndpool.global_max_pool(np.arange(8.0).reshape(2, 2, 2))
    array([3., 7.])
    """
    return a.global_("max", axes, keepdims, a.ties_token(ties))


@Operation
@_documented(_GLOBAL, _TIES)
def global_min_pool(
    *,
    axes: Axes = 2,
    keepdims: bool = False,
    ties: str = "first",
    return_indices: bool = False,
    out: Any = None,
) -> Described:
    """The smallest cell over whole axes.

    >>> import numpy as np, ndpool
    >>> ndpool.global_min_pool(np.arange(8.0).reshape(2, 2, 2))
    array([0., 4.])
    """
    return a.global_("min", axes, keepdims, a.ties_token(ties))


@Operation
@_documented(_GLOBAL, "\ndivisor: a divisor of your own. dtype: another type for the result.")
def global_avg_pool(
    *,
    axes: Axes = 2,
    keepdims: bool = False,
    divisor: int | None = None,
    dtype: Any = None,
    out: Any = None,
) -> Described:
    """The mean over whole axes.

    >>> import numpy as np, ndpool
    >>> ndpool.global_avg_pool(np.arange(8.0).reshape(2, 2, 2), keepdims=True).shape
    (2, 1, 1)
    """
    return a.global_("avg", axes, keepdims, a.divisor_token(divisor), a.dtype_token(dtype))


@SecondOrderOperation
@_documented(_GLOBAL, "\nbeta: as in smooth_max_pool. mean: subtract log(cells)/beta.")
def global_smooth_max_pool(
    *,
    axes: Axes = 2,
    keepdims: bool = False,
    beta: float = 1.0,
    mean: bool = False,
    out: Any = None,
) -> Described:
    """log(Σ exp(beta·x))/beta over whole axes.

    >>> import numpy as np, ndpool
    >>> ndpool.global_smooth_max_pool(np.zeros((1, 2, 2)), mean=True)
    array([0.])
    """
    return a.global_("smooth", axes, keepdims, a.beta_token(beta), a.mean_token(mean))


@SecondOrderOperation
@_documented(_GLOBAL)
def global_lp_pool(
    *, axes: Axes = 2, keepdims: bool = False, p: float = 2.0, out: Any = None
) -> Described:
    """(Σ |x|^p)^(1/p) over whole axes.

    >>> import numpy as np, ndpool
    >>> ndpool.global_lp_pool(np.array([[3.0, 4.0]]), axes=1)
    array([5.])
    """
    return a.global_("lp", axes, keepdims, a.exponent_token(p))


# ---- A given number of outputs ------------------------------------------------------------------


@Operation
@_documented(_ADAPTIVE, _TIES)
def adaptive_max_pool(
    output_size: Any,
    *,
    axes: Axes = None,
    ties: str = "first",
    return_indices: bool = False,
    out: Any = None,
) -> Described:
    """The largest cell of each of a given number of windows.

    >>> import numpy as np, ndpool
    >>> ndpool.adaptive_max_pool(np.arange(7), (3,))
    array([2, 4, 6])
    """
    return a.adaptive("max", output_size, axes, a.ties_token(ties))


@Operation
@_documented(_ADAPTIVE, _TIES)
def adaptive_min_pool(
    output_size: Any,
    *,
    axes: Axes = None,
    ties: str = "first",
    return_indices: bool = False,
    out: Any = None,
) -> Described:
    """The smallest cell of each of a given number of windows.

    >>> import numpy as np, ndpool
    >>> ndpool.adaptive_min_pool(np.arange(7), (3,))
    array([0, 2, 4])
    """
    return a.adaptive("min", output_size, axes, a.ties_token(ties))


@Operation
@_documented(_ADAPTIVE, "\ndivisor: a divisor of your own. dtype: another type for the result.")
def adaptive_avg_pool(
    output_size: Any,
    *,
    axes: Axes = None,
    divisor: int | None = None,
    dtype: Any = None,
    out: Any = None,
) -> Described:
    """The mean of each of a given number of windows.

    >>> import numpy as np, ndpool
    >>> ndpool.adaptive_avg_pool(np.arange(7.0), (3,))
    array([1., 3., 5.])
    """
    return a.adaptive("avg", output_size, axes, a.divisor_token(divisor), a.dtype_token(dtype))


@SecondOrderOperation
@_documented(_ADAPTIVE, "\nbeta: as in smooth_max_pool. mean: subtract log(cells)/beta.")
def adaptive_smooth_max_pool(
    output_size: Any,
    *,
    axes: Axes = None,
    beta: float = 1.0,
    mean: bool = False,
    out: Any = None,
) -> Described:
    """log(Σ exp(beta·x))/beta of each of a given number of windows.

    >>> import numpy as np, ndpool
    >>> ndpool.adaptive_smooth_max_pool(np.zeros(4), (2,)).round(4)
    array([0.6931, 0.6931])
    """
    return a.adaptive("smooth", output_size, axes, a.beta_token(beta), a.mean_token(mean))


@SecondOrderOperation
@_documented(_ADAPTIVE)
def adaptive_lp_pool(
    output_size: Any, *, axes: Axes = None, p: float = 2.0, out: Any = None
) -> Described:
    """(Σ |x|^p)^(1/p) of each of a given number of windows.

    >>> import numpy as np, ndpool
    >>> ndpool.adaptive_lp_pool(np.array([3.0, 4.0, 6.0, 8.0]), (2,))
    array([ 5., 10.])
    """
    return a.adaptive("lp", output_size, axes, a.exponent_token(p))
