"""Lines and bars by matplotlib."""

import math
from typing import Any

import numpy as np

from asyncfeel.report.charts import Bars, Lines
from asyncfeel.report.figures import style


def lines(axes: Any, chart: Lines) -> None:
    """Series over x, with their bands."""
    for number, line in enumerate(chart.lines):
        place = number if line.look is None else line.look
        look = {"color": style.colour(place), "linestyle": style.dash(place), "label": line.name}
        draw = "steps-post" if chart.step else "default"
        axes.plot(line.x, line.y, drawstyle=draw, marker="o" if len(line.x) == 1 else "", markersize=3, **look)
        if line.low is not None and line.high is not None:
            axes.fill_between(line.x, line.low, line.high, color=style.colour(place), alpha=0.2, linewidth=0)
    _name(axes, chart, len(chart.lines))
    axes.margins(x=0.01)


def bars(axes: Any, chart: Bars) -> None:
    """Bars side by side over categories."""
    places, count = np.arange(len(chart.categories)), len(chart.series)
    wide = 0.85 / count
    for number, bar in enumerate(chart.series):
        at = places + (number - (count - 1) / 2) * wide
        axes.bar(at, bar.values, wide, color=style.colour(number), label=bar.name, linewidth=0)
    every = max(1, math.ceil(len(places) * max(map(len, chart.categories), default=1) / 30))
    axes.set_xticks(places[::every], [chart.categories[place] for place in places[::every]])
    axes.grid(visible=False, axis="x")
    _name(axes, chart, count)


def _name(axes: Any, chart: Lines | Bars, series: int) -> None:
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.title and chart.title != chart.y_label:
        axes.set_title(chart.title)
    if chart.percent:
        from matplotlib.ticker import PercentFormatter

        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if series > 1:
        columns = (
            1
            if max(len(text) for text in axes.get_legend_handles_labels()[1]) > 24
            else math.ceil(series / math.ceil(series / 4))
        )
        above = 1.12 if axes.get_title() else 1.02
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, above), ncols=columns, handlelength=1.4, columnspacing=1.0)
