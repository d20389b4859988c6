"""Adaptive steps: how many local steps between two aggregations make the most of a time budget.

This is the control rule of adaptive federated learning. Many steps waste no time on aggregation but let
clients drift apart; few steps do the reverse. G(tau) bounds the loss that is left when the budget has
been used up with tau steps per round, from three numbers that are estimated as training goes: rho (how
steep the losses are), beta (how curved) and delta (how much the clients' gradients differ).
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from asyncfeel.errors import InputError
from asyncfeel.jobs import Model, Probe
from asyncfeel.theory.mixing import combine

PHI = 0.025
"""The constant of G that stands for the shape of the loss."""
MOST_STEPS = 100
MOST_GROWTH = 10


class Estimates(NamedTuple):
    """What is known of the losses: the data-weighted means of rho_i, beta_i and delta_i."""

    rho: float
    beta: float
    delta: float


def drift(steps: int, eta: float, beta: float, delta: float) -> float:
    """How far tau local steps may lead away from tau steps on all the data, h(tau); 0 for one step.

    h(tau) = delta/beta ((eta beta + 1)^tau - 1) - eta delta tau, computed by its recurrence
    h(tau + 1) = (eta beta + 1) h(tau) + eta^2 beta delta tau: it needs no division by a beta that may be
    0 (then h is 0), loses no digits when eta beta is small, and grows to infinity without an error.

    >>> drift(3, eta=0.5, beta=2.0, delta=4.0)
    8.0
    """
    _positive(eta=eta)
    _not_negative(beta=beta, delta=delta)
    if beta == 0 or delta == 0:
        return 0.0
    growth, kick = 1 + eta * beta, eta * beta * eta * delta
    total = 0.0
    for step in range(1, steps):
        total = (growth * total if total else 0.0) + kick * step
    return total


def surrogate(
    steps: int,
    budget_s: float,
    step_s: float,
    aggregation_s: float,
    eta: float,
    rho: float,
    beta: float,
    delta: float,
    phi: float = PHI,
) -> float:
    """The bound G(tau) on the loss that is left when the budget R has been used with tau steps per round.

    G = (1 + sqrt(1 + 4 T'^2 phi rho eta h/tau)) / (2 T' eta phi) + rho h, in which h is the drift and
    T' = (R - c - b) tau/(c tau + b) are the steps that fit, for step time c and aggregation time b. Without
    a limit R = inf, and only the drift is left. A budget of no more than c + b has no room for a step: T' is 0
    and G infinite.

    >>> surrogate(1, budget_s=12.0, step_s=1.0, aggregation_s=1.0, eta=0.1, rho=1.0, beta=1.0, delta=1.0)
    80.0
    """
    _not_negative(rho=rho)
    _positive(phi=phi)
    _check_times(budget_s, step_s, aggregation_s)
    fitting = max(0.0, budget_s - step_s - aggregation_s) * steps / (step_s * steps + aggregation_s)
    apart = rho * drift(steps, eta, beta, delta) if rho else 0.0
    gain = 2 * fitting * eta * phi
    if gain == 0:
        return math.inf
    return 1 / gain + math.hypot(1 / gain, math.sqrt(apart / (eta * phi * steps))) + apart


def best_steps(
    previous: int,
    budget_s: float,
    step_s: float,
    aggregation_s: float,
    eta: float,
    rho: float,
    beta: float,
    delta: float,
    phi: float = PHI,
) -> int:
    """The tau from 1 to 10 times the previous one, and at most 100, for which G is least; of equals the smallest.

    So a budget without room for a single step gives 1, for G is infinite everywhere: near the end of a run
    the remaining budget shrinks to nothing, which is no mistake of the user's.

    >>> best_steps(5, budget_s=1000, step_s=1, aggregation_s=10, eta=0.01, rho=1, beta=1, delta=0.01)
    50
    >>> best_steps(5, budget_s=1000, step_s=1, aggregation_s=10, eta=0.01, rho=1, beta=1, delta=5)
    17
    """
    if previous < 1:
        raise InputError(f"adaptive steps: the previous steps must be at least 1, not {previous}")
    choices = range(1, min(MOST_GROWTH * previous, MOST_STEPS) + 1)
    return min(choices, key=lambda tau: surrogate(tau, budget_s, step_s, aggregation_s, eta, rho, beta, delta, phi))


def estimates(
    samples: Sequence[int],
    sent: Model,
    results: Sequence[Model],
    probes: Sequence[Probe],
    norm: Callable[[Model], float],
) -> Estimates:
    """The estimates of rho, beta and delta from clients that were all sent the same model w, weighted by their data.

    rho_i = |F_i(w_i) - F_i(w)| / ||w_i - w||, beta_i = ||grad F_i(w_i) - grad F_i(w)|| / ||w_i - w|| and
    delta_i = ||grad F_i(w) - grad F(w)|| with grad F = sum_i mhat_i grad F_i. A client whose model did not
    move counts as 0 in rho and beta. `norm` should look at trained entries only: the others have no gradient.

    >>> estimates([1, 3], 1.0, [0.0, 3.0], [Probe(2.0, 1.5, 1.0, 0.5), Probe(4.0, 8.0, 5.0, 9.0)], abs)
    Estimates(rho=1.625, beta=1.625, delta=1.5)
    """
    total = sum(samples)
    shares = [count / total for count in samples]
    mean = combine([(share, probe.gradient_sent) for share, probe in zip(shares, probes, strict=True)])
    rho = beta = delta = 0.0
    for share, result, probe in zip(shares, results, probes, strict=True):
        if moved := norm(result - sent):
            rho += share * abs(probe.loss_done - probe.loss_sent) / moved
            beta += share * norm(probe.gradient_done - probe.gradient_sent) / moved
        delta += share * norm(probe.gradient_sent - mean)
    return Estimates(rho, beta, delta)


def _not_negative(**estimated: float) -> None:
    for name, value in estimated.items():
        if not 0 <= value < math.inf:
            raise InputError(
                f"adaptive steps: {name} must be a finite number of at least 0, not {value}: "
                "if training has diverged, use a smaller learning rate"
            )


def _positive(**given: float) -> None:
    for name, value in given.items():
        if not 0 < value < math.inf:
            raise InputError(f"adaptive steps: {name} must be a finite number above 0, not {value}")


def _check_times(budget_s: float, step_s: float, aggregation_s: float) -> None:
    if not (0 < step_s < math.inf and 0 <= aggregation_s < math.inf) or math.isnan(budget_s):
        raise InputError(
            "adaptive steps: the budget must be a number, a step must last longer than 0 s and an aggregation at "
            f"least 0 s, both finite, not {budget_s}, {step_s} and {aggregation_s}"
        )
