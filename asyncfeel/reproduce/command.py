"""The command `asyncfeel reproduce`: the runs of a figure, then the figure, the tables and the page."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from asyncfeel import catalogue
from asyncfeel.compare import folder as folders
from asyncfeel.compare.progress import View
from asyncfeel.compare.request import Request
from asyncfeel.compare.runner import Comparison, Runner
from asyncfeel.prepare import prepare
from asyncfeel.report import command as reports
from asyncfeel.report.charts import Figure
from asyncfeel.report.figures import save
from asyncfeel.reproduce import claims, figures, leftovers, markdown, pairs, tables
from asyncfeel.reproduce.asking import Asked
from asyncfeel.reproduce.claims import Verdict
from asyncfeel.reproduce.leftovers import Say
from asyncfeel.reproduce.pairs import Pair


@dataclass(frozen=True)
class Reproduction:
    """What became of a figure: its comparison, the files that were written and, for Fig. 2, what they say."""

    asked: Asked
    found: Comparison
    files: Sequence[Path] = ()
    pairs: Sequence[Pair] = ()
    verdicts: Mapping[str, Sequence[Verdict]] = field(default_factory=dict)


def reproduce(asked: Asked, view: View, stop: threading.Event, say: Say) -> Reproduction:
    """Run what is not finished yet; once everything is, write the figure and what goes with it."""
    save.require("a reproduction")
    asked.request.check()
    if not leftovers.complete(asked.out, asked.request):
        rehearse(asked)
    leftovers.prepare(asked.out, asked.request, say)
    found = Runner(asked.request, asked.out, view, stop).run()
    if found.status != "finished":
        return Reproduction(asked, found)
    return _timelines(asked, found) if asked.figure == "fig1" else _learning(asked, found)


def rehearse(asked: Asked) -> None:
    """Refuse what the first run would stumble over, data that are missing above all, before anything is created."""
    scenario = asked.request.runs[0].scenario
    catalogue.find("executor", scenario.execution.executor)
    prepare(scenario, train=asked.figure == "fig2")


def _learning(asked: Asked, found: Comparison) -> Reproduction:
    """Fig. 2: curves, claims, tables, page."""
    out, both = asked.out, pairs.read(asked.out, asked.request)
    verdicts = claims.judge(both, found.targets)
    folders.write_table(out / "curves.csv", tables.curves(both))
    folders.write_table(out / "results.csv", tables.results(both, found.targets, verdicts))
    figure = figures.fig2(both, verdicts)
    drawn = [*save.stacked(figure, out / "figures"), *save.all_of(figures.halves(figure), out / "figures")]
    folders.replace(out / "results.md", markdown.write(asked, found, both, verdicts))
    files = [out / name for name in ("results.md", "results.csv", "curves.csv")]
    return Reproduction(asked, found, [*files, *_page(asked, [figure]), *drawn], both, verdicts)


def _timelines(asked: Asked, found: Comparison) -> Reproduction:
    """Fig. 1: what servers and clients do in the first iterations."""
    until_s = asked.request.runs[0].scenario.stop.until_s if "stop.until_s" in asked.request.given else None
    drawn = figures.fig1(_runs(asked.out, asked.request), until_s)
    saved = [*save.stacked(drawn[0], asked.out / "figures"), *save.all_of(drawn[1:], asked.out / "figures")]
    return Reproduction(asked, found, [*_page(asked, drawn), *saved])


def _page(asked: Asked, first: list[Figure]) -> list[Path]:
    return reports.report(_runs(asked.out, asked.request), asked.out / "report.html", first=first)


def _runs(out: Path, request: Request) -> list[Path]:
    return [out / "runs" / run.name for run in request.runs]
