"""The timeline of servers and clients in the first iterations (the paper's Fig. 1)."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.report.charts import Arrow, Slice, Tracks, View
from asyncfeel.report.reading import Run

MOST_SERVERS, MOST_CLIENTS = 6, 5
"""Servers that are shown, and clients of each."""
KINDS = ("download", "compute", "upload", "exchange", "wait")
Replaying = Callable[[Path, float | None], Any]


def view(
    run: Run,
    replaying: Replaying | None = None,
    until_s: float | None = None,
    servers: int = MOST_SERVERS,
    title: str = "",
) -> View:
    """Who does what in the first few iterations of every server, or until a second."""
    if not run.count:
        return View("", "No iteration is complete, so there is no timeline yet.")
    until_s = end_s(run) if until_s is None else until_s
    try:
        replayed = (replaying or _replay())(run.folder, until_s)
    except InputError as error:
        return View("", f"There is no timeline: {error}.".replace("..", "."))
    tracks = _tracks(run, servers)
    names = [f"{who} {number}" for who, number in tracks]
    slices = [
        Slice(tracks[one.who, one.number], one.kind, float(one.start_s), min(float(one.end_s), until_s))
        for one in replayed.phases
        if (one.who, one.number) in tracks and one.start_s < until_s and one.end_s > one.start_s
    ]
    arrows = [
        Arrow(tracks[tuple(one.source)], tracks[tuple(one.target)], float(one.sent_s), float(one.arrived_s), one.kind)
        for one in replayed.flows
        if tuple(one.source) in tracks and tuple(one.target) in tracks and one.arrived_s <= until_s
    ]
    shown = len(set(run.iterations["iteration"][run.iterations["time_s"] <= until_s].tolist()))
    models = sum(arrow.what == "exchange" for arrow in arrows)
    sentence = f"The first {until_s:.4g} simulated seconds, in which {shown} iterations are completed" + (
        f" and {models} models exchanged between the servers shown." if models else "."
    )
    notes = ["Arrows are models on their way: between servers they are the exchanges."]
    if len(run.topology) > servers or len(tracks) < _everyone(run):
        notes.append(f"At most {servers} servers, and {MOST_CLIENTS} clients of each, are shown.")
    return View("", sentence, [Tracks(title, "simulated time (s)", names, slices, arrows)], notes)


def _replay() -> Replaying:
    from asyncfeel.replay import replay

    return replay


def end_s(run: Run) -> float:
    """When every server has completed two iterations, or some four times as many as there are servers."""
    times, servers = run.iterations["time_s"], run.iterations["server"].tolist()
    if run.by_client:
        return float(times[min(len(times), 8) - 1])
    wanted, seen = len(run.topology), [0] * len(run.topology)
    for row, server in enumerate(servers):
        seen[server] += 1
        if min(seen) >= 2 or row + 1 >= 4 * wanted:
            return float(times[row])
    return float(times[-1])


def _everyone(run: Run) -> int:
    return (1 if run.by_client else len(run.topology)) + len(run.clients["client"])


def _tracks(run: Run, servers: int) -> dict[tuple[str, int], int]:
    """The track of each server and, below it, of its clients."""
    found: dict[tuple[str, int], int] = {}
    homes = run.clients["server"] * 0 if run.by_client else run.clients["server"]
    most = MOST_CLIENTS * (4 if run.by_client else 1)
    for server in range(min(1 if run.by_client else len(run.topology), servers)):
        found["server", server] = len(found)
        for client in run.clients["client"][homes == server][:most].tolist():
            found["client", client] = len(found)
    return found
