"""Training that diverges: noticed at the first result that shows it, and told with its client and learning rate.

A result has diverged when the norm of its change, ||w_i - s||, is not finite or above a limit, or when the loss
that its client reported is not finite. The global model has, when its training loss is not finite or has grown
beyond the limit times its first value (or times 1, if that was less; and a limit below 1 counts as 1 here, or the
first value would be beyond it).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from asyncfeel.errors import Diverged
from asyncfeel.jobs import EVERYONE, Gathered, Model, Update
from asyncfeel.world.client import Upload
from asyncfeel.world.cohort import Uploads

Policy = Literal["stop", "skip"]
Report = Callable[[Any, Sequence[float]], None]
"""Takes an evaluation of the global model; see evaluation.py."""
REMEDY = "use a smaller training.learning_rate, or training.on_divergence = 'skip' to leave such results out"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of divergence.csv: a result that was not used."""

    iteration: int
    time_s: float
    client: int
    learning_rate: float
    norm: float


class Divergence:
    """Tells sound results from diverged ones, and what becomes of a run that has some."""

    def __init__(
        self,
        norm: Callable[[Model], float],
        policy: Policy,
        limit: float,
        learning_rate: float,
        own_norm: Callable[[Model], float] | None = None,
    ) -> None:
        """`norm` is for changes as workers know them, `own_norm` for those of models in the simulated world."""
        self._norm = norm
        self._own_norm = own_norm or norm
        self._policy = policy
        self._limit = limit
        self._learning_rate = learning_rate
        self._most_loss: float | None = None
        self.count = 0
        """Results that were left out."""
        self.listeners: list[Callable[[Case], None]] = []

    def beyond(self, change: Model, loss: float | None) -> float | None:
        """The norm of a change that has diverged; nothing if it is sound."""
        return self._beyond(self._norm(change), loss)

    def _beyond(self, norm: float, loss: float | None) -> float | None:
        sound = norm <= self._limit and (loss is None or math.isfinite(loss))
        return None if sound else norm

    def checked(self, upload: Upload | Uploads, result: Any, iteration: int, time_s: float) -> Any:
        """The result, without what has diverged; an error if the run is to stop."""
        for client, rate, norm in self._diverged(upload, result):
            self._note(Case(iteration, time_s, client, rate * self._learning_rate, norm))
            if isinstance(upload, Upload):
                return replace(result, model=upload.sent, diverged=True)
        return result

    def _diverged(self, upload: Upload | Uploads, result: Gathered | Update) -> Iterator[tuple[int, float, float]]:
        if isinstance(upload, Uploads) and isinstance(result, Gathered):
            for place, norm in result.diverged:
                yield int(upload.clients[place]), 1.0, norm
        elif isinstance(upload, Upload) and isinstance(result, Update):
            beyond = self._beyond(self._own_norm(result.model - upload.sent), result.loss)
            if beyond is not None:
                yield upload.client, upload.rate, beyond

    def _note(self, case: Case) -> None:
        self.count += 1
        for listener in self.listeners:
            listener(case)
        if self._policy == "stop":
            who = "the central job" if case.client == EVERYONE else f"client {case.client}"
            raise Diverged(
                f"training diverged: {who} changed its model by a norm of {case.norm:.3g} (the limit is "
                f"{self._limit:g}) for global iteration {case.iteration}, at learning rate {case.learning_rate:g}: "
                f"{REMEDY}"
            )

    def watching(self, report: Report) -> Report:
        """The report of evaluations, followed by an error if the global model has diverged and the run is to stop."""

        def watched(measurement: Any, distances: Sequence[float]) -> None:
            report(measurement, distances)
            loss = measurement.train_loss
            if self._most_loss is None:
                self._most_loss = max(1.0, self._limit) * max(1.0, loss)
            if self._policy == "stop" and not (math.isfinite(loss) and loss <= self._most_loss):
                raise Diverged(
                    f"training diverged: the global model's training loss is {loss:.3g} after {measurement.iteration} "
                    f"global iterations, at learning rate {self._learning_rate:g}: {REMEDY}"
                )

        return watched
