"""Operations as objects: called, they pool; they carry their derivatives, shapes and plans."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec

import numpy as np

from . import _core
from ._arguments import Described, flag, keeps, sizes
from ._arrays import AnyArray, as_array, converted, dtype_of, target, type_of
from ._errors import PoolError

P = ParamSpec("P")

_METHODS = """
Derivatives, shapes and plans, with the same arguments:
    y, dy   = {name}.jvp(x, dx, ...)        dy = J·dx
    y, pull = {name}.vjp(x, ...)            dx = pull(g) = Jᵀ·g
    shape   = {name}.output_shape(x.shape, ...)
    text    = {name}.explain(x.shape, ..., dtype="float32")
"""


class Pull:
    """The transposed derivative at one x: ``dx = pull(g)``. It may be called again.

    What it needs is kept: later writes to x do not change it. For max and min with ``ties`` first
    or last that is the tap of each winner, one byte for windows of up to 256 taps.
    """

    def __init__(
        self,
        plan: _core.Plan,
        shape: tuple[int, ...],
        argmax: AnyArray | None,
        x: AnyArray | None,
    ) -> None:
        self._plan, self._shape, self._argmax, self._x = plan, shape, argmax, x

    @property
    def nbytes(self) -> int:
        """How many bytes are kept."""
        return sum(kept.nbytes for kept in (self._argmax, self._x) if kept is not None)

    def __call__(self, g: Any, out: AnyArray | None = None) -> AnyArray:
        plan = self._plan
        kind = dtype_of(plan.type)
        g = converted(g, "g", kind, self._shape).reshape(plan.output_shape)
        dx = target(out, "out", kind, plan.input_shape)
        if self._argmax is not None:
            _core.vjp_argmax(plan, self._argmax, g, dx)
        else:
            _core.vjp(plan, self._x, g, dx)
        return dx

    def __repr__(self) -> str:
        return f"<pull of {self._plan.line}, keeping {self.nbytes} bytes>"


def _refuse_out(kwargs: dict[str, Any], method: str) -> dict[str, Any]:
    """The arguments that plans are made from; out= and return_indices= belong to calls alone."""
    for name in ("return_indices", "out"):
        value = kwargs.pop(name, None)
        if value is not None and value is not False:
            raise PoolError(f"{name}= has no meaning in {method}; leave it out")
    return kwargs


class Operation(Generic[P]):
    """One pooling operation. ``help()`` of each says what it computes."""

    def __init__(self, describe: Callable[P, Described]) -> None:
        self.__name__ = self.__qualname__ = describe.__name__
        self.__module__ = "ndpool"
        self.__signature__ = self._signature(describe)
        self.__doc__ = (
            f"{describe.__name__}{self.__signature__}\n\n{inspect.getdoc(describe)}\n"
            + _METHODS.format(name=describe.__name__)
        )
        self._describe = describe
        self._pool = _core.Pool(describe, as_array)

    @staticmethod
    def _signature(describe: Callable[P, Described]) -> inspect.Signature:
        described = inspect.signature(describe)
        x = inspect.Parameter("x", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        plain = [p.replace(annotation=p.empty) for p in described.parameters.values()]
        return inspect.Signature([x, *plain])

    def __repr__(self) -> str:
        return f"<operation ndpool.{self.__name__}>"

    def __reduce__(self) -> str:
        return self.__name__

    def __call__(self, x: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if not kwargs:
            return self._pool.run(x, None, False, args, kwargs)
        out = kwargs.pop("out", None)
        index = kwargs.pop("return_indices", False)
        return self._pool.run(x, out, flag(index, "return_indices"), args, kwargs)

    def _plan(
        self, x: AnyArray, method: str, args: Any, kwargs: dict[str, Any]
    ) -> tuple[_core.Plan, tuple[int, ...]]:
        kwargs = _refuse_out(kwargs, method)
        return self._pool.plan(type_of(x.dtype), x.shape, args, kwargs)

    def jvp(self, x: Any, dx: Any, *args: P.args, **kwargs: P.kwargs) -> tuple[AnyArray, AnyArray]:
        """y and dy = J·dx."""
        x = as_array(x)
        plan, shape = self._plan(x, "jvp", args, kwargs)
        dx = converted(dx, "dx", x.dtype, x.shape)
        kind = dtype_of(plan.out_type)
        y, dy = np.empty(plan.output_shape, kind), np.empty(plan.output_shape, kind)
        _core.jvp(plan, x, dx, y, dy)
        return y.reshape(shape), dy.reshape(shape)

    def vjp(self, x: Any, *args: P.args, **kwargs: P.kwargs) -> tuple[AnyArray, Pull]:
        """y and the function g → Jᵀ·g."""
        x = as_array(x)
        plan, shape = self._plan(x, "vjp", args, kwargs)
        y = np.empty(plan.output_shape, dtype_of(plan.out_type))
        if x.dtype.kind in "iub":
            raise TypeError(f"derivatives need a float type; x has type {x.dtype}")
        kept = keeps(plan.tokens)
        argmax = (
            np.empty(plan.output_shape, dtype_of(plan.argmax_type)) if kept == "argmax" else None
        )
        _core.forward(plan, x, y, argmax)
        return y.reshape(shape), Pull(plan, shape, argmax, x.copy() if kept == "x" else None)

    def output_shape(
        self, shape: Sequence[int], *args: P.args, **kwargs: P.kwargs
    ) -> tuple[int, ...]:
        """The shape of the result for an input of that shape; no data is needed."""
        kwargs.pop("return_indices", None)
        known = _refuse_out(kwargs, "output_shape")
        return self._pool.plan(type_of("float32"), sizes(shape), args, known)[1]

    def explain(
        self, shape: Sequence[int], *args: Any, dtype: Any = "float32", **kwargs: Any
    ) -> str:
        """The formula with the numbers filled in, and the plan that is chosen."""
        kwargs.pop("return_indices", None)
        kwargs = _refuse_out(kwargs, "explain")
        number = type_of("float32" if dtype is None else dtype)
        return self._pool.plan(number, sizes(shape), args, kwargs)[0].explain()


class SecondOrderOperation(Operation[P]):
    """An operation whose second derivatives are not zero."""

    def hvp(self, x: Any, g: Any, v: Any, *args: P.args, **kwargs: P.kwargs) -> AnyArray:
        """The derivative in x of ⟨v, Jᵀ(x)·g⟩: the Hessian of ⟨g, y⟩ times v."""
        x = as_array(x)
        plan, shape = self._plan(x, "hvp", args, kwargs)
        g = converted(g, "g", x.dtype, shape).reshape(plan.output_shape)
        v = converted(v, "v", x.dtype, x.shape)
        hx = np.empty(x.shape, x.dtype)
        _core.hvp(plan, x, g, v, hx)
        return hx
