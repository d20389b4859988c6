"""The paper's figures as charts: curves for Fig. 2, timelines for Fig. 1."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from asyncfeel.report import reading, schedule
from asyncfeel.report.charts import Figure, Line, Lines, View
from asyncfeel.report.figures import style
from asyncfeel.reproduce import claims
from asyncfeel.reproduce.claims import Verdict
from asyncfeel.reproduce.pairs import Curve, Floats, Pair

X_LABEL = "simulated time (s)"
BAND = "The line is the mean over the seeds, the band reaches from the lowest to the highest of them."
SHOWN = 3
"""Clusters in the figure that has both systems, as in the paper's drawing."""


def fig2(pairs: Sequence[Pair], verdicts: Mapping[str, Sequence[Verdict]]) -> Figure:
    """Training loss and test accuracy over time: a colour for each gap, dashed for synchronous."""
    charts = [
        Lines("(a) training loss", X_LABEL, "training loss", _lines(pairs, "losses")),
        Lines("(b) test accuracy", X_LABEL, "test accuracy", _lines(pairs, "accuracies"), percent=True),
    ]
    notes = [BAND] if len(pairs[0].asynchronous.accuracies) > 1 else []
    return Figure("fig2", "The paper's Fig. 2: asynchronous and synchronous", [View("", said(verdicts), charts, notes)])


def halves(figure: Figure) -> list[Figure]:
    """Each chart as a figure of its own, for papers that place them side by side."""
    view = figure.views[0]
    names = [f"{figure.slug}{letter}" for letter in "abcdef"]
    return [Figure(name, "", [View("", "", [chart])]) for name, chart in zip(names, view.charts, strict=False)]


def said(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """The paper's claims and what became of them, in a sentence each."""
    found = (f"{claim.words}: {claims.overall(verdicts[claim.name])}" for claim in claims.CLAIMS)
    return " ".join(f"{one[0].upper()}{one[1:]}." for one in found)


def _lines(pairs: Sequence[Pair], values: str) -> list[Line]:
    return [
        _line(f"{name}, H={pair.gap:g}", curve, getattr(curve, values), shade + dash * len(style.COLOURS))
        for shade, pair in enumerate(pairs)
        for dash, name in enumerate(("Async.", "Sync."))
        for curve in [pair.synchronous if dash else pair.asynchronous]
    ]


def _line(name: str, curve: Curve, values: Floats, look: int) -> Line:
    mean = values.mean(axis=0).tolist()
    if len(values) == 1:
        return Line(name, curve.time_s.tolist(), mean, look=look)
    low, high = np.min(values, axis=0).tolist(), np.max(values, axis=0).tolist()
    return Line(name, curve.time_s.tolist(), mean, low, high, look)


def fig1(folders: Sequence[Path], until_s: float | None) -> list[Figure]:
    """The timelines of both systems, asynchronous first: both with a few clusters, and each with all of them."""
    runs = [reading.read(folder) for folder in folders]
    end_s = until_s or schedule.end_s(runs[1])
    names = ("asynchronous", "synchronous")
    whole = [
        Figure(f"fig1-{name}", f"The paper's Fig. 1: {name}", [schedule.view(run, until_s=end_s)])
        for name, run in zip(names, runs, strict=True)
    ]
    few = [schedule.view(run, until_s=end_s, servers=SHOWN, title=name) for name, run in zip(names, runs, strict=True)]
    charts = [chart for view in few for chart in view.charts]
    sentence = " ".join(f"{name.capitalize()}: {view.sentence}" for name, view in zip(names, few, strict=True))
    title = f"The paper's Fig. 1: the first {SHOWN} clusters"
    return [Figure("fig1", title, [View("", sentence, charts, few[0].notes)]), *whole]
