"""A small world (Watts-Strogatz): a ring of near neighbours with some links thrown far."""

import networkx as nx
import numpy as np

from asyncfeel.errors import InputError

TRIES = 1000
WORK = 50_000_000


def small_world(servers: int, rng: np.random.Generator, *, near: int = 4, rewire: float = 0.2) -> nx.Graph:
    """A connected Watts-Strogatz graph: `near` ring neighbours, each link rewired with a probability.

    >>> small_world(10, np.random.default_rng(1)).number_of_edges()
    20
    """
    if servers < 3:
        raise InputError(f"topology 'small-world' needs at least 3 servers, and there are {servers}")
    if not 2 <= near < servers or near % 2:
        rule = f"even and from 2 to {servers - 1}"
        raise InputError(f"topology 'small-world': near must be {rule}, not {near} (servers: {servers})")
    if not 0 <= rewire <= 1:
        raise InputError(f"topology 'small-world': rewire must be from 0 to 1, not {rewire}")
    tries = max(10, min(TRIES, WORK // (servers * near)))
    for _ in range(tries):
        graph = nx.watts_strogatz_graph(servers, near, rewire, seed=rng)
        if nx.is_connected(graph):
            return graph
    raise InputError(f"topology 'small-world': no connected graph in {tries} draws: lower rewire or raise near")
