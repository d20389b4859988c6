"""Lines and bars by matplotlib."""

from typing import Any

import numpy as np

from asyncfeel.report.charts import Bars, Line, Lines
from asyncfeel.report.figures import legend, style
from asyncfeel.report.thinning import round_up

FEW = 8
"""Bars that have room for their numbers."""


def lines(drawing: Any, chart: Lines) -> None:
    """Series over x, with their bands, or each in a lane."""
    if chart.apart:
        lanes(drawing, chart)
    else:
        together(drawing, chart)


def together(drawing: Any, chart: Lines) -> None:
    """All series in one frame."""
    axes = drawing.subplots()
    handles = [_line(axes, chart, line, place) for place, line in enumerate(chart.lines)]
    _begin(axes, chart)
    axes.set_ylabel(chart.y_label)
    axes.set_xlabel(chart.x_label)
    _percent(axes, chart.percent)
    legend.draw(drawing, handles, [line.name for line in chart.lines])


def lanes(drawing: Any, chart: Lines) -> None:
    """Each series in a lane of its own, all to one scale."""
    rows = drawing.subplots(len(chart.lines), 1, sharex=True, sharey=True)
    drawing.get_layout_engine().set(h_pad=0.015, hspace=0)
    for place, (axes, line) in enumerate(zip(rows, chart.lines, strict=True)):
        axes.fill_between(line.x, line.y, step="post" if chart.step else None, color=style.colour(0), linewidth=0)
        axes.set_ylabel(line.name, rotation=0, ha="right", va="center")
        axes.grid(visible=False)
        axes.locator_params(axis="y", nbins=2, integer=True)
        if place < len(rows) - 1:
            axes.tick_params(axis="x", length=0)
    rows[0].set_ylim(0, max((max(line.y) for line in chart.lines), default=1) * 1.05 or 1)
    rows[-1].set_xlabel(chart.x_label)
    _begin(rows[-1], chart, upright=False)
    drawing.supylabel(chart.y_label, fontsize="medium")


def _line(axes: Any, chart: Lines, line: Line, place: int) -> Any:
    hue = place if line.hue is None else line.hue
    draw = "steps-post" if chart.step else "default"
    look = {"color": style.colour(hue), "linestyle": style.dash(hue), "drawstyle": draw, "markersize": 3}
    (drawn,) = axes.plot(line.x, line.y, marker="o" if len(line.x) == 1 else "", **look)
    if line.low is not None and line.high is not None:
        step = "post" if chart.step else None
        axes.fill_between(line.x, line.low, line.high, step=step, color=style.colour(hue), alpha=0.2, linewidth=0)
    return drawn


def _begin(axes: Any, chart: Lines, upright: bool = True) -> None:
    """Let axes begin at 0 where the data come near it."""
    axes.margins(x=0.01)
    x = np.array([value for line in chart.lines for value in line.x], dtype=np.float64)
    y = np.array([value for line in chart.lines for some in (line.y, line.low or ()) for value in some])
    for values, set_limit in ((x, axes.set_xlim), (y, axes.set_ylim)):
        known = values[np.isfinite(values)]
        low = style.lowest(float(known.min()), float(known.max())) if len(known) else None
        if low is not None and (upright or set_limit == axes.set_xlim):
            set_limit(low)


def bars(drawing: Any, chart: Bars) -> None:
    """Bars side by side over categories."""
    axes = drawing.subplots()
    places, count = np.arange(len(chart.categories)), len(chart.series)
    wide, handles = 0.85 / count, []
    for number, bar in enumerate(chart.series):
        at = places + (number - (count - 1) / 2) * wide
        hue = number if bar.hue is None else bar.hue
        drawn = axes.bar(at, bar.values, wide, color=style.colour(hue), linewidth=0)
        handles.append(drawn)
        if count == 1 and len(places) <= FEW:
            axes.bar_label(drawn, [f"{v:.1%}" if chart.percent else f"{v:,.4g}" for v in bar.values], fontsize=6)
            axes.margins(y=0.12)
    every = round_up(len(places) * (max(map(len, chart.categories), default=1) + 1) / 40)
    axes.set_xticks(places[::every], [chart.categories[place] for place in places[::every]])
    axes.set_xlim(-0.6 if len(places) > 2 else -1.5, len(places) - (0.4 if len(places) > 2 else -0.5))
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    _percent(axes, chart.percent)
    legend.draw(drawing, handles, [bar.name for bar in chart.series])


def _percent(axes: Any, percent: bool) -> None:
    if percent:
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:g}%")
    elif axes.get_ylim()[1] >= 1000:
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
