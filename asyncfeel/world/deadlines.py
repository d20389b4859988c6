"""Deadlines T_comp: how long the clients of each cluster compute before they upload."""

from typing import Literal

from asyncfeel.errors import InputError
from asyncfeel.theory import latency
from asyncfeel.theory.balance import balanced_deadlines
from asyncfeel.world.federation import Federation

Rule = Literal["min-steps", "fixed", "balanced", "adaptive"]


def deadlines(rule: Rule, federation: Federation, min_steps: int | None, deadline_s: float | None) -> list[float]:
    """The deadline of each cluster by the rule.

    `min-steps`: the slowest client of the cluster does exactly that many steps (A13).
    `fixed`: the same seconds for all; every client must be able to do one step.
    `balanced`: as nearly as whole steps allow, f_d taubar_d is equal over clusters, so that none dominates.
    `adaptive` starts as `min-steps`; what it learns later is the matter of its pace.
    """
    steps = federation.job_steps("min_steps", min_steps)
    if rule != "fixed":
        if deadline_s is not None:
            raise InputError("algorithm.deadline_s needs algorithm.deadline = 'fixed'")
        least_s = slowest_s(federation, steps)
        return _balanced(federation, least_s) if rule == "balanced" else least_s
    if deadline_s is None:
        raise InputError("algorithm.deadline = 'fixed' needs algorithm.deadline_s, in simulated seconds")
    needed_s = max(slowest_s(federation, 1))
    if deadline_s < needed_s:
        raise InputError(
            f"algorithm.deadline_s = {deadline_s} is too short: the slowest client needs {needed_s} s for one step"
        )
    return [deadline_s] * len(federation.servers)


def slowest_s(federation: Federation, steps: int) -> list[float]:
    """The seconds in which the slowest client of each cluster does so many steps."""
    profiles, work = federation.profiles, federation.network.flops_per_step
    return [latency.compute_s(steps, work, float(profiles.flops[cluster].min())) for cluster in profiles.clusters]


def _balanced(federation: Federation, least_s: list[float]) -> list[float]:
    profiles, network = federation.profiles, federation.network
    return balanced_deadlines(
        [profiles.flops[cluster].tolist() for cluster in profiles.clusters],
        [profiles.samples[cluster].tolist() for cluster in profiles.clusters],
        network.flops_per_step,
        [network.iteration_s(d, cluster, 0.0) for d, cluster in enumerate(profiles.clusters)],
        least_s,
    )
