"""How speeds and rates change over time: each public function gives factor(client, start_s).

The factor multiplies a device's FLOPS, or a client's uplink rate, for a phase that starts at that
simulated second; it holds for the whole phase. It is a function of client and time alone, never of
the order of calls.
"""

import math
from collections.abc import Callable

import numpy as np

from asyncfeel.errors import InputError

Factor = Callable[[int, float], float]
Draw = Callable[..., np.random.Generator]
GIVEN = frozenset({"draw"})


def _unchanging(client: int, start_s: float) -> float:
    return 1.0


UNCHANGING: Factor = _unchanging
"""The factor of `none`: whoever knows it need not ask it about every client."""


def none() -> Factor:
    """Nothing changes, as in the paper."""
    return UNCHANGING


def jitter(draw: Draw, *, sigma: float = 0.3, period_s: float = 60.0) -> Factor:
    """A log-normal factor of mean 1 for each client, drawn anew every period_s."""
    _require("sigma", sigma, 0.0)
    _require("period_s", period_s, 1e-9)

    def factor(client: int, start_s: float) -> float:
        normal = float(draw(client, math.floor(start_s / period_s)).standard_normal())
        return math.exp(sigma * normal - sigma**2 / 2)

    return factor


def daily(draw: Draw, *, depth: float = 0.5, period_s: float = 86400.0) -> Factor:
    """A sine of the given depth and period around 1; each client has a phase of its own."""
    _require("period_s", period_s, 1e-9)
    if not 0 <= depth < 1:
        raise InputError(f"depth must be at least 0 and below 1, not {depth}")

    def factor(client: int, start_s: float) -> float:
        phase = float(draw(client).random())
        return 1 + depth * math.sin(2 * math.pi * (start_s / period_s + phase))

    return factor


def _require(name: str, value: float, least: float) -> None:
    if not least <= value < math.inf:
        raise InputError(f"{name} must be at least {least:g}, not {value}")
