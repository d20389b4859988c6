"""The whole federation: its servers, the global iteration counter, and who has to know of it."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import simpy

from asyncfeel.errors import InputError
from asyncfeel.jobs import Executor, Model, Update
from asyncfeel.streams import stream
from asyncfeel.theory.mixing import Columns, combine, mix
from asyncfeel.theory.staleness import Psi
from asyncfeel.world.client import Client, Upload
from asyncfeel.world.clock import Clock
from asyncfeel.world.network import Network
from asyncfeel.world.profiles import Profiles
from asyncfeel.world.records import Completion, Merged, Trigger
from asyncfeel.world.server import Server
from asyncfeel.world.stopping import Patience
from asyncfeel.world.traffic import Traffic
from asyncfeel.world.variation import Draw

Norm = Callable[[Model], float]


class Observer(Protocol):
    """Whoever watches: it sees every change and touches nothing."""

    def changing(self, federation: "Federation") -> None:
        """The models are about to change, for the first time since the last iteration."""
        ...

    def completed(self, federation: "Federation", completion: Completion) -> None:
        """An iteration is complete."""
        ...


class Federation:
    """Servers with their clients on one clock; the counter k and the last broadcasts k'."""

    def __init__(
        self,
        clock: Clock,
        network: Network,
        profiles: Profiles,
        psi: Psi,
        executor: Executor,
        initial: Model = 0.0,
        local_steps: int = 100,
        iterations: int | None = None,
        patience: Patience | None = None,
        observers: Sequence[Observer] = (),
        draw: Draw | None = None,
        budget_s: float = math.inf,
        norm: Norm | None = None,
        learning_rate: float = 1.0,
    ) -> None:
        self.clock = clock
        self.network = network
        self.topology = network.topology
        self.profiles = profiles
        self.psi = psi
        self.local_steps = local_steps
        self.executor = executor
        self.draw = draw or partial(stream, 1)
        """Random generators by name, for what an algorithm draws itself."""
        self.traffic = Traffic(network.model_bits)
        self.iteration = 0
        self.servers = [self._server(number, executor, patience is not None) for number in range(self.topology.servers)]
        for server in self.servers:
            server.model = initial
        self.budget_s = budget_s
        """The simulated seconds that the whole run may take."""
        self.norm = norm
        """The norm of a change of a model; nothing where there is no training."""
        self.learning_rate = learning_rate
        self._broadcast_at = [0] * len(self.servers)
        self._limit = iterations
        self._patience = patience
        self._observers = observers

    def _server(self, number: int, executor: Executor, measure_loss: bool) -> Server:
        members = [
            Client(int(client), int(self.profiles.samples[client]), self.network, self.clock, executor, self.traffic)
            for client in self.profiles.clusters[number]
        ]
        for client in members:
            client.measure_loss = measure_loss
        return Server(number, self.profiles.shares[number], members, self.network, self.clock, self.traffic)

    @property
    def shares(self) -> Sequence[float]:
        """The data shares mtil of the clusters."""
        return self.profiles.shares

    def job_steps(self, option: str, steps: int | None) -> int:
        """The steps of a job: those of an algorithm's option, or else the scenario's local steps."""
        if steps is not None and steps < 1:
            raise InputError(f"algorithm.{option} must be at least 1, not {steps}")
        return self.local_steps if steps is None else steps

    def staleness(self) -> list[int]:
        """Delta of every server: the iterations since its last own broadcast (A8)."""
        return [self.iteration - broadcast_at for broadcast_at in self._broadcast_at]

    def average(self) -> Model:
        """The global model: the data-weighted mean of the servers' models, sum_d mtil_d y[d]."""
        return combine([(server.share, server.model) for server in self.servers])

    def join(self, uploads: Sequence[Upload]) -> Generator[simpy.Event, Any, list[Update]]:
        """Wait, in no simulated time, for the real results of these uploads."""
        updates: list[Update] = yield self.clock.join([upload.result for upload in uploads])
        if self._patience is not None:
            for upload, update in zip(uploads, updates, strict=True):
                if update.loss is not None:
                    self._patience.observe(upload.client, update.loss)
        return updates

    def mix(
        self, aggregated: Mapping[int, Model], columns: Columns, changes: Mapping[int, Model] | None = None
    ) -> None:
        """Give the servers their new models: first the aggregated ones, then mixed (eq. inter, A3).

        Algorithms that mix before they apply what was learned give that as `changes`.
        """
        for observer in self._observers:
            observer.changing(self)
        models = [aggregated.get(server.number, server.model) for server in self.servers]
        mixed = dict(aggregated) | mix(models, columns)
        for number, change in (changes or {}).items():
            mixed[number] = mixed.get(number, models[number]) + change
        for number, model in mixed.items():
            self.servers[number].model = model

    def count(
        self,
        triggers: Sequence[Trigger],
        staleness: Sequence[int],
        columns: Columns,
        merged: Sequence[Merged] = (),
    ) -> None:
        """Close the iteration: k grows by one and the triggers broadcast anew (A8)."""
        completion = Completion(self.iteration, self.clock.now, triggers, staleness, columns, merged)
        self.iteration += 1
        for trigger in triggers:
            self._broadcast_at[trigger.server] = self.iteration
            self.servers[trigger.server].iterations += 1
        for observer in self._observers:
            observer.completed(self, completion)
        if self.iteration == self._limit or (self._patience is not None and self._patience.exhausted):
            self.clock.stop()
