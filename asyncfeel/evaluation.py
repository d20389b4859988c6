"""Testing the global model while the run goes on.

Models change only when an iteration completes, so the model of any simulated second is the one
that stands when the next change comes. Evaluations are therefore made from an observer: they need
no event of their own and cannot touch the order of events.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import Model
from asyncfeel.learning.metrics import Metrics
from asyncfeel.world.federation import Federation, Norm
from asyncfeel.world.records import Completion

MOST = 1_000_000
"""How many evaluations a run may have on a grid of seconds."""
PENDING = 2
"""How many evaluations may be under way before the run waits for the oldest."""


class Pending(Protocol):
    """An evaluation under way."""

    def done(self) -> bool:
        """Whether its result is there."""
        ...

    def result(self) -> Metrics:
        """Its result, waited for if need be."""
        ...


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of metrics.csv: the global model after `iteration` iterations, at a simulated second."""

    iteration: int
    time_s: float
    train_loss: float
    test_loss: float
    test_accuracy: float


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known when an evaluation is asked for."""

    iteration: int
    time_s: float
    distances: Sequence[float]


Evaluate = Callable[[Model], Pending]
Report = Callable[[Measurement, Sequence[float]], None]
"""Takes a measurement, and how far each server's model was from the global one."""


class Evaluator:
    """Tests the global model on a grid of simulated seconds, or of iterations, and at the end."""

    def __init__(
        self,
        evaluate: Evaluate,
        report: Report,
        every_s: float | None,
        every_iterations: int | None,
        norm: Norm | None = None,
        known: Iterable[Metrics] = (),
    ) -> None:
        """With a `norm`, the servers' distances from the global model are measured too.

        The first results may be `known` already, from an earlier life of the run.
        """
        self._evaluate = evaluate
        self._report = report
        self._every_s = every_s
        self._every_iterations = every_iterations
        self._next = 0
        self._model_at = -1
        self._norm = norm
        self._known = deque(known)
        self._distances: Sequence[float] = ()
        self._latest: Pending | None = None
        self._pending: deque[tuple[Asked, Pending]] = deque()
        self._last: tuple[int, float] | None = None

    def start(self, federation: Federation) -> None:
        """Test the initial model, and report it if that is ready: a run may be stopped before its first iteration."""
        self._test(federation, 0.0)
        self._next = 1
        self._drain(PENDING)

    def changing(self, federation: Federation) -> None:
        """Test the model that is about to change at every grid second that it lived through."""
        self._catch_up(federation, federation.clock.now, inclusive=False)

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Test the model if the iteration lies on the grid, and report what is ready."""
        if self._every_iterations and federation.iteration % self._every_iterations == 0:
            self._test(federation, federation.clock.now)
        self._drain(PENDING)

    def finish(self, federation: Federation, end_s: float) -> None:
        """Test the last model, at the end of the run, and wait for every result."""
        self._catch_up(federation, end_s, inclusive=True)
        if self._last != (federation.iteration, end_s):
            self._test(federation, end_s)
        self._drain(0)
        if self._pending:
            raise Interrupted("the last evaluations were interrupted")

    def abandon(self) -> None:
        """Report what is finished, and nothing else."""
        self._drain(len(self._pending))

    def _catch_up(self, federation: Federation, now: float, inclusive: bool) -> None:
        while self._every_s:
            grid_s = self._next * self._every_s
            if grid_s > now or (grid_s == now and not inclusive):
                return
            self._test(federation, grid_s)
            self._next += 1
            if self._next > MOST:
                raise InputError(f"evaluation.every_s asks for more than {MOST:,} evaluations: make it longer")

    def _test(self, federation: Federation, time_s: float) -> None:
        if self._model_at != federation.iteration or self._latest is None:
            self._model_at = federation.iteration
            model = federation.average()
            self._latest = self._evaluate(model)
            self._distances = distances(federation, model, self._norm) if self._norm else ()
        self._last = (federation.iteration, time_s)
        self._pending.append((Asked(federation.iteration, time_s, self._distances), self._latest))

    def _drain(self, most: int) -> None:
        """Report finished results in their order; wait where more than `most` models are under way."""
        while self._pending:
            asked, future = self._pending[0]
            waiting = {id(later) for _, later in self._pending}
            if not self._known and not future.done() and len(waiting) <= most:
                return
            try:
                found = self._known.popleft() if self._known else future.result()
            except Interrupted:
                return  # whoever drives the clock raises it, between two events
            self._pending.popleft()
            losses = (found.train_loss, found.test_loss, found.test_accuracy)
            self._report(Measurement(asked.iteration, asked.time_s, *losses), asked.distances)


def distances(federation: Federation, mean: Model, norm: Norm) -> list[float]:
    """How far every server's model is from the global one, ||y_d - ybar||."""
    return [norm(server.model - mean) for server in federation.servers]
