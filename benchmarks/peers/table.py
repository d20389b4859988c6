"""The results as a table for people: medians, ranges, and ratios within one pass."""

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]
Passes = dict[int, Row]
"""The rows of one way to run, by the pass in which they were measured."""
HEAD = (
    "who",
    "workers x threads",
    "steps/s: median (range)",
    "x plain",
    "x asyncfeel",
    "accuracy",
    "start-up s",
    "MB",
    "runs",
)


def write(rows: Iterable[Row], workload: str) -> str:
    """The table of one workload, in Markdown, the fastest first."""
    ways = _ways(row for row in rows if row["workload"] == workload)
    ordered = sorted(ways.items(), key=lambda way: -_speed(way[1]))
    plain, ours = (_best(ordered, who) for who in ("plain", "asyncfeel"))
    lines = [HEAD, ("---",) * len(HEAD), *(_line(*way, plain, ours) for way in ordered)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _ways(rows: Iterable[Row]) -> dict[tuple[str, str], Passes]:
    ways: dict[tuple[str, str], Passes] = defaultdict(dict)
    for row in rows:
        name = row["peer"] if row["peer"] == "plain" else f"{row['peer']} {row['version']}"
        ways[name + row["variant"], f"{row['workers']} x {row['threads']}"][row["pass"]] = row
    return ways


def _speed(passes: Passes) -> float:
    return statistics.median(row["steps_per_s"] for row in passes.values())


def _best(ordered: list[tuple[tuple[str, str], Passes]], who: str) -> Passes:
    """The fastest way of somebody."""
    return next((passes for (name, _), passes in ordered if name.startswith(who)), {})


def _line(way: tuple[str, str], passes: Passes, plain: Passes, ours: Passes) -> tuple[str, ...]:
    speeds = [row["steps_per_s"] for row in passes.values()]
    return (
        *way,
        f"{_speed(passes):,.0f} ({min(speeds):,.0f} - {max(speeds):,.0f})",
        _ratio(passes, plain),
        _ratio(passes, ours),
        f"{_median(passes, 'accuracy'):.3f}",
        f"{_median(passes, 'startup_s'):.1f}",
        f"{_median(passes, 'peak_mb'):,.0f}",
        str(len(passes)),
    )


def _median(passes: Passes, key: str) -> float:
    return statistics.median(row[key] for row in passes.values())


def _ratio(passes: Passes, other: Passes) -> str:
    """The median of the ratios within each pass: a machine that was busy then was busy for both."""
    ratios = [passes[number]["steps_per_s"] / other[number]["steps_per_s"] for number in passes if number in other]
    return f"{statistics.median(ratios):.2f}" if ratios else "-"
