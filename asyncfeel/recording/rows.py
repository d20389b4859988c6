"""Rows of the large tables as text, built fast: a world of a million clients writes ten million of them.

The text is what `Table.write` would write, to the last byte.
"""

from collections.abc import Iterator, Mapping, Sequence
from operator import add

from asyncfeel.world.mishaps import Mishaps
from asyncfeel.world.profiles import Profiles

AT_ONCE = 100_000
"""Rows of clients.csv that are built together."""
KEPT = 100_000
"""The staleness up to which texts are kept: beyond it, they are made anew."""


class StalenessRows:
    """The rows of staleness.csv: nearly all servers are strangers to the trigger, with a weight of 0."""

    def __init__(self, servers: int) -> None:
        self._servers = [f"{server}," for server in range(servers)]
        self._strangers: list[str] = []

    def text(
        self, iteration: int, time_s: float, trigger: int, staleness: Sequence[int], weights: Mapping[int, float]
    ) -> str:
        """One row per server; `weights` has those that are not 0."""
        ends = list(map(add, self._servers, self._ends(staleness)))
        for server, weight in weights.items():
            ends[server] = f"{server},{staleness[server]!r},{weight!r}\n"
        start = f"{iteration!r},{time_s!r},{trigger!r},"
        return start + start.join(ends)

    def _ends(self, staleness: Sequence[int]) -> Iterator[str]:
        most = max(staleness)
        if most > KEPT:
            return map(_end, staleness)
        self._strangers += map(_end, range(len(self._strangers), most + 1))
        return map(self._strangers.__getitem__, staleness)


def _end(staleness: int) -> str:
    return f"{staleness!r},0.0\n"


def faults(iteration: int, mishaps: Sequence[Mishaps]) -> str:
    """The rows of faults.csv for mishaps that belong together, in the order of time."""
    found = sorted(row for one in mishaps for row in one.rows(iteration))
    return "".join(
        f"{time_s!r},{kind},{who},{a},{b},{job},{k},{lost_s!r}\n" for time_s, kind, who, a, b, job, k, lost_s in found
    )


def clients(profiles: Profiles) -> Iterator[str]:
    """The rows of clients.csv, some at a time."""
    for first in range(0, len(profiles), AT_ONCE):
        some = slice(first, first + AT_ONCE)
        columns = (profiles.server[some].tolist(), profiles.samples[some].tolist(), profiles.flops[some].tolist())
        yield "".join(
            f"{client},{server},{samples},{flops!r}\n"
            for client, (server, samples, flops) in enumerate(zip(*columns, strict=True), first)
        )
