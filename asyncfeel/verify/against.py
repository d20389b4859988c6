"""A file set against the lines that it should have, as these come; neither is ever held as a whole."""

import math
from collections.abc import Sequence
from pathlib import Path

from asyncfeel.recording.tables import WHOLE
from asyncfeel.verify.files import LONGEST, there
from asyncfeel.verify.findings import Check

ROUNDING = 1e-9
"""How far floats may be apart, relatively, where another machine or another version rounds otherwise."""
ENDED = "the file ends"


class Against:
    """Compares the next lines of a file with those that are expected next."""

    def __init__(
        self,
        check: Check,
        path: Path,
        columns: Sequence[str] = (),
        complete: bool = True,
        rounding: bool = False,
        growing: bool = False,
    ) -> None:
        """A file that is not `complete` may end anywhere, and one that is `growing` may have more than is expected.

        With `rounding`, floats need not be equal to the bit.
        """
        self.check = check
        self.ended = not there(path)
        self._name = path.name
        self._columns = columns
        self._complete = complete
        self._growing = growing
        self._rounding = rounding
        self._row = 0 if columns else 1
        self._file = None if self.ended else path.open("rb")
        if columns:
            self.take(",".join(columns) + "\n")

    @property
    def done(self) -> bool:
        """Whether there is nothing more to find out here."""
        return self.ended or self.check.full

    def take(self, text: str) -> None:
        """Compare the file's next lines with these."""
        if self.done or self._file is None:
            return
        data, start = text.encode(), self._file.tell()
        if self._file.read(len(data)) == data:
            self._count(data.count(b"\n"))
            return
        self._file.seek(start)
        for line in data.splitlines(keepends=True):
            if not self.done:
                self._line(self._file.readline(LONGEST), line)

    def close(self) -> None:
        """Make sure that nothing is left, unless the file is growing."""
        if self._file is not None:
            if not self._growing and not self.done and (more := self._file.readline(LONGEST)):
                self.check.compare(self._name, more, "the end of the file", self._row)
            self._file.close()

    def _count(self, lines: int) -> None:
        self.check.rows += lines - (1 if self._columns and not self._row else 0)
        self._row += lines

    def _line(self, found: bytes, expected: bytes) -> None:
        if found != expected and not found.endswith(b"\n"):
            self.ended = True
            if self._complete or not expected.startswith(found):
                self.check.compare(self._name, found or ENDED, expected, self._row)
            return
        if found != expected:
            self._differing(found, expected)
        self._count(1)

    def _differing(self, found: bytes, expected: bytes) -> None:
        pairs = list(zip(_fields(found), _fields(expected), strict=False))
        if not self._row or len(_fields(found)) != len(self._columns):
            self.check.compare(self._name, found, expected, self._row)
            return
        for column, (one, other) in zip(self._columns, pairs, strict=True):
            if one != other and not (self._rounding and column not in WHOLE and near(one, other)):
                self.check.compare(self._name, one, other, self._row, column)


def near(found: bytes | float, expected: bytes | float) -> bool:
    """Whether two numbers are equal up to rounding; what is no number is near to nothing."""
    try:
        return math.isclose(float(found), float(expected), rel_tol=ROUNDING, abs_tol=ROUNDING)
    except ValueError:
        return False


def _fields(line: bytes) -> list[bytes]:
    return line.rstrip(b"\n").split(b",")
