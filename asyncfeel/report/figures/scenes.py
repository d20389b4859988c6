"""The timeline and the topology by matplotlib."""

import math
from typing import Any

from asyncfeel.report.charts import Network, Tracks
from asyncfeel.report.figures import style

WORK = {"compute": 0, "upload": 1, "exchange": 2, "download": 5, "wait": 6}


def tracks(axes: Any, chart: Tracks) -> None:
    """A row for each server and client, and the models that servers exchange."""
    seen: set[str] = set()
    for what, number in WORK.items():
        for track in range(len(chart.tracks)):
            some = [one for one in chart.slices if one.what == what and one.track == track]
            spans = [(one.start_s, one.end_s - one.start_s) for one in some]
            wait = what == "wait"
            low, high = (track - 0.1, 0.2) if wait else (track - 0.38, 0.76)
            if spans:
                label = what if what not in seen else None
                axes.broken_barh(
                    spans, (low, high), color=style.colour(number), alpha=0.5 if wait else 1, label=label, lw=0
                )
                seen.add(what)
    for one in chart.arrows:
        if one.what == "exchange":
            look = {"arrowstyle": "-|>", "color": "#222222", "lw": 0.5, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 5}
            axes.annotate("", (one.arrived_s, one.target), (one.sent_s, one.source), arrowprops=look, zorder=5)
    axes.set_yticks(range(len(chart.tracks)), chart.tracks, fontsize=6)
    axes.set_ylim(len(chart.tracks) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel(chart.x_label)
    if chart.title:
        axes.set_ylabel(chart.title)
    axes.grid(visible=False, axis="y")
    for label in axes.get_yticklabels():
        label.set_fontweight("bold" if label.get_text().startswith("server") else "normal")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=5, handlelength=1.0, columnspacing=1.0)


def network(axes: Any, chart: Network) -> None:
    """Servers as discs by data, links by traffic."""
    top = max((link.times for link in chart.links), default=0) or 1
    most = max(node.share for node in chart.nodes) or 1
    for link in chart.links:
        ends = chart.nodes[link.source], chart.nodes[link.target]
        xs, ys = [node.x for node in ends], [node.y for node in ends]
        width = 0.6 + 4 * link.times / top
        axes.plot(xs, ys, color=style.COLOURS[4], lw=width, zorder=1, solid_capstyle="round")
        if link.times and len(chart.links) <= 24:
            middle = sum(xs) / 2, sum(ys) / 2
            box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
            axes.text(*middle, f"{link.times:,}", fontsize=6, ha="center", va="center", bbox=box, zorder=2)
    room = 260.0 if len(chart.nodes) <= 40 else 40.0
    sizes = [30 + room * node.share / most for node in chart.nodes]
    axes.scatter([node.x for node in chart.nodes], [node.y for node in chart.nodes], sizes, "#08407e", zorder=3, lw=0)
    if len(chart.nodes) <= 40:
        for number, (node, size) in enumerate(zip(chart.nodes, sizes, strict=True)):
            axes.text(node.x, node.y, str(number), color="white", ha="center", va="center", fontsize=6, zorder=4)
            below = (0, -math.sqrt(size) / 2 - 7)
            named = "" if node.name == str(number) else f"{node.name} "
            axes.annotate(
                f"{named}{node.share:.1%}", (node.x, node.y), below, textcoords="offset points", ha="center",
                fontsize=6, zorder=4,
            )  # fmt: skip
    axes.set_xlim(-0.15, 1.15)
    axes.set_ylim(1.2, -0.1)
    axes.set_axis_off()
