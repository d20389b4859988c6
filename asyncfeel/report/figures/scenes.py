"""The timeline and the topology by matplotlib."""

from typing import Any

from asyncfeel.report.charts import Link, Network, Node, Tracks
from asyncfeel.report.figures import legend, style

WORK = {"compute": 0, "upload": 1, "exchange": 2, "download": 5, "idle": 6}
MOST_NAMES, MOST_NUMBERS = 40, 32
"""Servers that are named, and links whose traffic is written down."""


def tracks(drawing: Any, chart: Tracks) -> None:
    """A row for each server and client, and the models that servers exchange."""
    axes = drawing.subplots()
    handles: list[Any] = []
    names: list[str] = []
    for what, number in WORK.items():
        for track in sorted({one.track for one in chart.slices if one.what == what}):
            spans = [
                (one.start_s, one.end_s - one.start_s) for one in chart.slices if (one.what, one.track) == (what, track)
            ]
            low, high, see = (track - 0.1, 0.2, 0.5) if what == "idle" else (track - 0.38, 0.76, 1.0)
            drawn = axes.broken_barh(spans, (low, high), color=style.colour(number), alpha=see, lw=0)
            if what not in names:
                handles, names = [*handles, drawn], [*names, what]
    exchanged = [one for one in chart.arrows if one.what == "exchange"]
    look = {"arrowstyle": "-|>", "color": "#222222", "lw": 0.5, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 5}
    for one in exchanged:
        axes.annotate("", (one.arrived_s, one.target), (one.sent_s, one.source), arrowprops=look, zorder=5)
    if exchanged:
        handles, names = [*handles, *axes.plot([], [], color="#222222", lw=0.5)], [*names, "model"]
    axes.set_yticks(range(len(chart.tracks)), chart.tracks, fontsize=6)
    axes.set_ylim(len(chart.tracks) - 0.4, -0.6)
    axes.set_xlim(0, max((one.end_s for one in chart.slices), default=1))
    axes.set_xlabel(chart.x_label)
    if chart.title:
        axes.set_ylabel(chart.title)
    axes.grid(visible=False)
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text().startswith("server") else "normal")
    legend.draw(drawing, handles, names)


def network(drawing: Any, chart: Network) -> None:
    """Servers as discs by data, links by traffic."""
    axes = drawing.subplots()
    top = max((link.times for link in chart.links), default=0) or 1
    for link in chart.links:
        _link(axes, chart, link, top)
    many = len(chart.nodes) > MOST_NAMES
    most = max(node.share for node in chart.nodes) or 1
    sizes = [(4 + 12 * node.share / most) if many else (50 + 150 * node.share / most) for node in chart.nodes]
    xs, ys = [node.x for node in chart.nodes], [node.y for node in chart.nodes]
    axes.scatter(xs, ys, sizes, style.INK, zorder=3, lw=0.6, edgecolors="white")
    if not many:
        for number, (node, size) in enumerate(zip(chart.nodes, sizes, strict=True)):
            _label(axes, node, number, size)
    axes.set_aspect("equal")
    axes.set_xlim(min(xs) - 0.12, max(xs) + 0.12)
    axes.set_ylim(max(ys) + 0.12, min(ys) - 0.12)
    axes.set_axis_off()


def _link(axes: Any, chart: Network, link: Link, top: int) -> None:
    ends = chart.nodes[link.source], chart.nodes[link.target]
    xs, ys = [node.x for node in ends], [node.y for node in ends]
    width = (0.6 + (4 if len(chart.nodes) <= MOST_NAMES else 1.5) * link.times / top) if link.times else 0.6
    axes.plot(xs, ys, color=style.COLOURS[4], lw=width, zorder=1, solid_capstyle="round")
    if link.times and len(chart.links) <= MOST_NUMBERS:
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
        middle = sum(xs) / 2, sum(ys) / 2
        axes.text(*middle, f"{link.times:,}", fontsize=5.5, ha="center", va="center", bbox=box, zorder=2)


def _label(axes: Any, node: Node, number: int, size: float) -> None:
    """The number in the disc; the name and the share where no link goes."""
    axes.text(node.x, node.y, str(number), color="white", ha="center", va="center", fontsize=6, zorder=4)
    named = "" if node.name == str(number) else f"{node.name}\n"
    right, down = node.away
    side = "left" if right > 0.4 else "right" if right < -0.4 else "center"
    reach = size**0.5 / 2 + (2 if side != "center" else 9 if named else 5)
    box = {"facecolor": "white", "edgecolor": "none", "pad": 0.2, "alpha": 0.8}
    axes.annotate(
        f"{named}{node.share:.1%}", (node.x, node.y), (reach * right, -reach * down), textcoords="offset points",
        ha=side, va="center", fontsize=6, zorder=2.5, bbox=box,
    )  # fmt: skip
