"""A CSV of the user's own that describes the clients, a row each: a run's clients.csv will do."""

import csv
from collections.abc import Iterator
from pathlib import Path

from asyncfeel import safe_files
from asyncfeel.errors import InputError


def column(path: str, clients: int, name: str) -> list[float]:
    """One column of the file as numbers, checked against the number of clients."""
    rows = _rows(path)
    titles = next(rows, [])
    values: list[float] = []
    found = 0
    for row in rows:
        found += 1
        if found <= clients:
            values.append(_number(path, titles, row, name))
    if not found:
        raise InputError(f"the clients file {path!r} has no row: it needs a heading and one row per client")
    if found != clients:
        raise InputError(
            f"the clients file {path!r} has {found} clients, not {clients}: set federation.clients to {found}"
        )
    return values


def _rows(path: str) -> Iterator[list[str]]:
    """The heading and the rows that are not empty, one at a time."""
    try:
        yield from (row for row in csv.reader(safe_files.lines(Path(path), "the clients file")) if row)
    except csv.Error as error:
        raise InputError(f"the clients file {path!r} cannot be read: {error}") from error


def _number(path: str, titles: list[str], row: list[str], name: str) -> float:
    if name not in titles:
        raise InputError(f"the clients file {path!r} has no column {name!r}: there are {', '.join(titles)[:500]}")
    place = titles.index(name)
    said = row[place] if place < len(row) else None
    try:
        return float(said or "")
    except ValueError as error:
        raise InputError(f"the clients file {path!r}: {name} must be a number, not {said!r}") from error
