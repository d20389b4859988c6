"""Maps of the user's own: a graph from a GraphML or a node-link JSON file, which may come from anywhere."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx

from asyncfeel import safe_files
from asyncfeel.errors import InputError


def read(path: Path) -> "nx.Graph[Any]":
    """The graph in a GraphML or node-link file."""
    if path.suffix == ".graphml":
        content = safe_files.text(path, "the map", safe_files.MAP_BYTES)
        return _made(path, "graphml", lambda: nx.parse_graphml(_plain_xml(content)))
    data = safe_files.load_json(path, "the map", safe_files.MAP_BYTES)
    return _made(path, "networkx node-link", lambda: node_link(data))


def node_link(data: Any) -> "nx.Graph[Any]":
    """The graph in node-link data; its links may be called links or edges."""
    whole = {"directed": False, "multigraph": False} | data
    return nx.node_link_graph(whole, edges="links" if "links" in whole else "edges")


def _plain_xml(content: str) -> str:
    """The text, once it is sure to define no entities: a few lines of them can stand for gigabytes."""
    if re.search(r"<!(DOCTYPE|ENTITY)", content, re.IGNORECASE):
        raise ValueError("it has a document type or entities, which are not read: remove them")
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", content)


def _made(path: Path, form: str, make: Callable[[], Any]) -> "nx.Graph[Any]":
    try:
        return make()
    except Exception as error:
        said = f"{type(error).__name__}: {safe_files.reason(error)}"
        raise InputError(f"the map {str(path)!r} is not a {form} graph: {said}") from error
