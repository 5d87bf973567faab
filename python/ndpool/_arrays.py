"""Arrays in: NumPy's own, anything with ``__dlpack__`` or ``__array__``, and nested lists."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import PoolError

AnyArray = NDArray[Any]

_CPU = (1, 3, 11, 13)  # DLPack's devices that the processor can read: plain, pinned and managed

# By ndpool_type: see ndpool.h.
WORDS = (
    *("f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"),
    "bool",
)
_NAMES = (
    *("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "uint16"),
    *("int32", "uint32", "int64", "uint64", "bool"),
)
TYPE_OF_NAME = {name: number for number, name in enumerate(_NAMES)}


@functools.lru_cache(maxsize=256)
def type_of(dtype: Any) -> int:
    """The number that the engine has for a NumPy type, or for what NumPy takes for one."""
    try:
        kind = np.dtype(dtype)
    except TypeError:
        if dtype != "bfloat16":
            raise TypeError(f"dtype: {dtype!r} is no type of NumPy's") from None
        kind = dtype_of(TYPE_OF_NAME["bfloat16"])
    number = TYPE_OF_NAME.get(kind.name, -1)
    if number < 0:
        raise TypeError(
            f"{kind.name} is no type that ndpool has; "
            f"convert the array to one of {', '.join(_NAMES)}"
        )
    if kind.name == "bfloat16":
        _core.set_bfloat16(kind)
    return number


@functools.lru_cache(maxsize=32)
def dtype_of(number: int) -> np.dtype[Any]:
    """The NumPy type of a number of the engine's."""
    name = _NAMES[number]
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            "bfloat16 arrays need the package ml_dtypes: pip install ml_dtypes"
        ) from None
    kind: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    _core.set_bfloat16(kind)
    return kind


def _from_other(x: Any, name: str) -> AnyArray:
    """An object of another library, without a copy where it allows."""
    if isinstance(x, (str, bytes)) or x is None:
        raise TypeError(f"{name} must be an array, not {type(x).__name__}")
    device = getattr(x, "__dlpack_device__", None)
    if device is not None and device()[0] not in _CPU:
        raise PoolError(f"{name} lies on another device; copy it to the CPU first")
    if hasattr(x, "__dlpack__"):
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # read-only, or of a type that DLPack or NumPy lacks: ask for an array instead
    try:
        return np.asarray(x)
    except ValueError as error:
        raise TypeError(f"{name} is no array: {error}") from None


def as_array(x: Any, name: str = "x") -> AnyArray:
    """A NumPy array in native byte order of a type that ndpool has, without a copy if possible."""
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; ndpool would not see the mask: fill it first")
    array = x if isinstance(x, np.ndarray) else _from_other(x, name)
    array = array.view(np.ndarray)
    if array.dtype.hasobject:
        raise TypeError(
            f"{name} holds Python objects (a ragged list?); ndpool needs one number type"
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    try:
        type_of(array.dtype)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from None
    return array


def converted(x: Any, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    """A gradient or tangent: of the type and shape that go with x."""
    array = as_array(x, name)
    if array.shape != shape:
        raise PoolError(f"{name} has shape {array.shape}; it must have shape {shape}")
    return array if array.dtype == kind else array.astype(kind)


def target(out: Any, name: str, kind: np.dtype[Any], shape: tuple[int, ...]) -> AnyArray:
    """The array to write to: out= after checks, or a new one."""
    if out is None:
        return np.empty(shape, kind)
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"{name} must be a NumPy array, not {type(out).__name__}")
    if out.dtype != kind:
        raise TypeError(f"{name} has type {out.dtype}; this call gives {kind}")
    if out.shape != shape:
        raise PoolError(f"{name} has shape {out.shape}; this call gives {shape}")
    if not out.flags.writeable:
        raise PoolError(f"{name} is read-only; pass an array that can be written to")
    if not out.flags.c_contiguous:
        raise PoolError(f"{name} is not contiguous; pass a row-major array without gaps")
    array: AnyArray = out
    return array
