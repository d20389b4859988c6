"""Where the servers of a graph are drawn, and where their labels have room."""

import math

import networkx as nx
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_ROUNDS = 300


def places(graph: nx.Graph) -> Floats:
    """Where each node is, from 0 to 1 with y downwards: a ring or a complete graph on a circle, others by stress.

    >>> places(nx.cycle_graph(4)).round(2).tolist()
    [[0.5, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 0.5]]
    """
    count = len(graph)
    order = _round(graph)
    found = _stressed(graph) if order is None else np.zeros((count, 2))
    if order is not None:
        angles = 2 * math.pi * np.arange(count) / count
        found[order] = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    low, high = found.min(axis=0), found.max(axis=0)
    return np.asarray(0.5 + (found - (low + high) / 2) / (float((high - low).max()) or 1.0), dtype=np.float64)


def free(graph: nx.Graph, found: Floats) -> list[tuple[float, float]]:
    """For each node a direction in the middle of the widest gap between its links.

    >>> [round(x, 2) for x, _ in free(nx.path_graph(2), np.array([[0.0, 0.5], [1.0, 0.5]]))]
    [-1.0, 1.0]
    """
    return [
        _gap([math.atan2(*(found[other] - found[node])[::-1]) for other in graph[node]]) for node in range(len(graph))
    ]


def _gap(angles: list[float]) -> tuple[float, float]:
    if not angles:
        return 0.0, 1.0
    angles = sorted(angles)
    ends = [*angles[1:], angles[0] + 2 * math.pi]
    start, end = max(zip(angles, ends, strict=True), key=lambda gap: round(gap[1] - gap[0], 6))
    return math.cos((start + end) / 2), math.sin((start + end) / 2)


def _round(graph: nx.Graph) -> list[int] | None:
    """The nodes in an order for a circle, if they belong on one."""
    degrees = {degree for _, degree in graph.degree}
    if degrees == {len(graph) - 1}:
        return list(range(len(graph)))
    if degrees == {2} and nx.is_connected(graph):
        return list(nx.dfs_preorder_nodes(graph, 0))
    return None


def _stressed(graph: nx.Graph) -> Floats:
    """Nodes as far apart as the number of links between them, as well as a plane allows; no chance is involved.

    It begins with the classical scaling of these distances and goes on by majorising the stress, in which a pair
    weighs the inverse square of its distance.
    """
    count = len(graph)
    wanted = np.full((count, count), float(count))
    for node, far in nx.all_pairs_shortest_path_length(graph):
        wanted[node, list(far)] = list(far.values())
    weights = 1 / np.where(wanted > 0, wanted, np.inf) ** 2
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    now = _scaled(wanted)
    for _ in range(_ROUNDS):
        apart = np.linalg.norm(now[:, None] - now[None], axis=2)
        pull = weights * wanted / np.maximum(apart, 1e-9)
        now = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ now)
    return np.asarray(now, dtype=np.float64)


def _scaled(wanted: Floats) -> Floats:
    """Classical scaling, and a little circle so that no two nodes begin at one place."""
    count = len(wanted)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ wanted**2 @ centre)
    angles = 2 * math.pi * np.arange(count) / count
    circle = np.stack([np.sin(angles), -np.cos(angles)], axis=1)
    return np.asarray(vectors[:, [-1, -2]] * np.sqrt(np.maximum(values[[-1, -2]], 0)) + 0.05 * circle)
