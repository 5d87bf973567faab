"""ndpool and the limit of memory, called through their C interfaces with ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from pathlib import Path

import numpy as np


class _Error(ctypes.Structure):
    _fields_ = [
        ("code", c_int32),
        ("axis", c_int32),
        ("numbers", c_int64 * 4),
        ("message", c_char * 512),
    ]


class _Array(ctypes.Structure):
    """ndpool_array and ndpool_const_array."""

    _fields_ = [("data", c_void_p), ("strides", c_void_p)]


class _Exec(ctypes.Structure):
    _fields_ = [
        ("runner", c_void_p),
        ("threads", c_int32),
        ("scratch", c_void_p),
        ("scratch_bytes", c_size_t),
        ("tile", c_void_p),
        ("cancelled", c_void_p),
        ("cancelled_context", c_void_p),
    ]


class Library:
    """libndpool."""

    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        for name in ("ndpool_version", "ndpool_type_name", "ndpool_target_name"):
            getattr(self.c, name).restype = c_char_p
        self.c.ndpool_plan_destroy.argtypes = [c_void_p]
        self.c.ndpool_plan_destroy.restype = None
        self.c.ndpool_plan_argmax_type.argtypes = [c_void_p]

    @property
    def version(self) -> str:
        return self.c.ndpool_version().decode()

    @property
    def target(self) -> str:
        """The SIMD target that plans choose on this machine."""
        return self.c.ndpool_target_name(0).decode()


class Plan:
    """One plan. Its methods return calls that can be made again and again on the same arrays."""

    def __init__(self, library: Library, line: str, threads: int) -> None:
        self._c = library.c
        self._handle = c_void_p()
        self._error = _Error()
        self._exec = _Exec(threads=threads)
        self._run(self._c.ndpool_plan_parse, line.encode(), byref(self._handle))

    def __del__(self) -> None:
        self._c.ndpool_plan_destroy(self._handle)

    @property
    def argmax_dtype(self) -> np.dtype:
        """Of the compact argmax."""
        number = self._c.ndpool_plan_argmax_type(self._handle)
        return np.dtype(self._c.ndpool_type_name(number).decode().replace("u", "uint"))

    def forward(
        self, x: np.ndarray, y: np.ndarray, argmax: np.ndarray | None
    ) -> Callable[[], np.ndarray]:
        return self._call("forward", y, x, y, argmax, None)

    def vjp(self, x: np.ndarray | None, g: np.ndarray, dx: np.ndarray) -> Callable[[], np.ndarray]:
        return self._call("vjp", dx, x, g, dx)

    def vjp_argmax(
        self, argmax: np.ndarray, g: np.ndarray, dx: np.ndarray
    ) -> Callable[[], np.ndarray]:
        return self._call("vjp_argmax", dx, argmax, g, dx)

    def _call(
        self, name: str, result: np.ndarray, *arrays: np.ndarray | None
    ) -> Callable[[], np.ndarray]:
        function = getattr(self._c, f"ndpool_{name}")
        given = [_Array(None if a is None else a.ctypes.data, None) for a in arrays]

        def call(keep: object = arrays) -> np.ndarray:
            self._run(function, self._handle, *given, byref(self._exec))
            return result

        return call

    def _run(self, function: Callable[..., int], *arguments: object) -> None:
        if function(*arguments, byref(self._error)):
            raise RuntimeError(self._error.message.decode())


class Limit:
    """Memory of which every byte is read or written once: libbench_limit."""

    def __init__(self, path: Path, read: int, write: int) -> None:
        self._c = ctypes.CDLL(str(path))
        self._c.bench_limit_new.argtypes = [c_size_t, c_size_t]
        self._c.bench_limit_new.restype = c_void_p
        self._c.bench_limit_run.argtypes = [c_void_p, c_int]
        self._c.bench_limit_run.restype = None
        self._c.bench_limit_free.argtypes = [c_void_p]
        self._c.bench_limit_free.restype = None
        self._handle = self._c.bench_limit_new(read, write)
        if not self._handle:
            raise MemoryError(f"no memory for {read} and {write} bytes")

    def __del__(self) -> None:
        self._c.bench_limit_free(self._handle)

    def run(self, streaming: bool) -> None:
        self._c.bench_limit_run(self._handle, streaming)
