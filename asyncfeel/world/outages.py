"""When servers and links are down: each public function gives their presence over simulated time."""

from collections.abc import Mapping
from typing import Literal

from asyncfeel.world import availability, traces
from asyncfeel.world.presence import ALWAYS, Opposite, Presence, Uniforms

Names = Mapping[tuple[int, ...], int]
"""The place of each server, or of each link by its two ends."""


def none() -> Presence:
    """Nothing ever goes down, as in the paper."""
    return ALWAYS


def exponential(uniforms: Uniforms, names: Names, *, mean_up_s: float, mean_down_s: float) -> Presence:
    """Up and down in turns, for exponential times with the given means."""
    return availability.exponential(uniforms, len(names), mean_up_s=mean_up_s, mean_down_s=mean_down_s)


def trace(names: Names, of: Literal["server", "link"], *, path: str, period_s: float | None = None) -> Presence:
    """Down in the intervals of a CSV: server (or the link's ends a and b), from_s and until_s."""
    columns = ("server",) if of == "server" else ("a", "b")
    return Opposite(traces.read(path, names, columns, period_s))
