"""A client at its own pace as a SimPy process: receives a model, trains on it, uploads the result.

Clients that are sent a model together have one process for all of them: see cohort.py.
"""

from collections.abc import Awaitable, Generator, Iterable
from dataclasses import dataclass

import simpy

from asyncfeel.jobs import Job, Model, Update
from asyncfeel.world.devices import Devices

Process = Generator[simpy.Event, object, "Upload"]


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
        """Take so many steps from the model, however long that takes, then upload."""
        yield from self._download()
        network, clock, traffic = self._devices.network, self._devices.clock, self._devices.traffic
        compute_s = network.compute_s(self.number, steps, clock.now)
        measure_loss, due_s = self._devices.measure_loss, clock.now + compute_s
        job = Job(self.number, self.jobs, model, steps, measure_loss, proximal, rate, due_s=due_s)
        result = self._devices.executor.submit(job)
        self._devices.jobs[self.number] += 1
        traffic.busy(self.number, clock.now, compute_s)
        yield clock.timeout(compute_s)
        upload_s = network.uplink_s(self.number, clock.now)
        traffic.busy(self.number, clock.now, upload_s, network.access)
        yield clock.timeout(upload_s)
        traffic.move(network.access)
        return Upload(self.number, self.samples, steps, result, compute_s, model, rate)

    def _download(self) -> Generator[simpy.Event, object, None]:
        clock, traffic = self._devices.clock, self._devices.traffic
        download_s = self._devices.network.downlink_s(self.number, clock.now)
        if download_s:
            traffic.busy(self.number, clock.now, download_s, "downlink")
            yield clock.timeout(download_s)
        traffic.move("downlink")
