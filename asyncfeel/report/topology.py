"""The topology drawn, with how often each link carried models and each server's share of the data."""

import math

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from asyncfeel.report.charts import Link, Network, Node, View
from asyncfeel.report.reading import Run

MOST = 150
"""Servers that can still be told apart."""


def view(run: Run) -> View:
    """The graph of the servers with its traffic."""
    servers = len(run.topology)
    if servers > MOST:
        return View("", f"{servers:,} servers are too many to be drawn: {MOST} can be told apart.")
    places = layout(run.topology)
    nodes = [_node(run, server, float(x), float(y)) for server, (x, y) in enumerate(places)]
    times, notes = _times(run)
    links = [Link(*link, times.get(link, 0)) for link in sorted(map(_ordered, run.topology.edges))]
    return View("", _sentence(run, links), [Network("", nodes, links)], notes)


def _node(run: Run, server: int, x: float, y: float) -> Node:
    return Node(str(run.topology.nodes[server].get("name", server)), x, y, float(run.shares[server]))


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
    big, small = int(run.shares.argmax()), int(run.shares.argmin())
    held = f"server {big} holds {run.shares[big]:.1%} of the data and server {small} {run.shares[small]:.1%}"
    world = f"{run.manifest['topology']} of {len(run.topology)} servers with {len(links)} links: {held}"
    if not any(link.times for link in links):
        return f"{world}."
    busy, idle = max(links, key=lambda link: link.times), min(links, key=lambda link: link.times)
    return (
        f"{world}; the link {busy.source}-{busy.target} carried models {busy.times:,} times and the link "
        f"{idle.source}-{idle.target} {idle.times:,} times."
    )


def layout(graph: nx.Graph) -> NDArray[np.float64]:
    """Where each node is, from 0 to 1: a ring on a circle, anything else by springs from a circle.

    >>> layout(nx.cycle_graph(4)).round(2).tolist()
    [[0.5, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 0.5]]
    """
    count = len(graph)
    order = _round(graph) or list(range(count))
    angles = 2 * math.pi * np.arange(count) / max(count, 1)
    places = np.zeros((count, 2))
    places[order] = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    if not _is_ring(graph) and count > 2:
        places = _springs(graph, places)
    low, high = places.min(axis=0), places.max(axis=0)
    return np.where(high > low, (places - low) / np.where(high > low, high - low, 1), 0.5)


def _is_ring(graph: nx.Graph) -> bool:
    return len(graph) > 2 and all(degree == 2 for _, degree in graph.degree) and nx.is_connected(graph)


def _round(graph: nx.Graph) -> list[int] | None:
    """The nodes in the order of the ring, if it is one."""
    if not _is_ring(graph):
        return None
    start = min(graph)
    return [start, *list(nx.dfs_preorder_nodes(graph, start))[1:]]


def _springs(graph: nx.Graph, places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Neighbours pull, all push each other away, in smaller and smaller steps; no chance is involved."""
    linked = nx.to_numpy_array(graph, nodelist=range(len(graph)), weight=None)
    ideal = 1.5 / math.sqrt(len(graph))
    for heat in np.linspace(0.2, 0.002, 300):
        gap = places[:, None] - places[None]
        distance = np.maximum(np.linalg.norm(gap, axis=2), 1e-3)
        force = ideal**2 / distance**2 - linked * distance / ideal
        move = (gap * force[:, :, None]).sum(axis=1)
        length = np.maximum(np.linalg.norm(move, axis=1, keepdims=True), 1e-9)
        places = places + move / length * np.minimum(length, heat)
    return places
