"""Heat maps and matrices by matplotlib."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report.charts import Heat, Matrices
from asyncfeel.report.figures import style
from asyncfeel.report.thinning import round_up

FEW = 8
"""Servers whose matrix has room for its numbers."""


def heat(drawing: Any, chart: Heat) -> None:
    """A map of values with its scale."""
    axes = drawing.subplots()
    unit = f"{chart.what} ({chart.unit})"
    _image(axes, np.array(chart.values, dtype=np.float64), chart.columns, chart.rows, "auto", unit)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def matrices(drawing: Any, chart: Matrices) -> None:
    """The last matrix, with its numbers where there is room."""
    axes = drawing.subplots()
    matrix = np.eye(chart.size)
    for row, column, value in chart.entries[-1]:
        matrix[row, column] = value
    names = [str(number) for number in range(chart.size)]
    _image(axes, matrix, names, names, "equal", "weight")
    if chart.size <= FEW:
        top = np.abs(matrix).max()
        for (row, column), value in np.ndenumerate(matrix):
            if value:
                ink = "white" if abs(value) > 0.55 * top else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=6)
    axes.set_title(f"{chart.title} of iteration {chart.frames[-1]}")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _image(axes: Any, values: NDArray[Any], columns: Any, rows: Any, aspect: str, unit: str) -> None:
    from matplotlib.ticker import MaxNLocator

    low, high = min(0.0, float(values.min())), float(np.abs(values).max()) or 1.0
    shades, least = (style.HEAT, 0.0) if low == 0 else ("RdBu", -high)
    image = axes.imshow(values, cmap=shades, aspect=aspect, interpolation="nearest", vmin=least, vmax=high)
    for labels, set_ticks, most in ((columns, axes.set_xticks, 8), (rows, axes.set_yticks, 12)):
        every = round_up(len(labels) / most)
        set_ticks(range(0, len(labels), every), labels[::every])
    axes.grid(visible=False)
    whole = MaxNLocator(5, steps=[1, 2, 5, 10], integer=bool((values == values.round()).all() and high > 1))
    axes.figure.colorbar(image, ax=axes, label=unit, shrink=0.9, pad=0.02, ticks=whole)
