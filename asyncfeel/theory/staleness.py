"""Staleness functions psi: how much a model counts that is `staleness` iterations old.

Each public function takes its parameters and gives psi. A psi is positive, non-increasing and
finite at 0; only ratios count, for the mixing weights are normalised (A32). `threshold` alone may
be zero: the weights still exist because the trigger's own never is.
"""

import math
from collections.abc import Callable

from asyncfeel.errors import InputError

Psi = Callable[[int], float]


def constant() -> Psi:
    """The constant 1: staleness is ignored."""
    return lambda staleness: 1.0


def inverse() -> Psi:
    """The function 1 / (2 (d + 1)): the paper's choice.

    >>> inverse()(1)
    0.25
    """
    return lambda staleness: 1 / (2 * (staleness + 1))


def polynomial(*, a: float = 0.5) -> Psi:
    """The function (1 + d)^-a: FedAsync's polynomial."""
    _require("a", a, least=0.0)
    return lambda staleness: float((1 + staleness) ** -a)


def hinge(*, a: float = 10.0, b: float = 4.0) -> Psi:
    """The function 1 up to d = b, then 1 / (a (d - b) + 1): FedAsync's hinge."""
    _require("a", a, least=0.0)
    _require("b", b, least=0.0)
    return lambda staleness: 1.0 if staleness <= b else 1 / (a * (staleness - b) + 1)


def exponential(*, a: float = 0.5) -> Psi:
    """The function e^(-a d)."""
    _require("a", a, least=0.0)
    return lambda staleness: math.exp(-a * staleness)


def harmonic(*, b: float = 1.0) -> Psi:
    """The function 1 / (1 + b d)."""
    _require("b", b, least=0.0)
    return lambda staleness: 1 / (1 + b * staleness)


def threshold(*, c: float = 4.0, v: float = 0.0) -> Psi:
    """The function 1 up to d = c, then v (which may be 0)."""
    _require("c", c, least=0.0)
    _require("v", v, least=0.0, most=1.0)
    return lambda staleness: 1.0 if staleness <= c else v


def bound(*, b: float = 10.0) -> Psi:
    """The function B / (B + d), with B given as b."""
    if not b > 0 or math.isinf(b):
        raise InputError(f"psi: b must be greater than 0 and finite, not {b}")
    return lambda staleness: b / (b + staleness)


def logarithmic() -> Psi:
    """The function 1 / (1 + ln(1 + d))."""
    return lambda staleness: 1 / (1 + math.log(1 + staleness))


def sigmoid(*, a: float = 2.0, c: float = 0.5) -> Psi:
    """The function (1 - e^(-c d)) / a + e^(-c d): falls from 1 to 1/a."""
    _require("a", a, least=1.0)
    _require("c", c, least=0.0)
    return lambda staleness: (1 - math.exp(-c * staleness)) / a + math.exp(-c * staleness)


def _require(name: str, value: float, least: float, most: float = math.inf) -> None:
    if not least <= value <= most or math.isinf(value):
        allowed = f"at least {least:g}" if math.isinf(most) else f"from {least:g} to {most:g}"
        raise InputError(f"psi: {name} must be {allowed}, not {value}")
