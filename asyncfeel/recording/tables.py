"""The CSV files of a run: their columns, how they are streamed, how they are read back."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.recording import parsing

COLUMNS = {
    "clients": ("client", "server", "samples", "flops"),
    "iterations": (
        "iteration",
        "time_s",
        "server",
        "started_s",
        "deadline_s",
        "steps_min",
        "steps_mean",
        "steps_max",
        "staleness",
    ),
    "staleness": ("iteration", "time_s", "trigger", "server", "staleness", "weight"),
    "mixing": ("iteration", "source", "target", "weight"),
    "metrics": ("iteration", "time_s", "train_loss", "test_loss", "test_accuracy"),
    "servers": ("iteration", "time_s", "server", "distance", "test_loss", "test_accuracy"),
    "divergence": ("iteration", "time_s", "client", "learning_rate", "norm"),
}
WHOLE = {
    "client",
    "server",
    "samples",
    "iteration",
    "steps_min",
    "steps_max",
    "staleness",
    "trigger",
    "source",
    "target",
}
"""The columns of whole numbers; all others have floats."""


class Table:
    """A CSV file that grows: every row is on its way to the disk when `write` returns."""

    def __init__(self, folder: Path, name: str, more: Iterable[str] = ()) -> None:
        self._file = (folder / f"{name}.csv").open("xb")
        self._digest = hashlib.sha256()
        self.append(",".join([*COLUMNS[name], *more]) + "\n")

    def write(self, rows: Iterable[Iterable[Any]]) -> None:
        """Append rows; floats are written so that reading gives the same float."""
        self.append("".join(",".join(map(repr, row)) + "\n" for row in rows))

    def append(self, text: str) -> None:
        """Append whole rows that are text already."""
        data = text.encode()
        self._digest.update(data)
        self._file.write(data)
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def digest(self) -> str:
        """The SHA-256 of the file so far."""
        return self._digest.hexdigest()


def read(folder: Path, name: str) -> dict[str, NDArray[Any]]:
    """A table as plain arrays, one per column; a half-written last row is left out."""
    path = folder / f"{name}.csv"
    if not os.path.lexists(path):
        raise InputError(f"{str(folder)!r} has no {name}.csv")
    return parsing.columns(path, COLUMNS[name], WHOLE)
