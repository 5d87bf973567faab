"""Large .npy files, mapped: read and written without loading them."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import AnyArray
from ._errors import Failed, Refused


def read(path: Path) -> AnyArray:
    """The array of a file, mapped into memory; its header is checked against its length."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0), (3, 0)):
                raise Refused(f"{path}: .npy version {version[0]}.{version[1]} is not known")
            reader: Any = {
                1: np.lib.format.read_array_header_1_0,
                2: np.lib.format.read_array_header_2_0,
                3: np.lib.format.read_array_header_2_0,
            }[version[0]]
            shape, fortran, dtype = reader(file)
        except (ValueError, SyntaxError, EOFError, UnicodeError, RecursionError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise Refused(f"{path} is no .npy file: {reason}") from None
        offset = file.tell()
    if dtype.hasobject:
        raise Refused(f"{path} holds Python objects, which are not read; save numbers")
    if any(not isinstance(n, int) or n < 0 for n in shape):
        raise Refused(f"{path}: the shape {shape} in its header is no shape")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted > size - offset:
        raise Refused(
            f"{path} is cut short: shape {shape} of {dtype} needs {wanted} bytes after the header, "
            f"the file has {size - offset}"
        )
    order: Any = "F" if fortran else "C"
    if wanted == 0:
        return np.empty(shape, dtype, order)
    return np.asarray(np.memmap(path, dtype, "r", offset, shape, order))


def create(path: Path, shape: tuple[int, ...], dtype: Any) -> AnyArray:
    """A new file of that shape, mapped. Its room on the disk is taken at once."""
    with open(path, "wb") as file:
        header = {
            "descr": np.lib.format.dtype_to_descr(np.dtype(dtype)),
            "fortran_order": False,
            "shape": shape,
        }
        np.lib.format.write_array_header_1_0(file, header)
        offset = file.tell()
        wanted = math.prod(shape) * np.dtype(dtype).itemsize
        if wanted:
            try:
                os.posix_fallocate(file.fileno(), offset, wanted)
            except OSError as error:
                raise Failed(
                    f"{path.parent}: no room for {wanted} bytes: {error.strerror}"
                ) from None
    if wanted == 0:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(path, dtype, "r+", offset, shape))
