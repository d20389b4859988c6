"""Files from elsewhere, read with care: regular files only, never more than a limit, errors of one line.

Whoever opens a file that a user names does it here. A pipe or a device is refused before it is read,
since it may never end; a file that is too large is refused at its limit, however large it says it is.
"""

import json
import os
import re
import stat
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from asyncfeel.errors import AsyncFeelError, InputError

TOML_BYTES = 1 << 20
"""A scenario, a run's config.toml or a comparison.toml."""
JSON_BYTES = 1 << 26
"""A manifest.json or a topology.json: a hundred thousand servers take about 20 MB."""
MAP_BYTES = 1 << 22
"""A map of the user's own, in JSON or GraphML."""
PYTHON_BYTES = 1 << 20
"""A file of the user's own whose first line `asyncfeel list` shows."""
LINE_BYTES = 1 << 16
"""One line of a CSV file."""
TABLE_BYTES = 1 << 32
"""A CSV file as a whole, where it is read into memory."""
KEY_PARTS = 32
"""The parts of a dotted TOML key: the standard parser's time grows with their square."""
WHOLE = 2**63
"""Whole numbers of a TOML file have 64 bits, as TOML says."""


def is_file(path: Path) -> bool:
    """Whether there is a regular file; a name that cannot be one, or may not be looked at, is none."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


def opened(path: Path, what: str) -> IO[bytes]:
    """The file, opened for reading; an error if it is a folder, a pipe or a device, which may never end."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise InputError(f"{what} {str(path)!r} cannot be read: {reason(error)}") from error
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise InputError(f"{what} {str(path)!r} cannot be read: it is not a regular file")
    return os.fdopen(number, "rb")


def data(path: Path, what: str, limit: int) -> bytes:
    """The whole content of a file of at most so many bytes."""
    with opened(path, what) as file:
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise InputError(f"{what} {str(path)!r} cannot be read: {reason(error)}") from error
    if len(content) > limit:
        raise InputError(f"{what} {str(path)!r} has more than {limit:,} bytes, which is the limit: make it smaller")
    return content


def text(path: Path, what: str, limit: int) -> str:
    """The whole content of a UTF-8 file, with or without a byte order mark."""
    try:
        return data(path, what, limit).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{what} {str(path)!r} cannot be read: it is not UTF-8 text: {error}") from error


def lines(path: Path, what: str, limit: int = TABLE_BYTES) -> Iterator[str]:
    """The lines of a UTF-8 file with their ends, one at a time, none of them longer than LINE_BYTES."""
    total = 0
    with opened(path, what) as file:
        for number in range(1, limit + 2):
            line = file.readline(LINE_BYTES + 1)
            total += len(line)
            if len(line) > LINE_BYTES or total > limit:
                over = (
                    f"a line {number} of more than {LINE_BYTES:,}" if len(line) > LINE_BYTES else f"more than {limit:,}"
                )
                raise InputError(
                    f"{what} {str(path)!r} has {over} bytes, which is the limit: it is damaged, or no table"
                )
            if not line:
                return
            try:
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{what} {str(path)!r} cannot be read: line {number} is not UTF-8 text: {error}"
                ) from error


def load_json(path: Path, what: str, limit: int = JSON_BYTES) -> Any:
    """What a JSON file says; two values for one key are an error."""
    content = text(path, what, limit)
    try:
        return json.loads(content, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} {str(path)!r} is not JSON: {_depth(error)}") from error


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def load_toml(path: Path, what: str) -> dict[str, Any]:
    """The nested table in a TOML file."""
    return parse_toml(text(path, what, TOML_BYTES), f"{what} {str(path)!r}")


def parse_toml(content: str, what: str) -> dict[str, Any]:
    """The nested table in a TOML text."""
    for number, line in enumerate(content.splitlines(), start=1):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', "", line)
        if any(part.count(".") >= KEY_PARTS for part in bare.split(",")) and not bare.lstrip().startswith("#"):
            raise InputError(f"{what} is not TOML: line {number} has a key of more than {KEY_PARTS} parts")
    try:
        table = tomllib.loads(content)
        _check_whole(table)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{what} is not TOML: {_depth(error)}") from error
    return table


def _check_whole(value: Any) -> None:
    """An error for a whole number that TOML does not have: printing a long one could take for ever."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_whole(item)
    elif isinstance(value, int) and not -WHOLE <= value < WHOLE:
        raise ValueError("a whole number has more than 64 bits")


def _depth(error: BaseException) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else reason(error)


def reason(error: BaseException) -> str:
    """What the system, or Python, has to say, without the path."""
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__


@contextmanager
def damaged(what: str) -> Iterator[None]:
    """Errors of whoever works with data that were recorded, as an `InputError`: it is the data that are damaged.

    What can be told beforehand is checked where it is read. This is for the rest, for nobody can foresee all
    the ways in which somebody else's files are wrong.
    """
    try:
        yield
    except (AsyncFeelError, OSError):
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{what} is damaged: {type(error).__name__}: {reason(error)}") from error
