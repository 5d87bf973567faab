"""Pictures as arrays: PNG and JPEG by Pillow, TIFF by tifffile."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import AnyArray
from ._errors import Failed, Refused, Usage

PICTURES = (".png", ".jpg", ".jpeg")
TIFFS = (".tif", ".tiff")


def _need(module: str) -> Any:
    try:
        return __import__(module, fromlist=["_"])
    except ImportError:
        raise Failed(f"pictures need {module}: pip install 'ndpool[plot]'") from None


def read(path: Path) -> AnyArray:
    """Height x width, with colours last if there are any."""
    if path.suffix.lower() in TIFFS:
        tifffile = _need("tifffile")
        logging.getLogger("tifffile").setLevel(logging.CRITICAL)
        try:
            found: AnyArray = np.asarray(tifffile.imread(path))
            if found.ndim < 2:
                raise ValueError("it has no page")
            return found
        except OSError:
            raise
        except Exception as error:
            raise Refused(f"{path} is no TIFF that can be read: {error}") from None
    image_module = _need("PIL.Image")
    with warnings.catch_warnings():
        warnings.simplefilter("error", image_module.DecompressionBombWarning)
        try:
            with image_module.open(path) as image:
                if image.mode in ("P", "1", "CMYK", "YCbCr"):
                    return np.asarray(image.convert("L" if image.mode == "1" else "RGB"))
                return np.asarray(image)
        except (image_module.DecompressionBombError, image_module.DecompressionBombWarning):
            raise Refused(f"{path} unpacks to more cells than a picture has: refused") from None
        except image_module.UnidentifiedImageError:
            raise Refused(f"{path} is no picture that can be read") from None
        except (SyntaxError, ValueError, EOFError) as error:
            raise Refused(f"{path} is no picture that can be read: {error}") from None
        except OSError as error:
            if error.errno is None:
                raise Refused(f"{path} is damaged: {error}") from None
            raise


def write(path: Path, target: Path, values: AnyArray) -> None:
    """Writes to path what belongs in a file named like target."""
    suffix = target.suffix.lower()
    if suffix in TIFFS:
        _need("tifffile").imwrite(path, values)
        return
    if values.ndim not in (2, 3) or (values.ndim == 3 and values.shape[2] not in (1, 3, 4)):
        raise Usage(f"{target}: shape {values.shape} is no picture; write a .npy file")
    if values.dtype != np.uint8:
        if not (values.dtype == np.uint16 and suffix == ".png" and values.ndim == 2):
            raise Usage(f"{target}: {values.dtype} values are no picture; write .npy or .tif")
    plain = values[..., 0] if values.ndim == 3 and values.shape[2] == 1 else values
    form = {".png": "PNG"}.get(suffix, "JPEG")
    _need("PIL.Image").fromarray(np.ascontiguousarray(plain)).save(path, format=form)
