"""A balanced tree: each server has `branching` children, filled level by level."""

import networkx as nx

from asyncfeel.errors import InputError


def tree(servers: int, *, branching: int = 2) -> nx.Graph:
    """The tree in which server i is the child of server (i - 1) // branching.

    >>> sorted(tree(5).edges)
    [(0, 1), (0, 2), (1, 3), (1, 4)]
    """
    if branching < 1:
        raise InputError(f"topology 'tree': branching must be at least 1, not {branching}")
    graph = nx.empty_graph(servers)
    graph.add_edges_from(((server - 1) // branching, server) for server in range(1, servers))
    return graph
