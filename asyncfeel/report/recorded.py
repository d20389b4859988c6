"""The graph of a run as its folder has it: topology.json, checked."""

from pathlib import Path
from typing import Any

import networkx as nx

from asyncfeel import safe_files
from asyncfeel.errors import InputError


def graph(folder: Path) -> "nx.Graph[int]":
    """The recorded graph of servers 0 to D - 1; an `InputError` if it is damaged."""
    data = safe_files.load_json(folder / "topology.json", "the file")
    try:
        found: nx.Graph[Any] = nx.node_link_graph(data, edges="edges")
    except Exception as error:  # whatever networkx makes of data that are no graph
        raise InputError(f"topology.json of {str(folder)!r} is damaged: {safe_files.reason(error)}") from error
    numbered = set(found) == set(range(len(found))) and all(type(node) is int for node in found)
    if not found or not numbered or found.is_directed() or found.is_multigraph():
        raise InputError(f"topology.json of {str(folder)!r} is damaged: it is no graph of servers 0 to D - 1")
    return found
