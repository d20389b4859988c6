"""Rows of a table as numbers, one after the other, each checked for what its column can hold."""

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from asyncfeel.recording.parsing import ABSENT
from asyncfeel.recording.tables import WHOLE, WORDS
from asyncfeel.verify.files import LONGEST
from asyncfeel.verify.findings import clipped
from asyncfeel.world.mishaps import WHO

Row = dict[str, float]
WRITTEN = b"0123456789.,+-einaf"
"""All that a number can be written with; some are `nan` or `inf`."""
LETTERS = b"abcdefghijklmnopqrstuvwxyz"
KINDS = list(WHO)
OWNERS = ["client", "server", "link"]
"""The words of a table; a row has the places of its words in these lists."""
DIGITS = 15
"""The digits of a whole number beyond which it cannot be a count."""


class Malformed(Exception):
    """A row that is no row of its table."""


class Rows:
    """The rows of a CSV file, with a look at the next one; a torn last row is left out where it may be one."""

    def __init__(self, path: Path, columns: Sequence[str], torn: bool) -> None:
        self.name = path.name
        self.row = 0
        """The number of the row that was taken last."""
        self._columns = columns
        self._torn = torn
        self._file: BinaryIO
        self._lines = self._complete(path)
        self._next: Row | None = None
        titles = next(self._lines, b"")
        if titles.decode("utf-8", "replace") != ",".join(columns) and (titles or not torn):
            raise Malformed(f"{self.name}: its titles are {clipped(titles)} instead of {','.join(columns)}")

    def peek(self) -> Row | None:
        """The next row, or nothing at the end."""
        if self._next is None and (line := next(self._lines, None)) is not None:
            self.row += 1
            self._next = self._numbers(line)
        return self._next

    def take(self) -> Row | None:
        """The next row, which is then gone."""
        found = self.peek()
        self._next = None
        return found

    def skip(self, text: bytes, count: int) -> bool:
        """Whether the next rows are so many, with this very text; they are then gone."""
        if self._next is not None or self._file.closed:
            return False
        start = self._file.tell()
        if self._file.read(len(text)) != text:
            self._file.seek(start)
            return False
        self.row += count
        return True

    def of(self, iteration: float) -> Iterator[Row]:
        """The next rows, as long as they belong to this iteration."""
        while (row := self.peek()) is not None and row["iteration"] == iteration:
            self._next = None
            yield row

    def _complete(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as self._file:
            while line := self._file.readline(LONGEST):
                if line.endswith(b"\n"):
                    yield line[:-1]
                elif not self._torn or len(line) >= LONGEST or not self._begins(line):
                    raise Malformed(f"{self.name} after row {self.row}: {clipped(line)} is not a whole row")

    def _begins(self, line: bytes) -> bool:
        """Whether the line can be the beginning of a row, or of the titles."""
        titles = ",".join(self._columns).encode()
        written = WRITTEN + LETTERS if WORDS & set(self._columns) else WRITTEN
        return not line.strip(written) if self._file.tell() > len(line) else titles.startswith(line)

    def _numbers(self, line: bytes) -> Row:
        fields = line.split(b",")
        if len(fields) != len(self._columns):
            raise Malformed(
                f"{self.name}, row {self.row}: {clipped(line)} has {len(fields)} fields instead of {len(self._columns)}"
            )
        try:
            return {column: _number(column, text) for column, text in zip(self._columns, fields, strict=True)}
        except ValueError as error:
            raise Malformed(f"{self.name}, row {self.row}: {error}") from error


@lru_cache(maxsize=1 << 16)  # most rows repeat what the row before them had
def _number(column: str, text: bytes) -> float:
    if column in WORDS:
        words: Sequence[str] = KINDS if column == "kind" else OWNERS
        return words.index(text.decode("utf-8", "replace"))
    if column in ABSENT and text == b"-1":
        return -1
    if column in WHOLE:
        if not text.isdigit() or len(text) > DIGITS:
            raise ValueError(f"{column} is {clipped(text)}, which is no whole number")
        return int(text)
    try:
        found = float(text)
    except ValueError as error:
        raise ValueError(f"{column} is {clipped(text)}, which is no number") from error
    if repr(found).encode() != text:
        raise ValueError(f"{column} is {clipped(text)}, where a run would write {found!r}")
    return found


def finite(row: Row) -> str | None:
    """The first column that is not finite, or nothing."""
    return next((name for name, value in row.items() if not math.isfinite(value)), None)
