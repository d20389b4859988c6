"""The topology drawn, with how often each link carried models and each server's share of the data."""

from asyncfeel.report import layout
from asyncfeel.report.charts import Link, Network, Node, View
from asyncfeel.report.reading import Run

MOST = 150
"""Servers that can still be told apart."""


def view(run: Run) -> View:
    """The graph of the servers with its traffic."""
    servers = len(run.topology)
    if servers > MOST:
        return View("", f"{servers:,} servers are too many to be drawn: {MOST} can be told apart.")
    places = layout.places(run.topology)
    free = layout.free(run.topology, places)
    names = [str(run.topology.nodes[server].get("name", server)) for server in range(servers)]
    nodes = [
        Node(name, float(x), float(y), float(share), away)
        for name, (x, y), share, away in zip(names, places, run.shares, free, strict=True)
    ]
    times, notes = _times(run)
    links = [Link(*link, times.get(link, 0)) for link in sorted(map(_ordered, run.topology.edges))]
    return View("", _sentence(run, links), [Network("", nodes, links)], notes)


def _ordered(link: tuple[int, int]) -> tuple[int, int]:
    return min(link), max(link)


def _times(run: Run) -> tuple[dict[tuple[int, int], int], list[str]]:
    """In how many exchanges each link carried the models of its two ends."""
    if run.by_client:
        return {}, ["A system with a single server does not use these links."]
    if run.algorithm == "hierfavg":
        return {}, ["The servers meet in the cloud, so these links carry nothing."]
    if run.mixing is None:
        return {}, ["There is no mixing.csv, so what the links carried is not known."]
    source, target = run.mixing["source"], run.mixing["target"]
    seen = {
        (k, min(a, b), max(a, b))
        for k, a, b in zip(run.mixing["iteration"].tolist(), source.tolist(), target.tolist(), strict=True)
        if a != b
    }
    exchanges = int(run.config.get("algorithm.alpha", 1)) if run.algorithm == "sync-sd-feel" else 1
    times: dict[tuple[int, int], int] = {}
    for _, a, b in seen:
        times[a, b] = times.get((a, b), 0) + exchanges
    return times, ["A link's width is the number of exchanges that carried models over it, one each way."]


def _sentence(run: Run, links: list[Link]) -> str:
    if len(run.topology) == 1:
        return "There is one server, which holds all the data and has no links."
    big, small = int(run.shares.argmax()), int(run.shares.argmin())
    held = f"server {big} holds the most data ({run.shares[big]:.1%}) and server {small} the least"
    world = (
        f"The topology {run.manifest['topology']} links {len(run.topology)} servers by {_count(len(links), 'link')}; "
        f"{held} ({run.shares[small]:.1%})"
    )
    if not any(link.times for link in links):
        return f"{world}."
    busy, idle = max(links, key=lambda link: link.times), min(links, key=lambda link: link.times)
    if busy.times == idle.times:
        return f"{world}, and every link carried models {_count(busy.times, 'time')}."
    return (
        f"{world}, and the link {busy.source}-{busy.target} carried models most often "
        f"({_count(busy.times, 'time')}), the link {idle.source}-{idle.target} least often ({idle.times:,})."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
