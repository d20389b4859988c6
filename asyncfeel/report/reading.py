"""A run folder as a frozen value: its manifest, its scenario, its world and its tables."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.recording import manifest, tables
from asyncfeel.report import recorded, validity
from asyncfeel.scenario import text

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Run:
    """What one folder holds; a table that it has not got is None."""

    folder: Path
    manifest: Mapping[str, Any]
    config: Mapping[str, Any]
    """The scenario as dotted keys."""
    topology: nx.Graph
    clients: Columns
    iterations: Columns
    staleness: Columns | None
    mixing: Columns | None
    metrics: Columns | None
    servers: Columns | None
    """Each server's own model over time: servers.csv."""

    @property
    def name(self) -> str:
        """What the folder is called."""
        return self.folder.resolve().name

    @property
    def algorithm(self) -> str:
        """The system that was run."""
        return str(self.manifest["algorithm"])

    @property
    def by_client(self) -> bool:
        """Whether it is a system with a single server, whose staleness is that of clients."""
        return bool(self.manifest.get("by_client"))

    @property
    def seed(self) -> int:
        """The seed of all its draws."""
        return int(self.manifest["seed"])

    @property
    def status(self) -> str:
        """How it ended, or that it goes on."""
        return str(self.manifest["status"])

    @property
    def model_bits(self) -> float | None:
        """The size of a model, where the run has settled it."""
        found = self.manifest.get("model_bits")
        return float(found) if isinstance(found, int | float) else None

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """Each server's share of the data, mtil."""
        held = np.bincount(self.clients["server"], self.clients["samples"], len(self.topology))
        return np.asarray(held / held.sum(), dtype=np.float64)

    @property
    def count(self) -> int:
        """How many iterations are complete."""
        done = self.iterations["iteration"]
        return int(done[-1]) + 1 if len(done) else 0


def read(folder: Path) -> Run:
    """The run in a folder, finished or still running; an `InputError` if it is not one."""
    found, graph = manifest.read(folder), recorded.graph(folder)
    if missing := [name for name in ("status", "kind", "algorithm", "topology", "seed") if name not in found]:
        raise InputError(f"the manifest of {str(folder)!r} has no {missing[0]!r}: it is not that of a run")
    world = {name: _table(folder, name) for name in ("clients", "iterations", "staleness", "mixing", "metrics")}
    servers = _table(folder, "servers")
    validity.check(folder, len(graph), world | {"servers": servers})
    config = dict(_dotted(text.read(folder / "config.toml")))
    needed = world.pop("clients"), world.pop("iterations")
    return Run(folder, found, config, graph, *needed, **world, servers=servers)  # type: ignore[arg-type]


def _table(folder: Path, name: str) -> Columns | None:
    """A table, or None where there is none or nothing in it but a torn first line."""
    path = folder / f"{name}.csv"
    if not safe_files.is_file(path) or not next(safe_files.lines(path, "the table"), "").endswith("\n"):
        return None
    return tables.read(folder, name)


def _dotted(table: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
