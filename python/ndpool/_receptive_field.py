"""Receptive fields: what part of the input one output sees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ._arguments import integers
from ._errors import PoolError


class Field(NamedTuple):
    """The field after a layer, per axis (plain numbers where all layers give plain numbers).

    size: cells that one output sees. jump: cells between neighbours' fields. start: the centre of
    the first output's field, in cells (the centre of cell 0 is 0).
    """

    size: Any
    jump: Any
    start: Any


def _per_axis(value: Any, name: str, axes: int) -> list[int]:
    numbers = integers(value, name)
    if len(numbers) not in (1, axes):
        raise PoolError(f"{name} has {len(numbers)} numbers where other layers have {axes}")
    return numbers * axes if len(numbers) == 1 else numbers


def receptive_field(layers: Iterable[tuple[Any, ...]]) -> list[Field]:
    """Size, jump and start of the receptive field after each layer.

    layers: ("conv" or "pool", kernel, stride[, padding[, dilation]]), ints or one per axis.

    >>> import ndpool
    >>> layers = [("conv", 3, 1), ("pool", 2, 2), ("conv", 3, 1), ("pool", 2, 2), ("conv", 3, 1)]
    >>> [field.size for field in ndpool.receptive_field(layers)]
    [3, 4, 8, 10, 18]
    """
    rows = []
    for number, layer in enumerate(layers):
        if not isinstance(layer, (tuple, list)) or not 3 <= len(layer) <= 5:
            raise PoolError(
                f"layer {number}: {layer!r} is not (kind, kernel, stride[, padding[, dilation]])"
            )
        kind, *numbers = layer
        if kind not in ("conv", "pool"):
            raise PoolError(f'layer {number}: kind must be "conv" or "pool", not {kind!r}')
        rows.append([*numbers, 0, 1][:4] if len(numbers) == 2 else [*numbers, 1][:4])
    names = ("kernel", "stride", "padding", "dilation")
    lists = [integers(v, n) for row in rows for v, n in zip(row, names, strict=True)]
    axes = max((len(numbers) for numbers in lists), default=1)
    plain = all(len(numbers) == 1 for numbers in lists)
    size, jump, start = [1] * axes, [1] * axes, [0.0] * axes
    fields = []
    for number, row in enumerate(rows):
        kernel, stride, padding, dilation = (
            _per_axis(v, n, axes) for v, n in zip(row, names, strict=True)
        )
        for i in range(axes):
            if kernel[i] < 1 or stride[i] < 1 or dilation[i] < 1 or padding[i] < 0:
                raise PoolError(
                    f"layer {number}, axis {i}: kernel {kernel[i]}, stride {stride[i]}, dilation "
                    f"{dilation[i]} must be at least 1 and padding {padding[i]} at least 0"
                )
            reach = (kernel[i] - 1) * dilation[i]
            size[i] += reach * jump[i]
            start[i] += (reach / 2 - padding[i]) * jump[i]
            jump[i] *= stride[i]
        if plain:
            fields.append(Field(size[0], jump[0], start[0]))
        else:
            fields.append(Field(tuple(size), tuple(jump), tuple(start)))
    return fields
