"""Steps of every client, and how much its data counts in the final model (exact, from the record)."""

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.report.mixing import entries
from asyncfeel.report.reading import Run
from asyncfeel.theory import objective
from asyncfeel.theory.latency import steps_each_within

Floats = NDArray[np.float64]
_LINEAR = ("async-sd-feel", "sync-sd-feel", "hierfavg")
"""Systems whose final model is the initial one and the recorded, weighted sum of all updates."""


def row_steps(run: Run) -> list[Floats]:
    """For every row of iterations.csv the steps of each client of its cluster, in the order of the clients.

    They follow from the deadline and the speeds (A11), and are checked against the recorded fewest,
    mean and most; an `InputError` says so where the record contradicts them.
    """
    if run.by_client:
        raise InputError("the record of a system with a single server does not tell each client's steps at its merges")
    if "clients" in run.iterations:
        raise InputError("a run with faults does not record each client's steps: not all take part in every iteration")
    rows, known = run.iterations, {}
    clusters = [run.clients["flops"][run.clients["server"] == server] for server in range(len(run.topology))]
    found = []
    for number, server in enumerate(rows["server"].tolist()):
        spread = tuple(float(rows[name][number]) for name in ("steps_min", "steps_mean", "steps_max"))
        key = (server, float(rows["deadline_s"][number]), spread)
        if key not in known:
            known[key] = _steps(run, clusters[server], key[1], spread)
        found.append(known[key])
    return found


def _steps(run: Run, flops: Floats, deadline_s: float, spread: tuple[float, ...]) -> Floats:
    if spread[0] == spread[2]:
        return np.full(len(flops), spread[0])
    work = run.manifest.get("flops_per_step")
    if isinstance(work, int | float):
        steps = steps_each_within(deadline_s, float(work), flops).astype(np.float64)
        if np.allclose([steps.min(), steps.mean(), steps.max()], spread, rtol=1e-12):
            return steps
    raise InputError("each client's steps cannot be derived: they do not follow from clients.csv and the deadlines")


def steps(run: Run) -> Floats:
    """All steps of each client in completed iterations."""
    if run.by_client:
        return _merged_steps(run)
    total = np.zeros(len(run.clients["client"]))
    for server, taken in zip(run.iterations["server"].tolist(), row_steps(run), strict=True):
        total[run.clients["server"] == server] += taken
    return total


def _merged_steps(run: Run) -> Floats:
    """Where every job has the same number of steps, the merged results tell the rest."""
    low, high = run.iterations["steps_min"], run.iterations["steps_max"]
    if run.staleness is None or run.algorithm == "safa" or not len(low) or low.min() != high.max():
        raise InputError("each client's steps cannot be derived: its results had different numbers of steps")
    merged = np.bincount(run.staleness["client"], minlength=len(run.clients["client"]))
    return np.asarray(merged * float(low[0]), dtype=np.float64)


def contributions(run: Run) -> Floats:
    """Each client's share in the final model's steps: how much its data really count.

    With the output sum_d mtil_d y_K[d], go backwards: u_K = mtil, u_k = P_k u_{k+1}. The update of
    cluster d at iteration k counts (P_k u_{k+1})_d times taubar_d, and mhat_i of that is client i's.
    """
    if run.algorithm not in _LINEAR:
        raise InputError(f"how much a client's data count cannot be derived from the record of {run.algorithm!r}")
    if not run.count:
        raise InputError("no iteration is complete, so no client's data count yet")
    taken, servers = row_steps(run), run.iterations["server"].tolist()
    total = np.zeros(len(run.clients["client"]))
    members = [np.flatnonzero(run.clients["server"] == server) for server in range(len(run.topology))]
    rates = _rates(run, taken)
    rows_of: list[list[int]] = [[] for _ in range(run.count)]
    for row, k in enumerate(run.iterations["iteration"].tolist()):
        rows_of[k].append(row)
    ahead = run.shares.copy()
    for k, some in reversed(list(enumerate(entries(run)))):
        before = ahead.copy()
        for source, target, weight in some:
            before[source] += (weight - (source == target)) * ahead[target]
        for row in rows_of[k]:
            server = servers[row]
            samples = run.clients["samples"][members[server]]
            mean_steps = float((samples * taken[row]).sum() / samples.sum())
            total[members[server]] += before[server] * rates[server] * mean_steps * samples / samples.sum()
        ahead = before
    return np.asarray(total / total.sum(), dtype=np.float64)


def _rates(run: Run, taken: list[Floats]) -> Floats:
    """The factor on each cluster's updates: 1, unless the rates are corrected."""
    servers = len(run.topology)
    if not run.config.get("algorithm.rate_correction"):
        return np.ones(servers)
    lengths, means = [0.0] * servers, [0.0] * servers
    for row, server in enumerate(run.iterations["server"].tolist()):
        samples = run.clients["samples"][run.clients["server"] == server]
        lengths[server] = float(run.iterations["time_s"][row] - run.iterations["started_s"][row])
        means[server] = float((samples * taken[row]).sum() / samples.sum())
    if not all(lengths):
        raise InputError("how much a client's data count is known once every server has completed an iteration")
    return np.array(objective.rate_corrections(lengths, means, run.shares.tolist()))
