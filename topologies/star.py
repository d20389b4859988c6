"""A star: server 0 in the middle, every other server linked to it alone."""

import networkx as nx


def star(servers: int) -> nx.Graph:
    """The star with centre 0.

    >>> sorted(star(4).edges)
    [(0, 1), (0, 2), (0, 3)]
    """
    return nx.star_graph(servers - 1)
