"""The objective that is really minimised, and the correction that restores the stated one.

The paper's P_k keeps the plain mean of the servers and clusters trigger at different rates f_d, so
for small steps the algorithm as printed tends to the minimiser of `sum_d f_d taubar_d F_d`: the data
shares mtil drop out. Weighted mixing brings them back, and the rate correction removes f_d taubar_d.
"""

from collections.abc import Sequence


def implied_weights(
    iteration_s: Sequence[float], mean_steps: Sequence[float], shares: Sequence[float] | None = None
) -> list[float]:
    """How much each cluster's loss counts in what is minimised; the weights sum to 1.

    With `shares` (mtil) it is for weighted mixing: f_d taubar_d mtil_d.

    >>> implied_weights([1.0, 2.0], [10, 10])
    [0.6666666666666666, 0.3333333333333333]
    """
    factors = shares or [1.0] * len(iteration_s)
    pull = [share * tau / period for share, tau, period in zip(factors, mean_steps, iteration_s, strict=True)]
    total = sum(pull)
    return [value / total for value in pull]


def rate_corrections(iteration_s: Sequence[float], mean_steps: Sequence[float], shares: Sequence[float]) -> list[float]:
    """The factor r_d on each cluster's update: (1/(f_d taubar_d)) / sum_e mtil_e (1/(f_e taubar_e)).

    >>> rate_corrections([1.0, 3.0], [1, 1], [0.5, 0.5])
    [0.5, 1.5]
    """
    slowness = [period / tau for period, tau in zip(iteration_s, mean_steps, strict=True)]
    mean = sum(share * value for share, value in zip(shares, slowness, strict=True))
    return [value / mean for value in slowness]
