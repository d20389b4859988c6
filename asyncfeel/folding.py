"""Adds up the results of a broadcast as they come, in the order of the clients.

A result is added as soon as all before it have been; only those that came too early wait. So the
memory of a broadcast does not grow with its clients, and the sum is the same to the last bit
whatever the order in which workers finish.
"""

import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, Protocol

from asyncfeel.jobs import Broadcast, Executor, Gathered, Model, Update


class Folding:
    """The growing sum of one broadcast; workers hand it their results from any thread."""

    def __init__(self, work: Broadcast, own: Callable[[Update], Update] | None = None) -> None:
        """With `own` results are changed where they lie, instead of being copied again and again.

        It makes a result this sum's own where it must last for longer than the call that hands it in.
        """
        self._work = work
        self._own = own
        self._factors = work.factors()
        self._lock = threading.Lock()
        self._early: dict[int, Update] = {}
        self._next = 0
        self._change: Model = None
        self._losses: list[float | None] = []
        self._kept: list[Update] = []
        self._diverged: list[tuple[int, float]] = []

    def take(self, place: int, update: Update) -> None:
        """Take the result of the client at this place of the broadcast."""
        with self._lock:
            if self._own and (self._work.keep or self._change is None or place != self._next):
                update = self._own(update)
            self._early[place] = update
            while self._next in self._early:
                self._add(self._early.pop(self._next))
                self._next += 1

    def _add(self, update: Update) -> None:
        if self._own and not self._work.keep:
            step = update.model
            step -= self._work.model
        else:
            step = update.model - self._work.model
        norm = self._work.beyond(step, update.loss) if self._work.beyond else None
        if norm is not None:
            self._diverged.append((self._next, norm))
            if self._work.measure_loss:
                self._losses.append(None)
            return
        step *= self._factors[self._next]
        if self._change is None:
            self._change = step
        else:
            self._change += step
        if self._work.measure_loss:
            self._losses.append(update.loss)
        if self._work.keep:
            self._kept.append(update)

    def gathered(self) -> Gathered:
        """The sum, once every client's result has been taken."""
        if self._next != len(self._work):
            raise RuntimeError(f"{len(self._work) - self._next} results of a broadcast are missing")
        if self._diverged:
            self._leave_out()
        return Gathered(self._change, self._losses, self._kept, self._diverged)

    def _leave_out(self) -> None:
        """Weigh those that are left as if the others had not been there: all their factors grow alike (A38)."""
        out = {place for place, _ in self._diverged}
        left = [place for place in range(len(self._work)) if place not in out]
        if not left:
            self._change = 0.0 * (self._work.model - self._work.model)
        elif self._work.factors_of is not None:
            self._change *= self._work.factors_of(left)[0] / self._factors[left[0]]


class Hurried(Awaitable[Any], Protocol):
    """Work under way that can be asked for before other work."""

    def hurry(self) -> None:
        """Do it before what nobody waits for."""
        ...


class Whole:
    """The awaitable of a broadcast whose jobs hand in their results themselves."""

    __slots__ = ("_folding", "_jobs")

    def __init__(self, folding: Folding, jobs: Sequence[Hurried]) -> None:
        self._folding = folding
        self._jobs = jobs

    def __await__(self) -> Generator[Any, None, Gathered]:
        for job in self._jobs:
            job.hurry()
        for job in self._jobs:
            yield from job.__await__()
        return self._folding.gathered()


class OneByOne:
    """The awaitable of a broadcast for an executor that knows single jobs only: it adds them up when awaited."""

    __slots__ = ("_jobs", "_work")

    def __init__(self, executor: Executor, work: Broadcast) -> None:
        self._work = work
        self._jobs = [executor.submit(job) for job in work.jobs()]

    def __await__(self) -> Generator[Any, None, Gathered]:
        folding = Folding(self._work)
        for place, job in enumerate(self._jobs):
            folding.take(place, (yield from job.__await__()))
        return folding.gathered()


def start(executor: Executor, work: Broadcast) -> Awaitable[Gathered]:
    """Hand a broadcast to an executor, also to one of a user's own that knows single jobs only."""
    broadcast = getattr(executor, "broadcast", None)
    return OneByOne(executor, work) if broadcast is None else broadcast(work)
