"""What went wrong, as columns: one row of faults.csv for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from asyncfeel.theory.latency import Counts, Floats

Kind = Literal[
    "away", "left", "crash", "upload-failed", "upload-lost", "skipped", "server-down", "left-out", "link-down"
]
WHO: dict[Kind, Literal["client", "server", "link"]] = {
    "away": "client",
    "left": "client",
    "crash": "client",
    "upload-failed": "client",
    "upload-lost": "client",
    "skipped": "server",
    "server-down": "server",
    "left-out": "server",
    "link-down": "link",
}
"""Whom each kind of mishap happens to."""
NOBODY = -1


@dataclass(frozen=True, slots=True, eq=False)
class Mishaps:
    """Mishaps of one kind, each at its own second."""

    kind: Kind
    numbers: Counts
    """Whom they happened to: clients, servers, or the lower ends of links."""
    time_s: Floats
    lost_s: Floats
    """The simulated seconds of work or of waiting that each cost."""
    jobs: Counts | None = None
    """The clients' job numbers, where it happened in a job."""
    others: Counts | None = None
    """The other ends of links; for servers that were left out, whose iteration it was."""

    def __len__(self) -> int:
        return len(self.numbers)

    def rows(self, iteration: int) -> list[tuple[float, str, str, int, int, int, int, float]]:
        """The rows of faults.csv."""
        nobody = np.full(len(self), NOBODY)
        columns = (self.numbers, nobody if self.others is None else self.others)
        jobs = nobody if self.jobs is None else self.jobs
        values = zip(
            self.time_s.tolist(),
            *(column.tolist() for column in (*columns, jobs)),
            self.lost_s.tolist(),
            strict=True,
        )
        who = WHO[self.kind]
        return [(time_s, self.kind, who, a, b, job, iteration, lost_s) for time_s, a, b, job, lost_s in values]


Tell = Callable[[int, Sequence[Mishaps]], None]
"""Takes how many iterations were complete, and mishaps that belong together."""


class Log:
    """Counts mishaps as they happen, and passes them on to whoever writes them down."""

    def __init__(self, iteration: Callable[[], int]) -> None:
        self._iteration = iteration
        self._counts: dict[str, int] = {}
        self._lost_s: dict[str, float] = {}
        self.tell: Tell | None = None
        """Who is told of every mishap, if anybody is."""

    def note(self, *mishaps: Mishaps) -> None:
        """Take note of what went wrong."""
        happened = [one for one in mishaps if len(one)]
        for one in happened:
            self._counts[one.kind] = self._counts.get(one.kind, 0) + len(one)
            self._lost_s[one.kind] = self._lost_s.get(one.kind, 0.0) + float(one.lost_s.sum())
        if happened and self.tell is not None:
            self.tell(self._iteration(), happened)

    def one(
        self,
        kind: Kind,
        number: int,
        time_s: float,
        lost_s: float = 0.0,
        *,
        job: int | None = None,
        other: int | None = None,
    ) -> None:
        """Take note of a single mishap."""
        jobs, others = (None if value is None else np.array([value]) for value in (job, other))
        self.note(Mishaps(kind, np.array([number]), np.array([time_s]), np.array([lost_s]), jobs, others))

    def summary(self) -> dict[str, dict[str, float]]:
        """How often each kind happened, and the simulated seconds that it cost."""
        happened = [kind for kind in WHO if kind in self._counts]
        return {kind: {"count": self._counts[kind], "lost_s": self._lost_s[kind]} for kind in happened}
