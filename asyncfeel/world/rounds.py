"""Common rounds: all servers broadcast, and nobody goes on before everybody's uploads have arrived."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

from asyncfeel.jobs import Gathered, Model
from asyncfeel.theory.mixing import Columns
from asyncfeel.world.cohort import Uploads
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
    """Wait for all uploads, then for so many exchanges over the slowest link; the outcome of each cluster."""
    uploads = []
    for server in federation.servers:
        uploads.append((yield from server.collect()))
        server.phase = "waiting"
    if exchanges:
        yield from exchange(federation, exchanges)
    gathered = yield from federation.join_each(uploads)
    return [Outcome(*one) for one in zip(federation.servers, uploads, gathered, strict=True)]


def exchange(federation: Federation, exchanges: int) -> Generator[simpy.Event, Any, None]:
    """Wait until all servers have exchanged models with all neighbours, so many times."""
    now = federation.clock.now
    for server in federation.servers:
        server.phase = "exchanging"
    longest_s = max(federation.network.exchange_s(server.number, now) for server in federation.servers)
    yield federation.clock.timeout(exchanges * longest_s)
    federation.traffic.move("exchange", 2 * exchanges * len(federation.topology.links))


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
