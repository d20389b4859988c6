"""The drawings of docs/pictures that show numbers: those of asyncfeel's own plans and equations."""

import math
import tempfile
from pathlib import Path

import schematic
import svg

from asyncfeel import Scenario, run
from asyncfeel.replay import replay
from asyncfeel.result import Result
from asyncfeel.theory import mixing, staleness

DOCS = Path(__file__).parents[1]
PAPER = {
    "work.flops_per_step": "paper",
    "network.model_bits": "paper",
    "network.uplink_bps": "5 Mbps",
    "network.exchange_bps": "10 Mbps",
    "training.local_steps": 100,
}
"""The paper's work, bits and rates (A12, A16), which need no model."""


def planned(iterations: int, servers: int = 6, clients: int = 30) -> Result:
    """A plan in the paper's world."""
    scenario = Scenario.load(servers=servers, clients=clients, iterations=iterations, set=PAPER)
    return run(scenario, tempfile.mkdtemp(), train=False)


def world() -> str:
    """The clients around their servers, and the ring between these."""
    table = planned(1).clients
    places = schematic.around(6, 200, 205, 100)
    shapes = [svg.path([places[d], places[(d + 1) % 6]], "line", 3) for d in range(6)]
    for d, (x, y) in enumerate(places):
        speeds = sorted(table["flops"][table["server"] == d].tolist())
        turn = math.atan2(y - 205, x - 200)
        for number, flops in enumerate(speeds):
            angle = turn + (number - 2) * 0.42
            u, v = x + 72 * math.cos(angle), y + 72 * math.sin(angle)
            shapes += [svg.path([(x, y), (u, v)], "line", 1), svg.dot(u, v, 7 * math.sqrt(flops / 1e9), "blue")]
        shapes += [svg.dot(x, y, 19, "green"), svg.text(x, y, str(d), "on", 15, "middle", True)]
    notes = [
        ("green", "edge server"),
        ("blue", "client: its area is its speed,"),
        ("", "the fastest ten times the slowest"),
    ]
    for row, (colour, words) in enumerate(notes):
        y = 160 + 24 * row
        shapes += [svg.dot(425, y, 8, colour)] if colour else []
        shapes.append(svg.text(442, y, words, "ink"))
    shapes += [svg.path([(416, 244), (434, 244)], "line", 3), svg.text(442, 244, "link between servers")]
    return svg.drawing("Six edge servers on a ring, each with five clients of unequal speed", 680, 410, shapes)


def iteration() -> str:
    """What a cluster does from a broadcast to the next: its clients' phases, its exchange, its completion."""
    result = planned(12)
    row = next(k for k, server in enumerate(result.iterations["server"]) if server == 0)
    deadline_s, end_s = (float(result.iterations[name][row]) for name in ("deadline_s", "time_s"))
    members = [int(client) for client in result.clients["client"][result.clients["server"] == 0]]
    members.sort(key=lambda client: float(result.clients["flops"][client]))
    lanes = {("client", client): 62 + 34 * place for place, client in enumerate(members)}
    lanes[("server", 0)] = 62 + 34 * len(members)
    left, scale = 150.0, 540 / end_s
    colours = {"compute": "blue", "upload": "orange", "exchange": "green"}
    shapes = [svg.box(left, y, 540, 24, "panel") for y in lanes.values()]
    for phase in replay(result.folder, end_s).phases:
        y = lanes.get((phase.who, phase.number))
        if y is None or phase.kind not in colours or phase.start_s >= end_s:
            continue
        x, width = left + phase.start_s * scale, (phase.end_s - phase.start_s) * scale
        shapes.append(svg.box(x, y, width, 24, colours[phase.kind]))
        words = phase.kind
        if phase.kind == "compute":
            words = f"{round((phase.end_s - phase.start_s) * result.clients['flops'][phase.number] / 556.7e6)} steps"
        shapes.append(svg.text(x + width / 2, y + 12, words, "on", 12, "middle"))
    for client in members:
        flops = float(result.clients["flops"][client]) / 1e9
        shapes.append(
            svg.text(left - 10, lanes["client", client] + 12, f"client at {flops:.2f} GFLOPS", "ink", 12, "end")
        )
    bottom = lanes["server", 0] + 24
    shapes.append(svg.text(left - 10, bottom - 12, "server 0", "ink", 12, "end", True))
    marks = [0.0, deadline_s, deadline_s + 71.5133568, end_s]
    names = [("broadcast", "start"), ("deadline", "end"), ("uploads are in", "end"), ("completion", "middle")]
    for at, (name, anchor) in zip(marks, names, strict=True):
        x = left + at * scale
        shapes += [
            svg.path([(x, 50), (x, bottom + 8)], "ink", 1, dashed=True),
            svg.text(x, 38, name, "ink", 13, anchor, True),
        ]
        shapes.append(svg.text(x, bottom + 20, f"{at:.1f} s", "soft", 12, anchor))
    return svg.drawing(
        "The life of an iteration: computation until the deadline, uploads, exchange", 780, bottom + 40, shapes
    )


def counted() -> str:
    """The staleness of each server at each iteration of a plan, as staleness.csv has it."""
    table = planned(14, servers=4, clients=20).staleness
    left, top, size = 120, 62, 44
    shapes = [svg.text(left - 14, top - 22, "iteration k", "soft", 12, "end")]
    shapes += [svg.text(left - 14, top + size * d + 20, f"server {d}", "ink", 13, "end") for d in range(4)]
    columns = [table[name].tolist() for name in ("iteration", "trigger", "server", "staleness")]
    for k, trigger, server, value in zip(*columns, strict=True):
        x, y = left + size * k, top + size * server
        own = trigger == server
        shapes += [svg.box(x, y, 40, 40, "pink" if own else "panel")]
        shapes.append(svg.text(x + 20, y + 20, str(value), "on" if own else "ink", 15, "middle", own))
        if own:
            shapes.append(svg.text(x + 20, top - 22, str(k), "soft", 12, "middle"))
    bottom = top + size * 4
    shapes += [
        svg.box(left, bottom + 12, 14, 14, "pink"),
        svg.text(
            left + 22,
            bottom + 19,
            "the server that completes iteration k: its count begins again at 0 with the next",
            "soft",
        ),
    ]
    return svg.drawing("Staleness of four servers over fourteen iterations", 780, bottom + 42, shapes)


def matrix() -> str:
    """One mixing: six servers on a ring, server 0 completes; the weights and the matrix P_k."""
    ages = [5, 4, 3, 2, 1, 0]
    weights = mixing.staleness_weights(0, [1, 5], ages, staleness.inverse())
    columns = mixing.paper(0, weights, [1 / 6] * 6)
    places = schematic.around(6, 185, 175, 100)
    shapes = [svg.path([places[d], places[(d + 1) % 6]], "pink" if d in (0, 5) else "line", 3) for d in range(6)]
    for d, (x, y) in enumerate(places):
        shapes += [svg.dot(x, y, 19, "pink" if d == 0 else "green" if d in weights else "soft")]
        shapes.append(svg.text(x, y, str(d), "on", 15, "middle", True))
        outside = (185 + (x - 185) * 1.62, 175 + (y - 175) * 1.32)
        shapes.append(svg.text(*outside, f"staleness {ages[d]}", "soft", 12, "middle"))
    for d, weight in weights.items():
        if d:
            x, y = ((places[0][0] + places[d][0]) / 2, (places[0][1] + places[d][1]) / 2)
            shapes.append(svg.text(x + (26 if x > 185 else -26), y - 10, f"{weight:.3f}", "pink", 13, "middle", True))
    left, top, size = 400, 66, 54
    for target in range(6):
        into = mixing.into(columns, target, 6)
        shapes.append(svg.text(left + size * target + 25, top - 14, str(target), "soft", 12, "middle"))
        shapes.append(svg.text(left - 14, top + 38 * target + 17, str(target), "soft", 12, "middle"))
        for source, weight in enumerate(into):
            x, y = left + size * target, top + 38 * source
            touched = weight != (source == target)
            shapes.append(svg.box(x, y, 50, 34, "panel"))
            shapes += [svg.frame(x, y, 50, 34, "pink")] if touched else []
            shapes.append(
                svg.text(
                    x + 25,
                    y + 17,
                    f"{weight:.3f}" if touched else f"{weight:g}",
                    "ink" if weight else "soft",
                    13,
                    "middle",
                )
            )
    shapes.append(
        svg.text(left + 160, top - 36, "P: the share of the source (row) in the target (column)", "ink", 13, "middle")
    )
    return svg.drawing("A mixing matrix on a ring of six", 780, 320, shapes)


def weighing() -> str:
    """Some staleness functions, each as a share of its value at 0."""
    left, right, top, bottom = 60, 590, 30, 250
    chosen = {"constant": "soft", "polynomial": "blue", "inverse": "pink", "exponential": "green", "hinge": "orange"}
    shapes = [svg.path([(left, top), (left, bottom), (right, bottom)], "line")]
    for age in range(0, 13, 2):
        x = left + (right - left) * age / 12
        shapes.append(svg.text(x, bottom + 16, str(age), "soft", 12, "middle"))
    for share in (0.0, 0.5, 1.0):
        shapes.append(svg.text(left - 10, bottom - share * (bottom - top - 10), f"{share:g}", "soft", 12, "end"))
    for row, (name, colour) in enumerate(chosen.items()):
        psi = getattr(staleness, name)()
        points = [
            (left + (right - left) * age / 12, bottom - psi(age) / psi(0) * (bottom - top - 10)) for age in range(13)
        ]
        shapes += [svg.path(points, colour, 2), *(svg.dot(x, y, 3, colour) for x, y in points)]
        shapes += [
            svg.path([(620, 60 + 26 * row), (644, 60 + 26 * row)], colour, 3),
            svg.text(652, 60 + 26 * row, name),
        ]
    shapes.append(svg.text((left + right) / 2, bottom + 38, "staleness", "soft", 12, "middle"))
    return svg.drawing("Staleness functions: how much a model counts that is so many iterations old", 780, 305, shapes)


def files() -> dict[Path, str]:
    """Every drawing, and the colours that they share."""
    pictures = {
        "world": world(),
        "clocks": schematic.clocks(),
        "iteration": iteration(),
        "staleness": counted(),
        "mixing": matrix(),
        "psi": weighing(),
        "mark": schematic.mark(),
    }
    drawn = {DOCS / "pictures" / f"{name}.svg": drawing for name, drawing in pictures.items()}
    return drawn | {DOCS / "styles" / "pictures.css": svg.stylesheet()}
