"""The clients that one broadcast reaches, as one SimPy process: there may be a million of them.

What they do is known when they have the model: how long each computes, and how long each uploads.
So the process lives through the phases of the one client whose upload arrives last, and no other.
This gives the very schedule of a process for each client, ties included: the events of the others
would move nobody, and those of the last one are scheduled at the same instants in the same order.
"""

from collections.abc import Awaitable, Callable, Generator, Iterable
from dataclasses import dataclass

import numpy as np
import simpy

from asyncfeel import folding
from asyncfeel.jobs import Broadcast, Gathered, Model, Ready
from asyncfeel.theory.aggregation import Weighing
from asyncfeel.theory.latency import Counts, Floats
from asyncfeel.world.devices import Devices
from asyncfeel.world.fates import Fates
from asyncfeel.world.traffic import Spell

Process = Generator[simpy.Event, object, "Uploads"]


@dataclass(frozen=True, slots=True, eq=False)
class Uploads:
    """What has arrived at the server in simulated time; the results may still be computed for real."""

    clients: Counts
    samples: Counts
    steps: Counts
    result: Awaitable[Gathered]

    @property
    def nobody(self) -> bool:
        """Whether nothing has arrived."""
        return not len(self.clients)

    def losses(self, gathered: Gathered) -> Iterable[tuple[int, float | None]]:
        """Each client with the loss that it reported, if losses were asked for."""
        return zip(self.clients.tolist(), gathered.losses, strict=True) if gathered.losses else ()


@dataclass(frozen=True, slots=True, eq=False)
class Cohort:
    """Some clients of one server, the model that they are sent, and how their changes will be weighed."""

    clients: Counts
    devices: Devices
    model: Model
    weigh: Weighing
    uploading: Callable[[], None]
    """Told when the last client begins to upload."""
    probe: bool = False
    """Whether clients report losses and gradients, and their results are kept one by one."""
    leaves_s: Floats | None = None
    """The second at which each client goes away, where anything goes wrong at all."""

    def train_until(self, deadline_s: float) -> Process:
        """Train from the model until the deadline, then upload: as many steps as fit."""
        yield from self._download()
        steps = self.devices.network.steps_each_within(self.clients, deadline_s, self.devices.clock.now)
        return (yield from self._train(steps, np.full(len(steps), float(deadline_s))))

    def train_steps(self, steps: int) -> Process:
        """Take so many steps from the model, however long that takes, then upload."""
        yield from self._download()
        alike = np.full(len(self.clients), steps)
        needed_s = self.devices.network.compute_each_s(self.clients, alike, self.devices.clock.now)
        return (yield from self._train(alike, needed_s))

    def train_during(self, steps: Counts, deadline_s: float) -> Process:
        """Take one's own number of steps, spread over the time until the deadline, then upload."""
        yield from self._download()
        return (yield from self._train(steps, np.full(len(steps), float(deadline_s))))

    def _download(self) -> Generator[simpy.Event, object, None]:
        devices, clock = self.devices, self.devices.clock
        download_s = devices.network.downlink_s(int(self.clients[0]), clock.now)
        if not download_s:
            return devices.traffic.move("downlink", len(self.clients))
        each_s = np.full(len(self.clients), download_s)
        spell = devices.traffic.begin(Spell(clock.now, each_s, "downlink", self.clients))
        yield clock.timeout(download_s)
        return devices.traffic.end(spell)

    def _train(self, steps: Counts, compute_s: Floats) -> Process:
        network, clock, traffic = self.devices.network, self.devices.clock, self.devices.traffic
        own_s = np.minimum(network.compute_each_s(self.clients, steps, clock.now), compute_s)
        fates = self._fates(compute_s)
        if fates is None:
            done_s = clock.now + compute_s
            transfer_s = network.uplink_each_s(self.clients, done_s)
            uploading = [Spell(done_s, transfer_s, network.access, self.clients)]
        else:
            compute_s, transfer_s, own_s = fates.compute_s, fates.transfer_s, np.minimum(own_s, fates.compute_s)
            done_s = clock.now + compute_s
            uploading = list(fates.spells(network.access))
        spells = [Spell(clock.now, own_s, clients=self.clients), *uploading]
        for spell in spells:
            traffic.begin(spell)
        last = latest(done_s, done_s + transfer_s)
        uploads = self._begin(steps, float(done_s[last] + transfer_s[last]), fates)
        yield clock.timeout(float(compute_s[last]))
        self.uploading()
        yield clock.timeout(float(transfer_s[last]))
        for spell in spells:
            traffic.end(spell)
        if fates is not None and self.devices.faults is not None:
            self.devices.faults.log.note(*fates.mishaps())
        return uploads

    def _fates(self, compute_s: Floats) -> Fates | None:
        """What becomes of the clients' jobs, where anything can go wrong."""
        devices = self.devices
        if devices.faults is None or self.leaves_s is None:
            return None
        jobs, uplink_s = devices.jobs[self.clients], devices.network.uplink_each_s
        return devices.faults.fates(self.clients, jobs, compute_s, self.leaves_s, uplink_s)

    def _begin(self, steps: Counts, due_s: float, fates: Fates | None) -> Uploads:
        """Hand the jobs to the executor, at this instant; the last upload arrives when they are due.

        A job whose result never arrives has a number like any other, but nobody computes it.
        """
        devices, clients = self.devices, self.clients
        numbers = devices.jobs[clients]
        devices.jobs[clients] += 1
        if fates is not None:
            clients, numbers, steps = clients[fates.arrived], numbers[fates.arrived], steps[fates.arrived]
            if not len(clients):
                return nothing()
        samples = devices.samples[clients]
        work = Broadcast(
            self.model,
            clients,
            numbers,
            steps,
            lambda: self.weigh(samples.tolist(), steps.tolist()),
            devices.measure_loss,
            probe=self.probe,
            keep=self.probe,
            due_s=due_s,
            beyond=devices.beyond,
            factors_of=lambda places: self.weigh(samples[places].tolist(), steps[places].tolist()),
        )
        return Uploads(clients, samples, steps, folding.start(devices.executor, work))


def nothing() -> Uploads:
    """The uploads of nobody."""
    nobody = np.zeros(0, dtype=np.int64)
    return Uploads(nobody, nobody, nobody, Ready(Gathered(None)))


def latest(done_s: Floats, arrived_s: Floats) -> int:
    """The place of the client whose upload would be the last one to be dealt with.

    Of uploads that arrive at one instant it is the one that began last, and of those that also
    began at one instant the one of the last client: events come in the order of their scheduling.

    >>> latest(np.array([1.0, 2.0, 2.0, 1.0]), np.array([3.0, 3.0, 3.0, 3.0]))
    2
    """
    tied = np.flatnonzero(arrived_s == arrived_s.max())
    began_s = done_s[tied]
    return int(tied[np.flatnonzero(began_s == began_s.max())[-1]])
