"""Training loss and test accuracy over simulated time, iterations and bytes (the paper's Fig. 2)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report import thinning, traffic
from asyncfeel.report.charts import Figure, Line, Lines, View
from asyncfeel.report.grouping import Group
from asyncfeel.report.reading import Run
from asyncfeel.units import duration

Floats = NDArray[np.float64]
MOST_SAID = 4
"""Series whose numbers are part of the sentence."""
BAND = "The line is the mean over the seeds, the band reaches from the lowest to the highest of them{how}."


def figure(groups: Sequence[Group]) -> Figure:
    """Loss and accuracy of every series, over three axes."""
    tested = [Group(one.label, [run for run in one.runs if _has_metrics(run)], one.hue) for one in groups]
    tested = [one for one in tested if one.runs]
    left_out = [_untested(one) for one in groups if not any(_has_metrics(run) for run in one.runs)]
    title = "Training loss and test accuracy"
    if not tested:
        return Figure("learning", title, [View("", " ".join(left_out))])
    views = [
        View("simulated time", _sentence(tested), *_charts(tested, "simulated time (s)", _times, left_out)),
        View("iterations", _sentence(tested), *_charts(tested, "iterations", _iterations, left_out)),
    ]
    counted = [one for one in tested if all(traffic.cumulated(run) is not None for run in one.runs)]
    missing = [
        f"{one.label}: the bytes moved so far cannot be derived from the record of this algorithm."
        for one in tested
        if one not in counted
    ]
    if counted:
        notes = ["Bytes moved by completed iterations; transfers that are still under way are not counted.", *missing]
        views.append(
            View("bytes", _sentence(tested), *_charts(counted, "data moved (MB)", _megabytes, left_out + notes))
        )
    else:
        views = [View(one.label, one.sentence, one.charts, [*one.notes, *missing]) for one in views]
    return Figure("learning", title, views, "over")


def _has_metrics(run: Run) -> bool:
    return run.metrics is not None and len(run.metrics["time_s"]) > 0


def _untested(group: Group) -> str:
    plan = group.first.manifest["kind"] == "plan"
    why = "a plan trains nothing" if plan else "nothing has been tested yet"
    return f"{group.label}: no loss and no accuracy, for {why}."


def _times(run: Run) -> Floats:
    return np.asarray(run.metrics["time_s"] if run.metrics else [], dtype=np.float64)


def _iterations(run: Run) -> Floats:
    return np.asarray(run.metrics["iteration"] if run.metrics else [], dtype=np.float64)


def _megabytes(run: Run) -> Floats:
    moved = traffic.cumulated(run)
    if moved is None:
        raise ValueError("the bytes of this run are not known")
    return moved[np.minimum(_iterations(run).astype(np.int64), len(moved) - 1)] / 1e6


def _charts(
    groups: Sequence[Group], x_label: str, axis: Callable[[Run], Floats], notes: Sequence[str]
) -> tuple[list[Lines], list[str]]:
    charts, said = [], list(notes)
    for column, title, percent in (("train_loss", "training loss", False), ("test_accuracy", "test accuracy", True)):
        made = [merged(one, axis, column) for one in groups]
        lines = [line for line, _ in made if not np.isnan(np.array(line.y, dtype=np.float64)).all()]
        said = list(dict.fromkeys([*said, *(note for _, some in made for note in some)]))
        if lines:
            charts.append(Lines(title, x_label, title, lines, percent=percent))
        else:
            said.append(f"There is no {title}: this task has none, or every value is not a number.")
    return charts, said


def merged(group: Group, axis: Callable[[Run], Floats], column: str) -> tuple[Line, list[str]]:
    """A series: the run itself, or the mean of several on their common range."""
    curves = [(axis(run), np.asarray(run.metrics[column], dtype=np.float64)) for run in group.runs if run.metrics]
    if len(curves) == 1:
        line = thinning.line(group.label, *curves[0])
        return replace(line, hue=group.hue), thinning.notes(len(curves[0][0]), [line])
    x = curves[0][0]
    alike = all(np.array_equal(x, other) for other, _ in curves)
    if alike:
        values = np.array([y for _, y in curves])
    else:
        first, last = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
        x = np.unique(np.concatenate([x for x, _ in curves]))
        x = x[(x >= first) & (x <= last)]
        values = np.array([np.interp(x, *_rising(*curve)) for curve in curves])
    before, some = len(x), thinning.kept(x, values.mean(axis=0))
    x, values = x[some], values[:, some]
    spread = values.min(axis=0).tolist(), values.max(axis=0).tolist()
    how = "" if alike else "; seeds were tested at different points, so between two tests values are interpolated"
    line = Line(group.label, x.tolist(), values.mean(axis=0).tolist(), *spread, group.hue)
    return line, [BAND.format(how=how), *thinning.notes(before, [line])]


def _rising(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The last value at every x: several tests may fall on one iteration."""
    last = np.append(np.diff(x) > 0, True)
    return x[last], y[last]


def _sentence(groups: Sequence[Group]) -> str:
    if len(groups) == 1:
        (group,) = groups
        first, last, accuracy = (_mean(group, *which) for which in _SAID)
        whose = f"In {_end(group)}{_seeds(group)} "
        reached = "" if np.isnan(accuracy) else f", and the test accuracy reached {accuracy:.2%}"
        loss = f"went from {first:.4g} to {last:.4g}" if np.isfinite(last) else "left the range of numbers"
        return f"{whose}the training loss of {group.label} {loss}{reached}."
    more = f"; and {len(groups) - MOST_SAID} more series" if len(groups) > MOST_SAID else ""
    return "The last tests found: " + "; ".join(map(_reached, groups[:MOST_SAID])) + more + "."


def _reached(group: Group) -> str:
    _, loss, accuracy = (_mean(group, *which) for which in _SAID)
    said = "" if np.isnan(accuracy) else f"test accuracy {accuracy:.2%} and "
    lost = f"training loss {loss:.4g}" if np.isfinite(loss) else "a training loss beyond all numbers"
    return f"{group.label}{_seeds(group)} at {_end(group)}, {said}{lost}"


def _mean(group: Group, column: str, place: int) -> float:
    return float(np.mean([run.metrics[column][place] for run in group.runs if run.metrics]))


def _end(group: Group) -> str:
    return duration(min(float(_times(run)[-1]) for run in group.runs))


def _seeds(group: Group) -> str:
    return f" (mean of {len(group.runs)} seeds)" if len(group.runs) > 1 else ""


_SAID = (("train_loss", 0), ("train_loss", -1), ("test_accuracy", -1))
