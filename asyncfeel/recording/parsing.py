"""A CSV file of a run back into arrays, whoever wrote it: every row is checked, and none is too long."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel import safe_files
from asyncfeel.errors import InputError
from asyncfeel.jobs import EVERYONE

Parse = Callable[[Sequence[str], Sequence[str]], dict[str, NDArray[Any]]]
"""From titles and lines to arrays; a `ValueError` if a line is not one of the table."""
AT_ONCE = 50_000
"""Rows that become numbers together, so that their text does not pile up."""
ABSENT = ("client", "number", "other", "job")
"""Columns in which -1 stands for everyone, or for nobody."""
MOST_WHOLE = 2**53
"""Whole numbers are below this, where a float still tells neighbours apart."""


def columns(path: Path, usual: Sequence[str], parse: Parse, whole: Callable[[str], bool]) -> dict[str, NDArray[Any]]:
    """The columns of a table, whole numbers where `whole` says so; a half-written last row is left out."""
    lines = (line for line in safe_files.lines(path, "the table") if line.endswith("\n"))
    titles = next(lines, ",".join(usual)).strip().split(",")
    if len(set(titles)) != len(titles) or (missing := [title for title in usual if title not in titles]):
        wrong = "a title twice" if len(set(titles)) != len(titles) else f"no column {missing[0]!r}"
        raise InputError(f"{str(path)!r} is not a table of a run: it has {wrong}")
    try:
        pieces = [parse(titles, rows) for rows in _pieces(lines)] or [parse(titles, [])]
    except (ValueError, OverflowError) as error:
        raise InputError(f"{str(path)!r} is not a table of a run: {error}") from error
    found = {title: np.concatenate([piece[title] for piece in pieces]) for title in titles}
    return {title: _whole(path, title, found[title]) if whole(title) else found[title] for title in titles}


def _pieces(lines: Iterator[str]) -> Iterator[list[str]]:
    rows: list[str] = []
    for line in lines:
        rows.append(line)
        if len(rows) == AT_ONCE:
            yield rows
            rows = []
    if rows:
        yield rows


def _whole(path: Path, title: str, values: NDArray[np.int64]) -> NDArray[np.int64]:
    sound = (values >= (EVERYONE if title in ABSENT else 0)) & (values < MOST_WHOLE)
    if not sound.all():
        raise InputError(
            f"{str(path)!r} is not a table of a run: {title} must be whole numbers from 0, not {values[~sound][0]}"
        )
    return values
