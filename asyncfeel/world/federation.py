"""The whole federation: its servers, the global iteration counter, and who has to know of it."""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, cast

import numpy as np
import simpy

from asyncfeel.errors import InputError
from asyncfeel.jobs import Executor, Gathered, Model
from asyncfeel.streams import stream
from asyncfeel.theory.mixing import Columns, combine, mix
from asyncfeel.theory.staleness import Psi
from asyncfeel.world.client import Upload
from asyncfeel.world.clock import Clock
from asyncfeel.world.cohort import Uploads
from asyncfeel.world.devices import Devices
from asyncfeel.world.divergence import Divergence
from asyncfeel.world.faults import Faults
from asyncfeel.world.hazards import NONE, Hazards
from asyncfeel.world.mishaps import Log, Tell
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
        divergence: Divergence | None = None,
        hazards: Hazards = NONE,
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
        self.traffic = Traffic(network.model_bits, len(profiles))
        self.iteration = 0
        jobs = np.zeros(len(profiles), dtype=np.int64)
        self.divergence = divergence
        """Tells sound results from diverged ones; nothing where there is no training."""
        beyond = divergence.beyond if divergence else None
        self.faults = self._faults(hazards, budget_s)
        """What goes wrong; nothing at all where nothing can."""
        more = (patience is not None, beyond, self.faults)
        devices = Devices(profiles.samples, jobs, network, clock, executor, self.traffic, *more)
        members = zip(profiles.shares, profiles.clusters, strict=True)
        self.servers = [Server(number, share, cluster, devices) for number, (share, cluster) in enumerate(members)]
        for server in self.servers:
            server.model = initial
        self.budget_s = budget_s
        """The simulated seconds that the whole run may take."""
        self.norm = norm
        """The norm of a change of a model; nothing where there is no training."""
        self.learning_rate = learning_rate
        self._broadcast_at = np.zeros(len(self.servers), dtype=np.int64)
        self._limit = iterations
        self._patience = patience
        self._observers = observers

    def _faults(self, hazards: Hazards, budget_s: float) -> Faults | None:
        if not hazards.any:
            return None
        if math.isfinite(budget_s):
            # Everybody may be away up to the end: then the world waits for that, and is not stalled.
            self.clock.timeout(math.nextafter(budget_s, math.inf))
        log = Log(lambda: self.iteration)
        return Faults(hazards, self.clock, self.topology, len(self.profiles), log)

    def tell_of_faults(self, tell: Tell) -> None:
        """Pass on what goes wrong from now on, if anything does."""
        if self.faults is not None:
            self.faults.log.tell = tell

    @property
    def shares(self) -> Sequence[float]:
        """The data shares mtil of the clusters."""
        return self.profiles.shares

    def job_steps(self, option: str, steps: int | None) -> int:
        """The steps of a job: those of an algorithm's option, or else the scenario's local steps."""
        if steps is not None and steps < 1:
            raise InputError(f"algorithm.{option} must be at least 1, not {steps}")
        return self.local_steps if steps is None else steps

    def neighbours(self, server: int, note: bool = True) -> Sequence[int]:
        """The neighbours that a server reaches at this instant, all if nothing goes wrong; noting who is left out."""
        if self.faults is None:
            return self.topology.neighbours[server]
        return self.faults.neighbours(server, note)

    def links(self) -> Sequence[tuple[int, int]]:
        """The links over which servers mix at this instant: those that carry models, if not all."""
        return self.topology.links if self.faults is None else self.faults.links(note=True)

    def staleness(self) -> list[int]:
        """Delta of every server: the iterations since its last own broadcast (A8)."""
        delta: list[int] = (self.iteration - self._broadcast_at).tolist()
        return delta

    def average(self) -> Model:
        """The global model: the data-weighted mean of the servers' models, sum_d mtil_d y[d]."""
        return combine([(server.share, server.model) for server in self.servers])

    def join(self, uploads: Uploads) -> Generator[simpy.Event, Any, Gathered]:
        """Wait, in no simulated time, for what a cluster's uploads really come to."""
        (gathered,) = yield from self.join_each([uploads])
        return cast(Gathered, gathered)

    def join_each(self, uploads: Sequence[Upload | Uploads]) -> Generator[simpy.Event, Any, list[Any]]:
        """Wait, in no simulated time, for the real results of single clients, or of several clusters."""
        if any(isinstance(upload, Uploads) and upload.nobody for upload in uploads):
            raise InputError(
                "nobody's upload has arrived, and the algorithm goes on as if: it must ask uploads.nobody first"
            )
        results: list[Any] = yield self.clock.join([upload.result for upload in uploads])
        if self.divergence is not None:
            check = partial(self.divergence.checked, iteration=self.iteration, time_s=self.clock.now)
            results = [check(upload, result) for upload, result in zip(uploads, results, strict=True)]
        if self._patience is not None:
            for upload, result in zip(uploads, results, strict=True):
                for client, loss in upload.losses(result):
                    if loss is not None:
                        self._patience.observe(client, loss)
        return results

    def mix(
        self, aggregated: Mapping[int, Model], columns: Columns, changes: Mapping[int, Model] | None = None
    ) -> None:
        """Give the servers their new models: first the aggregated ones, then mixed (eq. inter, A3).

        Algorithms that mix before they apply what was learned give that as `changes`.
        """
        for observer in self._observers:
            observer.changing(self)
        sources = {source for column in columns.values() for source in column}
        models = {source: aggregated.get(source, self.servers[source].model) for source in sources}
        mixed = dict(aggregated) | mix(models, columns)
        for number, change in (changes or {}).items():
            mixed[number] = mixed.get(number, self.servers[number].model) + change
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
