"""The CSV files of a run: their columns, how they are streamed, how they are read back."""

import contextlib
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError, Unrecorded
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
    "faults": ("time_s", "kind", "who", "number", "other", "job", "iteration", "lost_s"),
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
    "clients",
    "number",
    "other",
    "job",
}
"""The columns of whole numbers; all others have floats."""
SERVER = "server_"
"""How the columns of a table begin that has one for each server."""
WORDS = {"kind", "who"}
"""But for these, which have texts."""


class Table:
    """A CSV file that grows: every row is on its way to the disk when `write` returns."""

    def __init__(self, folder: Path, name: str, more: Iterable[str] = (), known: int | None = None) -> None:
        """With `known` the file is there, and what is written must first repeat so many of its bytes.

        What the file has beyond them is cut off.
        """
        self._path = folder / f"{name}.csv"
        self._file = _opened(self._path, known)
        self._known = known or 0
        self._size = 0
        self._digest = hashlib.sha256()
        self.append(",".join([*COLUMNS[name], *more]) + "\n")

    def write(self, rows: Iterable[Iterable[Any]]) -> None:
        """Append rows; floats are written so that reading gives the same float."""
        self.append("".join(",".join(map(repr, row)) + "\n" for row in rows))

    def append(self, text: str) -> None:
        """Append whole rows that are text already."""
        data = text.encode()
        self._digest.update(data)
        before, self._size = self._size, self._size + len(data)
        if before >= self._known:
            self._write(data)
        elif self._size > self._known or self._file.read(len(data)) != data:
            raise InputError(
                f"{str(self._path)!r} is not what a replay of this run gives (before byte {self._size}): "
                "the folder was changed, or comes from another version"
            )
        elif self._size == self._known:
            self._file.truncate(self._known)

    def _write(self, data: bytes) -> None:
        try:
            self._file.write(data)
            self._file.flush()
        except OSError as error:
            raise Unrecorded(
                f"{str(self._path)!r} cannot be written: {error.strerror}; "
                "what was recorded before is kept, and 'asyncfeel resume' goes on from the last checkpoint"
            ) from error

    @property
    def behind(self) -> bool:
        """Whether some of what is known has not been repeated yet."""
        return self._size < self._known

    def sync(self) -> tuple[int, str]:
        """Have all rows on the disk itself; the size and the digest of the file."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._size, self.digest

    def close(self) -> None:
        """Close the file; what cannot be written any more has been reported already."""
        with contextlib.suppress(OSError):
            self._file.close()

    @property
    def digest(self) -> str:
        """The SHA-256 of the file so far."""
        return self._digest.hexdigest()


def _opened(path: Path, known: int | None) -> IO[bytes]:
    try:
        if not known:
            return path.open("xb" if known is None else "wb")
        if path.stat().st_size < known:
            raise InputError(f"{str(path)!r} has lost rows: it has fewer than the {known} bytes that were recorded")
        return path.open("r+b")
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be opened: {error.strerror}") from error


def read(folder: Path, name: str) -> dict[str, NDArray[Any]]:
    """A table as plain arrays, one per column; a half-written last row is left out."""
    path = folder / f"{name}.csv"
    if not os.path.lexists(path):
        raise InputError(f"{str(folder)!r} has no {name}.csv")
    return parsing.columns(path, COLUMNS[name], parse, whole)


def parse(titles: Sequence[str], lines: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Lines of a table as arrays, one per title; a `ValueError` if a line is not one of the table.

    >>> {title: values.tolist() for title, values in parse(["server", "time_s"], ["0,0.1", "3,nan"]).items()}
    {'server': [0, 3], 'time_s': [0.1, nan]}
    """
    kinds = np.dtype([(title, kind(title)) for title in titles])
    rows = np.loadtxt(lines, kinds, comments=None, delimiter=",", ndmin=1) if lines else np.zeros(0, kinds)
    return {title: rows[title].copy() for title in titles}


def kind(title: str) -> Any:
    """The type of a column's values."""
    return np.dtype("U32") if title in WORDS else np.int64 if whole(title) else np.float64


def whole(title: str) -> bool:
    """Whether a column has whole numbers; those of a wide table are named after their servers."""
    return title in WHOLE or title.startswith(SERVER)
