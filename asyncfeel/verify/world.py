"""The world of a run as its own files describe it: graph, clusters, speeds, data shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.recording.tables import COLUMNS
from asyncfeel.verify import files
from asyncfeel.verify.reading import Malformed, Rows


@dataclass(frozen=True)
class World:
    """What topology.json and clients.csv say; nothing of it was drawn again."""

    neighbours: Sequence[dict[int, float | None]]
    """For each server its neighbours, with the rate of the link where it has its own."""
    flops: Sequence[NDArray[np.float64]]
    """For each server the speeds of its clients."""
    shares: NDArray[np.float64]
    """For each server its share of the data, mtil."""
    clients: int

    @property
    def servers(self) -> int:
        """The number of servers, D."""
        return len(self.neighbours)


def read(folder: Path) -> World:
    """The world; `Malformed` says what is wrong with a file."""
    neighbours = _graph(folder / "topology.json")
    table = Rows(folder / "clients.csv", COLUMNS["clients"], torn=False)
    flops: list[list[float]] = [[] for _ in neighbours]
    samples = np.zeros(len(neighbours))
    while (row := table.take()) is not None:
        server = int(row["server"])
        if row["client"] != table.row - 1 or server >= len(neighbours) or not 0 < row["flops"] < np.inf:
            raise Malformed(f"row {table.row} of clients.csv cannot be client {table.row - 1}")
        flops[server].append(row["flops"])
        samples[server] += row["samples"]
    if not all(flops) or not samples.all():
        raise Malformed("clients.csv has a server without clients, or without data")
    return World(neighbours, [np.array(some) for some in flops], samples / samples.sum(), table.row)


def _graph(path: Path) -> list[dict[int, float | None]]:
    try:
        data = files.parsed(files.small(path))
        count = len(data["nodes"])
        links = [(edge["source"], edge["target"], edge.get("rate_bps")) for edge in data["edges"]]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise Malformed(f"topology.json is no graph ({type(error).__name__}: {error})") from error
    found: list[dict[int, float | None]] = [{} for _ in range(count)]
    for a, b, rate in links:
        if not (_server(a, count) and _server(b, count) and a != b and (rate is None or _rate(rate))):
            raise Malformed(f"topology.json has a link between {a!r} and {b!r} of {count} servers, at {rate!r}")
        found[a][b] = found[b][a] = rate
    return found


def _server(value: Any, count: int) -> bool:
    return type(value) is int and 0 <= value < count


def _rate(value: Any) -> bool:
    return type(value) in (int, float) and 0 < value < np.inf
