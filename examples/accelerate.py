"""accelerate(model) on three small networks: the same outputs and gradients, and the time it saves.

Run it with a Python that has torch and ndpool: python examples/accelerate.py --help
"""

from __future__ import annotations

import argparse
import copy
import time

import torch
from torch import Tensor, nn

import ndpool.torch


def conv(cin: int, cout: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(cin, cout, kernel, stride, kernel // 2), nn.ReLU())


class ResNetStem(nn.Module):
    """A wide convolution and an overlapping max pool, then an average over the plane."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stem(x))


class Inception(nn.Module):
    """Branches side by side; one pools with stride 1."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(conv(3, 32, 3, 2), nn.MaxPool2d(3, 2, ceil_mode=True))
        self.branches = nn.ModuleList(
            [
                conv(32, 16, 1),
                nn.Sequential(conv(32, 8, 1), conv(8, 16)),
                nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(32, 16, 1)),
                nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), conv(32, 16, 1)),
            ]
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return self.head(torch.cat([branch(x) for branch in self.branches], 1))


class PyramidPooling(nn.Module):
    """Max pools of growing windows over the same map, stacked."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(conv(3, 32, 3, 2), nn.MaxPool2d(2), conv(32, 32))
        self.pools = nn.ModuleList([nn.MaxPool2d(k, 1, k // 2) for k in (5, 9, 13)])
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return self.head(torch.cat([x, *(pool(x) for pool in self.pools)], 1))


def step(model: nn.Module, x: Tensor) -> Tensor:
    model.zero_grad()
    y = model(x)
    y.square().mean().backward()
    return y


def seconds(models: list[nn.Module], x: Tensor, train: bool, rounds: int) -> list[float]:
    """The best of several rounds of each, in turns."""
    best = [float("inf")] * len(models)
    for _ in range(rounds):
        for i, model in enumerate(models):
            start = time.perf_counter()
            if train:
                step(model, x)
            else:
                with torch.no_grad():
                    model(x)
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(0)
    x = torch.randn(args.batch, 3, args.size, args.size)
    print(f"{args.batch} x 3 x {args.size} x {args.size}, {torch.get_num_threads()} threads")
    print(f"{'model':16} {'pools':>5} {'inference, ms':>20} {'training step, ms':>20}")
    for kind in (ResNetStem, Inception, PyramidPooling):
        model = kind()
        fast = ndpool.torch.accelerate(copy.deepcopy(model))
        torch.testing.assert_close(step(fast, x), step(model, x))
        for one, other in zip(model.parameters(), fast.parameters()):
            torch.testing.assert_close(other.grad, one.grad)
        pools = sum(type(m).__module__.startswith("ndpool") for m in fast.modules())
        row = f"{kind.__name__:16} {pools:5}"
        for train in (False, True):
            before, after = seconds([model, fast], x, train, args.rounds)
            row += f"{before * 1e3:9.1f} ->{after * 1e3:8.1f}"
        print(row)
    print("outputs and gradients before and after agree")


if __name__ == "__main__":
    main()
