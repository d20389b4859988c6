"""Training all jobs in flight together, as stacks: one call for the same layer of many models.

Small models are bound by the number of calls, not by arithmetic, and the jobs in flight share
their model's shape. So each worker stacks its share of them, whichever clusters they belong to, and
a job that has done its steps drops out. Work is done while somebody waits for a result, and all
jobs in flight move on alike. What a job learns does not depend on what is trained beside it.
"""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

from torch import Tensor

from asyncfeel.folding import Folding
from asyncfeel.jobs import Broadcast, Gathered, Job, Update
from asyncfeel.learning.executors._busy import Busy
from asyncfeel.learning.executors._lane import Lane, Ticket
from asyncfeel.learning.executors._pending import Pending
from asyncfeel.learning.executors.threads import Threads, usable
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.metrics import Metrics

T = TypeVar("T")
BYTES = 1 << 25
PLACES = 64
"""A stack has at most so many bytes of weights, to stay near the cache, and so many models."""


class Batched:
    """An executor that trains jobs in stacks, one stack per worker; 0 workers means one per core."""

    def __init__(self, learner: Learner, workers: int, stop: threading.Event) -> None:
        self._learner = learner
        self._stop = stop
        self.workers = workers or usable(learner.device)
        self.note = learner.unstackable and f"jobs are trained one by one: {learner.unstackable}"
        """What the user should know: why nothing is stacked, if so."""
        self._single = Threads(learner, self.workers, stop) if self.note else None
        self._places = max(1, min(PLACES, BYTES * 8 // learner.model_bits))
        self._lanes: dict[tuple[int, bool, float], list[Lane]] = {}
        self._pool = ThreadPoolExecutor(self.workers, thread_name_prefix="asyncfeel")
        self._tester = ThreadPoolExecutor(1, thread_name_prefix="asyncfeel-test")
        self.busy = self._single.busy if self._single else Busy()
        self._running: list[Future[None]] = []

    def submit(self, job: Job) -> "Awaited[Update] | Pending[Update]":
        """The job's result, once somebody waits for it."""
        if self._single:
            return self._single.submit(job)
        box: list[Update] = []
        return Awaited(self, [self._enter(job, box.append)], box.pop)

    def broadcast(self, work: Broadcast) -> Any:
        """What the jobs add up to, once somebody waits for it."""
        if self._single:
            return self._single.broadcast(work)
        folding = Folding(work)
        tickets = [self._enter(job, partial(folding.take, place)) for place, job in enumerate(work.jobs())]
        return Awaited[Gathered](self, tickets, folding.gathered)

    def evaluate(self, flat: Tensor) -> Pending[Metrics]:
        """How good a model is, later, beside the training."""
        return Pending(self._tester.submit(self._working, self._learner.evaluate, flat, self._stop))

    def close(self) -> None:
        """Drop what has not begun and wait for the rest."""
        for pool in (self._pool, self._tester):
            pool.shutdown(wait=True, cancel_futures=True)
        if self._single:
            self._single.close()

    def _enter(self, job: Job, deliver: Callable[[Update], None]) -> Ticket:
        """A place in the lane that has the least to do, among those for jobs of its kind."""
        batch = self._learner.feed.batch(job)
        kind = (batch, job.rate == 1.0, job.proximal)
        if kind not in self._lanes:
            self._lanes[kind] = [Lane(self._learner, batch, self._places, self._stop) for _ in range(self.workers)]
        ticket = Ticket(job, deliver)
        min(self._lanes[kind], key=lambda lane: lane.load).add(ticket)
        return ticket

    def advance(self, needed: Sequence[Ticket]) -> list[Future[None]]:
        """Let all lanes go on until these jobs are done; the work under way, if there is some already."""
        if not self._running:
            lanes = [lane for lanes in self._lanes.values() for lane in lanes if not lane.idle]
            missing = [ticket for ticket in needed if not ticket.done]
            steps = max((lane.steps_to(missing) for lane in lanes), default=0)
            self._running = [self._pool.submit(self._working, lane.advance, missing, steps) for lane in lanes]
        return self._running

    def _working(self, work: Callable[..., T], *arguments: Any) -> T:
        with self.busy.work():
            return work(*arguments)

    def rest(self) -> None:
        """Note that the work under way has ended."""
        self._running = []


class Awaited(Generic[T]):
    """An awaitable for whose jobs the lanes go on while it is awaited."""

    def __init__(self, executor: Batched, tickets: Sequence[Ticket], result: Callable[[], T]) -> None:
        self._executor = executor
        self._tickets = tickets
        self._result = result

    def __await__(self) -> Generator[Any, None, T]:
        while not all(ticket.done for ticket in self._tickets):
            running = self._executor.advance(self._tickets)
            for future in running:
                yield from asyncio.wrap_future(future).__await__()
            if running is self._executor._running:
                self._executor.rest()
        return self._result()
