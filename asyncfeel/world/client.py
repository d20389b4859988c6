"""A client at its own pace as a SimPy process: receives a model, trains on it, uploads the result.

Clients that are sent a model together have one process for all of them: see cohort.py.
"""

from collections.abc import Awaitable, Generator, Iterable
from dataclasses import dataclass

import numpy as np
import simpy

from asyncfeel.jobs import Job, Model, Update
from asyncfeel.world.devices import Devices
from asyncfeel.world.fates import Fates

Process = Generator[simpy.Event, object, "Upload | None"]


@dataclass(frozen=True, slots=True)
class Upload:
    """What has arrived at the server in simulated time; its result may still be computed for real."""

    client: int
    samples: int
    steps: int
    result: Awaitable[Update]
    compute_s: float = 0.0
    """How long the client had for its computation."""
    sent: Model = 0.0
    """The model that the client was sent."""
    rate: float = 1.0
    """By what its learning rate was multiplied."""

    def losses(self, update: Update) -> Iterable[tuple[int, float | None]]:
        """The client with the loss that it reported, if there is one."""
        return [(self.client, update.loss)]


class Client:
    """One device, with its data and the count of its jobs."""

    def __init__(self, number: int, devices: Devices) -> None:
        self.number = number
        self.samples = int(devices.samples[number])
        self._devices = devices

    @property
    def jobs(self) -> int:
        """How many jobs it has had."""
        return int(self._devices.jobs[self.number])

    def train_steps(self, model: Model, steps: int, proximal: float = 0.0, rate: float = 1.0) -> Process:
        """Take so many steps from the model, however long that takes, then upload; nothing if that comes to nothing."""
        faults, alone = self._devices.faults, np.array([self.number])
        leaves_s = None if faults is None else faults.leaves_s(alone)
        yield from self._download()
        network, clock, traffic = self._devices.network, self._devices.clock, self._devices.traffic
        compute_s = network.compute_s(self.number, steps, clock.now)
        if faults is not None and leaves_s is not None:
            fates = faults.fates(alone, np.array([self.jobs]), np.array([compute_s]), leaves_s, network.uplink_each_s)
            if not fates.arrived[0]:
                yield from self._fail(fates)
                return None
        else:
            fates = None
        measure_loss, due_s = self._devices.measure_loss, clock.now + compute_s
        job = Job(self.number, self.jobs, model, steps, measure_loss, proximal, rate, due_s=due_s)
        result = self._devices.executor.submit(job)
        self._devices.jobs[self.number] += 1
        traffic.busy(self.number, clock.now, compute_s)
        yield clock.timeout(compute_s)
        if fates is None:
            upload_s = network.uplink_s(self.number, clock.now)
            traffic.busy(self.number, clock.now, upload_s, network.access)
            yield clock.timeout(upload_s)
            traffic.move(network.access)
        else:
            yield from self._transfer(fates)
        return Upload(self.number, self.samples, steps, result, compute_s, model, rate)

    def _fail(self, fates: Fates) -> Generator[simpy.Event, object, None]:
        """Live through a job whose result never arrives."""
        self._devices.jobs[self.number] += 1
        compute_s = float(fates.compute_s[0])
        self._devices.traffic.busy(self.number, self._devices.clock.now, compute_s)
        yield self._devices.clock.timeout(compute_s)
        yield from self._transfer(fates)

    def _transfer(self, fates: Fates) -> Generator[simpy.Event, object, None]:
        """Upload, again if need be, and take note of what went wrong."""
        network, clock, traffic = self._devices.network, self._devices.clock, self._devices.traffic
        for spell in fates.spells(network.access):
            seconds = float(spell.seconds[0])
            traffic.busy(self.number, clock.now, seconds, network.access, spell.outcome)
            yield clock.timeout(seconds)
            if spell.moves:
                traffic.move(spell.moves)
        if self._devices.faults is not None:
            self._devices.faults.log.note(*fates.mishaps())

    def appear(self, steps: int) -> Generator[simpy.Event, object, None]:
        """Wait until the client is there; where nobody can tell when, it sits out as long as its job would take."""
        if self._devices.faults is not None:
            sit_out_s = self._devices.network.compute_s(self.number, steps, self._devices.clock.now)
            yield from self._devices.faults.appear(self.number, self.jobs, sit_out_s)

    def _download(self) -> Generator[simpy.Event, object, None]:
        clock, traffic = self._devices.clock, self._devices.traffic
        download_s = self._devices.network.downlink_s(self.number, clock.now)
        if download_s:
            traffic.busy(self.number, clock.now, download_s, "downlink")
            yield clock.timeout(download_s)
        traffic.move("downlink")
