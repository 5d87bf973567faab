"""What users write for windows, axes and policies, as the tokens of a problem line.

A problem line, such as ``max f32 32x64x112x112 w3x3 s2 p1``, is what the engine plans from; the
tokens are the line without type and shape. Here only the spelling is judged: which numbers make a
pooling is for the engine to say.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._arrays import WORDS, type_of
from ._errors import PoolError

Ints = int | Sequence[int]
Axes = int | Sequence[int] | None
Padding = int | str | Sequence[int] | Sequence[Sequence[int]]

_ROUNDINGS = ("floor", "ceil", "exact")
_PADDINGS = ("valid", "same", "same_lower")
_TIES = ("first", "last", "all", "split")
_EMPTY = ("error", "identity")
_LIMIT = 2**63


class Described(NamedTuple):
    """A pooling without type and shape."""

    tokens: str
    dropped: tuple[int, ...] = ()  # axes that the result does not keep


def integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        raise TypeError(f"{name} must be an integer, not the truth value {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{name} must be an integer or integers, not {type(value).__name__} ({value!r})"
        ) from None
    if not -_LIMIT < number < _LIMIT:
        raise PoolError(f"{name}: {number} does not fit in 64 bits")
    return number


def is_one(value: Any) -> bool:
    """Whether it is one number rather than several; strings are neither."""
    return not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0


def integers(value: Any, name: str) -> list[int]:
    if is_one(value):
        return [integer(value, name)]
    if isinstance(value, (str, bytes, dict, set)):
        raise TypeError(f"{name} must be an integer or a sequence of them, not {value!r}")
    numbers = [integer(item, name) for item in value]
    if not numbers:
        raise PoolError(f"{name} is empty; give one integer per pooled axis, or one for all")
    return numbers


def sizes(shape: Any) -> list[int]:
    """The sizes of an array, none of them for rank 0."""
    if is_one(shape) or isinstance(shape, (str, bytes, dict, set)):
        raise TypeError(f"shape must be a sequence of integers, not {shape!r}")
    return [integer(size, "shape") for size in shape]


def word(value: Any, name: str, allowed: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in allowed:
        return value
    text = f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}"
    raise PoolError(text) if isinstance(value, str) else TypeError(text)


def flag(value: Any, name: str) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise TypeError(f"{name} must be True or False, not {value!r}")


def real(value: Any, name: str) -> str:
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name} must be a number, not {value!r}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    except OverflowError:
        raise PoolError(f"{name} is larger than any float") from None
    return repr(number)


def pooled_axes(axes: Axes, name: str = "axes") -> list[int] | None:
    """The axes, those of ``axes=n`` counted from the end; None: the engine counts the window."""
    if axes is None:
        return None
    if is_one(axes):
        count = integer(axes, name)
        if not 1 <= count <= 64:
            raise PoolError(f"{name}={count}: as an integer it says how many last axes are pooled")
        return list(range(-count, 0))
    return integers(axes, name)


def join(prefix: str, numbers: Iterable[int], separator: str = "x") -> str:
    return prefix + separator.join(map(str, numbers))


def _check_count(numbers: list[int], name: str, axes: list[int]) -> None:
    if len(numbers) not in (1, len(axes)):
        raise PoolError(
            f"{name} has {len(numbers)} numbers for {len(axes)} pooled axes; "
            "give one for all, or one per axis"
        )


def _padding_tokens(padding: Any, axes: list[int]) -> list[str]:
    if isinstance(padding, str):
        chosen = word(padding, "padding", _PADDINGS)
        return [] if chosen == "valid" else [chosen]
    if is_one(padding):
        number = integer(padding, "padding")
        return [f"p{number}"] if number else []
    items = list(padding)
    if all(is_one(item) for item in items):
        numbers = integers(items, "padding")
        _check_count(numbers, "padding", axes)
        return [join("p", numbers)]
    pairs = [integers(item, "padding") for item in items]
    if any(is_one(item) for item in items) or any(len(pair) != 2 for pair in pairs):
        raise PoolError(
            f"padding {padding!r} is none of these: a number, one per axis, "
            "one (lo, hi) pair per axis"
        )
    if len(pairs) != len(axes):
        raise PoolError(f"padding has {len(pairs)} pairs for {len(axes)} pooled axes")
    return ["p" + "x".join(f"{lo}:{hi}" for lo, hi in pairs)]


def windowed(
    op: str,
    window: Ints,
    stride: Ints | None,
    padding: Padding,
    dilation: Ints,
    axes: Axes,
    rounding: str,
    *more: str,
) -> Described:
    windows = integers(window, "window")
    pooled = pooled_axes(axes)
    if pooled is None:
        if is_one(window):
            raise PoolError(
                f"window={window} does not say how many axes are pooled; write axes={1} or more "
                f"(the last axes), or one number per axis, such as window=({window}, {window})"
            )
        pooled = list(range(-len(windows), 0))
    _check_count(windows, "window", pooled)
    tokens = [op, join("w", windows)]
    if stride is not None:
        strides = integers(stride, "stride")
        _check_count(strides, "stride", pooled)
        tokens.append(join("s", strides))
    tokens += _padding_tokens(padding, pooled)
    dilations = integers(dilation, "dilation")
    _check_count(dilations, "dilation", pooled)
    if dilations != [1]:
        tokens.append(join("d", dilations))
    if word(rounding, "rounding", _ROUNDINGS) != "floor":
        tokens.append(rounding)
    tokens.append(join("axes=", pooled, ","))
    return Described(" ".join([*tokens, *filter(None, more)]))


def global_(op: str, axes: Axes, keepdims: bool, *more: str) -> Described:
    pooled = pooled_axes(axes)
    if pooled is None:
        raise TypeError("axes must be a number of last axes, or a tuple of axes, not None")
    tokens = [op, "global", join("axes=", pooled, ","), *filter(None, more)]
    return Described(" ".join(tokens), () if flag(keepdims, "keepdims") else tuple(pooled))


def adaptive(op: str, output_size: Any, axes: Axes, *more: str) -> Described:
    sizes = [output_size] if output_size is None or is_one(output_size) else list(output_size)
    if isinstance(output_size, (str, bytes)):
        raise TypeError(f"output_size must be integers, not {output_size!r}")
    pooled = pooled_axes(axes)
    if pooled is None:
        if output_size is None or is_one(output_size):
            raise PoolError(
                f"output_size={output_size} does not say how many axes are pooled; write axes=1 or "
                "more (the last axes), or one size per axis"
            )
        pooled = list(range(-len(sizes), 0))
    if len(sizes) == 1:
        sizes *= len(pooled)
    if len(sizes) != len(pooled):
        raise PoolError(f"output_size has {len(sizes)} numbers for {len(pooled)} pooled axes")
    texts = ["*" if size is None else str(integer(size, "output_size")) for size in sizes]
    tokens = [op, "a" + "x".join(texts), join("axes=", pooled, ","), *filter(None, more)]
    return Described(" ".join(tokens))


def keeps(tokens: str) -> str:
    """What a VJP needs of the forward call: "argmax", "x", or "" for nothing."""
    if tokens.startswith("avg"):
        return ""
    several = " ties=all" in tokens or " ties=split" in tokens
    return "argmax" if tokens.startswith(("max", "min")) and not several else "x"


def ties_token(ties: str) -> str:
    return "" if word(ties, "ties", _TIES) == "first" else f"ties={ties}"


def empty_token(empty: str) -> str:
    return "" if word(empty, "empty", _EMPTY) == "error" else f"empty={empty}"


def counting_token(count_include_pad: bool) -> str:
    return "" if flag(count_include_pad, "count_include_pad") else "nopad"


def divisor_token(divisor: int | None) -> str:
    return "" if divisor is None else f"divisor={integer(divisor, 'divisor')}"


def dtype_token(dtype: Any) -> str:
    return "" if dtype is None else f"out={WORDS[type_of(dtype)]}"


def beta_token(beta: float) -> str:
    return f"beta={real(beta, 'beta')}"


def mean_token(mean: bool) -> str:
    return "mean" if flag(mean, "mean") else ""


def exponent_token(p: float) -> str:
    return f"p={real(p, 'p')}"
