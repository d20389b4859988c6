"""The consensus phase: servers exchange models until they agree (A19)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from asyncfeel.jobs import Model
from asyncfeel.theory import synchronous
from asyncfeel.world.federation import Federation

Norm = Callable[[Model], float]


@dataclass(frozen=True)
class Agreement:
    """How the servers agreed: rounds, simulated seconds, and their spread before and after."""

    rounds: int
    duration_s: float
    spread_before: float | None
    spread_after: float | None


def agree(federation: Federation, rounds: int | Literal["auto"], tolerance: float, norm: Norm | None) -> Agreement:
    """Mix with the synchronous matrix for so many rounds, or until the spread is below the tolerance.

    The data-weighted mean, which is the output, stays as it is: P mtil = mtil. The spread shrinks at
    least by zeta a round, so without models (no norm) `auto` is the number of rounds that this takes.
    """
    links, shares = federation.topology.links, federation.shares
    bound = synchronous.rounds_to(tolerance, synchronous.contraction(links, shares)) if rounds == "auto" else rounds
    if len(federation.servers) == 1:
        bound = 0
    exchange_s = max(
        federation.network.exchange_s(server.number, federation.clock.now) for server in federation.servers
    )
    if norm is None:
        return Agreement(bound, bound * exchange_s, None, None)
    columns, goal = synchronous.synchronous("optimal", links, shares), tolerance if rounds == "auto" else 0.0
    before = after = spread(federation, norm)
    done = 0
    while done < bound and after > goal * before:
        federation.mix({}, columns)
        after = spread(federation, norm)
        done += 1
    return Agreement(done, done * exchange_s, before, after)


def spread(federation: Federation, norm: Norm) -> float:
    """The data-weighted root mean square distance of the servers' models from their mean."""
    mean = federation.average()
    return math.sqrt(sum(server.share * norm(server.model - mean) ** 2 for server in federation.servers))
