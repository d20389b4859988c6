"""Mixing: the matrices, what they leave of a disagreement, and how far apart the servers' models are."""

import numpy as np

from asyncfeel.report import eigenvalues
from asyncfeel.report.charts import Lines, Matrices, View
from asyncfeel.report.eigenvalues import Entries
from asyncfeel.report.reading import Run
from asyncfeel.report.staleness import per_server

MOST_SERVERS = 128
"""Servers whose matrices can be shown."""
MOST_FRAMES = 400
"""Matrices on the slider: of more, some at equal distances."""


def view(run: Run) -> View:
    """P_k on a slider, |lambda_2| and the consensus distance."""
    distance, notes = distances(run)
    charts = [distance] if distance else []
    sentence = _apart(run)
    if run.by_client or len(run.topology) == 1:
        return View("", "A single server mixes with nobody, so there is no mixing matrix.")
    if run.mixing is None or not run.count:
        why = "No iteration is complete, so there is no mixing matrix."
        return View("", f"{why} {sentence}".strip(), charts, notes)
    servers = len(run.topology)
    if servers > MOST_SERVERS:
        why = f"{servers:,} servers make matrices too large to be shown: {MOST_SERVERS} servers can be."
        return View("", f"{why} {sentence}".strip(), charts, notes)
    matrices = entries(run)
    frames = _spread(0, run.count, MOST_FRAMES)
    if len(frames) < run.count:
        notes.append(f"The slider has {len(frames)} of {run.count:,} matrices, at equal distances.")
    table = Matrices(
        "mixing matrix", "target", "source", servers, [str(k) for k in frames], [matrices[k] for k in frames]
    )
    eigen, said, more = eigenvalues.chart(matrices, servers)
    return View("", f"{said} {sentence}".strip(), [table, eigen, *charts], [*notes, *more])


def entries(run: Run) -> list[Entries]:
    """The (source, target, weight) of every iteration that differ from the identity."""
    found: list[Entries] = [[] for _ in range(run.count)]
    if run.mixing is not None:
        for k, source, target, weight in zip(*(column.tolist() for column in run.mixing.values()), strict=True):
            if k < run.count:
                found[k].append((source, target, weight))
    return found


def distances(run: Run) -> tuple[Lines | None, list[str]]:
    """How far each server's model is from the global one, over simulated time."""
    table = run.servers
    if table is None or not len(table["time_s"]):
        return None, ["There is no servers.csv with rows, so the distance between the servers' models is not known."]
    servers = int(table["server"].max()) + 1
    tests = len(table["time_s"]) // servers
    grid = table["distance"][: tests * servers].reshape(tests, servers).T
    lines, notes = per_server(table["time_s"][: tests * servers : servers], grid)
    return Lines("distance of the servers' models", "simulated time (s)", "distance from global model", lines), notes


def _apart(run: Run) -> str:
    """Who is the farthest from the global model at the last test."""
    table = run.servers
    if table is None or not len(table["time_s"]):
        return ""
    last = np.flatnonzero((table["time_s"] == table["time_s"][-1]) & (table["iteration"] == table["iteration"][-1]))
    if not np.isfinite(table["distance"][last]).all():
        return "At the last test the distances between the servers' models are beyond all numbers."
    far = last[int(table["distance"][last].argmax())]
    return (
        f"At the last test server {table['server'][far]} is the farthest from the global model, at a distance of "
        f"{table['distance'][far]:.4g}."
    )


def _spread(first: int, stop: int, most: int) -> list[int]:
    """Whole numbers from first to below stop: all, or so many at equal distances."""
    return sorted({round(place) for place in np.linspace(first, stop - 1, min(stop - first, most)).tolist()})
