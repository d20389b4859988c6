"""An edge server: broadcasts its model to its clients, collects their uploads, meets its neighbours."""

from collections.abc import Callable, Generator
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import simpy

from asyncfeel.jobs import Model
from asyncfeel.theory import aggregation
from asyncfeel.theory.aggregation import Weighing
from asyncfeel.theory.latency import Counts
from asyncfeel.world.client import Client
from asyncfeel.world.cohort import Cohort, Process, Uploads, nothing
from asyncfeel.world.devices import Devices
from asyncfeel.world.records import Trigger

Steps = Generator[simpy.Event, Any, Any]
Phase = Literal["training", "uploading", "exchanging", "waiting"]


class Server:
    """One cluster: the server's model, its clients, and where it stands in its iteration.

    What its clients add up to is weighed as the broadcast says: `aggregation.coefficients` for
    normalised updates, taubar_d sum_i mhat_i Delta_i (eq. intra, A38), or `aggregation.data_shares`
    for plain averaging by data, sum_i (n_i / n) (w_i - s), over those who were sent the model.
    """

    def __init__(self, number: int, share: float, members: Counts, devices: Devices) -> None:
        self.number = number
        self.share = share
        """Its cluster's share of all the data, mtil_d."""
        self.members = members
        """The numbers of its clients, in order."""
        self.samples = devices.samples[members]
        """The samples n_i of each of them."""
        self.model: Model = 0.0
        """The model y[d], as it is now: neighbours mix into it at any time."""
        self.sent: Model = 0.0
        """The model s that was broadcast last, from which the clients train (A6)."""
        self.iterations = 0
        self.started_s = 0.0
        self.deadline_s = 0.0
        self._phase: Phase = "waiting"
        self.reached: int | None = None
        """How many clients the last broadcast has reached; nothing before the first."""
        self.sits_out = False
        """Whether it was down at its last broadcast, so that there was none."""
        self._devices = devices
        self._round: simpy.Process | None = None

    def __len__(self) -> int:
        return len(self.members)

    @property
    def phase(self) -> Phase:
        """What it is doing now."""
        return self._phase

    @phase.setter
    def phase(self, phase: Phase) -> None:
        """Turn to something else; whoever watches is told."""
        self._phase = phase
        if self._devices.traffic.watch is not None:
            self._devices.traffic.watch.turned(self.number, phase, self._devices.clock.now)

    @cached_property
    def clients(self) -> list[Client]:
        """Its clients as objects, for systems in which each goes at its own pace."""
        return [Client(number, self._devices) for number in self.members.tolist()]

    def broadcast_until(
        self, deadline_s: float, weigh: Weighing = aggregation.coefficients, probe: bool = False
    ) -> None:
        """Send the model to all clients, to train on until the deadline."""
        self._start(deadline_s, self._cohort(None, weigh, probe), lambda cohort: cohort.train_until(deadline_s))

    def broadcast_steps(
        self,
        steps: int,
        deadline_s: float,
        clients: Counts | None = None,
        weigh: Weighing = aggregation.coefficients,
        probe: bool = False,
    ) -> None:
        """Send the model to clients (all of them), to take so many steps from; the slowest needs `deadline_s`."""
        self._start(deadline_s, self._cohort(clients, weigh, probe), lambda cohort: cohort.train_steps(steps))

    def broadcast_during(self, steps: Counts, deadline_s: float, weigh: Weighing = aggregation.data_shares) -> None:
        """Send the model to all clients, each to take its own number of steps (even none) until the deadline."""
        cohort = self._cohort(None, weigh, False)
        if len(cohort.clients) < len(self):
            steps = steps[np.isin(self.members, cohort.clients)]
        self._start(deadline_s, cohort, lambda cohort: cohort.train_during(steps, deadline_s))

    def _cohort(self, clients: Counts | None, weigh: Weighing, probe: bool) -> Cohort:
        """Those of the clients that the broadcast reaches: nobody while the server is down."""
        chosen, faults, leaves_s = self.members if clients is None else clients, self._devices.faults, None
        if faults is not None:
            self.sits_out = not faults.up(self.number)
            chosen = chosen[:0] if self.sits_out else faults.present(chosen, self._devices.jobs[chosen])
            leaves_s = faults.leaves_s(chosen)
        return Cohort(chosen, self._devices, self.model, weigh, self._uploading, probe, leaves_s)

    def _start(self, deadline_s: float, cohort: Cohort, life: Callable[[Cohort], Process]) -> None:
        self.sent, self.started_s, self.deadline_s = self.model, self._devices.clock.now, deadline_s
        self.phase, self.reached = "training", len(cohort.clients)
        self._round = self._devices.clock.process(life(cohort)) if self.reached else None

    def _uploading(self) -> None:
        self.phase = "uploading"

    def collect(self) -> Generator[simpy.Event, Any, Uploads]:
        """Wait until every client's upload has arrived, or is known not to come; at once if nobody was reached."""
        if self.reached == 0:
            return nothing()
        if self._round is None:
            raise RuntimeError(f"server {self.number} has not broadcast anything")
        yield simpy.AllOf(self._devices.clock, [self._round])
        return cast(Uploads, self._round.value)

    def exchange(self, rounds: int = 1) -> Steps:
        """Wait for the model exchange with the neighbours that can be reached; a server that is down waits first."""
        yield from self.ready()
        network, clock, faults = self._devices.network, self._devices.clock, self._devices.faults
        neighbours = network.topology.neighbours[self.number]
        if faults is not None:
            neighbours = tuple(faults.neighbours(self.number, note=False))
        self.phase = "exchanging"
        yield clock.timeout(rounds * network.exchange_s(self.number, clock.now, neighbours))
        self._devices.traffic.move("exchange", 2 * rounds * len(neighbours))
        yield from self.ready()

    @property
    def up(self) -> bool:
        """Whether the server is up now."""
        return self._devices.faults is None or self._devices.faults.up(self.number)

    def ready(self) -> Steps:
        """Wait while the server is down; in no time where servers do not go down."""
        if self._devices.faults is not None:
            yield from self._devices.faults.recover(self.number)

    def skip(self, patient: bool = True) -> Steps:
        """Give up an iteration to which nobody contributes, and wait until another may be worth while.

        If nobody was reached, that is when the deadline has passed and, for the patient, a client is back.
        """
        faults, clock = self._devices.faults, self._devices.clock
        if faults is None:
            raise RuntimeError(f"server {self.number} has nothing to skip: nothing goes wrong in this world")
        if not self.reached:
            self.phase = "waiting"
            yield clock.timeout(self.deadline_s)
            if patient:
                yield from faults.somebody(self.members)
        faults.log.one("skipped", self.number, clock.now, clock.now - self.started_s)

    def trigger(self, uploads: Uploads) -> Trigger:
        """The record of the iteration that this server completes now."""
        return Trigger(self.number, self.started_s, self.deadline_s, uploads.steps)
