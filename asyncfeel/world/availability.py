"""Which clients are there: each public function gives a presence of the clients over simulated time."""

import math

from asyncfeel.errors import InputError
from asyncfeel.world import traces
from asyncfeel.world.presence import ALWAYS, Alternating, Chance, Presence, Uniforms

SHORTEST_S = 1e-6
"""The shortest mean of a spell: a run must not consist of coming and going alone."""


def always() -> Presence:
    """All clients are always there, as in the paper."""
    return ALWAYS


def probability(uniforms: Uniforms, *, away: float = 0.1) -> Presence:
    """Away with a probability, drawn anew each time that a client is asked to train."""
    if not 0 <= away < 1:
        raise InputError(f"away must be at least 0 and below 1, not {away}")
    return Chance(uniforms, away) if away else ALWAYS


def exponential(uniforms: Uniforms, count: int, *, mean_up_s: float, mean_down_s: float) -> Presence:
    """There and away in turns, for exponential times with the given means."""
    for name, mean_s in [("mean_up_s", mean_up_s), ("mean_down_s", mean_down_s)]:
        if not SHORTEST_S <= mean_s < math.inf:
            raise InputError(f"{name} must be at least {SHORTEST_S:g}, not {mean_s}")
    return Alternating(uniforms, count, mean_up_s, mean_down_s)


def trace(count: int, *, path: str, period_s: float | None = None) -> Presence:
    """There in the intervals of a CSV with the columns client, from_s and until_s, perhaps repeated."""
    return traces.read(path, {(number,): number for number in range(count)}, ("client",), period_s)
