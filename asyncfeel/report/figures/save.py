"""Every figure into its files: one per view, in three formats."""

import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.report.charts import Bars, Chart, Figure, Heat, Matrices, Network, Tracks, View
from asyncfeel.report.figures import maps, scenes, series, style

FORMATS = ("png", "pdf", "svg")
_DRAW: dict[str, Callable[[Any, Any], None]] = {
    "lines": series.lines,
    "bars": series.bars,
    "heat": maps.heat,
    "matrices": maps.matrices,
    "tracks": scenes.tracks,
    "network": scenes.network,
}


def require(what: str = "--figures") -> None:
    """An `InputError` with the remedy if matplotlib is missing."""
    if find_spec("matplotlib") is None:
        raise InputError(f"{what} needs matplotlib, which is not installed: pip install 'asyncfeel[figures]'")


def all_of(figures: Sequence[Figure], folder: Path) -> list[Path]:
    """Draw every figure that has something to draw; returns the files."""
    import matplotlib

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {str(folder)!r} cannot be made: {error.strerror}") from error
    found = []
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style.SETTINGS)
        for figure in figures:
            for name, view in zip(_names(figure), figure.views, strict=True):
                if view.charts:
                    found += _save(view, folder, name)
    return found


def _names(figure: Figure) -> list[str]:
    """The views' file names: the figure's own, and what tells the views apart."""
    if len(figure.views) == 1:
        return [figure.slug]
    plain = [re.sub(r"[^A-Za-z0-9._=+-]+", "-", view.label)[:60].strip("-.") or "view" for view in figure.views]
    return [
        f"{figure.slug}-{name}" if plain.count(name) == 1 else f"{figure.slug}-{name}-{number + 1}"
        for number, name in enumerate(plain)
    ]


def _save(view: View, folder: Path, name: str) -> list[Path]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    heights = [_height(chart) for chart in view.charts]
    drawing = Canvas(figsize=(style.COLUMN_IN, sum(heights)))
    FigureCanvasAgg(drawing)
    rows = drawing.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, chart in zip(rows[:, 0], view.charts, strict=True):
        _DRAW[chart.kind](axes, chart)
    files = [folder / f"{name}.{kind}" for kind in FORMATS]
    for file in files:
        dated = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}[file.suffix[1:]]
        drawing.savefig(file, metadata=dated)
    return files


def _height(chart: Chart) -> float:
    """How tall a chart is, in inches."""
    if isinstance(chart, Tracks):
        return 0.7 + 0.115 * len(chart.tracks)
    if isinstance(chart, Heat):
        return min(3.0, 1.0 + 0.12 * len(chart.rows))
    if isinstance(chart, Matrices | Network):
        return 2.9
    return 1.9 if isinstance(chart, Bars) else 2.1
