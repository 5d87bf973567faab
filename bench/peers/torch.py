"""PyTorch. Channels last is a permuted view, as its channels_last memory format is."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from problem import FLOATS, Problem

PACKAGE = "torch"
aten = torch.ops.aten


def setup(threads: int) -> None:
    torch.set_num_threads(threads)


def supports(problem: Problem, work: str) -> bool:
    if problem.op == "avg" and problem.type not in FLOATS:
        return False
    if problem.mode == "global":
        return work == "forward" and problem.op in ("max", "avg")
    if problem.channels is None or problem.dims > 3:
        return False
    if problem.op == "smooth":
        return problem.mode == "windowed" and problem.dims == 2 and work != "argmax"
    if problem.op == "avg" and (work == "argmax" or any(d != 1 for d in problem.dilation)):
        return False
    return problem.op in ("max", "avg") and (
        work == "forward" or (problem.mode == "windowed" and problem.dims > 1)
    )


def prepare(problem: Problem, work: str) -> Callable[[], torch.Tensor]:
    x = _tensor(problem.x(), problem)
    if problem.op == "smooth":
        return _smooth(x, problem, work)
    if problem.mode == "global":
        reduce = torch.mean if problem.op == "avg" else torch.amax
        call = lambda: reduce(x, problem.axes, keepdim=True)  # noqa: E731
    elif problem.mode == "adaptive":
        pool = getattr(F, f"adaptive_{problem.op}_pool{problem.dims}d")
        call = lambda: pool(x, problem.outputs)  # noqa: E731
    elif work == "vjp":
        call = _backward(x, _tensor(problem.g(), problem), problem)
    elif problem.op == "avg":
        pool = getattr(F, f"avg_pool{problem.dims}d")
        call = lambda: pool(x, problem.window, problem.stride, problem.padding)  # noqa: E731
    else:
        pool = getattr(F, f"max_pool{problem.dims}d")
        given = (x, problem.window, problem.stride, problem.padding, problem.dilation)
        if work == "argmax":
            call = lambda: pool(*given, return_indices=True)  # noqa: E731
        else:
            call = lambda: pool(*given)  # noqa: E731
    return torch.inference_mode()(call)


def to_numpy(result: torch.Tensor | tuple[torch.Tensor, ...], problem: Problem) -> np.ndarray:
    y = (result if isinstance(result, torch.Tensor) else result[0]).detach()
    if problem.channels == "last" and problem.mode != "global":
        y = y.movedim(1, -1)
    y = y.contiguous()
    return (y.view(torch.uint16) if problem.type == "bf16" else y).numpy()


def _tensor(array: np.ndarray, problem: Problem) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    if problem.type == "bf16":
        tensor = tensor.view(torch.bfloat16)
    if problem.channels == "last" and problem.mode != "global":
        tensor = tensor.movedim(-1, 1)
    return tensor


def _backward(x: torch.Tensor, g: torch.Tensor, problem: Problem) -> Callable[[], torch.Tensor]:
    """The operators that autograd would call, and nothing of its own work."""
    where = (problem.window, problem.stride, problem.padding)
    if problem.op == "avg":
        back = getattr(aten, f"avg_pool{problem.dims}d_backward")
        return lambda: back(g, x, *where, False, True, None)
    forward = getattr(aten, f"max_pool{problem.dims}d_with_indices")
    back = getattr(aten, f"max_pool{problem.dims}d_with_indices_backward")
    indices = forward(x, *where, problem.dilation)[1]
    return lambda: back(g, x, *where, problem.dilation, False, indices)


def _smooth(x: torch.Tensor, problem: Problem, work: str) -> Callable[[], torch.Tensor]:
    """Torch has no smooth max: what its users write, unfold and logsumexp."""
    batch, channels = x.shape[:2]
    taps = problem.window[0] * problem.window[1]

    def forward() -> torch.Tensor:
        columns = F.unfold(
            x, problem.window, problem.dilation, problem.padding, problem.stride
        ).view(batch, channels, taps, *problem.outputs)
        return torch.logsumexp(columns, 2)

    if work == "forward":
        return torch.inference_mode()(forward)
    x.requires_grad_()
    y, g = forward(), _tensor(problem.g(), problem)
    return lambda: torch.autograd.grad(y, x, g, retain_graph=True)[0]
