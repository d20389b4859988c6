"""Training in several threads of this process; each owns a module, and all read the same data.

torch releases Python's lock while it computes, so threads run in parallel without a copy of the
data for each, and without the seconds that processes need to start.
"""

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.folding import Folding, Whole
from asyncfeel.jobs import Broadcast, Job, Update
from asyncfeel.learning.executors._busy import Busy
from asyncfeel.learning.executors._pending import Pending
from asyncfeel.learning.executors._pool import Pool
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.local import Trainer
from asyncfeel.learning.metrics import Metrics

T = TypeVar("T")


def itself(update: Update) -> Update:
    """A result that nobody else has."""
    return update


class Threads:
    """An executor with a pool of worker threads; 0 workers means as many as the machine runs well."""

    _lasting = staticmethod(itself)
    """Makes a result one that lasts."""

    def __init__(self, learner: Learner, workers: int, stop: threading.Event) -> None:
        if workers < 0:
            raise InputError(f"workers must be at least 0 (0 for as many as there are cores), not {workers}")
        self._learner = learner
        self._stop = stop
        self._training = Either(stop)
        self._own = threading.local()
        self._numbers = itertools.count()
        self.workers = workers or usable(learner.device) * len(learner.devices)
        self.busy = Busy()
        self._prepare()
        self._pool = Pool(self.workers, "asyncfeel")

    def _prepare(self) -> None:
        """What must be done before there are threads: nothing."""

    def submit(self, job: Job) -> Pending[Update]:
        """The job's result, later; a free worker begins it at once."""
        return self._later(lambda: self._train(job, self._lasting), job.due_s)

    def broadcast(self, work: Broadcast) -> Whole:
        """What the jobs add up to, later; each worker adds its results itself."""
        folding = Folding(work, self._lasting)

        def train(place: int, job: Job) -> None:
            self._train(job, partial(folding.take, place))

        jobs = [self._later(partial(train, place, job), job.due_s) for place, job in enumerate(work.jobs())]
        return Whole(folding, jobs)

    def evaluate(self, flat: Tensor) -> Pending[Metrics]:
        """How good a model is, later; it is due at once, for no end of the run makes it useless."""
        return self._later(lambda: self._learner.evaluate(flat, self._stop))

    def dismiss(self) -> None:
        """Give up all jobs: the simulated run is over, and only evaluations are still wanted."""
        self._training.set()

    def close(self) -> None:
        """Drop the jobs that have not begun and wait for the others."""
        self._pool.close()

    def _later(self, work: Callable[[], T], due_s: float = -math.inf) -> Pending[T]:
        task = self._pool.submit(lambda: self._beside(work), due_s)
        return Pending(task.future, lambda: self._pool.hurry(task))

    def _beside(self, work: Callable[[], T]) -> T:
        with self.busy.work():
            if self._learner.device.type != "cuda":
                return work()
            with beside(self._stream()):
                return work()

    def _train(self, job: Job, use: Callable[[Update], T]) -> T:
        """What is made of the job's result."""
        if self._training.is_set():
            raise Interrupted("training was interrupted")
        if self._learner.device.type == "cuda":
            return self._trained(job, lambda update: use(self._handed_over(update)))
        return self._trained(job, use)

    def _trained(self, job: Job, use: Callable[[Update], T]) -> T:
        """What is made of the job's result, found in this thread."""
        return use(self._trainer().train(job))

    def _handed_over(self, update: Update) -> Update:
        """The result where models live; the main thread goes on with it on its own stream: the allocator must know."""
        home = self._learner.device
        probe = update.probe
        moved = Update(
            update.model.to(home),
            update.loss,
            probe and replace(probe, **{n: getattr(probe, n).to(home) for n in ("gradient_sent", "gradient_done")}),
        )
        for tensor in [moved.model, *([moved.probe.gradient_sent, moved.probe.gradient_done] if moved.probe else [])]:
            tensor.record_stream(torch.cuda.default_stream(home))
        return moved

    def _trainer(self) -> Trainer:
        """This thread's own trainer."""
        if not hasattr(self._own, "trainer"):
            self._own.trainer = self._learner.trainer(self._training, self._number())
        trainer: Trainer = self._own.trainer
        return trainer

    def _stream(self) -> torch.cuda.Stream:
        """This thread's own stream, on its own device."""
        if not hasattr(self._own, "stream"):
            devices = self._learner.devices
            self._own.stream = torch.cuda.Stream(devices[self._number() % len(devices)])  # type: ignore[no-untyped-call]
        stream: torch.cuda.Stream = self._own.stream
        return stream

    def _number(self) -> int:
        """This thread's number: workers take the devices in turn."""
        if not hasattr(self._own, "number"):
            self._own.number = next(self._numbers)
        number: int = self._own.number
        return number


class Either(threading.Event):
    """An event that counts as set as soon as another one is set, too."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether one of both is set."""
        return super().is_set() or self._other.is_set()


def usable(device: torch.device) -> int:
    """How many workers a device runs well: the cores this process may use, 2 on CUDA, 1 on Apple's GPU."""
    if device.type != "cpu":
        return 2 if device.type == "cuda" else 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def beside(stream: torch.cuda.Stream) -> Iterator[None]:
    """Work on a CUDA stream: after what was asked of the default stream before, and complete at the end."""
    stream.wait_stream(torch.cuda.default_stream(stream.device))
    with torch.cuda.stream(stream):
        yield
    stream.synchronize()
