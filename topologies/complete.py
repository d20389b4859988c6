"""A complete graph: every server is linked to every other."""

import networkx as nx


def complete(servers: int) -> nx.Graph:
    """All links there can be.

    >>> complete(4).number_of_edges()
    6
    """
    return nx.complete_graph(servers)
