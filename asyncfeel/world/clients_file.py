"""A CSV of the user's own that describes the clients, a row each: a run's clients.csv will do."""

import csv
from pathlib import Path

from asyncfeel.errors import InputError


def column(path: str, clients: int, name: str) -> list[float]:
    """One column of the file as numbers, checked against the number of clients."""
    rows = _rows(path)
    if not rows:
        raise InputError(f"the clients file {path!r} has no row: it needs a heading and one row per client")
    if len(rows) != clients:
        raise InputError(
            f"the clients file {path!r} has {len(rows)} clients, not {clients}: set federation.clients to {len(rows)}"
        )
    return [_number(path, row, name) for row in rows]


def _rows(path: str) -> list[dict[str, str]]:
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as lines:
            return list(csv.DictReader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the clients file {path!r} cannot be read: {error}") from error


def _number(path: str, row: dict[str, str], name: str) -> float:
    try:
        return float(row[name])
    except KeyError as error:
        raise InputError(
            f"the clients file {path!r} has no column {name!r}: there are {', '.join(map(str, row))}"
        ) from error
    except (TypeError, ValueError) as error:
        raise InputError(f"the clients file {path!r}: {name} must be a number, not {row[name]!r}") from error
