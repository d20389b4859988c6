"""A CSV file of a run back into arrays, whoever wrote it: every row is checked, and none is too long."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.jobs import EVERYONE

AT_ONCE = 50_000
"""Rows that become numbers together, so that their text does not pile up."""
MOST_WHOLE = 2**53
"""Whole numbers are below this, where a float still tells neighbours apart."""


def columns(path: Path, usual: Sequence[str], whole: Collection[str]) -> dict[str, NDArray[Any]]:
    """The columns of a table, those of `whole` as whole numbers; a half-written last row is left out."""
    lines = (line for line in safe_files.lines(path, "the table") if line.endswith("\n"))
    titles = next(lines, ",".join(usual)).strip().split(",")
    if len(set(titles)) != len(titles) or (missing := [title for title in usual if title not in titles]):
        wrong = "a title twice" if len(set(titles)) != len(titles) else f"no column {missing[0]!r}"
        raise InputError(f"{str(path)!r} is not a table of a run: it has {wrong}")
    pieces = [_arrays(path, titles, rows) for rows in _pieces(lines)] or [_arrays(path, titles, [])]
    found = {title: np.concatenate([piece[title] for piece in pieces]) for title in titles}
    return {title: _whole(path, title, found[title]) if title in whole else found[title] for title in titles}


def _pieces(lines: Iterator[str]) -> Iterator[list[str]]:
    rows: list[str] = []
    for line in lines:
        rows.append(line)
        if len(rows) == AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows


def _arrays(path: Path, titles: Sequence[str], rows: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    fields = [row.rstrip("\r\n").split(",") for row in rows]
    for row in fields:
        if len(row) != len(titles):
            raise InputError(
                f"{str(path)!r} is not a table of a run: a row has {len(row)} fields instead of {len(titles)}"
            )
    texts = list(zip(*fields, strict=True)) if fields else [()] * len(titles)
    try:
        return {title: np.array(values, dtype=np.float64) for title, values in zip(titles, texts, strict=True)}
    except ValueError as error:
        raise InputError(f"{str(path)!r} is not a table of a run: {error}") from error


def _whole(path: Path, title: str, values: NDArray[np.float64]) -> NDArray[np.int64]:
    with np.errstate(invalid="ignore"):
        sound = (
            (values >= (EVERYONE if title == "client" else 0)) & (values < MOST_WHOLE) & (values == np.floor(values))
        )
    if not sound.all():
        raise InputError(
            f"{str(path)!r} is not a table of a run: {title} must be whole numbers from 0, not {values[~sound][0]}"
        )
    return values.astype(np.int64)
