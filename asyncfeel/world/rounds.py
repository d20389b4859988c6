"""Common rounds: all servers broadcast, and nobody goes on before everybody's uploads have arrived."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import simpy

from asyncfeel.jobs import Gathered, Model
from asyncfeel.theory import synchronous
from asyncfeel.theory.mixing import Columns
from asyncfeel.world.cohort import Uploads
from asyncfeel.world.faults import Faults
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Server


@dataclass(frozen=True)
class Outcome:
    """What one cluster has at the end of a common round."""

    server: Server
    uploads: Uploads
    gathered: Gathered

    @property
    def averaged(self) -> Model:
        """The server's model with what its clients add up to."""
        return self.server.model + self.gathered.change


def finish(federation: Federation, exchanges: int) -> Generator[simpy.Event, Any, list[Outcome]]:
    """Wait for all uploads, then for so many exchanges over the slowest link; the outcome of each cluster.

    A cluster to which nobody contributes, or whose server is down when the uploads are in, has none.
    If there is none at all, nothing is exchanged, and the round is to be tried again.
    """
    uploads: dict[int, Uploads] = {}
    for server in federation.servers:
        uploads[server.number] = yield from server.collect()
        server.phase = "waiting"
    if federation.faults is not None:
        uploads = _taking_part(federation, federation.faults, uploads)
        if not uploads:
            yield from _idle(federation, federation.faults)
            return []
    if exchanges:
        yield from exchange(federation, exchanges)
    gathered = yield from federation.join_each(list(uploads.values()))
    return [
        Outcome(federation.servers[number], own, result)
        for (number, own), result in zip(uploads.items(), gathered, strict=True)
    ]


def _taking_part(federation: Federation, faults: Faults, uploads: Mapping[int, Uploads]) -> dict[int, Uploads]:
    """The uploads of the clusters that have any, at servers that are up."""
    taking_part = {}
    for number, own in uploads.items():
        server, up = federation.servers[number], faults.up(number)
        if up and not own.nobody:
            taking_part[number] = own
        else:
            now, down = federation.clock.now, server.sits_out or not up
            faults.log.one("server-down" if down else "skipped", number, now, now - server.started_s)
    return taking_part


def _idle(federation: Federation, faults: Faults) -> Generator[simpy.Event, Any, None]:
    """Wait until another round may be worth while: the deadline, if nobody was reached, and somebody who is back."""
    if any(server.reached for server in federation.servers):
        return
    yield federation.clock.timeout(max(server.deadline_s for server in federation.servers))
    yield from faults.somebody(np.concatenate([server.members for server in federation.servers]))


def mixing(
    federation: Federation, rule: synchronous.Rule, shares: Sequence[float], exchanges: int = 1
) -> Callable[[], Columns]:
    """A function that gives the columns of a synchronous mixing over the links that carry models then."""

    @lru_cache(maxsize=16)
    def over(links: tuple[synchronous.Link, ...]) -> Columns:
        return synchronous.synchronous(rule, links, shares, exchanges)

    over(federation.topology.links)  # what is always needed where nothing goes wrong, before the first event
    return lambda: over(tuple(federation.links()))


def exchange(federation: Federation, exchanges: int) -> Generator[simpy.Event, Any, None]:
    """Wait until all servers have exchanged models with all neighbours, so many times."""
    now = federation.clock.now
    for server in federation.servers:
        server.phase = "exchanging"
    network, links = federation.network, federation.topology.links
    if federation.faults is None:
        longest_s = max(network.exchange_s(server.number, now) for server in federation.servers)
    else:
        links = tuple(federation.faults.links(note=False))
        longest_s = max((network.link_s(a, b, now) for a, b in links), default=0.0)
    yield federation.clock.timeout(exchanges * longest_s)
    federation.traffic.move("exchange", 2 * exchanges * len(links))


def close(
    federation: Federation,
    outcomes: Sequence[Outcome],
    columns: Columns,
    aggregated: Mapping[int, Model],
    changes: Mapping[int, Model] | None = None,
) -> None:
    """Mix, count: one iteration of all servers, in one instant."""
    triggers = [outcome.server.trigger(outcome.uploads) for outcome in outcomes]
    staleness = federation.staleness()
    federation.mix(aggregated, columns, changes)
    federation.count(triggers, staleness, columns)
