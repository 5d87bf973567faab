"""Random poolings for hypothesis: small arrays, any rank, all policies."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp


class Case(NamedTuple):
    x: np.ndarray
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    rounding: str

    @property
    def arguments(self) -> tuple[Any, ...]:
        return self.window, self.stride, self.padding, self.dilation


@st.composite
def cases(draw: Any, dtype: Any = np.float64, elements: Any = None, empty: bool = False) -> Case:
    d = draw(st.integers(1, 3))
    lead = draw(st.integers(0, 2))
    per_axis = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(d))  # noqa: E731
    sizes = per_axis(1, 7)
    window, stride, dilation = per_axis(1, 3), per_axis(1, 3), per_axis(1, 2)
    padding = tuple(zip(per_axis(0, 2), per_axis(0, 2)))
    for n, k, (lo, hi), e in zip(sizes, window, padding, dilation):
        assume(n + lo + hi >= (k - 1) * e + 1)
    shape = tuple(draw(st.integers(1, 2)) for _ in range(lead)) + sizes
    x = draw(hnp.arrays(dtype, shape, elements=elements, fill=st.nothing()))
    return Case(x, window, stride, padding, dilation, draw(st.sampled_from(["floor", "ceil"])))
