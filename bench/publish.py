"""Writes docs/benchmarks.md from the results of the last whole run of `make bench`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import report

ROOT = Path(__file__).resolve().parent.parent


def page(results: dict[str, Any]) -> str:
    """The page: what was measured, where, how to do it again, and the tables."""
    machine, threads, rounds = results["machine"], results["threads"], results["rounds"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    without = ", ".join(results["missing"])
    text = (ROOT / "bench/problems.txt").read_text(encoding="utf-8")
    every = sum(" | " in line and not line.startswith("#") for line in text.splitlines())
    lines = f"{len(results['rows'])} of the {every} in bench/problems.txt"
    where = f"{machine['cpu'] or 'a CPU without a name'}, {machine['cores']} cores"
    return f"""# Benchmarks

Made by `make bench` and `make bench-publish`, not by hand. Times are in milliseconds and hold for
one machine.

- **Machine**: {where}; ndpool's SIMD target {machine["target"]};
  {threads} thread{"s" if threads > 1 else ""} for each library.
- **Date**: {results["date"]}.
- **Lines**: {lines}.
- **Versions**: {versions}.{f" Not installed: {without}." if without else ""}

## How it is measured

Each library has a process of its own and makes the same arrays there. It shows once that it gets
ndpool's result (or is left out, and named below the table); then all take turns, {rounds} rounds,
and the best time of each counts. Compilation and the choice of algorithms are not counted, nor are
page faults: the allocator of every process keeps its memory, on huge pages.

**Limit** is the time to read every byte of the inputs once and to write every byte of the outputs
once, measured in the same run, with numbers other than 0 (zeros go faster to memory on some
processors). **Best peer / ndpool** above 1: ndpool is faster. `forward` gives y
from x; `argmax` y and the winners; `vjp` the gradient, for max from the winners that the forward
pass kept (JAX and TensorFlow keep none and read x again).

One line alone:

```sh
make bench LINES='forward | max f32 32x64x112x112 w3x3 s2 p1'
```

{report.markdown(results)}{scaling()}"""


def scaling() -> str:
    """The tables of `make bench-scaling`, if it has been run."""
    found = ROOT / "build/bench/scaling.md"
    if not found.exists():
        return ""
    return f"\n{found.read_text(encoding='utf-8')}\nThese two alone: `make bench-scaling`.\n"


def main() -> None:
    source = ROOT / "build/bench/results.json"
    target = ROOT / "docs/benchmarks.md"
    target.write_text(page(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")
    print(f"ndpool: written: {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
