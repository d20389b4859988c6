"""Trackers: whoever else wants to follow a run, as MLflow, Weights & Biases or TensorBoard do.

A tracker is any object with three methods. What it is told comes in the order of simulated time and is
the same for every executor: an evaluation may be finished later than it was asked for, so the
iterations after it wait until it has been told.
"""

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from asyncfeel import plugins
from asyncfeel.errors import InputError
from asyncfeel.evaluation import Measurement
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion

METHODS = ("start", "log", "finish")


class Tracker(Protocol):
    """Follows a run; an error of its own ends the run."""

    def start(self, facts: dict[str, Any]) -> None:
        """The run begins; the facts are those of its manifest, its folder, and its whole scenario."""
        ...

    def log(self, values: dict[str, float], *, time_s: float, iteration: int) -> None:
        """Something was found at a simulated second, after so many completed iterations."""
        ...

    def finish(self, summary: dict[str, Any]) -> None:
        """The run is over, for whatever reason; the summary has its status and, if it ended well, its totals."""
        ...


Entry = tuple[dict[str, float], float, int]
"""Values, the simulated second and the iterations completed by then."""


class Trackers:
    """Tells trackers of a run, as an observer of its federation."""

    def __init__(self, trackers: Sequence[Tracker], evaluated: bool) -> None:
        """Without evaluations (`evaluated`) there is nothing that an iteration would have to wait for."""
        self._names = {id(tracker): _name(tracker) for tracker in trackers}
        self._trackers = list(trackers)
        self._started: list[Tracker] = []
        self._broken: set[int] = set()
        self._evaluated = evaluated
        self._waiting: deque[Entry] = deque()

    def start(self, facts: dict[str, Any]) -> None:
        """Tell all of them that the run begins."""
        for tracker in self._trackers:
            self._started.append(tracker)
            self._call(tracker, "start", dict(facts))

    def changing(self, federation: Federation) -> None:
        """Nothing: only completed iterations are told."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Tell of an iteration: the largest staleness of its servers, and the steps of all their clients."""
        if not self._trackers:
            return
        staleness = max((completion.staleness[trigger.server] for trigger in completion.triggers), default=0)
        steps = sum(trigger.total_steps for trigger in completion.triggers)
        values = {"staleness": float(staleness), "steps": float(steps)}
        self._waiting.append((values, completion.time_s, completion.iteration + 1))
        if not self._evaluated:
            self._release()

    def measured(self, measurement: Measurement, distances: Sequence[float]) -> None:
        """Tell of an evaluation, after the iterations before it."""
        if not self._trackers:
            return
        values = {"train_loss": measurement.train_loss, "test_loss": measurement.test_loss}
        if measurement.test_accuracy == measurement.test_accuracy:
            values["test_accuracy"] = measurement.test_accuracy
        if distances:
            values["consensus_distance_max"] = float(np.max(distances))
        self._release(measurement.iteration)
        self._log((values, measurement.time_s, measurement.iteration))

    def finish(self, summary: dict[str, Any], failed: bool) -> None:
        """Tell all that were started that the run is over; if it failed, its error counts and not theirs."""
        errors: list[InputError] = []
        calls: list[Callable[[], None]] = [
            self._release,
            *(partial(self._call, one, "finish", dict(summary)) for one in self._started),
        ]
        for call in calls:
            try:
                call()
            except InputError as error:
                errors.append(error)
        if errors and not failed:
            raise errors[0]

    def _release(self, until: int | None = None) -> None:
        """Tell of the iterations that wait; of those up to a number, if there is one."""
        while self._waiting and (until is None or self._waiting[0][2] <= until):
            self._log(self._waiting.popleft())

    def _log(self, entry: Entry) -> None:
        values, time_s, iteration = entry
        for tracker in self._trackers:
            self._call(tracker, "log", dict(values), time_s=time_s, iteration=iteration)

    def _call(self, tracker: Tracker, method: str, *values: Any, **named: Any) -> None:
        """Call a tracker; after an error it hears nothing more."""
        if id(tracker) in self._broken:
            return
        try:
            what = f"tracker {self._names[id(tracker)]!r}"
            plugins.made(what, lambda: getattr(tracker, method)(*values, **named), ())
        except InputError:
            self._broken.add(id(tracker))
            raise


def checked(trackers: Sequence[Any]) -> list[Tracker]:
    """The trackers, once each has shown that it has the methods of one."""
    for tracker in trackers:
        for method in METHODS:
            if not callable(getattr(tracker, method, None)):
                raise InputError(
                    f"tracker {_name(tracker)!r} has no method {method}: it must have {', '.join(METHODS)}"
                )
    return list(trackers)


def make(kind: str) -> Tracker:
    """The tracker that `--log` names: tensorboard, or what a user's own module:function gives."""
    if kind == "tensorboard":
        from asyncfeel.tensorboard import TensorBoard

        return TensorBoard()
    if ":" not in kind:
        raise InputError(f"tracker {kind!r} is unknown: there is tensorboard, or a module:function of your own")
    made: Any = plugins.made(f"tracker {kind!r}", plugins.load("tracker", kind), ())
    return checked([made])[0]


def _name(tracker: Any) -> str:
    return type(tracker).__name__
