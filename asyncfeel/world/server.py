"""An edge server: broadcasts its model to its clients, collects their uploads, meets its neighbours."""

from collections.abc import Generator, Sequence
from typing import Any, Literal, cast

import simpy

from asyncfeel.jobs import Model, Update
from asyncfeel.theory import aggregation
from asyncfeel.world.client import Client, Process, Upload
from asyncfeel.world.clock import Clock
from asyncfeel.world.network import Network
from asyncfeel.world.records import Trigger
from asyncfeel.world.traffic import Traffic

Steps = Generator[simpy.Event, Any, Any]
Phase = Literal["training", "uploading", "exchanging", "waiting"]


class Server:
    """One cluster: the server's model, its clients, and where it stands in its iteration."""

    def __init__(
        self, number: int, share: float, clients: Sequence[Client], network: Network, clock: Clock, traffic: Traffic
    ) -> None:
        self.number = number
        self.share = share
        """Its cluster's share of all the data, mtil_d."""
        self.clients = clients
        self.model: Model = 0.0
        """The model y[d], as it is now: neighbours mix into it at any time."""
        self.sent: Model = 0.0
        """The model s that was broadcast last, from which the clients train (A6)."""
        self.iterations = 0
        self.started_s = 0.0
        self.deadline_s = 0.0
        self.phase: Phase = "waiting"
        self._network = network
        self._clock = clock
        self._traffic = traffic
        self._rounds: list[simpy.Process] = []

    def broadcast_until(self, deadline_s: float, probe: bool = False) -> None:
        """Send the model to all clients, to train on until the deadline."""
        rounds = [client.train_until(self.model, deadline_s, self._uploading, probe) for client in self.clients]
        self._start(deadline_s, rounds)

    def broadcast_steps(
        self, steps: int, deadline_s: float, clients: Sequence[Client] | None = None, probe: bool = False
    ) -> None:
        """Send the model to clients (all of them), to take so many steps from; the slowest needs `deadline_s`."""
        chosen = self.clients if clients is None else clients
        rounds = [client.train_steps(self.model, steps, self._uploading, probe=probe) for client in chosen]
        self._start(deadline_s, rounds)

    def broadcast_during(self, steps: Sequence[int], deadline_s: float) -> None:
        """Send the model to all clients, each to take its own number of steps until the deadline."""
        pairs = zip(self.clients, steps, strict=True)
        rounds = [client.train_during(self.model, count, deadline_s, self._uploading) for client, count in pairs]
        self._start(deadline_s, rounds)

    def _start(self, deadline_s: float, rounds: Sequence[Process]) -> None:
        self.sent, self.started_s, self.deadline_s = self.model, self._clock.now, deadline_s
        self.phase = "training"
        self._rounds = [self._clock.process(one) for one in rounds]

    def _uploading(self) -> None:
        self.phase = "uploading"

    def collect(self) -> Generator[simpy.Event, Any, list[Upload]]:
        """Wait until every client's upload has arrived; the uploads in the order of the clients."""
        yield simpy.AllOf(self._clock, self._rounds)
        return [cast(Upload, one.value) for one in self._rounds]

    def exchange(self, rounds: int = 1) -> Steps:
        """Wait for the model exchange with the neighbours."""
        self.phase = "exchanging"
        yield self._clock.timeout(rounds * self._network.exchange_s(self.number, self._clock.now))
        self._traffic.move("exchange", 2 * rounds * len(self._network.topology.neighbours[self.number]))

    def change(self, uploads: Sequence[Upload], updates: Sequence[Update]) -> Model:
        """What the clients' training adds up to: taubar_d sum_i mhat_i Delta_i (eq. intra, A38)."""
        factors = aggregation.coefficients([one.samples for one in uploads], [one.steps for one in uploads])
        return aggregation.change(self.sent, (update.model for update in updates), factors)

    def average_change(self, uploads: Sequence[Upload], updates: Sequence[Update]) -> Model:
        """What plain averaging by data adds up to: sum_i (n_i / n) (w_i - s), over those who uploaded."""
        total = sum(one.samples for one in uploads)
        return aggregation.change(self.sent, (one.model for one in updates), [one.samples / total for one in uploads])

    def trigger(self, uploads: Sequence[Upload]) -> Trigger:
        """The record of the iteration that this server completes now."""
        return Trigger(self.number, self.started_s, self.deadline_s, [one.steps for one in uploads])
