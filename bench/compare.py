"""ndpool against the limit of memory and against its peers, on the lines of problems.txt.

For each line every library makes the same arrays in a process of its own and shows that it gets
ndpool's result; then all take turns, several rounds, and the best time of each counts. What comes
out is a table (Markdown and JSON) and a chart.

One line of your own:   make bench LINES='forward | max f32 32x64x112x112 w3x3 s2 p1'
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import report
from client import Client, PeerError, environment
from native import Library
from peers import PEERS
from problem import Entry, entry, read_entries

ROOT = Path(__file__).resolve().parent.parent
BURST = 0.03  # seconds of calls in a row, in each round
MOST_CALLS = 200  # in a burst
SLOW = 2.0  # seconds: a call that takes longer is made twice in all


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", help="instead of problems.txt: `work | problem; ...`")
    parser.add_argument("--peers", default=" ".join(PEERS), help="which ones (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="of turns (default: 7)")
    parser.add_argument("--threads", type=int, default=1, help="for each library (default: 1)")
    parser.add_argument(
        "--patience", type=float, default=15, help="seconds for a first call (default: 15)"
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build/release", help="with libndpool")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench", help="for the results")
    return parser.parse_args()


class Comparison:
    """All processes of a run, and what is to be known of each line."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        library, limit = (
            given.build.resolve() / f"lib{name}.so" for name in ("ndpool", "bench_limit")
        )
        env = environment(given.threads, library, limit)
        self.library = Library(library)
        self.clients: dict[str, Client] = {}
        self.versions: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        for name in ["limit", "ndpool", *given.peers.split()]:
            log = given.out / f"{name}.log"
            log.write_bytes(b"")
            client = Client(name, given.threads, env, log)
            try:
                self.versions[name] = client.hello()
                self.clients[name] = client
            except PeerError as error:
                self.missing[name] = str(error)
                print(f"ndpool: without {name}: {error}", flush=True)
        self.versions["ndpool"] = self.library.version
        del self.versions["limit"]

    def measure(self, line: Entry, reference: Path) -> dict[str, Any]:
        """The row of one line. ndpool's result is the reference that peers are compared with."""
        best: dict[str, float] = {}
        notes: dict[str, str] = {}
        for name, client in self.clients.items():
            try:
                seconds = client.prepare(line.work, line.problem.line, self.given.patience)
                if seconds is None:
                    continue
                if name == "ndpool":
                    client.save(reference)
                elif name != "limit":
                    client.check(reference)
                best[name] = seconds
            except PeerError as error:
                if name in ("limit", "ndpool"):
                    sys.exit(f"ndpool: {line.text}: {error}")
                notes[name] = str(error)
        self._take_turns(best, notes)
        for client in self.clients.values():
            client.release()
        return row(line, best, notes)

    def _take_turns(self, best: dict[str, float], notes: dict[str, str]) -> None:
        """Best times in place of first ones; who fails on the way is left out."""
        slow = {name for name, seconds in best.items() if seconds > SLOW}
        for turn in range(self.given.rounds):
            for name in list(best):
                if turn > 0 and name in slow:
                    continue
                calls = max(1, min(MOST_CALLS, int(BURST / best[name])))
                try:
                    best[name] = min(best[name], self.clients[name].time(calls))
                except PeerError as error:
                    notes[name] = str(error)
                    del best[name]

    def facts(self) -> dict[str, Any]:
        """What the numbers hold for."""
        return {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "machine": {
                "cpu": cpu_model(),
                "cores": os.cpu_count(),
                "target": self.library.target,
            },
            "threads": self.given.threads,
            "rounds": self.given.rounds,
            "versions": self.versions,
            "missing": self.missing,
        }

    def stop(self) -> None:
        for client in self.clients.values():
            client.stop()


def row(line: Entry, best: dict[str, float], notes: dict[str, str]) -> dict[str, Any]:
    """One line of results.json."""
    times = {name: seconds * 1e3 for name, seconds in best.items()}
    limit, ours = times.pop("limit"), times.pop("ndpool")
    fastest = min(times, key=lambda name: times[name], default=None)
    return {
        "heading": line.heading,
        "line": line.text,
        "ndpool_ms": ours,
        "limit_ms": limit,
        "times_limit": ours / limit,
        "peers_ms": times,
        "best_peer": fastest,
        "best_peer_over_ndpool": times[fastest] / ours if fastest else None,
        "notes": notes,
    }


def cpu_model() -> str:
    """As the system names it; empty where it does not."""
    info = Path("/proc/cpuinfo")
    for line in info.read_text(encoding="utf-8").splitlines() if info.exists() else ():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return ""


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    try:
        if given.lines:
            lines = [entry(text) for text in given.lines.split(";") if text.strip()]
        else:
            lines = list(read_entries(ROOT / "bench/problems.txt"))
    except ValueError as error:
        sys.exit(f"ndpool: {error}")
    comparison = Comparison(given)
    rows = []
    try:
        with tempfile.TemporaryDirectory(dir=given.out) as scratch:
            for number, line in enumerate(lines, 1):
                rows.append(comparison.measure(line, Path(scratch) / "reference.npy"))
                print(f"[{number}/{len(lines)}] {report.summary(rows[-1])}", flush=True)
    except KeyboardInterrupt:
        print(f"ndpool: stopped after {len(rows)} of {len(lines)} lines", flush=True)
    finally:
        comparison.stop()
    results = {**comparison.facts(), "rows": rows}
    # Some lines alone must not replace the results of a whole run.
    table, chart = ("lines", "lines.png") if given.lines else ("results", "chart.png")
    (given.out / f"{table}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (given.out / f"{table}.md").write_text(report.markdown(results), encoding="utf-8")
    if rows:
        report.chart(results, given.out / chart)
    print(f"ndpool: written: {table}.md, {table}.json and {chart} in {given.out}")


if __name__ == "__main__":
    main()
