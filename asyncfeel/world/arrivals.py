"""Clients at their own pace: each trains, uploads, and waits until its server lets it go on."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

from asyncfeel.jobs import Model
from asyncfeel.world.client import Client, Upload
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Merged, Trigger
from asyncfeel.world.server import Server


@dataclass(frozen=True, slots=True)
class Arrival:
    """An upload at the server, and what its client had downloaded for it."""

    upload: Upload
    sent: Model
    version: int
    """The server's version that the client downloaded: its staleness is measured from here."""
    started_s: float
    released: simpy.Event

    def release(self) -> None:
        """Let the client take the server's present model and train again."""
        self.released.succeed()


def count(federation: Federation, batch: Sequence[Arrival], weights: Sequence[float]) -> None:
    """Close the iteration in which the server merged these arrivals with these weights.

    Its own staleness is that of the stalest arrival, its start the earliest of their starts.
    """
    stale = [federation.iteration - arrival.version for arrival in batch]
    merged = [Merged(a.upload.client, d, w) for a, d, w in zip(batch, stale, weights, strict=True)]
    longest_s = max(arrival.upload.compute_s for arrival in batch)
    steps = [arrival.upload.steps for arrival in batch]
    trigger = Trigger(0, min(arrival.started_s for arrival in batch), longest_s, steps)
    federation.count([trigger], [max(stale)], {}, merged)


class Arrivals:
    """The uploads of one server's clients, in the order in which they arrive."""

    def __init__(
        self,
        federation: Federation,
        server: Server,
        steps: int,
        proximal: float = 0.0,
        rate: Callable[[Client], float] = lambda client: 1.0,
    ) -> None:
        self._federation = federation
        self._server = server
        self._steps = steps
        self._proximal = proximal
        self._rate = rate
        self._queue = simpy.Store(federation.clock)
        for client in server.clients:
            federation.clock.process(self._commute(client))

    def next(self) -> Generator[simpy.Event, Any, Arrival]:
        """Wait for the next arrival; a server that is down takes it when it is up again."""
        arrival: Arrival = yield self._queue.get()
        yield from self._server.ready()
        return arrival

    def several(self, count: int) -> Generator[simpy.Event, Any, Sequence[Arrival]]:
        """Wait for so many arrivals."""
        arrivals = []
        for _ in range(count):
            arrivals.append((yield from self.next()))
        return arrivals

    def _commute(self, client: Client) -> Generator[simpy.Event, Any, None]:
        """The life of a client: download, train, upload, wait; for ever.

        It begins when it is there and the server is up; a job that comes to nothing is begun anew.
        """
        clock, server = self._federation.clock, self._server
        while True:
            yield from self._meet(client)
            sent, version, started_s = server.model, self._federation.iteration, clock.now
            server.phase = "training"
            upload = yield from client.train_steps(sent, self._steps, self._proximal, self._rate(client))
            if upload is None:
                continue
            arrival = Arrival(upload, sent, version, started_s, clock.event())
            self._queue.put(arrival)
            yield arrival.released

    def _meet(self, client: Client) -> Generator[simpy.Event, Any, None]:
        """Wait until the client is there while the server is up."""
        yield from client.appear(self._steps)
        while not self._server.up:
            yield from self._server.ready()
            yield from client.appear(self._steps)
