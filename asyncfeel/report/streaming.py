"""A table of a run folder as pieces of rows, read so that a large one never lies in memory as a whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.recording.tables import COLUMNS, WHOLE, WORDS

BYTES = 1 << 22
"""How much of a file is read at once."""
SERVER = "server_"
"""How the columns of a wide table begin."""

Row = Sequence[str]
"""The fields of a row as the file has them: the text is exact, and numbers are made of it where they are needed."""


@dataclass(frozen=True)
class Stream:
    """The titles of a table and its rows, some at a time; they can be read once."""

    titles: Sequence[str]
    pieces: Iterator[Sequence[Row]]


def read(folder: Path, name: str) -> Stream:
    """A table; a last row that is only half written is left out."""
    lines = _lines(folder / f"{name}.csv")
    first = next(lines, [])
    titles = first[0].split(",") if first else list(COLUMNS[name])
    return Stream(titles, _rows(name, titles, first[1:], lines))


def wide(stream: Stream, servers: int) -> Stream:
    """staleness.csv with a row per iteration and a column per server; an iteration that is not complete is left out."""
    titles = ["iteration", "time_s", *(f"{SERVER}{server}" for server in range(servers))]
    return Stream(titles, _widened(stream.pieces, servers))


def numbers(title: str, values: Sequence[str]) -> NDArray[Any]:
    """A column of numbers, whole ones where the table has whole ones; texts where it has words."""
    if title in WORDS:
        return np.array(list(values), dtype=np.str_)
    if title in WHOLE or title.startswith(SERVER):
        return np.array([int(value) for value in values], dtype=np.int64)
    return np.array([float(value) for value in values], dtype=np.float64)


def columns(titles: Sequence[str], rows: Sequence[Row]) -> dict[str, NDArray[Any]]:
    """Rows as arrays, one per title."""
    fields = list(zip(*rows, strict=True)) if rows else [()] * len(titles)
    return {title: numbers(title, values) for title, values in zip(titles, fields, strict=True)}


def _lines(path: Path) -> Iterator[list[str]]:
    """The complete lines of a file, some at a time."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(BYTES):
            whole, newline, rest = (rest + block).rpartition(b"\n")
            if newline:
                yield whole.decode().split("\n")


def _rows(name: str, titles: Sequence[str], first: list[str], rest: Iterator[list[str]]) -> Iterator[Sequence[Row]]:
    yield _split(name, titles, first)
    for lines in rest:
        yield _split(name, titles, lines)


def _split(name: str, titles: Sequence[str], lines: list[str]) -> list[Row]:
    rows: list[Row] = [line.split(",") for line in lines]
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(titles):
            raise InputError(f"{name}.csv is damaged: {line!r} has {len(row)} fields instead of {len(titles)}")
    return rows


def _widened(pieces: Iterator[Sequence[Row]], servers: int) -> Iterator[Sequence[Row]]:
    """All triggers of an iteration see the same staleness, so the first one's rows are enough."""
    now, row = "", list[str]()
    for piece in pieces:
        done: list[Row] = []
        for iteration, time_s, _, _, staleness, *_ in piece:
            if iteration != now:
                now, row = iteration, [iteration, time_s]
            if len(row) < servers + 2:
                row.append(staleness)
                if len(row) == servers + 2:
                    done.append(row)
        yield done
