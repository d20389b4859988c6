"""A client device as a SimPy process: receives a model, trains on it, uploads the result."""

from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass

import simpy

from asyncfeel.jobs import Executor, Job, Model, Update
from asyncfeel.world.clock import Clock
from asyncfeel.world.network import Network
from asyncfeel.world.traffic import Traffic

Process = Generator[simpy.Event, object, "Upload"]
Notice = Callable[[], None]


def nothing() -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Upload:
    """What has arrived at the server in simulated time; its result may still be computed for real."""

    client: int
    samples: int
    steps: int
    result: Awaitable[Update]
    compute_s: float = 0.0
    """How long the client had for its computation."""


class Client:
    """One device, with its data and the count of its jobs."""

    def __init__(
        self, number: int, samples: int, network: Network, clock: Clock, executor: Executor, traffic: Traffic
    ) -> None:
        self.number = number
        self.samples = samples
        self.measure_loss = False
        self._network = network
        self._clock = clock
        self._executor = executor
        self._traffic = traffic
        self.jobs = 0

    def train_until(self, model: Model, deadline_s: float, uploading: Notice = nothing, probe: bool = False) -> Process:
        """Train from the model until the deadline, then upload: as many steps as fit."""
        yield from self._download()
        steps = self._network.steps_within(self.number, deadline_s, self._clock.now)
        return (yield from self._train(model, steps, deadline_s, uploading, probe=probe))

    def train_steps(
        self,
        model: Model,
        steps: int,
        uploading: Notice = nothing,
        proximal: float = 0.0,
        rate: float = 1.0,
        probe: bool = False,
    ) -> Process:
        """Take so many steps from the model, however long that takes, then upload."""
        yield from self._download()
        needed_s = self._network.compute_s(self.number, steps, self._clock.now)
        return (yield from self._train(model, steps, needed_s, uploading, proximal, rate, probe))

    def train_during(self, model: Model, steps: int, deadline_s: float, uploading: Notice = nothing) -> Process:
        """Take so many steps, spread over the time until the deadline, then upload."""
        yield from self._download()
        return (yield from self._train(model, steps, deadline_s, uploading))

    def _train(
        self,
        model: Model,
        steps: int,
        compute_s: float,
        uploading: Notice,
        proximal: float = 0.0,
        rate: float = 1.0,
        probe: bool = False,
    ) -> Process:
        job = Job(self.number, self.jobs, model, steps, self.measure_loss, proximal, rate, probe)
        result = self._executor.submit(job)
        self.jobs += 1
        own_s = self._network.compute_s(self.number, steps, self._clock.now)
        self._traffic.busy(self.number, self._clock.now, min(own_s, compute_s))
        yield self._clock.timeout(compute_s)
        uploading()
        upload_s = self._network.uplink_s(self.number, self._clock.now)
        self._traffic.busy(self.number, self._clock.now, upload_s)
        yield self._clock.timeout(upload_s)
        self._traffic.move(self._network.access)
        return Upload(self.number, self.samples, steps, result, compute_s)

    def _download(self) -> Generator[simpy.Event, object, None]:
        download_s = self._network.downlink_s(self.number, self._clock.now)
        if download_s:
            self._traffic.busy(self.number, self._clock.now, download_s)
            yield self._clock.timeout(download_s)
        self._traffic.move("downlink")
