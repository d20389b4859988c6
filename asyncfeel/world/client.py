"""A client device as a SimPy process: receives a model, trains on it, uploads the result."""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass

import simpy

from asyncfeel.jobs import Executor, Job, Model, Update
from asyncfeel.world.clock import Clock
from asyncfeel.world.network import Network

Process = Generator[simpy.Event, object, "Upload"]


@dataclass(frozen=True, slots=True)
class Upload:
    """What has arrived at the server in simulated time; its result may still be computed for real."""

    client: int
    samples: int
    steps: int
    result: Awaitable[Update]


class Client:
    """One device, with its data and the count of its jobs."""

    def __init__(self, number: int, samples: int, network: Network, clock: Clock, executor: Executor) -> None:
        self.number = number
        self.samples = samples
        self.measure_loss = False
        self._network = network
        self._clock = clock
        self._executor = executor
        self._jobs = 0

    def train_until(self, model: Model, deadline_s: float, uploading: Callable[[], None]) -> Process:
        """Train from the model until the deadline, then upload: as many steps as fit."""
        yield from self._download()
        steps = self._network.steps_within(self.number, deadline_s, self._clock.now)
        return (yield from self._train(model, steps, deadline_s, uploading))

    def train_steps(self, model: Model, steps: int, uploading: Callable[[], None]) -> Process:
        """Take so many steps from the model, however long that takes, then upload."""
        yield from self._download()
        needed_s = self._network.compute_s(self.number, steps, self._clock.now)
        return (yield from self._train(model, steps, needed_s, uploading))

    def _train(self, model: Model, steps: int, compute_s: float, uploading: Callable[[], None]) -> Process:
        result = self._executor.submit(Job(self.number, self._jobs, model, steps, self.measure_loss))
        self._jobs += 1
        yield self._clock.timeout(compute_s)
        uploading()
        yield self._clock.timeout(self._network.uplink_s(self.number, self._clock.now))
        return Upload(self.number, self.samples, steps, result)

    def _download(self) -> Generator[simpy.Event, object, None]:
        download_s = self._network.downlink_s(self.number, self._clock.now)
        if download_s:
            yield self._clock.timeout(download_s)
