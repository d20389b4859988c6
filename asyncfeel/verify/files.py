"""Reading files that nobody vouches for: never more of them in memory than a bounded piece."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BLOCK = 1 << 20
"""Bytes that are hashed at once."""
LONGEST = 10_000
"""The bytes of a row beyond which it cannot be one of ours."""
LARGEST = 1 << 28
"""The bytes of a JSON file beyond which it is not read."""


def there(path: Path) -> bool:
    """Whether it is a plain file: a pipe or a device could be read for ever."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def small(path: Path, most: int = LARGEST) -> bytes:
    """The content of a file that must not be large."""
    if not there(path):
        raise ValueError(f"there is no file {path.name}")
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path.name} has more than {most} bytes")
    return data


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            found.update(block)
    return found.hexdigest()


def lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with their ends; one that is too long comes in pieces."""
    with path.open("rb") as file:
        while line := file.readline(LONGEST):
            yield line


def parsed(data: bytes) -> Any:
    """The value of a JSON text; a ValueError for anything else, however deep it is nested."""
    try:
        return json.loads(data, parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
