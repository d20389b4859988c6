"""A CSV of the user's own that tells when each client is there, or when each server or link is down.

A row is an interval: whose it is (a column `client`, `server`, or the ends `a` and `b` of a link), and
from which simulated second, inclusive, until which, exclusive. Who has no row has no interval.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from asyncfeel.errors import InputError
from asyncfeel.world.presence import Intervals

Row = tuple[int, float, float]


def read(path: str, places: Mapping[tuple[int, ...], int], columns: Sequence[str], period_s: float | None) -> Intervals:
    """The intervals of a file, for all those that have a place."""
    if period_s is not None and not 0 < period_s < math.inf:
        raise InputError(f"period_s must be above 0, not {period_s}")
    rows = sorted(_rows(path, places, columns))
    if not rows:
        raise InputError(f"the trace file {path!r} has no row: it needs one for each interval")
    _check(path, rows, period_s)
    owners, from_s, until_s = (np.array(column) for column in zip(*_joined(rows), strict=True))
    return Intervals(len(places), owners, from_s, until_s, period_s)


def _rows(path: str, places: Mapping[tuple[int, ...], int], columns: Sequence[str]) -> list[Row]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as lines:
            table = csv.DictReader(lines)
            found = table.fieldnames or []
            for name in (*columns, "from_s", "until_s"):
                if name not in found:
                    raise InputError(
                        f"the trace file {path!r} has no column {name!r}: there are {', '.join(found) or 'none'}"
                    )
            return [_row(f"the trace file {path!r}, line {table.line_num}", row, places, columns) for row in table]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the trace file {path!r} cannot be read: {error}") from error


def _row(where: str, row: dict[str, str], places: Mapping[tuple[int, ...], int], columns: Sequence[str]) -> Row:
    owner = tuple(_number(where, row, name) for name in columns)
    named = tuple(sorted(int(number) for number in owner if number.is_integer()))
    if named not in places:
        what = "link" if len(columns) == 2 else columns[0]
        shown = "-".join(row[name] for name in columns)
        raise InputError(f"{where}: there is no {what} {shown}: they are {_range(list(places))}")
    from_s, until_s = _number(where, row, "from_s"), _number(where, row, "until_s")
    if not 0 <= from_s < until_s:
        raise InputError(f"{where}: from_s must be at least 0 and less than until_s, not {from_s:g} and {until_s:g}")
    return places[named], from_s, until_s


def _number(where: str, row: dict[str, str], name: str) -> float:
    try:
        value = float(row[name])
    except (TypeError, ValueError) as error:
        raise InputError(f"{where}: {name} must be a number, not {row[name]!r}") from error
    if not math.isfinite(value):
        raise InputError(f"{where}: {name} must be finite, not {value}")
    return value


def _range(names: Sequence[tuple[int, ...]]) -> str:
    shown = ["-".join(map(str, name)) for name in names]
    if names and len(names[0]) == 1:
        return f"{shown[0]} to {shown[-1]}"
    return (", ".join(shown[:6]) or "none") + ", ..." * (len(shown) > 6)


def _check(path: str, rows: Sequence[Row], period_s: float | None) -> None:
    for (owner, _, until_s), (other, from_s, _) in pairwise(rows):
        if owner == other and from_s < until_s:
            raise InputError(f"the trace file {path!r} has two intervals of one owner that overlap at {from_s:g} s")
    latest_s = max(until_s for _, _, until_s in rows)
    if period_s is not None and latest_s > period_s:
        raise InputError(f"the trace file {path!r} goes on to {latest_s:g} s, longer than period_s = {period_s:g}")


def _joined(rows: Sequence[Row]) -> list[Row]:
    """The intervals with those made one where one begins as the other ends."""
    joined: list[Row] = []
    for row in rows:
        if joined and joined[-1][0] == row[0] and joined[-1][2] == row[1]:
            row = (row[0], joined.pop()[1], row[2])
        joined.append(row)
    return joined
