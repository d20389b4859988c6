"""The report as one HTML page that needs nothing else: styles, script and data are inside."""

import html
import json
from collections.abc import Sequence
from importlib import resources

from asyncfeel import __version__
from asyncfeel.report.charts import Figure, plain
from asyncfeel.report.grouping import Group
from asyncfeel.report.reading import Run
from asyncfeel.units import duration

MARK = '<meta name="generator" content="asyncfeel report">'
"""By this a file is known as a report, which a later one may replace."""
_SCRIPTS = ("base", "zoom", "lines", "bars", "heat", "tracks", "network", "main")
_HELP = (
    "Point at a chart for its values, drag to zoom, double click to see all; a name below a chart switches it on and "
    "off. With the keyboard: Tab to a chart, arrows for its values, + and Escape to zoom."
)


def write(groups: Sequence[Group], figures: Sequence[Figure]) -> str:
    """The page's text."""
    title = _title(groups)
    sections = "\n".join(map(_section, figures))
    links = "\n".join(f'<a href="#{one.slug}">{_safe(one.title)}</a>' for one in figures)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
{MARK}
<link rel="icon" href="data:,">
<title>{_safe(title)}</title>
<style>
{_part("page.css")}
</style>
</head>
<body>
<header>
<h1>{_safe(title)}</h1>
{_runs(groups)}
<nav aria-label="Figures">
{links}
</nav>
<p class="help">{_HELP}</p>
</header>
<main>
{sections}
</main>
<footer><p>Made by asyncfeel {_safe(__version__)} from the folders above; every number is theirs.</p></footer>
<noscript><p>The charts need a script that this page carries itself; the sentences above do not.</p></noscript>
<script type="application/json" id="data">{embedded(figures)}</script>
<script>
{"".join(_part(f"{name}.js") for name in _SCRIPTS)}
</script>
</body>
</html>
"""


def embedded(figures: Sequence[Figure]) -> str:
    r"""The figures as JSON that cannot end the script around it, whatever the names in it.

    >>> embedded([Figure("a", "</script>", [])])
    '[{"slug":"a","title":"\\u003c/script\\u003e","views":[],"choice":""}]'
    """
    text = json.dumps([plain(figure) for figure in figures], allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _section(figure: Figure) -> str:
    first = figure.views[0]
    return f"""<section id="{figure.slug}">
<h2>{_safe(figure.title)}</h2>
{_switch(figure)}<p class="sentence">{_safe(first.sentence)}</p>
<div class="charts"></div>
<p class="notes">{_safe(" ".join(first.notes))}</p>
</section>"""


def _switch(figure: Figure) -> str:
    if len(figure.views) < 2:
        return ""
    options = "".join(
        f'<option value="{number}">{_safe(view.label)}</option>' for number, view in enumerate(figure.views)
    )
    return f'<label class="switch">{_safe(figure.choice)} <select autocomplete="off">{options}</select></label>\n'


def _title(groups: Sequence[Group]) -> str:
    runs = [run for group in groups for run in group.runs]
    if len(runs) > 1:
        return f"{len(runs)} runs in {len(groups)} series"
    return f"{runs[0].name}: {runs[0].algorithm}, {runs[0].manifest['topology']}, seed {runs[0].seed}"


def _runs(groups: Sequence[Group]) -> str:
    heads = ("series", "folder", "seed", "status")
    numbers = ("simulated", "iterations", "test accuracy")
    head = "".join(f"<th>{name}</th>" for name in heads) + "".join(
        f'<th class="number">{name}</th>' for name in numbers
    )
    rows = "\n".join(_row(group, run) for group in groups for run in group.runs)
    return f'<div class="wide"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>'


def _row(group: Group, run: Run) -> str:
    times = run.iterations["time_s"]
    end_s = run.manifest.get("time_s", float(times[-1]) if len(times) else 0.0)
    tested = run.metrics is not None and len(run.metrics["test_accuracy"])
    accuracy = float(run.metrics["test_accuracy"][-1]) if run.metrics is not None and tested else float("nan")
    texts = (group.label, run.name, str(run.seed), f"{run.manifest['kind']} {run.status}")
    figures = (duration(float(end_s)), f"{run.count:,}", "" if accuracy != accuracy else f"{accuracy:.2%}")
    cells = [f"<td>{_safe(text)}</td>" for text in texts] + [f'<td class="number">{text}</td>' for text in figures]
    return f"<tr>{''.join(cells)}</tr>"


def _safe(text: str) -> str:
    return html.escape(text)


def _part(name: str) -> str:
    return resources.files("asyncfeel.report").joinpath("assets", name).read_text(encoding="utf-8")
