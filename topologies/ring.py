"""A ring: each server has two neighbours; two servers share one link."""

import networkx as nx


def ring(servers: int) -> nx.Graph:
    """The ring 0 - 1 - ... - 0.

    >>> sorted(ring(4).edges)
    [(0, 1), (0, 3), (1, 2), (2, 3)]
    """
    graph = nx.path_graph(servers)
    if servers > 2:
        graph.add_edge(servers - 1, 0)
    return graph
