"""The results as tables: what was reached when, the ratios, and the verdicts; as rows for CSV."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from asyncfeel.compare.table import Row
from asyncfeel.reproduce import claims
from asyncfeel.reproduce.claims import Verdict
from asyncfeel.reproduce.pairs import Curve, Pair


@dataclass(frozen=True)
class Ratio:
    """Synchronous time over asynchronous time; `bound` is > or < where one of them was not reached in time."""

    value: float
    bound: str = ""

    def __str__(self) -> str:
        return f"{self.bound} {self.value:.2f}".strip()


def ratio(pair: Pair, target: float) -> Ratio | None:
    """How many times longer the synchronous system takes to a target; None if neither reached it."""
    one_s, two_s = pair.asynchronous.reached_s(target), pair.synchronous.reached_s(target)
    end_s = pair.asynchronous.end_s
    if one_s == 0 or two_s == 0 or (one_s is None and two_s is None):
        return None
    if one_s is None or two_s is None:
        return Ratio(end_s / one_s, ">") if one_s is not None else Ratio((two_s or 0.0) / end_s, "<")
    return Ratio(two_s / one_s)


def results(pairs: Sequence[Pair], targets: Sequence[float], verdicts: Mapping[str, Sequence[Verdict]]) -> list[Row]:
    """One row for each gap: times, ratios, accuracies and verdicts; blank where there is nothing to say."""
    return [
        {
            "heterogeneity": f"{pair.gap:g}",
            "seeds": len(pair.asynchronous.accuracies),
            **{key: value for target in targets for key, value in _times(pair, target).items()},
            **_accuracies(pair),
            **_judged(pair.gap, verdicts),
        }
        for pair in pairs
    ]


def _times(pair: Pair, target: float) -> Row:
    found = ratio(pair, target)
    return {
        f"async_time_to_{target}_s": pair.asynchronous.reached_s(target),
        f"sync_time_to_{target}_s": pair.synchronous.reached_s(target),
        f"ratio_{target}": found and found.value,
        f"ratio_{target}_bound": found and found.bound,
    }


def _accuracies(pair: Pair) -> Row:
    found: Row = {}
    for name, curve in (("async", pair.asynchronous), ("sync", pair.synchronous)):
        found[f"{name}_final_accuracy"] = float(curve.accuracy[-1])
        found[f"{name}_mean_accuracy_over_time"] = curve.mean_over_time
        found[f"{name}_final_train_loss"] = float(curve.loss[-1])
    most = int(np.argmax(pair.lead))
    largest = {"largest_lead": float(pair.lead[most]), "largest_lead_s": float(pair.asynchronous.time_s[most])}
    return found | {"late_lead": claims.late_lead(pair)} | largest


def _judged(gap: float, verdicts: Mapping[str, Sequence[Verdict]]) -> Row:
    found: Row = {}
    for claim in claims.CLAIMS:
        verdict = next((one for one in verdicts[claim.name] if one.gap == gap), None)
        found[claim.name] = claims.word(verdict.held) if verdict else None
        found[f"{claim.name}_numbers"] = verdict.why if verdict else None
    return found


def curves(pairs: Sequence[Pair]) -> list[Row]:
    """One row for each gap, system and evaluation: what the figure is drawn from."""
    return [
        row
        for pair in pairs
        for name, curve in (("async-sd-feel", pair.asynchronous), ("sync-sd-feel", pair.synchronous))
        for row in _points(pair.gap, name, curve)
    ]


def _points(gap: float, name: str, curve: Curve) -> list[Row]:
    return [
        {
            "heterogeneity": f"{gap:g}",
            "algorithm": name,
            "time_s": float(time_s),
            **{f"test_accuracy_{how}": value for how, value in _spread(curve.accuracies[:, column])},
            **{f"train_loss_{how}": value for how, value in _spread(curve.losses[:, column])},
        }
        for column, time_s in enumerate(curve.time_s)
    ]


def _spread(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> list[tuple[str, float]]:
    return [("mean", float(values.mean())), ("min", float(values.min())), ("max", float(values.max()))]
