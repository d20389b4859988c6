"""Common rounds: all servers broadcast, and nobody goes on before everybody's uploads have arrived."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

from asyncfeel.jobs import Model, Update
from asyncfeel.theory.mixing import Columns
from asyncfeel.world.client import Upload
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Server


@dataclass(frozen=True)
class Outcome:
    """What one cluster has at the end of a common round."""

    server: Server
    uploads: Sequence[Upload]
    updates: Sequence[Update]

    def change(self) -> Model:
        """The cluster's change with normalised updates."""
        return self.server.change(self.uploads, self.updates)

    def average_change(self) -> Model:
        """The cluster's change with plain averaging."""
        return self.server.average_change(self.uploads, self.updates)


def finish(federation: Federation, exchanges: int) -> Generator[simpy.Event, Any, list[Outcome]]:
    """Wait for all uploads, then for so many exchanges over the slowest link; the outcome of each cluster."""
    uploads = []
    for server in federation.servers:
        uploads.append((yield from server.collect()))
        server.phase = "waiting"
    if exchanges:
        yield from exchange(federation, exchanges)
    updates = yield from federation.join([upload for cluster in uploads for upload in cluster])
    outcomes = []
    for server, cluster in zip(federation.servers, uploads, strict=True):
        own, updates = updates[: len(cluster)], updates[len(cluster) :]
        outcomes.append(Outcome(server, cluster, own))
    return outcomes


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
