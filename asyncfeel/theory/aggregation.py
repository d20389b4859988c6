"""Intra-cluster aggregation: what a server makes of its clients' updates (eq. intra, A38)."""

from collections.abc import Callable, Iterable, Sequence

from asyncfeel.jobs import Model

Weighing = Callable[[Sequence[int], Sequence[int]], list[float]]
"""From the clients' samples and steps to how much each client's change (w_i - s) counts."""


def coefficients(samples: Sequence[int], steps: Sequence[int]) -> list[float]:
    """The factor mhat_i taubar / tau_i of each client's change (w_i - s).

    Sample counts and steps are whole numbers, so one division of whole numbers gives the nearest
    float: with equal steps the factors are exactly the data shares mhat_i, as in FedAvg.

    >>> coefficients([10, 30], [5, 5])
    [0.25, 0.75]
    """
    total = sum(samples)
    done = sum(count * tau for count, tau in zip(samples, steps, strict=True))
    return [count * done / (total * total * tau) for count, tau in zip(samples, steps, strict=True)]


def data_shares(samples: Sequence[int], steps: Sequence[int]) -> list[float]:
    """The data share n_i / n of each client, whatever its steps: the factors of plain averaging.

    >>> data_shares([10, 30], [5, 1])
    [0.25, 0.75]
    """
    total = sum(samples)
    return [count / total for count in samples]


def mean_steps(samples: Sequence[int], steps: Sequence[int]) -> float:
    """The data-weighted mean of the clients' steps, taubar_d.

    >>> mean_steps([10, 30], [4, 8])
    7.0
    """
    return sum(count * tau for count, tau in zip(samples, steps, strict=True)) / sum(samples)


def change(sent: Model, results: Iterable[Model], factors: Iterable[float]) -> Model:
    """The cluster's change: the sum of factor_i (w_i - s), client by client into one buffer.

    `sent` is the model that was broadcast, whatever the server's model became meanwhile (A6).

    >>> change(1.0, [2.0, 3.0], [0.5, 0.5])
    1.5
    """
    total: Model = None
    for result, factor in zip(results, factors, strict=True):
        step = factor * (result - sent)
        if total is None:
            total = step
        else:
            total += step
    return total
