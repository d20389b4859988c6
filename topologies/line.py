"""A line: each server is linked to the next; the two ends have one neighbour."""

import networkx as nx


def line(servers: int) -> nx.Graph:
    """The line 0 - 1 - ... - (servers - 1).

    >>> sorted(line(3).edges)
    [(0, 1), (1, 2)]
    """
    return nx.path_graph(servers)
