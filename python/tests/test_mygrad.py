"""ndpool.mygrad against MyGrad's own max_pool, numerical slopes, and the pages that describe it."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ndpool

mg = pytest.importorskip("mygrad")
from mygrad.nnet.layers import max_pool as theirs  # noqa: E402

import ndpool.mygrad as ours  # noqa: E402

RNG = np.random.default_rng(11)
PAGE = Path(__file__).parents[2] / "docs" / "mygrad.md"
WITH_TIES = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0])
WITH_NAN = st.sampled_from([-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan])


class Pooling(NamedTuple):
    x: np.ndarray
    pool: tuple[int, ...]
    stride: int | tuple[int, ...]


@st.composite
def tilings(draw: Any, elements: Any, dtype: Any = np.float64) -> Pooling:
    """Windows that fit exactly, over one to three axes with up to three before them."""
    d = draw(st.integers(1, 3))
    numbers = st.tuples(*[st.integers(1, 3)] * d)
    pool, outputs = draw(numbers), draw(numbers)
    stride = draw(st.integers(1, 3) | numbers)
    steps = (stride,) * d if isinstance(stride, int) else stride
    lead = draw(st.lists(st.integers(1, 2), max_size=3))
    sizes = [(o - 1) * s + k for o, s, k in zip(outputs, steps, pool)]
    x = draw(hnp.arrays(dtype, (*lead, *sizes), elements=elements, fill=st.nothing()))
    return Pooling(x, pool, stride)


def value_and_gradient(function: Callable[..., Any], case: Pooling) -> tuple[Any, Any]:
    """The result, and the gradient that 1, 2, 3, … at its cells give."""
    x = mg.tensor(case.x)
    y = function(x, case.pool, case.stride)
    y.backward(np.arange(1.0, y.size + 1).reshape(y.shape))
    assert x.grad.dtype == x.dtype and y.dtype == x.dtype
    return y.data, x.grad


@given(tilings(WITH_TIES))
def test_max_pool_is_mygrads_own_with_ties(case: Pooling) -> None:
    for mine, other in zip(
        value_and_gradient(ours.max_pool, case), value_and_gradient(theirs, case)
    ):
        np.testing.assert_array_equal(mine, other)


@given(tilings(WITH_NAN))
def test_max_pool_is_mygrads_own_with_nan_and_infinity(case: Pooling) -> None:
    for mine, other in zip(
        value_and_gradient(ours.max_pool, case), value_and_gradient(theirs, case)
    ):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_max_pool_is_mygrads_own_in_smaller_float_types(dtype: Any) -> None:
    case = Pooling(RNG.integers(0, 4, (2, 3, 9, 7)).astype(dtype), (3, 3), 1)
    for mine, other in zip(
        value_and_gradient(ours.max_pool, case), value_and_gradient(theirs, case)
    ):
        np.testing.assert_allclose(mine, other, rtol=4 * np.finfo(dtype).eps)


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=3),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_max_pool_refuses_what_mygrad_refuses(sizes: Any, pool: Any, stride: int) -> None:
    x = mg.tensor(np.zeros(sizes))
    try:
        shape = theirs(x, pool, stride).shape
    except (AssertionError, ValueError):
        with pytest.raises(ValueError):
            ours.max_pool(x, pool, stride)
    else:
        assert ours.max_pool(x, pool, stride).shape == shape


@pytest.mark.parametrize(
    ("pool", "stride", "message"),
    [
        ((2,), 2, "axis 1.*remainder 1"),
        ((3, 2), 1, "axis 0.*3"),
        ((2, 2, 1), 1, "rank 2"),
        ((2, 2), (1,), "differ in length"),
        ((2,), 0, "stride 0"),
        ((0,), 1, "window 0"),
        ((), 1, "empty"),
        (2, 2, r"such as \(2, 2\)"),
    ],
)
def test_a_refusal_says_why(pool: Any, stride: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ours.max_pool(mg.zeros((2, 5)), pool, stride)


@pytest.mark.parametrize(("pool", "stride"), [((2.0,), 1), ((2,), 1.0), ((2,), None), ((2,), "1")])
def test_numbers_that_are_no_integers_are_type_errors(pool: Any, stride: Any) -> None:
    with pytest.raises(TypeError):
        ours.max_pool(mg.zeros((2, 4)), pool, stride)


def test_lists_arrays_and_numpy_integers_are_taken() -> None:
    x = np.arange(24.0).reshape(4, 6)
    expected = theirs(x, (2, 2), 2).data
    for pool in ((2, 2), [2, 2], np.array([2, 2])):
        for stride in (2, np.int64(2), (2, 2), [2, 2], np.array([2, 2])):
            for data in (x, x.tolist(), mg.tensor(x), np.asfortranarray(x)):
                np.testing.assert_array_equal(ours.max_pool(data, pool, stride).data, expected)


class WithoutSpaces(doctest.OutputChecker):
    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return "".join(want.split()) == "".join(got.split())


def test_the_examples_of_mygrads_own_max_pool_give_what_they_show() -> None:
    text = re.sub(r"from mygrad\.nnet.* import", "from ndpool.mygrad import", theirs.__doc__)
    examples = doctest.DocTestParser().get_doctest(text, {}, "max_pool", None, 0)
    assert len(examples.examples) >= 12 and "ndpool.mygrad" in text
    assert doctest.DocTestRunner(WithoutSpaces()).run(examples).failed == 0


def test_the_documented_examples_hold() -> None:
    x = mg.Tensor([[0.0, 10.0, 8.0], [2.0, 7.0, 3.0], [5.0, 7.0, 20.0]])
    out = ours.max_pool(x, pool=(2, 2), stride=1)
    np.testing.assert_array_equal(out, [[10, 10], [7, 20]])
    out.sum().backward()
    np.testing.assert_array_equal(x.grad, [[0, 2, 0], [0, 1, 0], [0, 0, 1]])
    x = mg.Tensor([[0.0, 10.0, 8.0], [9.0, 7.0, 3.0], [5.0, 0.0, 20.0]])
    out = ours.max_pool(x, pool=(2,), stride=1)
    np.testing.assert_array_equal(out, [[10, 10], [9, 7], [5, 20]])
    x = mg.Tensor(RNG.random((10, 3, 12, 12)))
    assert ours.max_pool(x, (2, 2), (2, 1)).shape == (10, 3, 6, 11)
    assert ours.max_pool(x, (3, 2, 2), 1).shape == (10, 1, 11, 11)


# ---- Constants and graphs -----------------------------------------------------------------------


@pytest.mark.parametrize("function", [theirs, ours.max_pool], ids=["mygrad", "ndpool"])
def test_the_flag_constant_has_mygrads_meaning(function: Any) -> None:
    variable, fixed = mg.tensor([1.0, 2.0]), mg.tensor([1.0, 2.0], constant=True)
    pooled = lambda x, constant=None: function(x, (2,), 1, constant=constant)  # noqa: E731
    assert not pooled(variable).constant
    assert pooled(variable, True).constant
    assert pooled(fixed).constant and pooled(np.array([1.0, 2.0])).constant
    assert not pooled(fixed, False).constant
    pooled(variable, True).sum().backward()
    assert variable.grad is None
    pooled(fixed, False).sum().backward()
    assert fixed.grad is None


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "int32", "int64", "uint64"])
def test_integer_tensors_keep_their_type_and_are_constants(dtype: str) -> None:
    x = mg.tensor([0, 1, 1, 0], dtype=dtype)
    y = ours.max_pool(x, (2,), 2)
    assert y.constant and y.dtype == dtype and y.data.tolist() == [1, 1]
    with pytest.raises(ValueError, match="constants"):
        ours.max_pool(x, (2,), 2, constant=False)


def test_averages_of_integer_tensors_may_be_floats_and_are_constants() -> None:
    x = mg.tensor([1, 2, 4, 4])
    assert ours.avg_pool(x, (2,)).data.tolist() == [2, 4]
    y = ours.avg_pool(x, (2,), dtype="float32")
    assert y.constant and y.dtype == np.float32 and y.data.tolist() == [1.5, 4.0]


def test_without_autodiff_nothing_is_recorded() -> None:
    x = mg.tensor(RNG.random((4, 4)))
    with mg.no_autodiff:
        y = ours.max_pool(x, (2, 2), 2)
    assert y.creator is None
    np.testing.assert_array_equal(y, theirs(x, (2, 2), 2))


def test_a_tensor_that_changes_later_leaves_the_recorded_gradient_alone() -> None:
    source = mg.tensor([1.0, 4.0, 3.0, 2.0])
    x = 2 * source
    y = ours.max_pool(x, (2,), 2)
    x[1] = -9.0
    y.sum().backward()
    np.testing.assert_array_equal(source.grad, [0.0, 2.0, 2.0, 0.0])


def test_empty_batches_have_empty_gradients() -> None:
    x = mg.tensor(np.zeros((0, 4, 4)))
    y = ours.max_pool(x, (2, 2), 2)
    y.sum().backward()
    assert y.shape == (0, 2, 2) and x.grad.shape == x.shape


# ---- The other operations -----------------------------------------------------------------------

OTHERS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("min_pool", ((3, 2), 1, 1), {}),
    ("avg_pool", ((3, 3), 2, 1), {"count_include_pad": False}),
    ("avg_pool", ((2, 3),), {"rounding": "ceil", "axes": (0, 2)}),
    ("smooth_max_pool", ((2, 2), 1), {"beta": 3.0}),
    ("smooth_max_pool", ((2,), 2, "same"), {"beta": -1.5, "mean": True}),
    ("lp_pool", ((2, 3), (2, 1)), {"p": 3.0}),
    ("global_max_pool", (), {}),
    ("global_min_pool", (), {"axes": 1, "keepdims": True}),
    ("global_avg_pool", (), {"axes": (0, 1, 2)}),
    ("global_smooth_max_pool", (), {"beta": 2.0}),
    ("global_lp_pool", (), {"axes": 3, "keepdims": True}),
    ("adaptive_max_pool", ((2, 3),), {}),
    ("adaptive_min_pool", ((None, 2),), {}),
    ("adaptive_avg_pool", (3,), {"axes": 2}),
    ("adaptive_smooth_max_pool", ((4,),), {"mean": True}),
    ("adaptive_lp_pool", ((2, 2),), {"p": 1.5}),
]


def slopes(function: Callable[[np.ndarray], float], x: np.ndarray) -> np.ndarray:
    """The gradient by central differences."""
    h = 1e-6
    result = np.empty_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = h
        result[place] = (function(x + step) - function(x - step)) / (2 * h)
    return result


@pytest.mark.parametrize(("name", "args", "kwargs"), OTHERS)
def test_an_operation_on_tensors_has_ndpools_values_and_the_slopes_as_gradient(
    name: str, args: Any, kwargs: Any
) -> None:
    x = mg.tensor(RNG.permutation(60).reshape(3, 4, 5) / 10 - 2.95)
    y = getattr(ours, name)(x, *args, **kwargs)
    plain = getattr(ndpool, name)
    np.testing.assert_array_equal(y, plain(x.data, *args, **kwargs))
    weights = RNG.standard_normal(y.shape)
    (y * weights).sum().backward()
    expected = slopes(lambda x: float((plain(x, *args, **kwargs) * weights).sum()), x.data)
    np.testing.assert_allclose(x.grad, expected, rtol=1e-6, atol=1e-7)
    assert getattr(ours, name)(x, *args, **kwargs, constant=True).constant


def test_every_operation_of_ndpool_is_there_with_its_arguments_and_constant() -> None:
    assert set(ours.__all__) == {name for name in ndpool.__all__ if name.endswith("pool")}
    assert {name for name, *_ in OTHERS} | {"max_pool", "max_unpool"} == set(ours.__all__)
    for name in {name for name, *_ in OTHERS}:
        function, plain = getattr(ours, name), getattr(ndpool, name)
        expected = [*inspect.signature(plain).parameters, "constant"]
        expected.remove("out")
        assert list(inspect.signature(function).parameters) == expected
        assert f"ndpool.{name}" in function.__doc__


@pytest.mark.parametrize("ties", ["first", "last", "all", "split"])
def test_ties_are_for_the_caller_to_choose(ties: str) -> None:
    x = mg.tensor([0.0, 0.0, 1.0])
    ours.min_pool(x, (3,), ties=ties).sum().backward()
    share = {"first": [1, 0, 0], "last": [0, 1, 0], "all": [1, 1, 0], "split": [0.5, 0.5, 0]}
    np.testing.assert_array_equal(x.grad, share[ties])


def test_indices_come_as_an_array_beside_the_tensor() -> None:
    x = mg.tensor([[3.0, 1.0, 2.0, 0.0]])
    y, indices = ours.min_pool(x, (2,), return_indices=True)
    assert type(indices) is np.ndarray and indices.tolist() == [[1, 3]]
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, [[0, 1, 0, 1]])


def test_max_unpool_puts_values_back_and_brings_their_gradient() -> None:
    x = RNG.standard_normal((2, 4, 6))
    values, indices = ndpool.max_pool(x, (2, 2), return_indices=True)
    for index in (indices, mg.tensor(indices)):
        y = mg.tensor(values)
        back = ours.max_unpool(y, index, x.shape, axes=2)
        np.testing.assert_array_equal(back, ndpool.max_unpool(values, indices, x.shape, axes=2))
        (back * x).sum().backward()
        np.testing.assert_array_equal(y.grad, values)
    assert ours.max_unpool(y, indices, x.shape, axes=2, constant=True).constant


def test_a_graph_of_several_poolings_has_the_slopes_as_gradient() -> None:
    def loss(x: Any, on: Any, maximum: Any) -> Any:
        peaks = maximum(x, (2, 2), 2)
        means = on.avg_pool(x, (3, 3), 2, 1)
        return (on.smooth_max_pool(peaks * means, (2, 2), 1, beta=2.0) ** 2).sum() + x.sum() * 0.5

    x = mg.tensor(RNG.permutation(72).reshape(2, 6, 6) / 20 - 1.7)
    loss(x, ours, ours.max_pool).backward()
    expected = slopes(lambda x: float(loss(x, ndpool, ndpool.max_pool)), x.data)
    np.testing.assert_allclose(x.grad, expected, rtol=1e-6, atol=1e-6)


def test_an_output_array_is_refused() -> None:
    with pytest.raises(TypeError, match="out="):
        ours.avg_pool(mg.zeros(4), (2,), out=np.empty(2))


# ---- Import and pages ---------------------------------------------------------------------------


def python(code: str) -> str:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout


def test_ndpool_alone_does_not_import_mygrad() -> None:
    assert python("import ndpool, sys; print('mygrad' in sys.modules)") == "False\n"


def test_without_mygrad_the_import_says_what_to_install() -> None:
    code = """
import sys
sys.modules["mygrad"] = None
try:
    import ndpool.mygrad
except ImportError as error:
    print(error)
"""
    assert "pip install 'ndpool[mygrad]'" in python(code)


def test_the_examples_of_the_docstrings_give_what_they_show() -> None:
    result = doctest.testmod(ours)
    assert result.failed == 0 and result.attempted > 0


def test_the_code_of_the_page_runs() -> None:
    names: dict[str, Any] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert blocks
    for block in blocks:
        exec(block, names)
