"""The faults of a federation as they happen: who is there, what becomes of jobs, which links carry models.

It is asked at the simulated instant at which something is decided, and takes note of what went wrong.
"""

import math
from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
import simpy

from asyncfeel.theory.latency import Counts, Floats
from asyncfeel.world.clock import Clock
from asyncfeel.world.fates import Fates, Uplink, fates
from asyncfeel.world.hazards import Hazards
from asyncfeel.world.mishaps import Log, Mishaps
from asyncfeel.world.presence import ALWAYS, Bools
from asyncfeel.world.topology import Topology

Waiting = Generator[simpy.Event, Any, None]


class Faults:
    """The hazards of a world at work on its clock."""

    def __init__(self, hazards: Hazards, clock: Clock, topology: Topology, clients: int, log: Log) -> None:
        self.hazards = hazards
        self.log = log
        self._clock = clock
        self._topology = topology
        self._turns = np.zeros(clients, dtype=np.int64)
        self._outage: dict[int, float] = {}
        self._link_at = {link: place for place, link in enumerate(topology.links)}

    def present(self, clients: Counts, jobs: Counts) -> Counts:
        """Those of the clients that are there now, in their order; each has had one more turn."""
        there = self._there(clients)
        if not there.all():
            away, now = clients[~there], self._clock.now
            nothing = np.zeros(len(away))
            self.log.note(Mishaps("away", away, np.full(len(away), now), nothing, jobs[~there]))
        return clients[there]

    def _there(self, clients: Counts) -> Bools:
        there = self.hazards.availability.there(clients, self._turns[clients], self._clock.now)
        self._turns[clients] += 1
        return there

    def leaves_s(self, clients: Counts) -> Floats:
        """The second at which each of the clients, which are there now, goes away."""
        return self.hazards.availability.leaves_s(clients, self._clock.now)

    def fates(self, clients: Counts, jobs: Counts, compute_s: Floats, leaves_s: Floats, uplink_s: Uplink) -> Fates:
        """What becomes of the jobs that these clients begin now."""
        return fates(self.hazards, clients, jobs, self._clock.now, compute_s, leaves_s, uplink_s)

    def appear(self, client: int, job: int, sit_out_s: float) -> Waiting:
        """Wait until a client is there; one of whom nobody can tell when sits out so many seconds."""
        alone = np.array([client])
        while not self._there(alone)[0]:
            now = self._clock.now
            back_s = float(self.hazards.availability.back_s(alone, now)[0])
            wait_s = sit_out_s if back_s <= now else back_s - now
            yield from self._wait(wait_s)
            self.log.one("away", client, now, wait_s, job=job)

    def somebody(self, clients: Counts) -> Waiting:
        """Wait until one of the clients is there, if it can be told when."""
        back_s = float(self.hazards.availability.back_s(clients, self._clock.now).min())
        if back_s > self._clock.now:
            yield from self._wait(back_s - self._clock.now)

    def up(self, server: int) -> bool:
        """Whether a server is up now."""
        return bool(self._up(np.array([server]))[0])

    def _up(self, servers: Counts) -> Bools:
        return self.hazards.servers.there(servers, servers, self._clock.now)

    def recover(self, server: int) -> Waiting:
        """Wait until a server is up; an outage is noted once, for whoever notices it first."""
        while not self.up(server):
            now = self._clock.now
            back_s = float(self.hazards.servers.back_s(np.array([server]), now)[0])
            if math.isfinite(back_s) and self._outage.get(server) != back_s:
                self._outage[server] = back_s
                self.log.one("server-down", server, now, back_s - now)
            yield from self._wait(back_s - now)

    def neighbours(self, server: int, note: bool) -> Sequence[int]:
        """The neighbours that a server reaches now: those that are up, over links that are up."""
        every = self._topology.neighbours[server]
        linked = self._carrying([(min(server, other), max(server, other)) for other in every])
        up = self._up(np.array(every, dtype=np.int64))
        if note:
            for other, runs, carries in zip(every, up.tolist(), linked.tolist(), strict=True):
                if not runs:
                    self.log.one("left-out", other, self._clock.now, other=server)
                elif not carries:
                    self.log.one("link-down", min(server, other), self._clock.now, other=max(server, other))
        return [
            other for other, runs, carries in zip(every, up.tolist(), linked.tolist(), strict=True) if runs and carries
        ]

    def links(self, note: bool) -> Sequence[tuple[int, int]]:
        """The links that carry models now: those that are up between servers that are up."""
        every, now = self._topology.links, self._clock.now
        up = self._up(np.arange(self._topology.servers)).tolist()
        carries = self._carrying(every).tolist()
        if note:
            for server in [number for number, runs in enumerate(up) if not runs]:
                self.log.one("left-out", server, now)
            for (a, b), works in zip(every, carries, strict=True):
                if not works and up[a] and up[b]:
                    self.log.one("link-down", a, now, other=b)
        return [(a, b) for (a, b), works in zip(every, carries, strict=True) if works and up[a] and up[b]]

    def _carrying(self, links: Sequence[tuple[int, int]]) -> Bools:
        if self.hazards.links is ALWAYS or not links:
            return np.ones(len(links), dtype=np.bool_)
        places = np.array([self._link_at[link] for link in links])
        return self.hazards.links.there(places, places, self._clock.now)

    def _wait(self, seconds: float) -> Waiting:
        """Wait so long; for ever is an event that never happens."""
        yield self._clock.timeout(seconds) if math.isfinite(seconds) else self._clock.event()
