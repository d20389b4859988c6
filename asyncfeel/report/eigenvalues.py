"""The second eigenvalue of mixings: how much of a disagreement they leave."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report import thinning
from asyncfeel.report.charts import Lines

Entries = list[tuple[int, int, float]]
"""The (source, target, weight) of a matrix that differ from the identity."""
Floats = NDArray[np.float64]
MOST_WORK = 1.5e8
"""Eigenvalues of a matrix of size D cost some D**3; of more iterations than this allows, some are taken."""


def chart(matrices: list[Entries], servers: int) -> tuple[Lines, str, list[str]]:
    """|lambda_2| of single mixings and of as many in a row as there are servers; a sentence; and footnotes."""
    count = len(matrices)
    single = np.array([second(some, servers) for some in matrices])
    every = max(1, round(count * servers**3 / MOST_WORK))
    ends = np.arange(servers - 1, count, every)
    sweeps = np.array([_modulus(product) for product in _products(matrices, servers, ends.tolist())])
    lines = [thinning.line("one mixing", np.arange(count, dtype=np.float64), single)]
    said = f"The second eigenvalue of a single mixing is {single.mean():.3f} in the mean"
    if single.max() > 1 - 1e-9 and servers > 2:
        said += " (it is 1 where a server took no part)"
    if len(sweeps):
        lines.append(thinning.line(f"{servers} mixings in a row", ends.astype(np.float64), sweeps))
        said += f", and that of {servers} mixings in a row {sweeps.mean():.3f}"
    notes = thinning.notes(count + len(sweeps), lines)
    if every > 1:
        notes.append(f"Of the products of {servers} mixings every {every}th is shown.")
    return Lines("second eigenvalue", "iteration", "second eigenvalue |λ₂|", lines), f"{said}.", notes


def dense(some: Entries, servers: int) -> Floats:
    """The matrix P_k in full."""
    matrix = np.eye(servers)
    for source, target, weight in some:
        matrix[source, target] = weight
    return matrix


def second(some: Entries, servers: int) -> float:
    """The modulus of the second eigenvalue of P_k.

    Servers that take no part have an eigenvalue 1 each, so the block of the others is enough.

    >>> half = [(0, 0, 0.5), (0, 1, 0.5), (1, 0, 0.5), (1, 1, 0.5)]
    >>> second([], 2), round(second(half, 2), 9), second(half, 3)
    (1.0, 0.0, 1.0)
    """
    part = sorted({server for source, target, _ in some for server in (source, target)})
    if len(part) < servers:
        return 1.0 if servers > 1 else 0.0
    return _modulus(dense(some, servers))


def _modulus(matrix: Floats) -> float:
    return float(np.sort(np.abs(np.linalg.eigvals(matrix)))[-2]) if len(matrix) > 1 else 0.0


def _products(matrices: list[Entries], servers: int, ends: list[int]) -> Iterator[Floats]:
    """P_k P_{k+1} ... of as many mixings as there are servers, for each last one."""
    ready: dict[int, tuple[NDArray[np.int64], Floats]] = {}
    for last in ends:
        window = range(last - servers + 1, last + 1)
        ready = {k: ready[k] if k in ready else _factor(matrices[k], servers) for k in window}
        product = np.eye(servers)
        for columns, factor in ready.values():
            product[:, columns] = product @ factor
        yield product


def _factor(some: Entries, servers: int) -> tuple[NDArray[np.int64], Floats]:
    """The columns in which P_k differs from the identity, and these columns."""
    columns = np.array(sorted({target for _, target, _ in some}), dtype=np.int64)
    factor = np.eye(servers)[:, columns]
    if some:
        source, target, weight = zip(*some, strict=True)
        factor[list(source), np.searchsorted(columns, target)] = weight
    return columns, factor
