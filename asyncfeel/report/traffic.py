"""The bytes that completed iterations moved, cumulated from the record."""

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report.reading import Run

_MERGING = ("fedavg", "feel", "fednova", "fedasync", "fedbuff", "fedsa")
"""Systems of one server in which each merged result was one download and one upload."""


def cumulated(run: Run) -> NDArray[np.float64] | None:
    """The bytes of the first 0, 1, 2, ... iterations; None where the record does not tell.

    An iteration moves a model down to and up from each client that took part, and one each way over
    each link of the exchange that completed it. What is still under way is not counted.
    """
    models = None if "clients" in run.iterations else _models(run)  # faults: uploads are lost and repeated
    if models is None or run.model_bits is None:
        return None
    return np.concatenate([[0.0], np.cumsum(models)]) * run.model_bits / 8


def _models(run: Run) -> NDArray[np.float64] | None:
    """The models that each iteration moved."""
    if run.algorithm in _MERGING and run.staleness is not None:
        merged = np.bincount(run.staleness["iteration"], minlength=run.count)[: run.count]
        return np.asarray(2.0 * merged, dtype=np.float64)
    if run.algorithm not in ("async-sd-feel", "sync-sd-feel") or run.mixing is None:
        return None
    done = run.iterations
    sizes = np.bincount(run.clients["server"], minlength=len(run.topology))
    moved = 2.0 * sizes[done["server"]]
    if run.algorithm == "async-sd-feel":
        degrees = np.array([run.topology.degree(server) for server in range(len(run.topology))])
        moved = moved + 2.0 * degrees[done["server"]]
    total = np.bincount(done["iteration"], moved, run.count)
    if run.algorithm == "sync-sd-feel":
        mixed = np.bincount(run.mixing["iteration"], minlength=run.count)[: run.count] > 0
        total = total + mixed * 2.0 * int(run.config.get("algorithm.alpha", 1)) * run.topology.number_of_edges()
    return np.asarray(total, dtype=np.float64)
