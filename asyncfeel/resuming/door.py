"""The executor that the simulated world sees: it hands jobs to the real one, and knows what is in flight.

Models leave through this door as they are and come back as held ones. In a replay nothing is handed
over: results are stand-ins, their losses come from the journal, and what is still in flight at its end is
handed over then.
"""

import math
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, Protocol
from weakref import WeakValueDictionary

from asyncfeel import folding
from asyncfeel.errors import Interrupted
from asyncfeel.jobs import Broadcast, Gathered, Job, Model, Probe, Update
from asyncfeel.learning.metrics import Metrics
from asyncfeel.resuming.held import ABSENT, Shelf, value_of
from asyncfeel.resuming.journal import Journal
from asyncfeel.resuming.waiting import twice


class Tester(Protocol):
    """Work under way whose result is how good a model is."""

    def done(self) -> bool:
        """Whether there is a result."""
        ...

    def result(self) -> Metrics:
        """The result, waited for if need be."""
        ...


class Door:
    """Hands jobs, broadcasts and evaluations to an executor, now or after a replay."""

    def __init__(self, executor: Any, shelf: Shelf, journal: Journal, limit_s: float | None = None) -> None:
        """A result that takes longer than the limit, in real seconds, is asked for once more, and then given up."""
        self._executor = executor
        self.limit_s = limit_s
        self.hung = False
        self._shelf = shelf
        self._journal = journal
        self._parcels: WeakValueDictionary[int, Parcel] = WeakValueDictionary()
        self._sent = 0
        self._opened: list[Parcel] = []

    def submit(self, job: Job) -> "Parcel":
        """The result of one job, later."""
        return self._send(job)

    def broadcast(self, work: Broadcast) -> "Parcel":
        """What the jobs of a broadcast add up to, later."""
        return self._send(work)

    def _send(self, work: Job | Broadcast) -> "Parcel":
        parcel = self._parcels[self._sent] = Parcel(self, work)
        self._sent += 1
        if not self._shelf.replaying:
            parcel.start()
        return parcel

    def evaluate(self, model: Model) -> "Test":
        """How good a model is, later."""
        return Test(self, model)

    def norm(self, measure: Callable[[Model], float]) -> Callable[[Model], float]:
        """A norm of held models whose values are kept in the journal."""

        def measured(model: Model) -> float:
            if self._shelf.replaying:
                return self._journal.read()
            return self._journal.write(measure(value_of(model)))

        return measured

    def close(self) -> None:
        """Free what the executor holds, unless that would mean to wait for a worker that hangs."""
        if not self.hung:
            self._executor.close()

    def tidy(self) -> None:
        """Forget the jobs whose results have been taken: no checkpoint will ask for their models any more."""
        for parcel in self._opened:
            parcel.forget()
        self._opened.clear()

    def go_live(self) -> None:
        """Hand over what is in flight: the replay is over, and the models are there."""
        for _, parcel in sorted(self._parcels.items()):
            if parcel.waiting:
                parcel.start()

    @property
    def replaying(self) -> bool:
        """Whether nothing is handed over."""
        return self._shelf.replaying

    def hand_over(self, work: Job | Broadcast) -> Awaitable[Any]:
        """Start a job or a broadcast for real."""
        real = replace(work, model=value_of(work.model))
        try:
            return self._executor.submit(real) if isinstance(real, Job) else folding.start(self._executor, real)
        except Interrupted as error:
            return Ended(error)

    def test(self, model: Model) -> Tester:
        """Start an evaluation for real."""
        try:
            tester: Tester = self._executor.evaluate(value_of(model))
        except Interrupted as error:
            return Ended(error)
        return tester

    def taken(self, parcel: "Parcel", found: Any) -> Update | Gathered:
        """What a parcel brought, with held models; it is forgotten as soon as that is safe."""
        self._opened.append(parcel)
        return self._update(found) if isinstance(found, Update) else self._gathered(found)

    def imagined(self, parcel: "Parcel", work: Job | Broadcast) -> Update | Gathered:
        """What a parcel would have brought, as far as a replay knows."""
        nothing = Update(ABSENT, 0.0 if work.measure_loss else None, _UNKNOWN if work.probe else None)
        if isinstance(work, Job):
            return self.taken(parcel, nothing)
        losses = [0.0] * len(work) if work.measure_loss else []
        return self.taken(parcel, Gathered(ABSENT, losses, [nothing] * len(work) if work.keep else []))

    def _update(self, found: Update) -> Update:
        model = self._shelf.hold(found.model)
        loss = None if found.loss is None else self._number(found.loss)
        return Update(model, loss, found.probe and self._probe(found.probe))

    def _probe(self, found: Probe) -> Probe:
        losses = self._number(found.loss_sent), self._number(found.loss_done)
        return Probe(*losses, self._shelf.hold(found.gradient_sent), self._shelf.hold(found.gradient_done))

    def _gathered(self, found: Gathered) -> Gathered:
        change = self._shelf.hold(found.change)
        numbers = [self._number(math.nan if loss is None else loss) for loss in found.losses]
        losses = [None if math.isnan(number) else number for number in numbers]
        updates = [self._update(update) for update in found.updates]
        return Gathered(change, losses, updates, self._diverged(found.diverged))

    def _diverged(self, found: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        """Whose results were left out, and how far they were off."""
        if self._shelf.replaying:
            found = [(0, 0.0)] * int(self._journal.read())
        else:
            self._journal.write(len(found))
        return [(int(self._number(place)), self._number(norm)) for place, norm in found]

    def _number(self, found: float) -> float:
        return self._journal.read() if self._shelf.replaying else self._journal.write(found)


_UNKNOWN = Probe(0.0, 0.0, ABSENT, ABSENT)


class Parcel:
    """The awaitable of a job or a broadcast, whether it has been handed over or not."""

    __slots__ = ("__weakref__", "_door", "_inner", "_work")

    def __init__(self, door: Door, work: Job | Broadcast) -> None:
        self._door = door
        self._work: Job | Broadcast | None = work
        self._inner: Awaitable[Any] | None = None

    @property
    def waiting(self) -> bool:
        """Whether it is still to be handed over."""
        return self._work is not None and self._inner is None

    def start(self) -> None:
        """Hand it over."""
        if self._work is not None:
            self._inner = self._door.hand_over(self._work)

    def forget(self) -> None:
        """Let go of the models that it was made of."""
        self._work = self._inner = None

    def __await__(self) -> Generator[Any, None, Any]:
        if self._work is None:
            raise RuntimeError("the result of a job is taken twice")
        if self._door.replaying:
            return self._door.imagined(self, self._work)
        found = yield from self._arrived(self._work).__await__()
        return self._door.taken(self, found)

    async def _arrived(self, work: Job | Broadcast) -> Any:
        first = self._inner or self._door.hand_over(work)
        return await twice(first, lambda: self._door.hand_over(work), _named(work), self._door.limit_s)


def _named(work: Job | Broadcast) -> str:
    if isinstance(work, Job):
        return f"job {work.number} of client {work.client}"
    return f"a broadcast to {len(work)} clients, the first of them {work.clients[0]},"


class Ended:
    """Work that was interrupted at once: whoever waits for it is told, but not the event that began it.

    So an event of the simulated clock happens completely or not at all.
    """

    __slots__ = ("_error",)

    def __init__(self, error: Interrupted) -> None:
        self._error = error

    def done(self) -> bool:
        """Nothing more will come."""
        return True

    def result(self) -> Metrics:
        """The error."""
        raise self._error

    def __await__(self) -> Generator[Any, None, Any]:
        raise self._error
        yield


class Test:
    """The evaluation of a model; in a replay it begins only when the replay is over and somebody asks."""

    __slots__ = ("_door", "_inner", "_model")

    def __init__(self, door: Door, model: Model) -> None:
        self._door = door
        self._model = model
        self._inner = None if door.replaying else door.test(model)

    def done(self) -> bool:
        """Whether there is a result."""
        return not self._door.replaying and self._begun().done()

    def result(self) -> Metrics:
        """The result, waited for if need be; in a replay, nobody knew it when the earlier life was interrupted."""
        if self._door.replaying:
            raise Interrupted("the run was interrupted before this evaluation ended")
        return self._begun().result()

    def _begun(self) -> Tester:
        if self._inner is None:
            self._inner = self._door.test(self._model)
        return self._inner
