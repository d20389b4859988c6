"""The executor of a run: made from the scenario, with what it may want to know of the run beforehand."""

import dataclasses
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from asyncfeel import catalogue, checks
from asyncfeel.plugins import made, supply
from asyncfeel.prepare import Prepared
from asyncfeel.resuming.door import Door
from asyncfeel.scenario import Scenario
from asyncfeel.world.divergence import Divergence


def executor(prepared: Prepared, stop: threading.Event) -> Any:
    """The executor that the scenario names; without a learner the one that trains nothing."""
    settings, learner = prepared.scenario.execution, prepared.learner
    if learner is None:
        return catalogue.find("executor", "stub")()
    make = catalogue.find("executor", settings.executor)
    given = {
        "learner": learner,
        "workers": settings.workers,
        "stop": stop,
        "ray_address": settings.ray_address,
        "crowd": _clients(prepared),
        "expected_steps": expected_steps(prepared),
    }
    what = f"executor {settings.executor!r}"
    return checks.executor(made(what, make, supply(make, given)), settings.executor)


def divergence(prepared: Prepared, door: Door) -> Divergence | None:
    """What tells sound results from diverged ones; nothing where nothing is trained."""
    settings, learner = prepared.scenario.training, prepared.learner
    if learner is None:
        return None
    rules = (settings.on_divergence, settings.divergence_limit, settings.learning_rate)
    return Divergence(learner.norm, *rules, door.norm(learner.norm))


def settled(scenario: Scenario, chosen: Any) -> Scenario:
    """The scenario with the executor that was chosen, so that its file repeats the run."""
    kind = getattr(chosen, "kind", scenario.execution.executor)
    return dataclasses.replace(scenario, execution=dataclasses.replace(scenario.execution, executor=kind))


def one_thread_per_job(prepared: Prepared) -> AbstractContextManager[None]:
    """Where every operation uses one computing thread; without a learner there is nothing to compute."""
    if prepared.learner is None:
        return nullcontext()
    from asyncfeel.learning.intraop import one_thread

    return one_thread()


def expected_steps(prepared: Prepared) -> float:
    """The mini-batch steps of the whole run, roughly: for those who want to know what pays."""
    layout, stop = prepared.layout, prepared.scenario.stop
    if stop.iterations is None:
        rate = layout.network.flops[layout.profiles.server >= 0].sum() / layout.network.flops_per_step
        return float(rate) * (stop.until_s or 0.0)
    clients = _clients(prepared) / layout.network.topology.servers
    return stop.iterations * clients * prepared.scenario.training.local_steps


def _clients(prepared: Prepared) -> int:
    """How many clients take part."""
    return int((prepared.layout.profiles.server >= 0).sum())
