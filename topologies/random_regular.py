"""A random regular graph: every server has the same number of neighbours, chosen at random."""

import networkx as nx
import numpy as np

from asyncfeel.errors import InputError

TRIES = 1000
WORK = 50_000_000


def random_regular(servers: int, rng: np.random.Generator, *, degree: int = 3) -> nx.Graph:
    """A connected graph in which every server has `degree` neighbours.

    >>> set(dict(random_regular(8, np.random.default_rng(1)).degree).values())
    {3}
    """
    if servers == 1:
        raise InputError("topology 'random-regular' needs at least 2 servers, and there is 1")
    if not 0 < degree < servers or degree * servers % 2:
        rule = f"from 1 to {servers - 1} and even when the number of servers is odd"
        raise InputError(f"topology 'random-regular': degree must be {rule}, not {degree} (servers: {servers})")
    tries = max(10, min(TRIES, WORK // (servers * degree)))
    for _ in range(tries):
        graph = nx.random_regular_graph(degree, servers, seed=rng)
        if nx.is_connected(graph):
            return nx.relabel_nodes(graph, dict(zip(graph, range(servers), strict=True)))
    raise InputError(f"topology 'random-regular': no connected graph in {tries} draws: raise degree ({degree})")
