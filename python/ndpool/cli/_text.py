"""Numbers from words, and tables from rows."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ._errors import Usage


def numbers(text: str, name: str) -> tuple[int, ...]:
    """3x3 → (3, 3)."""
    if not re.fullmatch(r"-?\d+(x-?\d+)*", text):
        raise Usage(f"{name} {text!r} is not a number or numbers such as 3 or 3x3")
    return tuple(int(part) for part in text.split("x"))


def one_or_all(text: str, name: str) -> int | tuple[int, ...]:
    found = numbers(text, name)
    return found[0] if len(found) == 1 else found


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side: words to the left, numbers to the right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(head), *texts]) for i in range(len(head))]
    plain = re.compile(r"[-+]?[\d.,]+( ?%)?|-")
    right = [
        bool(texts) and all(plain.fullmatch(row[i]) for row in texts) for i in range(len(head))
    ]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right)
        )
        return "  ".join(cells).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, texts)])


def shape_text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "()"


def bytes_text(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return ""


def dump(value: Any) -> str:
    return json.dumps(value, indent=2)
