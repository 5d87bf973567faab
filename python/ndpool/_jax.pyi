"""The engine for XLA."""

from typing import Any

API_VERSION: tuple[int, int]  # of XLA's foreign function interface that this was compiled for

def handlers() -> dict[str, Any]: ...
