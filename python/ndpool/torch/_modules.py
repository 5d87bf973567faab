"""torch.nn's pooling modules on ndpool's engine. Each is a subclass of torch's."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from . import _functional as F


class _MaxPool:
    """What the max pools share; ``function`` is given by each."""

    def forward(self, input: Tensor) -> Any:
        m: Any = self
        return m.function(
            *(input, m.kernel_size, m.stride, m.padding, m.dilation),
            ceil_mode=m.ceil_mode,
            return_indices=m.return_indices,
        )


class MaxPool1d(_MaxPool, nn.MaxPool1d):
    function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool, nn.MaxPool2d):
    function = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPool, nn.MaxPool3d):
    function = staticmethod(F.max_pool3d)


class AvgPool1d(nn.AvgPool1d):
    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad),
        )


class AvgPool2d(nn.AvgPool2d):
    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad, self.divisor_override),
        )


class AvgPool3d(nn.AvgPool3d):
    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            *(input, self.kernel_size, self.stride, self.padding),
            *(self.ceil_mode, self.count_include_pad, self.divisor_override),
        )


class _LPPool:
    def forward(self, input: Tensor) -> Tensor:
        m: Any = self
        result: Tensor = m.function(input, float(m.norm_type), m.kernel_size, m.stride, m.ceil_mode)
        return result


class LPPool1d(_LPPool, nn.LPPool1d):
    function = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPool, nn.LPPool2d):
    function = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPool, nn.LPPool3d):
    function = staticmethod(F.lp_pool3d)


class AdaptiveAvgPool1d(nn.AdaptiveAvgPool1d):
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(nn.AdaptiveAvgPool2d):
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(nn.AdaptiveAvgPool3d):
    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class AdaptiveMaxPool1d(nn.AdaptiveMaxPool1d):
    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(nn.AdaptiveMaxPool2d):
    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(nn.AdaptiveMaxPool3d):
    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpool:
    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        m: Any = self
        result: Tensor = m.function(input, indices, m.kernel_size, m.stride, m.padding, output_size)
        return result


class MaxUnpool1d(_MaxUnpool, nn.MaxUnpool1d):
    function = staticmethod(F.max_unpool1d)


class MaxUnpool2d(_MaxUnpool, nn.MaxUnpool2d):
    function = staticmethod(F.max_unpool2d)


class MaxUnpool3d(_MaxUnpool, nn.MaxUnpool3d):
    function = staticmethod(F.max_unpool3d)


_OURS = (
    *(MaxPool1d, MaxPool2d, MaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d),
    *(AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d),
    *(AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d),
    *(MaxUnpool1d, MaxUnpool2d, MaxUnpool3d),
)
_REPLACEMENTS: dict[type[nn.Module], type[nn.Module]] = {
    getattr(nn, ours.__name__): ours for ours in _OURS
}


def accelerate(model: nn.Module) -> nn.Module:
    """Makes a model's pooling modules ndpool's, in place, and gives the model back.

    Only modules that are exactly torch's are changed; their settings, hooks and names stay, and
    everything else is left alone. Lp pools are left too: torch's mean something else (see
    docs/torch.md).
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be an nn.Module, not {type(model).__name__}")
    for module in model.modules():
        ours = _REPLACEMENTS.get(type(module))
        if ours is not None:
            module.__class__ = ours
    return model
