"""Mixing matrices: how the servers' models are combined.

A matrix is kept as its columns that differ from the identity, `{target: {source: weight}}`: the
new model of `target` is the sum of `weight` times the model of `source`. An asynchronous
iteration touches the trigger and its neighbours only, whatever the number of servers.
"""

from collections.abc import Mapping, Sequence

from asyncfeel.jobs import Model
from asyncfeel.theory.staleness import Psi

Columns = dict[int, dict[int, float]]


def staleness_weights(trigger: int, neighbours: Sequence[int], staleness: Sequence[int], psi: Psi) -> dict[int, float]:
    """The weights psi(delta_j) / Psi of the trigger and its neighbours (eq. pk, first case; A1).

    >>> staleness_weights(0, [1, 2], [0, 0, 1], lambda delta: 1 / (delta + 1))
    {0: 0.4, 1: 0.4, 2: 0.2}
    """
    scores = {server: psi(staleness[server]) for server in sorted({trigger, *neighbours})}
    if not scores[trigger]:
        # threshold with v = 0 and a trigger that is itself too stale: it keeps its own model.
        scores[trigger] = psi(0)
    total = sum(scores.values())
    return {server: score / total for server, score in scores.items()}


def paper(trigger: int, weights: Mapping[int, float], shares: Sequence[float]) -> Columns:
    """The paper's symmetric, doubly stochastic P_k: I - sum_j w_j (e_d - e_j)(e_d - e_j)^T (A1).

    It keeps the plain mean of the servers' models; the data shares play no part.
    """
    others = [(server, weight) for server, weight in weights.items() if server != trigger]
    return {trigger: dict(weights)} | {server: _pair(server, 1 - weight, trigger, weight) for server, weight in others}


def weighted(trigger: int, weights: Mapping[int, float], shares: Sequence[float]) -> Columns:
    """A P_k with P mtil = mtil: it keeps the data-weighted mean of the servers' models.

    Column sums are 1 and entries non-negative; with equal shares it is the paper's matrix.
    """
    others = [(server, weight) for server, weight in weights.items() if server != trigger]
    own = shares[trigger]
    into_trigger = {server: min(1.0, shares[server] / own) * weight for server, weight in others}
    out_of_trigger = {server: min(1.0, own / shares[server]) * weight for server, weight in others}
    into_trigger[trigger] = weights[trigger] + sum(weight - into_trigger[server] for server, weight in others)
    columns = {server: _pair(server, 1 - flow, trigger, flow) for server, flow in out_of_trigger.items()}
    return {trigger: dict(sorted(into_trigger.items()))} | columns


def _pair(first: int, first_weight: float, second: int, second_weight: float) -> dict[int, float]:
    return dict(sorted([(first, first_weight), (second, second_weight)]))


def mix(models: Sequence[Model] | Mapping[int, Model], columns: Columns) -> dict[int, Model]:
    """The new models of the targets; all right-hand sides are old models (eq. inter).

    >>> mix([1.0, 3.0], {0: {0: 0.5, 1: 0.5}})
    {0: 2.0}
    """
    return {
        target: combine([(weight, models[source]) for source, weight in column.items()])
        for target, column in columns.items()
    }


def combine(terms: Sequence[tuple[float, Model]]) -> Model:
    """The weighted sum of models, in the order given.

    >>> combine([(0.25, 4.0), (0.75, 8.0)])
    7.0
    """
    (weight, model), *rest = terms
    total = weight * model
    for weight, model in rest:
        if hasattr(total, "add_"):
            total.add_(model, alpha=weight)  # vectors of torch need no room for the product
        else:
            total += weight * model
    return total


def entries(columns: Columns) -> list[tuple[int, int, float]]:
    """The (source, target, weight) of P_k that differ from the identity, in that order."""
    found = [(source, target, weight) for target, column in columns.items() for source, weight in column.items()]
    return sorted((source, target, weight) for source, target, weight in found if weight != (source == target))


def into(columns: Columns, target: int, servers: int) -> list[float]:
    """Column `target` in full: how much of each server's model goes into it."""
    column = columns.get(target, {target: 1.0})
    return [column.get(source, 0.0) for source in range(servers)]
