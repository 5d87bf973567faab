"""Receptive fields of whole models, branches included."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, fx, nn

from .._receptive_field import receptive_field as fields_of
from ._kernels import TorchPoolError

_POOLS = (
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
    *(nn.LPPool1d, nn.LPPool2d, nn.LPPool3d),
)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_ADAPTIVE = (
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d),
    *(nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d),
)


class ModelField(NamedTuple):
    """The field of a layer's outputs, one number per spatial axis.

    aligned is False where branches meet whose outputs do not lie over the same cells: their jumps
    differ, or their fields have different centres.
    """

    layer: str
    size: tuple[int, ...]
    jump: tuple[int, ...]
    start: tuple[float, ...]
    aligned: bool


class _Field(NamedTuple):
    size: tuple[int, ...]
    jump: tuple[int, ...]
    start: tuple[float, ...]


def receptive_field(model: nn.Module, input: Tensor) -> list[ModelField]:
    """Size, jump and start after each convolution, pool and meeting of branches.

    input: an example, with batch and channels before the spatial axes. The model must be one that
    torch.fx can trace. Layers after which no spatial axis is left are not listed.
    """
    from torch.fx.passes.shape_prop import ShapeProp

    if not isinstance(input, Tensor):
        raise TypeError(f"input must be an example Tensor, not {type(input).__name__}")
    try:
        traced = fx.symbolic_trace(_Whole(model))
    except Exception as error:
        raise TorchPoolError(f"torch.fx cannot trace this model: {error}") from error
    with torch.no_grad():
        ShapeProp(traced).propagate(input)
    d = input.dim() - 2
    if d < 1:
        raise TorchPoolError(f"input of shape {tuple(input.shape)} has no spatial axis")
    modules = dict(traced.named_modules())
    known: dict[fx.Node, _Field | None] = {}
    listed = []
    for node in traced.graph.nodes:
        if node.op == "placeholder":
            known[node] = _Field((1,) * d, (1,) * d, (0.0,) * d)
            continue
        before = [f for n in node.all_input_nodes if (f := known.get(n)) is not None]
        shape = _shape(node)
        if not before or shape is None or len(shape) != d + 2:
            known[node] = None
            continue
        field, aligned = _meeting(before)
        layer = _layer(node, modules, d)
        if layer is not None:
            field = _through(field, layer, d)
        known[node] = field
        if layer is not None or len(set(before)) > 1:
            listed.append(ModelField(_name(node), *field, aligned))
    return listed


class _Whole(nn.Module):
    """A single layer, as a model that has it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Any:
        return self.model(x)


def _name(node: Any) -> str:
    name = str(node.target if node.op == "call_module" else node.name)
    return name.removeprefix("model.")


def _shape(node: Any) -> tuple[int, ...] | None:
    found = node.meta.get("tensor_meta")
    shape = getattr(found, "shape", None)
    return None if shape is None else tuple(shape)


def _each(value: Any, d: int) -> tuple[int, ...]:
    return (int(value),) * d if isinstance(value, int) else tuple(int(v) for v in value)


def _layer(node: Any, modules: dict[str, nn.Module], d: int) -> tuple[Any, ...] | None:
    """The layer as ndpool.receptive_field takes it; None: it moves nothing."""
    sizes = _shape(node.all_input_nodes[0])
    if node.op == "call_module":
        m: Any = modules[str(node.target)]
        if isinstance(m, _POOLS):
            padding = getattr(m, "padding", 0)
            dilation = getattr(m, "dilation", 1)
            stride = m.kernel_size if m.stride is None else m.stride
            return _made("pool", d, m.kernel_size, stride, padding, dilation)
        if isinstance(m, _CONVOLUTIONS):
            padding = m.padding
            if isinstance(padding, str):
                reach = [(k - 1) * e for k, e in zip(m.kernel_size, m.dilation)]
                padding = [r // 2 for r in reach] if padding == "same" else 0
            return _made("conv", d, m.kernel_size, m.stride, padding, m.dilation)
        if isinstance(m, _ADAPTIVE) and sizes is not None:
            return _adaptive(sizes[2:], _shape(node), d)
        return None
    if node.op == "call_function":
        name = getattr(node.target, "__name__", "")
        names = ("input", "kernel_size", "stride", "padding")
        given = {**dict(zip(names, node.args)), **node.kwargs}
        if name.startswith(("max_pool", "avg_pool", "boolean_dispatch")) and "kernel_size" in given:
            stride = given.get("stride") or given["kernel_size"]
            return _made(
                *("pool", d, given["kernel_size"], stride),
                *(given.get("padding", 0), given.get("dilation", 1)),
            )
        if name.startswith("adaptive_") and sizes is not None:
            return _adaptive(sizes[2:], _shape(node), d)
    return None


def _made(kind: str, d: int, *numbers: Any) -> tuple[Any, ...]:
    return (kind, *(_each(value, d) for value in numbers))


def _adaptive(sizes: Any, after: Any, d: int) -> tuple[Any, ...]:
    """Windows of equal size where they are; else the largest one."""
    window, stride = [], []
    for n, outputs in zip(sizes, after[2:]):
        window.append(max(-(-(i + 1) * n // outputs) - i * n // outputs for i in range(outputs)))
        stride.append(max(1, n // outputs))
    return ("pool", tuple(window), tuple(stride), (0,) * d, (1,) * d)


def _through(field: _Field, layer: tuple[Any, ...], d: int) -> _Field:
    """The recurrence of one layer, from where the field is."""
    (step,) = fields_of([layer])
    size, jump, start = (v if isinstance(v, tuple) else (v,) * d for v in step)
    return _Field(
        tuple(field.size[i] + (size[i] - 1) * field.jump[i] for i in range(d)),
        tuple(field.jump[i] * jump[i] for i in range(d)),
        tuple(field.start[i] + start[i] * field.jump[i] for i in range(d)),
    )


def _meeting(fields: list[_Field]) -> tuple[_Field, bool]:
    """What several branches see together, and whether they lie over the same cells."""
    first = fields[0]
    aligned = all(f.jump == first.jump and f.start == first.start for f in fields)
    d = len(first.size)
    low = [min(f.start[i] - (f.size[i] - 1) / 2 for f in fields) for i in range(d)]
    high = [max(f.start[i] + (f.size[i] - 1) / 2 for f in fields) for i in range(d)]
    jump = tuple(max(f.jump[i] for f in fields) for i in range(d))
    size = tuple(round(b - a) + 1 for a, b in zip(low, high))
    return _Field(size, jump, tuple((a + b) / 2 for a, b in zip(low, high))), aligned
