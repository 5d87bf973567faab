"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
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
    path = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:  # from before the file is there: Ctrl-C may come at any moment
        path.touch(exist_ok=False)
        yield path
        with open(path, "rb") as written:
            os.fsync(written.fileno())
        os.replace(path, target)
    finally:
        path.unlink(missing_ok=True)
