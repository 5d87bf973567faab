"""What a run has found, as text for a terminal, a table in Markdown, and a chart."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

# Of Okabe and Ito: told apart with every kind of colour vision, and in print.
OURS, THEIRS = "#0072B2", "#E69F00"


def milliseconds(value: float) -> str:
    """Three digits that mean something."""
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def summary(row: dict[str, Any]) -> str:
    """One line of progress."""
    text = f"{row['line']}: {milliseconds(row['ndpool_ms'])} ms, {row['times_limit']:.2f} x limit; "
    best = row["best_peer"]
    if best is None:
        return text + "no peer"
    return (
        text + f"{best} {milliseconds(row['peers_ms'][best])} ms, "
        f"{row['best_peer_over_ndpool']:.2f} x ndpool"
    )


def groups(results: dict[str, Any]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows under each heading."""
    return [(name, list(rows)) for name, rows in groupby(results["rows"], lambda r: r["heading"])]


def markdown(results: dict[str, Any]) -> str:
    """The tables, one for each heading, with a column for each peer that has a time in it."""
    return "\n".join(_table(heading, rows) for heading, rows in groups(results))


def _table(heading: str, rows: list[dict[str, Any]]) -> str:
    peers = sorted({name for row in rows for name in row["peers_ms"]})
    titles = ["problem", "ndpool ms", "limit ms", "× limit", "best peer / ndpool", *peers]
    lines = [f"## {heading}", "", _cells(titles), _cells(["---"] + ["---:"] * (len(titles) - 1))]
    for row in rows:
        best = row["best_peer"]
        times = {name: milliseconds(value) for name, value in row["peers_ms"].items()}
        if best:
            times[best] = f"**{times[best]}**"
        ratio = f"{row['best_peer_over_ndpool']:.2f}" if best else ""
        lines.append(
            _cells(
                [
                    "`" + row["line"].replace("|", "\\|") + "`",
                    milliseconds(row["ndpool_ms"]),
                    milliseconds(row["limit_ms"]),
                    f"{row['times_limit']:.2f}",
                    ratio,
                    *(times.get(name, "") for name in peers),
                ]
            )
        )
    notes = [
        f"- {name} on `{row['line']}`: {note}"
        for row in rows
        for name, note in row["notes"].items()
    ]
    if notes:
        lines += ["", "Left out:", "", *notes]
    return "\n".join([*lines, ""])


def _cells(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def chart(results: dict[str, Any], path: Path) -> None:
    """Bars of time over limit, ndpool's and that of the best peer; shorter is better."""
    import matplotlib  # only here: the table needs none

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    labels, ours, theirs, names, places, headings = [], [], [], [], [], []
    at = 0.0
    for heading, rows in groups(results):
        headings.append((at, heading))
        at += 1.1
        for row in rows:
            best = row["best_peer"]
            labels.append(row["line"])
            ours.append(row["times_limit"])
            theirs.append(row["peers_ms"][best] / row["limit_ms"] if best else None)
            names.append(best)
            places.append(at)
            at += 1
    figure, axes = pyplot.subplots(figsize=(12, 1.6 + 0.32 * at), layout="constrained")
    least = min([1.0, *ours])
    for place, value in zip(places, ours, strict=True):
        _bar(axes, place - 0.19, value, least, OURS, f"{value:.2f}")
    for place, value, name in zip(places, theirs, names, strict=True):
        if value:
            _bar(axes, place + 0.19, value, least, THEIRS, f"{value:.2f}  {name}")
    for place, heading in headings:
        axes.text(
            0,
            place + 0.1,
            heading,
            weight="bold",
            va="center",
            ha="right",
            transform=axes.get_yaxis_transform(),
        )
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    widest = max([*ours, *(value for value in theirs if value)])
    axes.set_xlim(least * 0.9, widest * 2)
    axes.set_ylim(at, -0.8)
    axes.set_yticks(places, labels, family="monospace", fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_xlabel("time over the limit of memory (1: every byte moved once); shorter is better")
    axes.spines[["top", "right", "left"]].set_visible(False)
    for color, label in ((OURS, "ndpool"), (THEIRS, "best peer")):
        axes.barh([0], [0], color=color, label=label)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _bar(axes: Any, at: float, value: float, least: float, color: str, text: str) -> None:
    axes.barh(at, value - least * 0.9, height=0.38, left=least * 0.9, color=color)
    axes.text(value * 1.03, at, text, va="center", fontsize=7)
