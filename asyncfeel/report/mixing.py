"""The mixing matrices, their second eigenvalue, and the distance between the servers' models."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report import thinning
from asyncfeel.report.charts import Line, Lines, Matrices, View
from asyncfeel.report.reading import Run

MOST_SERVERS = 60
MOST_FRAMES = 400
"""Matrices on the slider: of more, some at equal distances."""
MOST_EIGENVALUES = 4000

Entries = list[tuple[int, int, float]]
Floats = NDArray[np.float64]


def view(run: Run) -> View:
    """P_k on a slider, |lambda_2| and the consensus distance."""
    distance, notes = distances(run)
    charts = [distance] if distance else []
    sentence = _apart(distance) if distance else ""
    if run.by_client or run.mixing is None or not run.count:
        why = "A single server mixes with nobody" if run.by_client else "No iteration is complete"
        return View("", f"{why}, so there is no mixing matrix. {sentence}".strip(), charts, notes)
    servers = len(run.topology)
    if servers > MOST_SERVERS:
        why = f"{servers:,} servers make matrices too large to be shown: {MOST_SERVERS} servers can be."
        return View("", f"{why} {sentence}".strip(), charts, notes)
    matrices = entries(run)
    frames = np.unique(np.linspace(0, run.count - 1, min(run.count, MOST_FRAMES)).round().astype(np.int64)).tolist()
    if len(frames) < run.count:
        notes.append(f"The slider has {len(frames)} of {run.count:,} matrices, at equal distances.")
    table = Matrices(
        "mixing matrix", "target", "source", servers, [str(k) for k in frames], [matrices[k] for k in frames]
    )
    eigen, said, more = _eigenvalues(run, matrices)
    return View("", f"{said} {sentence}".strip(), [table, eigen, *charts], [*notes, *more])


def entries(run: Run) -> list[Entries]:
    """The (source, target, weight) of every iteration that differ from the identity."""
    found: list[Entries] = [[] for _ in range(run.count)]
    if run.mixing is not None:
        for k, source, target, weight in zip(*(column.tolist() for column in run.mixing.values()), strict=True):
            if k < run.count:
                found[k].append((source, target, weight))
    return found


def dense(some: Entries, servers: int) -> Floats:
    """The matrix P_k in full."""
    matrix = np.eye(servers)
    for source, target, weight in some:
        matrix[source, target] = weight
    return matrix


def second(matrix: Floats) -> float:
    """The modulus of the second eigenvalue: how much disagreement a mixing leaves.

    >>> second(np.eye(2)), round(second(np.full((2, 2), 0.5)), 9)
    (1.0, 0.0)
    """
    return float(np.sort(np.abs(np.linalg.eigvals(matrix)))[-2]) if len(matrix) > 1 else 0.0


def _eigenvalues(run: Run, matrices: list[Entries]) -> tuple[Lines, str, list[str]]:
    servers, stop = len(run.topology), min(run.count, MOST_EIGENVALUES)
    notes = [f"Eigenvalues of the first {stop:,} of {run.count:,} iterations."] if stop < run.count else []
    full = [dense(some, servers) for some in matrices[:stop]]
    single = np.array([second(matrix) for matrix in full])
    sweeps = np.array([second(product) for product in _sweeps(full, servers)])
    k = np.arange(stop, dtype=np.float64)
    lines = [thinning.line("one iteration", k, single)]
    if len(sweeps):
        lines.append(thinning.line(f"last {servers} iterations", k[servers - 1 :], sweeps))
    notes += thinning.notes(len(single) + len(sweeps), lines)
    said = f"The second eigenvalue of a single mixing is {single.mean():.3f} in the mean"
    if single.max() > 1 - 1e-9 and servers > 2:
        said += " (1 where a server took no part)"
    if len(sweeps):
        said += f", that of {servers} mixings in a row {sweeps.mean():.3f}"
    return Lines("second eigenvalue", "iteration", "|λ₂|", lines), said + ".", notes


def _sweeps(full: list[Floats], servers: int) -> Iterator[Floats]:
    for last in range(servers - 1, len(full)):
        product = full[last - servers + 1]
        for matrix in full[last - servers + 2 : last + 1]:
            product = product @ matrix
        yield product


def distances(run: Run) -> tuple[Lines | None, list[str]]:
    """How far each server's model is from the global one, over simulated time."""
    table = run.servers
    if table is None or not len(table["time_s"]):
        return None, ["There is no servers.csv with rows, so the distance between the servers' models is not known."]
    numbers = sorted(set(table["server"].astype(np.int64).tolist()))
    lines: list[Line] = []
    for server in numbers[:12]:
        rows = table["server"] == server
        lines.append(thinning.line(f"server {server}", table["time_s"][rows], table["distance"][rows]))
    before = int(np.isin(table["server"], numbers[:12]).sum())
    notes = thinning.notes(before, lines)
    if len(numbers) > 12:
        notes.append(f"Distances of the first 12 of {len(numbers)} servers.")
    return Lines("distance of each server's model from the global one", "simulated time (s)", "distance", lines), notes


def _apart(chart: Lines) -> str:
    last = {line.name: line.y[-1] for line in chart.lines}
    far = max(last, key=lambda name: last[name])
    return f"At the last test {far} is the farthest from the global model, at a distance of {last[far]:.4g}."
