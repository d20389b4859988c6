"""Staleness: over time per server, its distribution, and a map of servers and iterations."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report import thinning
from asyncfeel.report.charts import Bar, Bars, Figure, Heat, Line, Lines, View
from asyncfeel.report.grouping import Group
from asyncfeel.report.reading import Columns, Run

MOST_LINES = 12
"""Servers with a line of their own."""
MOST_CELLS = (60, 300)
"""Rows and columns of the map: more of them are put together."""
MOST_BARS = 60


def distribution(groups: Sequence[Group]) -> Figure:
    """How often each staleness occurred, for every series."""
    title = "Distribution of the staleness"
    found = [(one.label, _all(one)) for one in groups]
    found = [(label, values) for label, values in found if len(values)]
    if not found:
        return Figure("staleness-distribution", title, [View("", "No iteration is complete, so nothing is stale yet.")])
    most = max(int(values.max()) for _, values in found)
    width = -(-(most + 1) // MOST_BARS)
    count = most // width + 1
    names = [str(n * width) if width == 1 else f"{n * width}-{(n + 1) * width - 1}" for n in range(count)]
    series = [
        Bar(label, (np.bincount(values // width, minlength=count) / len(values)).tolist()) for label, values in found
    ]
    said = [f"{label}: mean {values.mean():.2f}, at most {values.max()}" for label, values in found[:4]]
    sentence = "; ".join(said) + (f"; and {len(found) - 4} more series" if len(found) > 4 else "") + "."
    notes = ["Every row of staleness.csv counts once: one server (or one client's merged result) at one iteration."]
    if width > 1:
        notes.append(f"A bar stands for {width} values of the staleness.")
    chart = Bars("", "staleness (iterations)", "share", names, series, percent=True)
    return Figure("staleness-distribution", title, [View("", sentence, [chart], notes)])


def _all(group: Group) -> NDArray[np.int64]:
    found = [run.staleness["staleness"] for run in group.runs if run.staleness is not None]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def over_time(run: Run) -> View:
    """Each server's staleness over simulated time, and as a map over iterations."""
    table = run.staleness
    if table is None or not len(table["staleness"]):
        return View("", "No iteration is complete, so nothing is stale yet.")
    return _of_clients(table) if run.by_client else _of_servers(run, table)


def _of_servers(run: Run, table: Columns) -> View:
    servers = len(run.topology)
    shown = range(min(servers, MOST_LINES))
    lines = [_line(table, table["server"] == server, f"server {server}") for server in shown]
    before = int((table["server"] < len(shown)).sum())
    notes = thinning.notes(before, lines)
    if servers > MOST_LINES:
        notes.append(f"Lines of the first {MOST_LINES} of {servers} servers.")
    grid = np.zeros((servers, run.count))
    known = table["iteration"] < run.count
    grid[table["server"][known], table["iteration"][known]] = table["staleness"][known]
    heat, said = _map(grid)
    values = table["staleness"]
    top = int(values.argmax())
    sentence = (
        f"Over {run.count:,} iterations the staleness of a server is {values.mean():.2f} in the mean and at most "
        f"{values[top]}, reached by server {table['server'][top]} at iteration {table['iteration'][top]}."
    )
    chart = Lines("staleness of each server", "simulated time (s)", "staleness (iterations)", lines, step=True)
    return View("", sentence, [chart, heat], [*notes, *said])


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
    tall, wide = (-(-size // most) for size, most in zip(grid.shape, MOST_CELLS, strict=True))
    rows, columns = range(0, servers, tall), range(0, iterations, wide)
    values = [[float(grid[row : row + tall, column : column + wide].max()) for column in columns] for row in rows]
    notes = [] if tall == wide == 1 else [f"A cell of the map is the largest of {tall} x {wide} values."]
    names = [str(column) for column in columns], [str(row) for row in rows]
    return Heat("staleness by server and iteration", "iteration", "server", *names, values, "iterations"), notes
