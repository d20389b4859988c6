"""The learning curves of a comparison: for each gap H the asynchronous ones and the synchronous ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.compare.request import Request
from asyncfeel.errors import InputError
from asyncfeel.recording import tables
from asyncfeel.reproduce.scales import ASYNCHRONOUS, SYNCHRONOUS

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """What a system reached over simulated time: a row for each seed, a column for each evaluation."""

    time_s: Floats
    accuracies: Floats
    losses: Floats

    @property
    def accuracy(self) -> Floats:
        """The mean test accuracy over the seeds."""
        return np.asarray(self.accuracies.mean(axis=0), dtype=np.float64)

    @property
    def loss(self) -> Floats:
        """The mean training loss over the seeds."""
        return np.asarray(self.losses.mean(axis=0), dtype=np.float64)

    @property
    def end_s(self) -> float:
        """The last second."""
        return float(self.time_s[-1])

    @property
    def mean_over_time(self) -> float:
        """The mean test accuracy over all the time: the area below the curve, divided by its length."""
        between = (self.accuracy[1:] + self.accuracy[:-1]) / 2
        return float(between @ np.diff(self.time_s) / (self.time_s[-1] - self.time_s[0]))

    def reached_s(self, target: float) -> float | None:
        """The second of the first evaluation at which the mean over the seeds is at least the target."""
        reached = self.time_s[self.accuracy >= target]
        return float(reached[0]) if len(reached) else None


@dataclass(frozen=True, eq=False)
class Pair:
    """Both systems at one gap, tested at the same seconds."""

    gap: float
    asynchronous: Curve
    synchronous: Curve

    @property
    def lead(self) -> Floats:
        """By how much the asynchronous system is ahead, at every evaluation."""
        return self.asynchronous.accuracy - self.synchronous.accuracy


def read(folder: Path, request: Request) -> list[Pair]:
    """The curves of a finished comparison, from the smallest gap to the largest."""
    runs: dict[tuple[float, str], list[Path]] = {}
    for run in request.runs:
        where = run.scenario.speeds.options["heterogeneity"], run.scenario.algorithm.kind
        runs.setdefault(where, []).append(folder / "runs" / run.name)
    gaps = sorted({gap for gap, _ in runs})
    return [Pair(gap, *(curve(runs[gap, kind]) for kind in (ASYNCHRONOUS, SYNCHRONOUS))) for gap in gaps]


def curve(folders: Sequence[Path]) -> Curve:
    """The curve of some runs that differ only in the seed."""
    found: list[dict[str, NDArray[Any]]] = [dict(tables.read(folder, "metrics")) for folder in folders]
    times = found[0]["time_s"]
    if any(not np.array_equal(times, one["time_s"]) for one in found):
        raise InputError(f"{str(folders[0])!r} and its other seeds were tested at different times: run them anew")
    rows = [np.array([one[name] for one in found], np.float64) for name in ("test_accuracy", "train_loss")]
    if np.isnan(rows[0]).any():
        raise InputError(f"{str(folders[0])!r} has no test accuracy: choose data with classes")
    return Curve(np.asarray(times, dtype=np.float64), *rows)
