"""All figures of a report, in the order in which they are read."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from asyncfeel.report import curves, mixing, schedule, staleness, topology, weights
from asyncfeel.report.charts import Figure, View
from asyncfeel.report.grouping import Group
from asyncfeel.report.reading import Run

MOST_SERIES = 8
"""Series whose own pictures are part of the page."""


def figures(groups: Sequence[Group]) -> list[Figure]:
    """The figures of some series: overlaid where that makes sense, to be switched between elsewhere."""
    return [
        curves.figure(groups),
        _each("timeline", "Timeline of servers and clients", groups, schedule.view),
        _each("staleness", "Staleness over time", groups, staleness.over_time),
        staleness.distribution(groups),
        _each("topology", "Topology, traffic and data", groups, topology.view),
        _each("mixing", "Mixing and consensus", groups, mixing.view),
        _each("weights", "How much each client's data counts", groups, weights.contribution),
        _each("steps", "Steps per client", groups, weights.steps),
        _each("servers", "Accuracy per server before the consensus", groups, weights.accuracy),
    ]


def _each(slug: str, title: str, groups: Sequence[Group], make: Callable[[Run], View]) -> Figure:
    views = [_named(make(group.first), group) for group in groups[:MOST_SERIES]]
    if len(groups) > MOST_SERIES:
        said = f"The first {MOST_SERIES} of {len(groups)} series can be chosen."
        views = [replace(view, notes=[*view.notes, said]) for view in views]
    return Figure(slug, title, views, "series")


def _named(view: View, group: Group) -> View:
    if len(group.runs) == 1:
        return replace(view, label=group.label)
    said = f"Shown is seed {group.first.seed}, the first of {len(group.runs)}."
    return replace(view, label=group.label, notes=[*view.notes, said])
