"""Fewer points for long series: the first, the lowest, the highest and the last of every pixel column."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from asyncfeel.report.charts import Line

COLUMNS = 500
"""Pixel columns of a chart: four points in each look like all of them."""
NOTE = (
    "{before:,} points are thinned to {after:,}: in each of {columns} columns of the chart the first, the lowest, "
    "the highest and the last are kept."
)


def kept(x: NDArray[np.float64], y: NDArray[np.float64], columns: int = COLUMNS) -> NDArray[np.int64]:
    """The indices that are kept, in order; all of them where there are few.

    >>> kept(np.arange(8.0), np.array([0.0, 5, 1, 2, 3, -1, 9, 4]), 1).tolist()
    [0, 5, 6, 7]
    """
    if len(x) <= 4 * columns:
        return np.arange(len(x))
    edges = np.linspace(x[0], x[-1], columns + 1)[1:-1]
    chosen: set[int] = set()
    for part in np.split(np.arange(len(x)), np.searchsorted(x, edges)):
        if len(part):
            chosen |= {int(part[0]), int(part[-1])}
            if np.isfinite(y[part]).any():
                chosen |= {int(part[np.nanargmin(y[part])]), int(part[np.nanargmax(y[part])])}
    return np.array(sorted(chosen))


def line(name: str, x: NDArray[np.float64], y: NDArray[np.float64]) -> Line:
    """A line of the points that are kept."""
    some = kept(x, y)
    return Line(name, x[some].tolist(), y[some].tolist())


def notes(before: int, lines: Sequence[Line]) -> list[str]:
    """What to say about lines that had so many points before."""
    after = sum(len(one.x) for one in lines)
    return [NOTE.format(before=before, after=after, columns=COLUMNS)] if after < before else []


def round_up(least: float) -> int:
    """The first of 1, 2, 5, 10, 20, ... that is not smaller.

    >>> round_up(0.4), round_up(3), round_up(37.5)
    (1, 5, 50)
    """
    numbers = (some * int(10**power) for power in range(18) for some in (1, 2, 5))
    return next(number for number in numbers if number >= least)
