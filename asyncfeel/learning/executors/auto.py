"""The fastest of batched, processes and threads for the run's own model: by rule if the run is short, else measured.

Stacking saves calls, processes and threads use cores, so what is faster depends on the model, the batch, the
clients in flight and the machine. All train the same jobs for a moment before the run starts. A
run of a few seconds is not worth a measurement: a rule decides there, the same one every time.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from asyncfeel.errors import Interrupted
from asyncfeel.jobs import Broadcast
from asyncfeel.learning.executors.batched import PLACES, Batched
from asyncfeel.learning.executors.processes import Processes, unavailable
from asyncfeel.learning.executors.threads import Threads
from asyncfeel.learning.intraop import one_thread
from asyncfeel.learning.learner import Learner

Column = NDArray[np.int64]
KINDS: dict[str, Callable[..., Any]] = {"batched": Batched, "processes": Processes, "threads": Threads}
SHORT_S = 20.0
"""A run that is expected to be shorter is not measured for."""
SHARE = 0.05
MOST_S = 2.5
"""The measurement takes at most this share of the expected run, and at most so long."""
LONG_S = 0.1
"""A step of every worker that takes longer is not bound by calls."""
CALLS_S, FLOPS = 3e-4, 2e10
"""Roughly what a step costs beside its arithmetic, and how fast that is: only to guess how long a run lasts."""
LIGHT_FLOPS, HEAVY_FLOPS = 1e7, 1e9
"""The rule for CPUs: a step with less work is bound by calls, so that stacking pays; with more it never is."""
LIGHT_CONVOLUTIONS_FLOPS = 3e6
"""The same where there are convolutions, which gain less by being stacked."""


class Auto:
    """An executor that hands everything to the one it has chosen."""

    def __init__(
        self, learner: Learner, workers: int, stop: threading.Event, crowd: int = 2, expected_steps: float = 0.0
    ) -> None:
        """`crowd` is how many jobs may be in flight, `expected_steps` the steps of the whole run, roughly."""
        self.kind, self.why = choose(learner, workers, stop, crowd, expected_steps)
        self._chosen = KINDS[self.kind](learner, workers, stop)
        self.submit: Callable[..., Any] = self._chosen.submit
        self.broadcast: Callable[..., Any] = self._chosen.broadcast
        self.workers: int = self._chosen.workers
        self.busy = self._chosen.busy

    @property
    def note(self) -> str | None:
        """What the chosen one has to say."""
        said: str | None = getattr(self._chosen, "note", None)
        return said

    def evaluate(self, flat: torch.Tensor) -> Any:
        """How good a model is, later."""
        return self._chosen.evaluate(flat)

    def dismiss(self) -> None:
        """Give up all jobs, if the chosen one trains ahead at all."""
        dismiss: Callable[[], None] | None = getattr(self._chosen, "dismiss", None)
        if dismiss:
            dismiss()

    def close(self) -> None:
        """Close the one that was chosen."""
        self._chosen.close()


def choose(learner: Learner, workers: int, stop: threading.Event, crowd: int, expected_steps: float) -> tuple[str, str]:
    """The kind of executor, and why."""
    work = learner.flops_per_step
    if crowd < 2:
        return "threads", "one job at a time leaves nothing to stack"
    if work > HEAVY_FLOPS and learner.device.type == "cpu":
        return _alone(learner), f"by rule: a step has {work:.2g} FLOPs, so that calls do not matter"
    if _candidates(learner) == ["threads"]:
        return "threads", f"the model cannot be stacked: {learner.unstackable}"
    expected_s = expected_steps * (CALLS_S + work / FLOPS)
    if expected_s < SHORT_S:
        return _by_rule(learner)
    return _measured(learner, workers, stop, crowd, min(MOST_S, SHARE * expected_s))


def _alone(learner: Learner) -> str:
    """The better kind of those that train jobs one by one."""
    return "threads" if unavailable(learner) else "processes"


def _candidates(learner: Learner) -> list[str]:
    """The kinds that can train this model here, those that train jobs one by one last."""
    fit = {"batched": not learner.unstackable, "processes": not unavailable(learner), "threads": True}
    return [kind for kind in KINDS if fit[kind]]


def _by_rule(learner: Learner) -> tuple[str, str]:
    work, kinds = learner.flops_per_step, _candidates(learner)
    light = LIGHT_CONVOLUTIONS_FLOPS if learner.convolves else LIGHT_FLOPS
    stacked = kinds[0] == "batched" and (work < light or learner.device.type != "cpu")
    why = f"by rule: a step has {work:.2g} FLOPs, and the run is too short to measure{_obstacle(learner)}"
    return kinds[0 if stacked or kinds[0] != "batched" else 1], why


def _obstacle(learner: Learner) -> str:
    return f"; the model cannot be stacked: {learner.unstackable}" if learner.unstackable else ""


def _measured(learner: Learner, workers: int, stop: threading.Event, crowd: int, budget_s: float) -> tuple[str, str]:
    """The fastest kind on jobs of the run's own, tried in turns until the time is up."""
    ends = time.perf_counter() + budget_s
    kinds = _candidates(learner)
    first = sorted(kinds, key="processes".__ne__)  # a process is made from one without threads
    made = {kind: Trial(KINDS[kind](learner, workers, stop), learner.initial()) for kind in first}
    trials = {kind: made[kind] for kind in kinds}
    try:
        with one_thread():
            workers = trials["threads"].executor.workers
            wanted = min(crowd, len(learner.feed.partition), PLACES * workers)
            jobs = _affordable(trials["threads"], wanted, budget_s)
            if trials["threads"].step_s > LONG_S and learner.device.type == "cpu":
                return _alone(learner), "a step takes so long that calls do not matter"
            for steps in (1, 2, 4, 8, 16):
                if time.perf_counter() + 2 * steps * sum(trial.step_s for trial in trials.values()) > ends:
                    break
                for trial in trials.values():
                    trial.run(jobs, steps)
    except Interrupted:
        return "threads", "the run was asked to end before it began"
    finally:
        for trial in trials.values():
            trial.executor.close()
    speeds = {kind: trial.speed for kind, trial in trials.items()}
    if not all(speeds.values()):
        return _by_rule(learner)
    figures = ", ".join(f"{kind} {speed:.3g}" for kind, speed in speeds.items())
    return max(speeds, key=lambda kind: speeds[kind]), f"measured steps/s: {figures}{_obstacle(learner)}"


def _affordable(trial: "Trial", wanted: int, budget_s: float) -> int:
    """How many jobs can be tried together in the time that there is, at most so many as are wanted."""
    workers: int = trial.executor.workers
    for _ in range(2):
        trial.run(workers, 1)
    return max(workers, min(wanted, int(workers * budget_s / 4 / trial.step_s)))


class Trial:
    """One executor on trial: how many steps it does in a second, best of all tries but the first."""

    def __init__(self, executor: Any, model: torch.Tensor) -> None:
        self.executor = executor
        self.speed = 0.0
        self.step_s = 0.0
        """How long the last try took for each step of all its jobs together."""
        self._model = model

    def run(self, jobs: int, steps: int) -> None:
        """Train the first so many clients for so many steps; the first try only warms up."""
        began = time.perf_counter()
        with ThreadPoolExecutor(1) as apart:  # this thread may have an event loop that runs already
            apart.submit(asyncio.run, self._train(np.arange(jobs), np.full(jobs, steps))).result()
        taken_s = time.perf_counter() - began
        if self.step_s:
            self.speed = max(self.speed, jobs * steps / taken_s)
        self.step_s = taken_s / steps

    async def _train(self, clients: Column, steps: Column) -> None:
        numbers, factors = np.zeros_like(clients), [0.0] * len(clients)
        await self.executor.broadcast(Broadcast(self._model, clients, numbers, steps, lambda: factors))
