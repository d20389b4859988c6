"""Heat maps and matrices by matplotlib."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report.charts import Heat, Matrices
from asyncfeel.report.figures import style


def heat(axes: Any, chart: Heat) -> None:
    """A map of values with its scale."""
    _image(axes, np.array(chart.values), chart.columns, chart.rows, "auto", chart.unit)
    axes.set_title(chart.title)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def matrices(axes: Any, chart: Matrices) -> None:
    """The last matrix, with its numbers where there is room."""
    matrix = np.eye(chart.size)
    for row, column, value in chart.entries[-1]:
        matrix[row, column] = value
    names = [str(number) for number in range(chart.size)]
    _image(axes, matrix, names, names, "equal", "weight")
    if chart.size <= 8:
        top = np.abs(matrix).max()
        for (row, column), value in np.ndenumerate(matrix):
            if value:
                ink = "white" if value > 0.55 * top else "black"
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=6)
    axes.set_title(f"{chart.title} of iteration {chart.frames[-1]}")
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)


def _image(axes: Any, values: NDArray[Any], columns: Any, rows: Any, aspect: str, unit: str) -> None:
    low, high = min(0.0, float(values.min())), float(values.max()) or 1.0
    shades = style.HEAT if low == 0 else "RdBu"
    bounds = {"vmin": 0, "vmax": high} if low == 0 else {"vmin": -high, "vmax": high}
    image = axes.imshow(values, cmap=shades, aspect=aspect, interpolation="nearest", **bounds)
    for labels, set_ticks, most in ((columns, axes.set_xticks, 8), (rows, axes.set_yticks, 12)):
        every = max(1, -(-len(labels) // most))
        set_ticks(range(0, len(labels), every), labels[::every])
    axes.grid(visible=False)
    axes.figure.colorbar(image, ax=axes, label=unit, shrink=0.9, pad=0.02)
