"""Staleness: over time per server, its distribution, and a map of servers and iterations."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report import thinning
from asyncfeel.report.charts import Bar, Bars, Figure, Heat, Line, Lines, View
from asyncfeel.report.grouping import Group
from asyncfeel.report.reading import Columns, Run

MOST_LINES = 12
"""Servers with a line of their own; of more there is the mean."""
MOST_CELLS = (60, 300)
"""Rows and columns of the map: more of them are put together."""
MOST_BARS = 60
MOST_SAID = 4
"""Series whose numbers are part of a sentence."""


def distribution(groups: Sequence[Group]) -> Figure:
    """How often each staleness occurred, for every series."""
    title = "Distribution of the staleness"
    found = [(one, values) for one in groups if len(values := _all(one))]
    if not found:
        return Figure("staleness-distribution", title, [View("", "No iteration is complete, so nothing is stale yet.")])
    chart, notes = _frequencies(*found[0]) if len(found) == 1 else _cumulated(found)
    notes.insert(
        0, "Every row of staleness.csv counts once: one server, or one client's merged result, at one iteration."
    )
    return Figure("staleness-distribution", title, [View("", _said(found), [chart], notes)])


Found = tuple[Group, NDArray[np.int64]]


def _said(found: Sequence[Found]) -> str:
    if len(found) == 1:
        (_, values), (name, _) = found[0], _unit([found[0][0]])
        often = int(np.bincount(values).argmax())
        return (
            f"The staleness is {values.mean():.2f} {name} in the mean, most often {often} "
            f"({(values == often).mean():.1%} of {len(values):,} values) and at most {values.max()}."
        )
    said = [f"{group.label} {values.mean():.2f} (at most {values.max()})" for group, values in found[:MOST_SAID]]
    more = f", and {len(found) - MOST_SAID} more series" if len(found) > MOST_SAID else ""
    return f"The staleness in the mean: {', '.join(said)}{more}."


def _unit(groups: Sequence[Group]) -> tuple[str, str]:
    """What the staleness of these series is counted in, and the label of its axis."""
    names = sorted({"versions" if group.first.by_client else "iterations" for group in groups})
    return " or ".join(names), f"staleness ({' or '.join(names)})"


def _frequencies(group: Group, values: NDArray[np.int64]) -> tuple[Bars, list[str]]:
    """How often each value occurred."""
    most = int(values.max())
    width = thinning.round_up((most + 1) / MOST_BARS)
    count = most // width + 1
    names = [str(n * width) if width == 1 else f"{n * width}-{(n + 1) * width - 1}" for n in range(count)]
    shares = np.bincount(values // width, minlength=count) / len(values)
    notes = [f"A bar stands for {width} values of the staleness."] if width > 1 else []
    label = _unit([group])[1]
    return Bars("", label, "share of all values", names, [Bar(group.label, shares.tolist(), group.hue)], True), notes


def _cumulated(found: Sequence[Found]) -> tuple[Lines, list[str]]:
    """How many values are no larger than each; so several series can be told apart."""
    most = max(int(values.max()) for _, values in found)
    lines = []
    for group, values in found:
        shares = np.cumsum(np.bincount(values, minlength=most + 1)) / len(values)
        lines.append(replace(thinning.line(group.label, np.arange(most + 1.0), shares), hue=group.hue))
    notes = ["Drawn is the share of values that are no larger than the one below."]
    label = _unit([group for group, _ in found])[1]
    return Lines("", label, "cumulated share", lines, step=True, percent=True), notes


def _all(group: Group) -> NDArray[np.int64]:
    found = [run.staleness["staleness"] for run in group.runs if run.staleness is not None]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def over_time(run: Run) -> View:
    """Each server's staleness over simulated time, and as a map over iterations."""
    table = run.staleness
    if table is None or not len(table["staleness"]):
        return View("", "No iteration is complete, so nothing is stale yet.")
    if run.by_client:
        return _of_clients(table)
    if len(run.topology) == 1:
        return View("", "There is one server, so no other can be stale.")
    return _of_servers(run, table)


def _of_servers(run: Run, table: Columns) -> View:
    servers = len(run.topology)
    grid = np.zeros((servers, run.count))
    known = table["iteration"] < run.count
    grid[table["server"][known], table["iteration"][known]] = table["staleness"][known]
    times = np.zeros(run.count)
    times[table["iteration"][known]] = table["time_s"][known]
    lines, notes = per_server(times, grid)
    heat, said = _map(grid)
    values = table["staleness"]
    top = int(values.argmax())
    sentence = (
        f"Over {run.count:,} iterations the staleness of a server is {values.mean():.2f} in the mean and at most "
        f"{values[top]}, reached by server {table['server'][top]} at iteration {table['iteration'][top]}."
    )
    label = "staleness (iterations)"
    chart = Lines("staleness over time", "simulated time (s)", label, lines, step=True, apart=len(lines) > 1)
    return View("", sentence, [chart, heat], [*notes, *said])


def per_server(x: NDArray[np.float64], grid: NDArray[np.float64]) -> tuple[list[Line], list[str]]:
    """A line for each row of values, one per server; of many servers their mean, with a band from least to most."""
    servers = len(grid)
    if servers <= MOST_LINES:
        lines = [thinning.line(f"server {server}", x, values) for server, values in enumerate(grid)]
        return lines, thinning.notes(grid.size, lines)
    mean, some = grid.mean(axis=0), thinning.kept(x, grid.max(axis=0))
    band = grid.min(axis=0)[some].tolist(), grid.max(axis=0)[some].tolist()
    line = Line(f"mean of {servers} servers", x[some].tolist(), mean[some].tolist(), *band)
    said = "The line is the mean over all servers, the band reaches from the lowest to the highest of them."
    return [line], [said, *thinning.notes(len(x), [line])]


def _line(table: Columns, rows: NDArray[np.bool_], name: str) -> Line:
    return thinning.line(name, table["time_s"][rows], table["staleness"][rows].astype(np.float64))


def _of_clients(table: Columns) -> View:
    line = _line(table, np.ones(len(table["time_s"]), dtype=bool), "merged results")
    client = int(table["client"][table["staleness"].argmax()])
    sentence = (
        f"The {len(table['staleness']):,} results that the single server merged were {table['staleness'].mean():.2f} "
        f"versions old in the mean and at most {table['staleness'].max()} (client {client})."
    )
    notes = [
        *thinning.notes(len(table["time_s"]), [line]),
        "One server has no neighbours to be stale: this is the age of each client's result, and there is no map of "
        "servers.",
    ]
    chart = Lines("staleness of each merged result", "simulated time (s)", "staleness (versions)", [line], step=False)
    return View("", sentence, [chart], notes)


def _map(grid: NDArray[np.float64]) -> tuple[Heat, list[str]]:
    servers, iterations = grid.shape
    tall, wide = (thinning.round_up(size / most) for size, most in zip(grid.shape, MOST_CELLS, strict=True))
    rows, columns = range(0, servers, tall), range(0, iterations, wide)
    values = [[float(grid[row : row + tall, column : column + wide].max()) for column in columns] for row in rows]
    notes = [] if tall == wide == 1 else [f"A cell of the map is the largest of {tall} x {wide} values."]
    names = [str(column) for column in columns], [str(row) for row in rows]
    return Heat("staleness map", "iteration", "server", *names, values, "iterations", "staleness"), notes
