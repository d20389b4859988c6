"""One style for all figures: the width of a column, small type, colours that everybody can tell apart."""

from typing import Any

COLUMN_IN = 3.5
"""The width of a column of a two-column paper, in inches."""
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0528a", "#c98a00", "#3d9bd6", "#6e7378", "#882255")
"""The page's own colours on white."""
INK = "#08407e"
DASHES = ("-", "--", ":", "-.")
HEAT = "Blues"

SETTINGS: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "legend.fontsize": 6.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.linewidth": 0.4,
    "grid.color": "#d9dde1",
    "lines.linewidth": 1.1,
    "legend.frameon": False,
    "pdf.fonttype": 42,
    "svg.fonttype": "none",
    "svg.hashsalt": "asyncfeel",
    "savefig.dpi": 300,
    "figure.constrained_layout.use": True,
}


def lowest(low: float, high: float) -> float | None:
    """Where an axis begins if not just below the data: at 0, unless that would waste most of it.

    >>> lowest(0.1, 2.3), lowest(0.9, 0.98), lowest(-1.0, 2.0)
    (0.0, None, None)
    """
    return 0.0 if 0 <= low < 0.4 * high else None


def colour(number: int) -> str:
    """The colour of a series."""
    return COLOURS[number % len(COLOURS)]


def dash(number: int) -> str:
    """How the line of a series is drawn, when the colours begin again."""
    return DASHES[number // len(COLOURS) % len(DASHES)]
