"""What becomes of the jobs that some clients begin: known when they begin, for all of them as columns.

A client crashes, or is through with its computation and uploads, again and again if need be; and all
this only as long as it is there.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from asyncfeel.theory.latency import Counts, Floats
from asyncfeel.world.hazards import Hazards
from asyncfeel.world.mishaps import Kind, Mishaps
from asyncfeel.world.presence import Bools
from asyncfeel.world.traffic import Link, Outcome, Spell

Uplink = Callable[[Counts, Floats], Floats]
"""How long each client's upload takes that starts at its own second."""


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """The clients, by their places, that try to upload at their own seconds, and those among them that fail."""

    places: Counts
    start_s: Floats
    seconds: Floats
    failed: Bools


@dataclass(frozen=True, slots=True, eq=False)
class Fates:
    """How long every client computes and transfers until its upload has arrived, or is not to be waited for."""

    clients: Counts
    jobs: Counts
    start_s: float
    compute_s: Floats
    transfer_s: Floats
    arrived: Bools
    attempts: list[Attempt]
    crashed: Bools
    leaves_s: Floats
    left: Bools

    def spells(self, link: Link) -> Iterator[Spell]:
        """The transfers, attempt by attempt: those that arrive, those that fail, those that break off."""
        for places, start_s, seconds, outcome in self._transfers():
            yield Spell(start_s, seconds, link, self.clients[places], outcome)

    def _transfers(self) -> Iterator[tuple[Counts, Floats, Floats, Outcome]]:
        for one in self.attempts:
            leaves_s = self.leaves_s[one.places]
            begun, broken = one.start_s < leaves_s, one.start_s + one.seconds > leaves_s
            outcomes: list[tuple[Outcome, Bools]] = [
                ("arrived", begun & ~broken & ~one.failed),
                ("failed", begun & ~broken & one.failed),
                ("broken", begun & broken),
            ]
            for outcome, which in outcomes:
                if which.any():
                    start_s = one.start_s[which]
                    seconds = leaves_s[which] - start_s if outcome == "broken" else one.seconds[which]
                    yield one.places[which], start_s, seconds, outcome

    def mishaps(self) -> Iterator[Mishaps]:
        """What went wrong, kind by kind."""
        whole_s, end_s = self.compute_s + self.transfer_s, self.start_s + self.compute_s + self.transfer_s
        yield self._mishaps("left", self.left, end_s, whole_s)
        yield self._mishaps("crash", self.crashed, end_s, whole_s)
        for places, start_s, seconds, outcome in self._transfers():
            if outcome == "failed":
                clients, jobs = self.clients[places], self.jobs[places]
                yield Mishaps("upload-failed", clients, start_s + seconds, seconds, jobs)
        yield self._mishaps("upload-lost", ~self.arrived & ~self.crashed & ~self.left, end_s, whole_s)

    def _mishaps(self, kind: Kind, which: Bools, time_s: Floats, lost_s: Floats) -> Mishaps:
        return Mishaps(kind, self.clients[which], time_s[which], lost_s[which], self.jobs[which])


def fates(
    hazards: Hazards,
    clients: Counts,
    jobs: Counts,
    start_s: float,
    compute_s: Floats,
    leaves_s: Floats,
    uplink_s: Uplink,
) -> Fates:
    """The fates of jobs that begin now, each to be computed in so long, by clients that leave at their seconds."""
    share = hazards.crashes_at(clients, jobs)
    crashed = np.isfinite(share)
    busy_s = np.where(crashed, np.where(crashed, share, 0.0) * compute_s, compute_s)
    attempts, transfer_s = _attempts(hazards, clients, jobs, start_s + busy_s, ~crashed, uplink_s)
    arrived = np.zeros(len(clients), dtype=np.bool_)
    for one in attempts:
        arrived[one.places[~one.failed]] = True
    left = leaves_s < start_s + busy_s + transfer_s
    stay_s = np.where(left, np.maximum(0.0, np.where(left, leaves_s, 0.0) - start_s), np.inf)
    cut_s = np.minimum(busy_s, stay_s)
    transfer_s = np.where(left, np.where(left, stay_s, 0.0) - cut_s, transfer_s)
    return Fates(clients, jobs, start_s, cut_s, transfer_s, arrived & ~left, attempts, crashed & ~left, leaves_s, left)


def _attempts(
    hazards: Hazards, clients: Counts, jobs: Counts, done_s: Floats, trying: Bools, uplink_s: Uplink
) -> tuple[list[Attempt], Floats]:
    """All attempts at uploads, and the seconds that they take each client together."""
    attempts, total_s = [], np.zeros(len(clients))
    places = np.flatnonzero(trying)
    for number in range(hazards.upload_attempts):
        if not places.size:
            break
        start_s = done_s[places] + total_s[places]
        seconds = uplink_s(clients[places], start_s)
        failed = hazards.upload_fails(clients[places], jobs[places], number)
        attempts.append(Attempt(places, start_s, seconds, failed))
        total_s[places] += seconds
        places = places[failed]
    return attempts, total_s
