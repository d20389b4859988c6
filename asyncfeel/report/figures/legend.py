"""The legend above a figure: how many columns and rows it takes, and its names row by row."""

import textwrap
from collections.abc import Sequence
from typing import Any

LETTERS = 54
"""Letters of a legend that fit into a column of a paper, keys counted as letters."""
KEY = 6
"""What a key takes, in letters."""
ROW_IN = 0.135


def columns(names: Sequence[str]) -> int:
    """How many names fit side by side.

    >>> columns(["server 0", "server 1", "server 2", "server 3", "server 4"]), columns(["a" * 40, "b"])
    (3, 1)
    """
    widest = max(len(name) for name in names) + KEY
    return max(1, min(len(names), LETTERS // widest))


def height_in(names: Sequence[str]) -> float:
    """How tall the legend is, in inches; nothing for a single name."""
    if len(names) < 2:
        return 0.0
    lines = sum(len(textwrap.wrap(name, LETTERS - KEY)) for name in names)
    return ROW_IN * (-(-lines // columns(names)) + 0.5)


def draw(drawing: Any, handles: Sequence[Any], names: Sequence[str]) -> None:
    """Put it above all axes, with the names in reading order."""
    if len(names) < 2:
        return
    count = columns(names)
    order = [place for column in range(count) for place in range(column, len(names), count)]
    texts = [textwrap.fill(name, LETTERS - KEY) for name in names]
    drawing.legend(
        [handles[place] for place in order],
        [texts[place] for place in order],
        loc="outside upper center",
        ncols=count,
        handlelength=1.4,
        columnspacing=1.2,
    )
