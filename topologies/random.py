"""A random graph G(n, p): each link exists with probability p; redrawn until connected."""

import networkx as nx
import numpy as np

from asyncfeel.errors import InputError

TRIES = 1000
WORK = 50_000_000


def random(servers: int, rng: np.random.Generator, *, p: float = 0.5) -> nx.Graph:
    """A connected G(servers, p); an error if none is found in a thousand draws, or fewer of a large one.

    >>> nx.is_connected(random(8, np.random.default_rng(1)))
    True
    """
    if not 0 < p <= 1:
        raise InputError(f"topology 'random': p must be above 0 and at most 1, not {p}")
    tries = max(10, min(TRIES, WORK // servers**2))
    for _ in range(tries):
        graph = nx.gnp_random_graph(servers, p, seed=rng)
        if nx.is_connected(graph):
            return graph
    raise InputError(
        f"topology 'random': no connected graph of {servers} servers in {tries} draws with p = {p}: raise p"
    )
