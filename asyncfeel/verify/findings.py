"""What a verification finds: differences, the checks that found them, and the verdict on a folder."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MOST = 3
"""How many differences of a check are kept: the first ones say what is wrong."""
WIDEST = 100
"""How much of a found or expected text is kept."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as it should be, and where."""

    file: str
    message: str
    row: int | None = None
    """Counted from 1, which is the first row after the titles; the titles are row 0."""
    column: str | None = None

    def __str__(self) -> str:
        place = self.file if self.row is None else f"{self.file}, row {self.row}"
        return f"{place}{f', {self.column}' if self.column else ''}: {self.message}"


@dataclass
class Check:
    """One thing that was looked at: how many rows of it, and what was not right."""

    name: str
    unit: str = "rows"
    rows: int = 0
    note: str = ""
    """What a reader should know about how it was checked, or why it was not."""
    skipped: bool = False
    differences: list[Difference] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    @property
    def full(self) -> bool:
        """Whether enough differences are known."""
        return len(self.differences) >= MOST

    def differ(self, file: str, message: str, row: int | None = None, column: str | None = None) -> None:
        """Note a difference, unless there are enough."""
        if not self.full:
            self.differences.append(Difference(file, message, row, column))

    def compare(self, file: str, found: Any, expected: Any, row: int | None = None, column: str | None = None) -> None:
        """Note that one thing was found where another was expected."""
        self.differ(file, f"{clipped(found)} instead of {clipped(expected)}", row, column)

    def skip(self, why: str) -> None:
        """Say that it was not checked, and why."""
        self.skipped, self.note = True, why


@dataclass(frozen=True)
class Verdict:
    """All that was found out about one folder."""

    folder: Path
    about: str
    """The kind, the status and the algorithm of the run, in a few words."""
    checks: Sequence[Check] = ()
    unreadable: str | None = None
    """Why the folder could not be checked, or not completely."""

    @property
    def code(self) -> int:
        """The exit code: 1 if anything differs, 2 if something could not be read, 0 if all is well."""
        if any(not check.ok for check in self.checks):
            return 1
        return 0 if self.unreadable is None else 2

    def table(self) -> dict[str, Any]:
        """The verdict as plain values."""
        return {
            "folder": str(self.folder),
            "about": self.about,
            "ok": self.code == 0,
            "error": self.unreadable,
            "checks": [_row(check) for check in self.checks],
        }


def clipped(value: Any) -> str:
    """A value as a short text on one line."""
    text = value.decode("utf-8", "backslashreplace").rstrip("\r\n") if isinstance(value, bytes) else str(value)
    text = text if text.isprintable() else text.encode("unicode_escape").decode()
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}..."


def _row(check: Check) -> dict[str, Any]:
    outcome = "skipped" if check.skipped and check.ok else "ok" if check.ok else "differs"
    differences = [
        {"file": one.file, "row": one.row, "column": one.column, "message": one.message} for one in check.differences
    ]
    found = {"check": check.name, "checked": check.rows, "unit": check.unit, "outcome": outcome, "note": check.note}
    return found | {"differences": differences}
