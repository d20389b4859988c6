"""Balanced deadlines: an answer to the paper's open question of which T_comp^(d) are best.

What is really minimised weights each cluster by its pace f_d taubar_d: the data-weighted steps that it
takes per second (see objective.py). The paper's min-steps rule makes paces very unequal, because a
cluster with one slow client works long for each upload and a fast cluster mostly uploads. Deadlines
can make them equal without touching the updates; then weighted mixing alone minimises the stated objective.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from asyncfeel.theory import aggregation, latency

WITHIN_REACH = 0.9
"""The part of its supremum that every cluster is asked for at most: deadlines grow beyond all bounds near it."""
MOST_JUMPS = 200_000
"""The completed steps of one cluster that are looked at; usually a few dozen are enough."""
ROUNDING = 1e-12


@dataclass(frozen=True)
class Cluster:
    """What the pace of a cluster depends on, beside its deadline."""

    flops: Sequence[float]
    samples: Sequence[int]
    flops_per_step: float
    overhead_s: float
    """What an iteration takes beside the deadline: upload, exchange."""

    def pace(self, deadline_s: float) -> float:
        """The data-weighted steps per second, taubar(T) / (T + overhead).

        >>> Cluster([1.0, 2.0], [10, 10], flops_per_step=1.0, overhead_s=1.0).pace(2.0)
        1.0
        """
        steps = [latency.steps_within(deadline_s, self.flops_per_step, flops) for flops in self.flops]
        return aggregation.mean_steps(self.samples, steps) / (deadline_s + self.overhead_s)

    @property
    def supremum(self) -> float:
        """The pace that longer and longer deadlines tend to: sum_i mhat_i h_i / N."""
        work = sum(count * flops for count, flops in zip(self.samples, self.flops, strict=True))
        return work / sum(self.samples) / self.flops_per_step

    @property
    def shortest_s(self) -> float:
        """The shortest deadline that makes sense: one step of the slowest client."""
        return latency.compute_s(1, self.flops_per_step, min(self.flops))


def balanced_deadlines(
    flops_by_cluster: Sequence[Sequence[float]],
    samples_by_cluster: Sequence[Sequence[int]],
    flops_per_step: float,
    overhead_s_by_cluster: Sequence[float],
    minimum_s_by_cluster: Sequence[float],
) -> list[float]:
    """The deadlines T_comp[d] with which all clusters have the same pace, as nearly as whole steps allow.

    A longer deadline spreads the overhead over more steps, so the pace tends upwards to its supremum; it jumps
    where a client completes a step and falls in between. All clusters get the pace of the one that is the
    fastest at its minimum deadline, but no more than each can reach: 0.9 of its supremum, or what it has at its
    minimum if that is more. Each then takes the shortest deadline that reaches this pace: its minimum, or a
    time at which a client just completes a step. It is shorter than the minimum only for a cluster that would
    otherwise be too fast, and never shorter than one step of its slowest client.

    Where overheads are short beside a step, paces are near their suprema whatever the deadlines; if the
    outcome is no more equal than the minimum deadlines, those are given.

    >>> balanced_deadlines([[1.0, 5.0], [4.0, 4.0]], [[5, 5], [5, 5]], 1.0, [60.0, 60.0], [100.0, 25.0])
    [100.0, 53.0]
    """
    clusters = [
        Cluster(flops, samples, flops_per_step, overhead_s)
        for flops, samples, overhead_s in zip(flops_by_cluster, samples_by_cluster, overhead_s_by_cluster, strict=True)
    ]
    minimum = [max(given_s, c.shortest_s) for given_s, c in zip(minimum_s_by_cluster, clusters, strict=True)]
    pace = common_pace(clusters, minimum)
    found = [_deadline(cluster, start_s, pace) for cluster, start_s in zip(clusters, minimum, strict=True)]
    return found if spread(clusters, found) < spread(clusters, minimum) else minimum


def common_pace(clusters: Sequence[Cluster], minimum_s: Sequence[float]) -> float:
    """The largest pace at the minimum deadlines, but no more than every cluster can reach."""
    paces = [cluster.pace(least_s) for cluster, least_s in zip(clusters, minimum_s, strict=True)]
    reach = [max(pace, WITHIN_REACH * cluster.supremum) for pace, cluster in zip(paces, clusters, strict=True)]
    return min(max(paces), *reach)


def spread(clusters: Sequence[Cluster], deadlines_s: Sequence[float]) -> float:
    """The largest pace divided by the smallest: 1 is perfect balance."""
    paces = [cluster.pace(deadline_s) for cluster, deadline_s in zip(clusters, deadlines_s, strict=True)]
    return max(paces) / min(paces)


def _deadline(cluster: Cluster, minimum_s: float, pace: float) -> float:
    """The shortest deadline with at least this pace; from the minimum on, unless that is too fast already.

    With taubar(T) between S T - 1 and S T, for the supremum S, the pace p is out of reach before
    T = p o / (S - p) and reached at T = (p o + 1) / (S - p) at the latest, for the overhead o.
    """
    own = cluster.pace(minimum_s)
    if own == pace:
        return minimum_s
    start_s, end_s = (cluster.shortest_s, minimum_s) if own > pace else (minimum_s, np.inf)
    room = cluster.supremum - pace
    if room > 0:
        start_s = max(start_s, pace * cluster.overhead_s / room)
        end_s = min(end_s, (pace * cluster.overhead_s + 1) / room)
    return _first(cluster, start_s, end_s, pace)


def _first(cluster: Cluster, start_s: float, end_s: float, pace: float) -> float:
    """The first of the start and the jumps after it with at least this pace; else the end, where it is known."""
    needed = pace * (1 - ROUNDING)
    if cluster.pace(start_s) >= needed:
        return start_s
    jumps_per_s = sum(cluster.flops) / cluster.flops_per_step
    times, done = _jumps(cluster, start_s, min(end_s, start_s + MOST_JUMPS / jumps_per_s))
    fast = np.flatnonzero(done / sum(cluster.samples) >= needed * (times + cluster.overhead_s))
    return float(times[fast[0]]) if len(fast) else max(start_s, end_s)


def _jumps(cluster: Cluster, start_s: float, end_s: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """When clients complete steps after the start and up to the end, and sum_i n_i tau_i at each of these times."""
    work = cluster.flops_per_step
    first = [latency.steps_within(start_s, work, flops) for flops in cluster.flops]
    last = [latency.steps_within(end_s, work, flops) for flops in cluster.flops]
    times = [
        np.arange(one + 1, two + 1) * work / flops for one, two, flops in zip(first, last, cluster.flops, strict=True)
    ]
    gains = np.repeat(np.asarray(cluster.samples, dtype=np.int64), [len(own) for own in times])
    together = np.concatenate(times)
    order = np.argsort(together, kind="stable")
    before = sum(count * tau for count, tau in zip(cluster.samples, first, strict=True))
    return together[order], before + np.cumsum(gains[order])
