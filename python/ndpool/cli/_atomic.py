"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ._errors import Failed


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A file beside the target to write to; on success it takes the target's place."""
    if target.is_dir():
        raise Failed(f"{target} is a directory; name a file")
    if not target.parent.is_dir():
        raise Failed(f"{target.parent} is no directory; make it first")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(handle)
    path = Path(name)
    try:
        yield path
        with open(path, "rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        path.chmod(0o666 & ~mask)
        os.replace(path, target)
    finally:
        path.unlink(missing_ok=True)
