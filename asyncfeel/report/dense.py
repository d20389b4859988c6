"""All mixing matrices of a run as one stack of dense matrices."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.report.streaming import columns, read

LIMIT_BYTES = 4 << 30
"""A stack that would be larger is refused."""
ENDED = ("finished", "interrupted", "failed")


def write(path: Path, folder: Path, servers: int, status: str) -> None:
    """Write `mixing`, K x D x D with P[source, target], and `iteration` and `time_s` of each matrix."""
    iteration, time_s = _instants(folder, status)
    size = 8 * len(iteration) * servers**2
    if size > LIMIT_BYTES:
        shape = f"{len(iteration):,} x {servers:,} x {servers:,}"
        raise InputError(
            f"the matrices of {str(folder)!r} would take {size / 2**30:,.1f} GiB ({shape} float64), and 4 GiB is the "
            "limit: choose --format parquet, csv or json, which have the entries that differ from the identity"
        )
    stack = np.zeros((len(iteration), servers, servers))
    stack[:, np.arange(servers), np.arange(servers)] = 1.0
    table = read(folder, "mixing")
    for rows in table.pieces:
        entries = columns(table.titles, rows)
        place = np.searchsorted(iteration, entries["iteration"])
        known = place < len(iteration)
        where = (place[known], entries["source"][known], entries["target"][known])
        stack[where] = entries["weight"][known]
    with path.open("wb") as file:
        np.savez_compressed(file, mixing=stack, iteration=iteration, time_s=time_s)


def _instants(folder: Path, status: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The number and the second of every iteration; of a run that goes on without the newest, half-written one."""
    done: dict[int, float] = {}
    table = read(folder, "iterations")
    for rows in table.pieces:
        piece = columns(table.titles, rows)
        done.update(zip(piece["iteration"].tolist(), piece["time_s"].tolist(), strict=True))
    if done and status not in ENDED:
        done.popitem()
    return np.array(list(done), dtype=np.int64), np.array(list(done.values()), dtype=np.float64)
