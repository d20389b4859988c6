"""Every chart into its files: three formats each, one column of a paper wide."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from asyncfeel.errors import InputError
from asyncfeel.report.charts import Chart, Figure, Heat, Lines, Matrices, Network, Tracks, View
from asyncfeel.report.figures import legend, maps, scenes, series, style

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
    """Draw every figure that has something to draw, a file for each chart; returns the files."""
    found = []
    with _styled(folder):
        for figure in figures:
            for name, view in zip(_names(figure), figure.views, strict=True):
                for chart in view.charts:
                    found += _save([chart], folder, _name(figure, view, chart, name))
    return found


def stacked(figure: Figure, folder: Path) -> list[Path]:
    """Draw all charts of a figure's first view into one file, below each other."""
    with _styled(folder):
        return _save(figure.views[0].charts, folder, figure.slug)


@contextmanager
def _styled(folder: Path) -> Iterator[None]:
    """Where figures are drawn in one style, into a folder that is there."""
    import matplotlib

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"the folder {str(folder)!r} cannot be made: {error.strerror}") from error
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style.SETTINGS)
        yield


def _name(figure: Figure, view: View, chart: Chart, name: str) -> str:
    """The chart's file: that of its view, and its title where the view has several charts."""
    title = _plain(chart.title)
    if len(view.charts) == 1 or not title:
        return name
    return f"{name}-{title.removeprefix(f'{figure.slug}-')}"


def _names(figure: Figure) -> list[str]:
    """The views' file names: the figure's own, and what tells the views apart."""
    if len(figure.views) == 1:
        return [figure.slug]
    plain = [_plain(view.label) or "view" for view in figure.views]
    return [
        f"{figure.slug}-{name}" if plain.count(name) == 1 else f"{figure.slug}-{name}-{number + 1}"
        for number, name in enumerate(plain)
    ]


def _plain(text: str) -> str:
    """A text as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9._=+-]+", "-", text)[:60].strip("-.")


def _save(charts: Sequence[Chart], folder: Path, name: str) -> list[Path]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    heights = [_height(chart) for chart in charts]
    drawing = Canvas(figsize=(style.COLUMN_IN, sum(heights)))
    FigureCanvasAgg(drawing)
    parts: Any = [drawing]
    if len(charts) > 1:
        parts = drawing.subfigures(len(charts), 1, height_ratios=heights)
    for part, chart in zip(parts, charts, strict=True):
        _DRAW[chart.kind](part, chart)
    files = [folder / f"{name}.{kind}" for kind in FORMATS]
    dated: dict[str, dict[str, Any]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}
    for kind, file in zip(FORMATS, files, strict=True):
        drawing.savefig(file, metadata=dated[kind])
    return files


def _height(chart: Chart) -> float:
    """How tall a chart is, in inches."""
    if isinstance(chart, Tracks):
        return 0.9 + 0.115 * len(chart.tracks)
    if isinstance(chart, Heat):
        return min(3.0, 1.0 + 0.12 * len(chart.rows))
    if isinstance(chart, Matrices):
        return 2.9
    if isinstance(chart, Network):
        tall = max(node.y for node in chart.nodes) - min(node.y for node in chart.nodes)
        return 0.3 + 3.0 * max(0.2, tall)
    if isinstance(chart, Lines):
        names = [line.name for line in chart.lines]
        return 0.6 + 0.28 * len(names) if chart.apart else 2.0 + legend.height_in(names)
    return 1.9 + legend.height_in([bar.name for bar in chart.series])
