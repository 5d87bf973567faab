"""The derivatives of the primitives, of any order.

J is linear in the tangent and Jᵀ in the gradient, and each is the other's transpose. In x they
vary for smooth max and Lp alone: their derivatives in x are the second-order product, which the
engine computes for Jᵀ, and formulas in J and Jᵀ for the rest. JAX differentiates those further.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ._jax_primitives import forward_p, hvp_p, jvp_p, keeps, plan_of, unpool_p, unpool_vjp_p, vjp_p


def _zero(x: Any) -> ad.Zero:
    return ad.Zero(jax.typeof(x).to_tangent_aval())


def _is_zero(tangent: Any) -> bool:
    return type(tangent) is ad.Zero


def _sum(terms: list[Any], like: Any) -> Any:
    return sum(terms[1:], terms[0]) if terms else _zero(like)


def _converted(x: Any, dtype: Any) -> Any:
    return jax.lax.convert_element_type(x, dtype)


# ---- Second order -------------------------------------------------------------------------------


def _argument(tokens: str, name: str) -> float:
    return float(next(token for token in tokens.split() if token.startswith(name))[len(name) :])


def _curved(tokens: str) -> bool:
    """Whether J varies with x."""
    if tokens.startswith("lp "):
        return _argument(tokens, "p=") not in (1.0, math.inf)
    return tokens.startswith("smooth ")


def _pooled(x: Any, tokens: str) -> Any:
    return forward_p.bind(x, tokens=tokens, argmax=False, index=None)[0]


def _jvp(x: Any, dx: Any, tokens: str) -> Any:
    return jvp_p.bind(x, dx, tokens=tokens, kept="x")


def _vjp(x: Any, g: Any, tokens: str) -> Any:
    return vjp_p.bind(x, g, tokens=tokens, kept="x", shape=x.shape)


def _sum_tokens(tokens: str) -> str:
    """The sum over the windows of a line of Lp."""
    kept = [token for token in tokens.split()[1:] if not token.startswith("p=")]
    return " ".join(["avg", *kept, "divisor=1"])


def _quotient(a: Any, b: Any) -> Any:
    """a/b, and 0 where b is 0."""
    zero = b == 0
    return jnp.where(zero, 0, a / jnp.where(zero, 1, b))


def _finite(g: Any, y: Any) -> Any:
    """g, but 0 where a window's result is infinite: there the second order is 0."""
    return jnp.where(jnp.isinf(y), 0, g)


def _widened(*arrays: Any) -> list[Any]:
    """In a type in which differences of products are worth something."""
    wide = jnp.promote_types(arrays[0].dtype, jnp.float32)
    return [_converted(array, wide) for array in arrays]


def _curvature(x: Any, t: Any, v: Any, tokens: str) -> Any:
    """The derivative of J(x)·t in x, in the direction v."""
    kind = x.dtype
    x, t, v = _widened(x, t, v)
    y, jt, jv = _pooled(x, tokens), _jvp(x, t, tokens), _jvp(x, v, tokens)
    if tokens.startswith("smooth "):
        result = _argument(tokens, "beta=") * (_jvp(x, t * v, tokens) - jt * jv)
    else:
        p = _argument(tokens, "p=")
        if p == 2:
            product = jvp_p.bind(t * v, tokens=_sum_tokens(tokens), kept="")
            result = _quotient(product - jt * jv, y)
        else:
            result = (p - 1) * (_jvp(x, _quotient(t * v, x), tokens) - _quotient(jt * jv, y))
    return _converted(_finite(result, y), kind)


def _hvp_by_parts(x: Any, g: Any, v: Any, tokens: str) -> Any:
    """What hvp_p computes, in terms of J and Jᵀ, which can be differentiated."""
    kind = x.dtype
    x, g, v = _widened(x, g, v)
    y = _pooled(x, tokens)
    g, jv = _finite(g, y), _jvp(x, v, tokens)
    if tokens.startswith("smooth "):
        result = _argument(tokens, "beta=") * (v * _vjp(x, g, tokens) - _vjp(x, g * jv, tokens))
    else:
        p = _argument(tokens, "p=")
        h = _quotient(g, y)
        if p == 2:
            spread = vjp_p.bind(h, tokens=_sum_tokens(tokens), kept="", shape=x.shape)
            result = v * spread - _vjp(x, h * jv, tokens)
        else:
            result = (p - 1) * (_quotient(v * _vjp(x, g, tokens), x) - _vjp(x, h * jv, tokens))
    return _converted(result, kind)


# ---- Forward mode -------------------------------------------------------------------------------


def _forward_jvp(
    primals: Any, tangents: Any, *, tokens: str, argmax: bool, index: str | None
) -> tuple[list[Any], list[Any]]:
    (x,), (dx,) = primals, tangents
    if _is_zero(dx):
        results = forward_p.bind(x, tokens=tokens, argmax=argmax, index=index)
        return results, [_zero(result) for result in results]
    kept = keeps(plan_of(tokens, x))
    y, *rest = forward_p.bind(x, tokens=tokens, argmax=argmax or kept == "argmax", index=index)
    residual = {"argmax": rest[:1], "x": [x], "": []}[kept]
    dy = jvp_p.bind(*residual, dx, tokens=tokens, kept=kept)
    if kept == "argmax" and not argmax:
        rest = rest[1:]
    return [y, *rest], [dy, *map(_zero, rest)]


def _jvp_jvp(primals: Any, tangents: Any, *, tokens: str, kept: str) -> tuple[Any, Any]:
    def linear(t: Any) -> Any:
        return jvp_p.bind(*primals[:-1], t, tokens=tokens, kept=kept)

    dy = linear(primals[-1])
    terms = [] if _is_zero(tangents[-1]) else [linear(tangents[-1])]
    if kept == "x" and _curved(tokens) and not _is_zero(tangents[0]):
        x, t = primals
        terms.append(_curvature(x, t, tangents[0], tokens))
    return dy, _sum(terms, dy)


def _vjp_jvp(
    primals: Any, tangents: Any, *, tokens: str, kept: str, shape: tuple[int, ...]
) -> tuple[Any, Any]:
    def linear(g: Any) -> Any:
        return vjp_p.bind(*primals[:-1], g, tokens=tokens, kept=kept, shape=shape)

    dx = linear(primals[-1])
    terms = [] if _is_zero(tangents[-1]) else [linear(tangents[-1])]
    if kept == "x" and _curved(tokens) and not _is_zero(tangents[0]):
        terms.append(hvp_p.bind(*primals, tangents[0], tokens=tokens))
    return dx, _sum(terms, dx)


def _hvp_jvp(primals: Any, tangents: Any, *, tokens: str) -> tuple[Any, Any]:
    x, g, v = primals
    dx, dg, dv = tangents
    hx = hvp_p.bind(x, g, v, tokens=tokens)
    terms = []
    if not _is_zero(dg):
        terms.append(hvp_p.bind(x, dg, v, tokens=tokens))
    if not _is_zero(dv):
        terms.append(hvp_p.bind(x, g, dv, tokens=tokens))
    if not _is_zero(dx):
        terms.append(jax.jvp(lambda x: _hvp_by_parts(x, g, v, tokens), (x,), (dx,))[1])
    return hx, _sum(terms, hx)


def _unpool_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    y, index = primals
    result = unpool_p.bind(y, index, **params)
    if _is_zero(tangents[0]):
        return result, _zero(result)
    return result, unpool_p.bind(tangents[0], index, **params)


def _unpool_vjp_jvp(primals: Any, tangents: Any, **params: Any) -> tuple[Any, Any]:
    g, index = primals
    dy = unpool_vjp_p.bind(g, index, **params)
    if _is_zero(tangents[0]):
        return dy, _zero(dy)
    return dy, unpool_vjp_p.bind(tangents[0], index, **params)


# ---- Reverse mode -------------------------------------------------------------------------------
# One cotangent for each operand; None for those that the primitive is not linear in.


def _forward_transpose(
    cts: list[Any], x: Any, *, tokens: str, argmax: bool, index: str | None
) -> list[Any]:
    if not tokens.startswith("avg "):
        raise NotImplementedError(f"{tokens.split()[0]} is not linear: it has no transpose")
    return _jvp_transpose(cts[0], x, tokens=tokens, kept="")


def _jvp_transpose(ct: Any, *operands: Any, tokens: str, kept: str) -> list[Any]:
    *residual, dx = operands
    if _is_zero(ct):
        return [None] * len(residual) + [ad.Zero(dx.aval)]
    g = _converted(ct, dx.aval.dtype)
    shape = dx.aval.shape
    return [
        *([None] * len(residual)),
        vjp_p.bind(*residual, g, tokens=tokens, kept=kept, shape=shape),
    ]


def _vjp_transpose(
    ct: Any, *operands: Any, tokens: str, kept: str, shape: tuple[int, ...]
) -> list[Any]:
    *residual, g = operands
    if _is_zero(ct):
        return [None] * len(residual) + [ad.Zero(g.aval)]
    dy = jvp_p.bind(*residual, ct, tokens=tokens, kept=kept)
    return [*([None] * len(residual)), _converted(dy, g.aval.dtype)]


def _hvp_transpose(ct: Any, x: Any, g: Any, v: Any, *, tokens: str) -> list[Any]:
    if ad.is_undefined_primal(v):
        if _is_zero(ct):
            return [None, None, ad.Zero(v.aval)]
        return [None, None, hvp_p.bind(x, g, ct, tokens=tokens)]
    if _is_zero(ct):
        return [None, ad.Zero(g.aval), None]
    return [None, _curvature(x, v, ct, tokens), None]


def _unpool_transpose(
    ct: Any, y: Any, index: Any, *, axes: tuple[int, ...], shape: tuple[int, ...]
) -> list[Any]:
    return [ad.Zero(y.aval) if _is_zero(ct) else unpool_vjp_p.bind(ct, index, axes=axes), None]


def _unpool_vjp_transpose(ct: Any, g: Any, index: Any, *, axes: tuple[int, ...]) -> list[Any]:
    if _is_zero(ct):
        return [ad.Zero(g.aval), None]
    return [unpool_p.bind(ct, index, axes=axes, shape=g.aval.shape), None]


def register() -> None:
    """Tells JAX."""
    ad.primitive_jvps[forward_p] = _forward_jvp
    ad.primitive_jvps[jvp_p] = _jvp_jvp
    ad.primitive_jvps[vjp_p] = _vjp_jvp
    ad.primitive_jvps[hvp_p] = _hvp_jvp
    ad.primitive_jvps[unpool_p] = _unpool_jvp
    ad.primitive_jvps[unpool_vjp_p] = _unpool_vjp_jvp
    ad.primitive_transposes[forward_p] = _forward_transpose
    ad.primitive_transposes[jvp_p] = _jvp_transpose
    ad.primitive_transposes[vjp_p] = _vjp_transpose
    ad.primitive_transposes[hvp_p] = _hvp_transpose
    ad.primitive_transposes[unpool_p] = _unpool_transpose
    ad.primitive_transposes[unpool_vjp_p] = _unpool_vjp_transpose
