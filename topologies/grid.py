"""A grid: servers in rows and columns, as square as can be; optionally a torus."""

import math
from itertools import pairwise

import networkx as nx

from asyncfeel.errors import InputError


def grid(servers: int, *, columns: int = 0, torus: bool = False) -> nx.Graph:
    """The grid filled row by row, for any number of servers; the last row may be shorter.

    `columns` = 0 takes the square root, rounded up. With `torus` the ends of each row and of each
    column are linked too, where they are at least three servers apart.

    >>> sorted(grid(5).edges)
    [(0, 1), (0, 3), (1, 2), (1, 4), (3, 4)]
    """
    if columns < 0 or columns > servers:
        raise InputError(f"topology 'grid': columns must be from 1 to {servers} (or 0 for a square), not {columns}")
    width = columns or math.ceil(math.sqrt(servers))
    graph = nx.empty_graph(servers)
    for line in _rows(servers, width) + _columns(servers, width):
        graph.add_edges_from(pairwise(line))
        if torus and len(line) > 2:
            graph.add_edge(line[-1], line[0])
    return graph


def _rows(servers: int, width: int) -> list[list[int]]:
    return [list(range(start, min(start + width, servers))) for start in range(0, servers, width)]


def _columns(servers: int, width: int) -> list[list[int]]:
    return [list(range(start, servers, width)) for start in range(width)]
