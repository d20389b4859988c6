"""Whether the tables of a run folder fit together: a damaged one must not make a chart of a million bars."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError

PER_ROW = 1000
"""How far the number of an iteration may be ahead of the rows: systems with empty rounds leave some out."""

Columns = Mapping[str, NDArray[Any]]


def check(folder: Path, servers: int, world: Mapping[str, Columns | None]) -> None:
    """An error if a table names a server, a client or an iteration that cannot be, or a time that is no number."""
    clients, iterations = world["clients"], world["iterations"]
    if clients is None or iterations is None:
        raise InputError(f"{str(folder)!r} is not a complete run folder: it has no clients.csv or no iterations.csv")
    if not len(clients["client"]) or not clients["samples"].sum():
        raise InputError(f"{str(folder)!r} is damaged: clients.csv has no client with samples")
    later = PER_ROW * (len(iterations["iteration"]) + 1)
    most = dict.fromkeys(("server", "trigger", "source", "target"), servers)
    most |= {"client": len(clients["client"]), "iteration": later, "staleness": later}
    for name, table in world.items():
        for title, values in (table or {}).items():
            _check_column(f"{name}.csv of {str(folder)!r} is damaged: {title}", title, values, most.get(title))
    if (np.diff(iterations["iteration"]) < 0).any():
        raise InputError(f"iterations.csv of {str(folder)!r} is damaged: iteration goes back")


def _check_column(what: str, title: str, values: NDArray[Any], most: int | None) -> None:
    if most is not None and len(values) and values.max() >= most:
        raise InputError(f"{what} must be below {most}, not {values.max()}")
    numbers = title.endswith("_s") or title in ("flops", "weight", "steps_mean")
    if numbers and not np.isfinite(values).all():
        raise InputError(f"{what} must be finite numbers")
