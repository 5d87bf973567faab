"""ndpool.torch beside torch: values, indices, gradients of every kind, compilation, modules."""

from __future__ import annotations

import copy
import itertools
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import ndpool  # noqa: E402
import ndpool.torch as nt  # noqa: E402
from ndpool.torch import _operators as operators  # noqa: E402

ROOT = Path(__file__).parents[2]
SEED = 20261
torch.manual_seed(SEED)


# ---- The same as torch --------------------------------------------------------------------------


def random_call(rng: random.Random, d: int) -> tuple[Any, dict[str, Any]]:
    """A shape and the arguments of a window that torch accepts."""
    kernel = [rng.randint(1, 4) for _ in range(d)]
    dilation = [rng.choice([1, 1, 2]) for _ in range(d)]
    padding = [rng.randint(0, k // 2) for k in kernel]
    stride = [rng.randint(1, 4) for _ in range(d)]
    sizes = [
        rng.randint(max(1, (k - 1) * e + 1 - 2 * p), 12)
        for k, e, p in zip(kernel, dilation, padding)
    ]
    lead = [rng.randint(1, 3) for _ in range(rng.choice([1, 2]))]
    one = rng.random() < 0.3
    if one:
        kernel, stride, padding, dilation = (v[:1] * d for v in (kernel, stride, padding, dilation))
        sizes = [max(n, (kernel[0] - 1) * dilation[0] + 1) for n in sizes]
    short = (lambda v: v[0]) if one else tuple
    return [*lead, *sizes], {
        "kernel_size": short(kernel),
        "stride": None if rng.random() < 0.2 else short(stride),
        "padding": short(padding),
        "dilation": short(dilation),
        "ceil_mode": rng.random() < 0.5,
    }


def random_tensor(rng: random.Random, shape: list[int], d: int) -> Any:
    """Few different values, so that there are ties, in one of several layouts."""
    x = torch.randint(-3, 4, shape).double()
    if len(shape) == d + 2 >= 4 and rng.random() < 0.3:
        form = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
        x = x.to(memory_format=form)
    elif rng.random() < 0.2:
        x = x.transpose(-1, 0).contiguous().transpose(-1, 0)
    return x


def gradient(y: Any, x: Any, g: Any) -> Any:
    return torch.autograd.grad(y, x, g)[0]


@pytest.mark.parametrize("d", [1, 2, 3])
def test_max_pooling_equals_torch_in_values_indices_and_gradients(d: int) -> None:
    rng = random.Random(SEED + d)
    theirs = getattr(F, f"max_pool{d}d")
    ours = getattr(nt, f"max_pool{d}d")
    for _ in range(700):
        shape, call = random_call(rng, d)
        x = random_tensor(rng, shape, d).requires_grad_()
        wanted, wanted_index = theirs(x, **call, return_indices=True)
        y, index = ours(x, **call, return_indices=True)
        line = f"{shape} {call}"
        full = y != -torch.inf  # torch names some cell for windows of padding alone, we name none
        assert torch.equal(y, wanted) and torch.equal(index[full], wanted_index[full]), line
        assert (index[~full] == -1).all(), line
        assert torch.equal(ours(x.detach(), **call), wanted), line
        g = torch.randn_like(y)
        if full.all():
            torch.testing.assert_close(gradient(y, x, g), gradient(wanted, x, g), msg=line)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_average_pooling_equals_torch(d: int) -> None:
    rng = random.Random(SEED + 10 + d)
    theirs = getattr(F, f"avg_pool{d}d")
    ours = getattr(nt, f"avg_pool{d}d")
    for _ in range(500):
        shape, call = random_call(rng, d)
        del call["dilation"]
        kernel = call["kernel_size"]
        kernel = [kernel] * d if isinstance(kernel, int) else kernel
        if any(n < k for n, k in zip(shape[-d:], kernel)):
            continue
        call["count_include_pad"] = rng.random() < 0.5
        if d > 1 and rng.random() < 0.3:
            call["divisor_override"] = rng.randint(1, 5)
        x = random_tensor(rng, shape, d).requires_grad_()
        wanted, y = theirs(x, **call), ours(x, **call)
        line = f"{shape} {call}"
        torch.testing.assert_close(y, wanted, msg=line)
        g = torch.randn_like(y)
        torch.testing.assert_close(gradient(y, x, g), gradient(wanted, x, g), msg=line)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_adaptive_pooling_equals_torch(d: int) -> None:
    rng = random.Random(SEED + 20 + d)
    for _ in range(200):
        shape = [rng.randint(1, 3) for _ in range(rng.choice([1, 2]))]
        shape += [rng.randint(1, 9) for _ in range(d)]
        size: Any = tuple(rng.randint(1, 7) for _ in range(d))
        if rng.random() < 0.3:
            size = size[0]
        elif d > 1 and rng.random() < 0.3:
            size = (None, *size[1:])
        x = random_tensor(rng, shape, d).requires_grad_()
        line = f"{shape} {size}"
        wanted = getattr(F, f"adaptive_avg_pool{d}d")(x, size)
        y = getattr(nt, f"adaptive_avg_pool{d}d")(x, size)
        torch.testing.assert_close(y, wanted, msg=line)
        wanted, places = getattr(F, f"adaptive_max_pool{d}d")(x, size, return_indices=True)
        y, index = getattr(nt, f"adaptive_max_pool{d}d")(x, size, return_indices=True)
        assert torch.equal(y, wanted) and torch.equal(index, places), line
        g = torch.randn_like(y)
        torch.testing.assert_close(gradient(y, x, g), gradient(wanted, x, g), msg=line)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_unpooling_equals_torch(d: int) -> None:
    shape = [2, 3, 8, 6, 4][: 2 + d]
    x = torch.randn(shape, dtype=torch.float64)
    y, index = getattr(F, f"max_pool{d}d")(x, 2, return_indices=True)
    y.requires_grad_()
    wanted = getattr(F, f"max_unpool{d}d")(y, index, 2)
    result = getattr(nt, f"max_unpool{d}d")(y, index, 2)
    assert torch.equal(result, wanted)
    g = torch.randn_like(result)
    assert torch.equal(gradient(result, y, g), gradient(wanted, y, g))
    larger = [n + 1 for n in shape[2:]]
    function = getattr(nt, f"max_unpool{d}d")
    assert list(function(y, index, 2, output_size=larger).shape[2:]) == larger
    with pytest.raises(ValueError, match="output_size"):
        function(y, index, 2, output_size=[99] * d)


def test_lp_pooling_equals_torch_where_both_mean_the_same() -> None:
    x = torch.rand(2, 3, 8, 8, dtype=torch.float64) + 0.1
    for p in (1.0, 2.0, 3.5):
        torch.testing.assert_close(nt.lp_pool2d(x, p, 2), F.lp_pool2d(x, p, 2))
        torch.testing.assert_close(nt.lp_pool1d(x[0], p, 3, 2), F.lp_pool1d(x[0], p, 3, 2))
    odd = torch.tensor([[[-2.0, 1.0]]])
    assert torch.allclose(nt.lp_pool1d(odd, 3.0, 2), torch.tensor(9.0) ** (1 / 3))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "uint8", "int64"])
def test_other_types_equal_torch(dtype: str) -> None:
    x = torch.randint(0, 100, (2, 3, 9, 9)).to(getattr(torch, dtype))
    y = nt.max_pool2d(x, 3, 2, 1)
    wanted = F.max_pool2d(x.double(), 3, 2, 1)
    assert y.dtype == x.dtype and torch.equal(y.double(), wanted)


def test_the_memory_format_of_the_input_is_kept() -> None:
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    for f in (lambda x: nt.max_pool2d(x, 2), lambda x: nt.avg_pool2d(x, 2)):
        y = f(x)
        assert y.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(y, f(x.contiguous()))
    y, index = nt.max_pool2d(x.requires_grad_(), 2, return_indices=True)
    assert index.is_contiguous(memory_format=torch.channels_last)
    grad = gradient(y, x, torch.ones_like(y))
    assert grad.is_contiguous(memory_format=torch.channels_last)
    volume = torch.randn(1, 2, 4, 4, 4).to(memory_format=torch.channels_last_3d)
    assert nt.max_pool3d(volume, 2).is_contiguous(memory_format=torch.channels_last_3d)


def test_among_several_nan_the_first_is_named_and_padding_has_no_limit() -> None:
    x = torch.tensor([[[1.0, float("nan"), float("nan"), 2.0]]])
    assert nt.max_pool1d(x, 4, return_indices=True)[1].item() == 1
    assert nt.max_pool1d(torch.ones(1, 1, 4), 2, 1, padding=1).shape == (1, 1, 5)
    assert nt.avg_pool1d(torch.ones(1, 1, 4), 3, 1, padding=2).shape == (1, 1, 6)


# ---- Derivatives --------------------------------------------------------------------------------

DIFFERENTIABLE = {
    "max_pool2d": lambda x: nt.max_pool2d(x, 3, 2, 1),
    "max_pool1d dilated": lambda x: nt.max_pool1d(x[0], 2, 1, dilation=2),
    "avg_pool2d": lambda x: nt.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive_max_pool2d": lambda x: nt.adaptive_max_pool2d(x, 4),
    "adaptive_avg_pool3d": lambda x: nt.adaptive_avg_pool3d(x, 2),
    "lp_pool2d": lambda x: nt.lp_pool2d(x, 3.0, 2),
    "max_pool, ties split": lambda x: nt.max_pool(x, (2, 2), ties="split"),
    "max_pool, ties all": lambda x: nt.max_pool(x, (2, 2), ties="all"),
    "max_pool, ties last": lambda x: nt.max_pool(x, (2, 2), 1, ties="last"),
    "min_pool over first axes": lambda x: nt.min_pool(x, 2, axes=(0, 2)),
    "avg_pool": lambda x: nt.avg_pool(x, (2, 3), divisor=4),
    "smooth_max_pool": lambda x: nt.smooth_max_pool(x, (3, 3), 2, 1, beta=1.5),
    "lp_pool": lambda x: nt.lp_pool(x, (2, 2), p=2.5),
    "global_smooth_max_pool": lambda x: nt.global_smooth_max_pool(x),
    "global_max_pool": lambda x: nt.global_max_pool(x, keepdims=True),
    "max_unpool2d": lambda x: nt.max_unpool2d(
        x[..., :2, :2], torch.arange(4).view(2, 2).expand(2, 3, 2, 2), 2
    ),
}


def distinct(*shape: int) -> Any:
    """All different and away from zero, so that slopes exist."""
    n = 1
    for size in shape:
        n *= size
    return ((torch.randperm(n).double() + 1) / n + 0.5).reshape(shape).requires_grad_()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_derivatives_are_slopes_in_every_mode(name: str) -> None:
    f = DIFFERENTIABLE[name]
    x = distinct(2, 3, 4, 4)
    assert gradcheck(f, x, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(f, x)


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_jacobians_of_both_modes_agree_and_map(name: str) -> None:
    from torch.func import jacfwd, jacrev, vmap

    f = DIFFERENTIABLE[name]
    x = distinct(2, 3, 4, 4).detach()
    backward, forward = jacrev(f)(x), jacfwd(f)(x)
    torch.testing.assert_close(backward, forward)
    both = torch.stack([x, x.flip(-1)], 1)
    mapped = vmap(f, in_dims=1)(both)
    torch.testing.assert_close(mapped[1], f(x.flip(-1)))
    torch.testing.assert_close(vmap(jacrev(f), in_dims=1)(both)[0], backward)


@pytest.mark.parametrize("name", ["smooth_max_pool", "lp_pool", "avg_pool"])
def test_hessians_agree_however_they_are_taken(name: str) -> None:
    from torch.func import hessian, jacrev

    x = distinct(1, 1, 4, 4).detach()
    total = lambda x: (DIFFERENTIABLE[name](x) ** 2).sum()  # noqa: E731
    torch.testing.assert_close(hessian(total)(x), jacrev(jacrev(total))(x))


def test_training_keeps_one_byte_per_output() -> None:
    saved = []

    def pack(t: Any) -> Any:
        saved.append(t)
        return t

    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        y = nt.max_pool2d(x, 3, 2, 1)
    assert sum(t.numel() * t.element_size() for t in saved) == y.numel()


# ---- Compilation --------------------------------------------------------------------------------

OPERATOR_CALLS = {
    "pool": ("avg w2x2 axes=-2,-1", lambda x, g: (x,)),
    "pool_argmax": ("max w2x2 axes=-2,-1", lambda x, g: (x,)),
    "pool_index": ("max w2x2 axes=-2,-1", lambda x, g: (x,)),
    "tangent": ("avg w2x2 axes=-2,-1", lambda x, g: (None, x)),
    "second": ("smooth w2x2 axes=-2,-1", lambda x, g: (x.detach(), g.detach(), x.detach())),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*OPERATOR_CALLS, "cotangent", "unpool", "unpool_vjp"])
def test_operators_are_registered_as_torch_wants(name: str) -> None:
    x = torch.randn(1, 2, 4, 4, requires_grad=True)
    g = torch.randn(1, 2, 2, 2, requires_grad=True)
    index = torch.arange(4).view(1, 1, 2, 2).expand(1, 2, 2, 2).contiguous()
    if name in OPERATOR_CALLS:
        tokens, tensors = OPERATOR_CALLS[name]
        args = (*tensors(x, g), tokens)
    elif name == "cotangent":
        args = (x, g, "smooth w2x2 axes=-2,-1", (1, 2, 4, 4))
    elif name == "unpool":
        args = (g, index, (1, 2, 4, 4), 2)
    else:
        args = (x, index, 2)
    torch.library.opcheck(getattr(operators, name), args)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "smooth_max_pool", "global_max_pool"])
def test_compiled_functions_give_the_same_values_and_gradients(name: str) -> None:
    f = DIFFERENTIABLE[name]
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    x = distinct(2, 3, 4, 4)
    y, wanted = compiled(x), f(x)
    assert torch.equal(y, wanted)
    g = torch.randn_like(y)
    assert torch.equal(gradient(y, x, g), gradient(wanted, x, g))


@pytest.mark.filterwarnings("ignore")
def test_meta_and_fake_tensors_have_shapes_without_data() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    meta = torch.empty(32, 64, 112, 112, device="meta")
    assert nt.max_pool2d(meta, 3, 2, 1).shape == (32, 64, 56, 56)
    with FakeTensorMode():
        assert nt.avg_pool2d(torch.empty(2, 3, 8, 8), 2).shape == (2, 3, 4, 4)


# ---- Modules ------------------------------------------------------------------------------------


class Net(nn.Module):
    """A stem, a branch with stride 1, a pyramid of pools, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2, 1, ceil_mode=True)
        )
        self.branch = nn.Sequential(nn.MaxPool2d(3, 1, 1), nn.Conv2d(8, 4, 1))
        self.pools = nn.ModuleList([nn.MaxPool2d(k, 1, k // 2) for k in (5, 9)])
        self.shrink = nn.AvgPool2d(2, count_include_pad=False)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 5))

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        x = torch.cat([x, self.branch(x)], 1)[:, :8]
        x = torch.cat([x, *(pool(x) for pool in self.pools)], 1)
        return self.head(self.shrink(x))


def test_accelerate_changes_pools_alone_and_results_not_at_all() -> None:
    model = Net().double()
    fast = nt.accelerate(copy.deepcopy(model))
    changed = [type(m).__module__.startswith("ndpool") for m in fast.modules()]
    assert sum(changed) == 6
    assert isinstance(fast.stem[2], nn.MaxPool2d) and repr(fast) == repr(model)
    x = torch.randn(2, 3, 32, 32, dtype=torch.float64)
    torch.testing.assert_close(fast(x), model(x))
    for m in (model, fast):
        m(x).square().sum().backward()
    for one, other in zip(model.parameters(), fast.parameters()):
        torch.testing.assert_close(other.grad, one.grad)


def test_accelerate_keeps_hooks_and_the_state_of_modules() -> None:
    pool = nn.MaxPool2d(2)
    seen = []
    pool.register_forward_hook(lambda *_: seen.append(1))
    assert nt.accelerate(pool) is pool and type(pool) is nt.MaxPool2d
    pool.eval()
    pool(torch.ones(1, 1, 4, 4))
    assert seen and not pool.training


@pytest.mark.parametrize(
    "ours",
    [
        getattr(nt, name)
        for name in nt.__all__
        if name[0].isupper() and name[-2:] in ("1d", "2d", "3d")
    ],
    ids=lambda ours: ours.__name__,
)
def test_modules_are_torchs_with_another_engine(ours: Any) -> None:
    theirs = getattr(nn, ours.__name__)
    d = int(ours.__name__[-2])
    x = torch.rand([2, 3, 8, 8, 8][: 2 + d], dtype=torch.float64)
    args = {"LPPool": (2, 2), "Adapti": (3,)}.get(ours.__name__[:6], (2,))
    if "Unpool" in ours.__name__:
        y, index = getattr(F, f"max_pool{d}d")(x, 2, return_indices=True)
        assert torch.equal(ours(2)(y, index), theirs(2)(y, index))
        return
    module = ours(*args)
    assert module.extra_repr() == theirs(*args).extra_repr()
    torch.testing.assert_close(module(x), theirs(*args)(x))


# ---- Receptive fields ---------------------------------------------------------------------------


def test_the_receptive_field_of_a_model_is_that_of_its_layers() -> None:
    model = nn.Sequential(
        *(nn.Conv2d(3, 4, 3), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(4, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
    )
    fields = nt.receptive_field(model, torch.zeros(1, 3, 32, 32))
    assert [f.size[0] for f in fields[:5]] == [3, 4, 8, 10, 18]
    assert [f.layer for f in fields[:2]] == ["0", "1"] and all(f.aligned for f in fields)
    wanted = ndpool.receptive_field(
        [("conv", 3, 1), ("pool", 2, 2), ("conv", 3, 1), ("pool", 2, 2), ("conv", 3, 1)]
    )
    assert [f.start[1] for f in fields[:5]] == [f.start for f in wanted]
    assert fields[5].size == (18 + 3 * 4, 18 + 3 * 4)


def test_branches_that_lie_over_other_cells_are_flagged() -> None:
    class Branches(nn.Module):
        def __init__(self, padding: int) -> None:
            super().__init__()
            self.wide = nn.Conv2d(3, 3, 5, padding=padding)
            self.small = nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x: Any) -> Any:
            a = self.wide(x)
            return a + self.small(x)[..., : a.shape[-2], : a.shape[-1]]

    fields = nt.receptive_field(Branches(2), torch.zeros(1, 3, 16, 16))
    assert fields[-1].aligned and fields[-1].size == (5, 5)
    fields = nt.receptive_field(Branches(0), torch.zeros(1, 3, 16, 16))
    assert not fields[-1].aligned and fields[-1].size == (6, 6)


# ---- Refusals -----------------------------------------------------------------------------------


def test_refusals_are_torchs_errors_and_ours() -> None:
    x = torch.ones(1, 1, 4, 4)
    for call in (
        lambda: nt.max_pool2d(x[0, 0], 2),
        lambda: nt.max_pool2d(x, 0),
        lambda: nt.max_pool2d(x, 9),
        lambda: nt.max_pool2d(x, 2, 0),
        lambda: nt.max_pool2d(x, (2, 2, 2)),
        lambda: nt.avg_pool2d(x, 2, divisor_override=0),
        lambda: nt.avg_pool2d(x, 2, divisor_override=10**30),
        lambda: nt.max_pool2d(x.to_sparse(), 2),
        lambda: nt.max_unpool2d(x, torch.full((1, 1, 4, 4), 99), 2),
    ):
        with pytest.raises(ndpool.PoolError):
            call()
        with pytest.raises(RuntimeError):
            call()
    for bad in (
        lambda: nt.max_pool2d([1.0], 2),
        lambda: nt.max_pool2d(x, 2.0),
        lambda: nt.max_unpool2d(x, None, 2),
        lambda: nt.accelerate(3),
        lambda: nt.receptive_field(nn.MaxPool2d(2), None),
        lambda: nt.max_pool2d(x.to(torch.complex64), 2),
    ):
        with pytest.raises(TypeError):
            bad()


def test_types_of_results_may_be_torchs() -> None:
    x = torch.ones(2, 4, dtype=torch.int32)
    assert nt.avg_pool(x, (2,), dtype=torch.float64).dtype == torch.float64


def test_negative_bits_are_resolved_before_memory_is_read() -> None:
    x = torch.view_as_complex(torch.randn(2, 4, 4, 2)).conj().imag
    assert x.is_neg()
    assert torch.equal(nt.max_pool2d(x, 2), F.max_pool2d(x.clone(), 2))


def test_results_are_the_same_for_every_number_of_threads() -> None:
    x = torch.randn(4, 8, 33, 33)
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(nt.avg_pool2d(x, 3, 2, 1))
    torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in itertools.pairwise(results))


# ---- Documents ----------------------------------------------------------------------------------


def test_the_code_of_the_page_runs() -> None:
    names: dict[str, object] = {}
    page = (ROOT / "docs/torch.md").read_text()
    for block in re.findall(r"^```python\n(.*?)^```", page, re.S | re.M):
        exec(block, names)


def test_the_example_finds_the_same_outputs_and_gradients() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/accelerate.py", "--size=32", "--batch=2", "--rounds=1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "agree" in done.stdout
