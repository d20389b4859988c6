"""The graph of the edge servers: drawn by name, from a map, or by a function of the user's own."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from asyncfeel import plugins
from asyncfeel.errors import InputError
from asyncfeel.plugins import Plugin
from asyncfeel.world import map_files, maps

DEFAULT_SERVERS = 6
GIVEN = frozenset({"servers", "rng"})
MOST_SERVERS = 1_000_000
MOST_LINKS = 2_000_000
"""What a graph may have: more would not fit into the memory of an ordinary machine."""


@dataclass(frozen=True)
class Topology:
    """A connected graph of servers 0 to D - 1, with the links' own rates where there are any."""

    graph: "nx.Graph[int]"

    @cached_property
    def servers(self) -> int:
        """The number of servers, D."""
        return int(self.graph.number_of_nodes())

    @cached_property
    def links(self) -> tuple[tuple[int, int], ...]:
        """Every link once, as (lower, higher), in order."""
        return tuple(sorted((min(a, b), max(a, b)) for a, b in self.graph.edges))

    @cached_property
    def neighbours(self) -> tuple[tuple[int, ...], ...]:
        """The one-hop neighbours N_d of each server, in order."""
        return tuple(tuple(sorted(self.graph[server])) for server in range(self.servers))

    def rate_bps(self, a: int, b: int, default: float) -> float:
        """The rate of a link: its own, or the default."""
        rate = self.graph.edges[a, b].get("rate_bps")
        return default if rate is None else float(rate)

    def node_link(self) -> dict[str, Any]:
        """The graph as networkx node-link data, nodes and links in order."""
        nodes = [{**self.graph.nodes[server], "id": server} for server in range(self.servers)]
        edges = [{**self.graph.edges[a, b], "source": a, "target": b} for a, b in self.links]
        return {"directed": False, "multigraph": False, "graph": dict(self.graph.graph), "nodes": nodes, "edges": edges}


def draw(plugin: Plugin, servers: int | None, rng: np.random.Generator) -> tuple[Topology, Plugin]:
    """The graph that a scenario asks for, and the plug-in with all its options."""
    source = maps.find(plugin.kind)
    if isinstance(source, Path):
        if plugin.options:
            raise InputError(f"topology {plugin.kind!r} is a map and takes no option {next(iter(plugin.options))!r}")
        topology = check(plugin.kind, map_files.read(source))
        if servers not in (None, topology.servers):
            raise InputError(
                f"topology {plugin.kind!r} has {topology.servers} servers, not {servers}: leave the number out"
            )
        return topology, plugin
    options = plugins.complete(f"topology {plugin.kind!r}", source, plugin.options, GIVEN)
    _refuse_dense(plugin.kind, servers or DEFAULT_SERVERS, options)
    given = {"servers": servers or DEFAULT_SERVERS, "rng": rng}
    graph = plugins.made(f"topology {plugin.kind!r}", source, plugins.supply(source, given) | options)
    topology = check(plugin.kind, graph)
    if topology.servers != given["servers"]:
        raise InputError(
            f"topology {plugin.kind!r} made {topology.servers} servers where {given['servers']} were asked for"
        )
    return topology, Plugin(plugin.kind, options)


def _refuse_dense(kind: str, servers: int, options: Mapping[str, Any]) -> None:
    """An error for a graph of our own that would have too many links, before it is drawn."""
    per_server = {
        "complete": servers - 1,
        "random": servers - 1,  # every pair is drawn, whatever p is
        "random-regular": options.get("degree", 0),
        "small-world": options.get("near", 0),
    }.get(kind, 0)
    if servers > MOST_SERVERS or servers * per_server / 2 > MOST_LINKS:
        links = f" with about {servers * per_server / 2:,.0f} links" if per_server else ""
        raise InputError(
            f"topology {kind!r} of {servers:,} servers{links} is too large: at most {MOST_SERVERS:,} servers and "
            f"{MOST_LINKS:,} links are allowed"
        )


def check(kind: str, graph: Any) -> Topology:
    """The graph as a topology with servers 0 to D - 1, or an error that says what is wrong with it."""
    if not isinstance(graph, nx.Graph):
        raise InputError(f"topology {kind!r} gave a {type(graph).__name__} instead of a networkx graph")
    if graph.is_directed() or graph.is_multigraph():
        raise InputError(
            f"topology {kind!r} is directed or has double links: servers exchange models both ways, once per link"
        )
    if not graph:
        raise InputError(f"topology {kind!r} has no server")
    if graph.number_of_nodes() > MOST_SERVERS or graph.number_of_edges() > MOST_LINKS:
        raise InputError(
            f"topology {kind!r} has {graph.number_of_nodes():,} servers and {graph.number_of_edges():,} links: "
            f"at most {MOST_SERVERS:,} and {MOST_LINKS:,} are allowed"
        )
    loops = list(nx.selfloop_edges(graph))
    if loops:
        raise InputError(f"topology {kind!r} links server {loops[0][0]!r} with itself")
    if not nx.is_connected(graph):
        parts = [sorted(map(str, part)) for part in nx.connected_components(graph)]
        raise InputError(
            f"topology {kind!r} is not connected: {len(parts)} parts, one of them {', '.join(min(parts, key=len)[:5])}"
        )
    _check_rates(kind, graph)
    topology = Topology(_numbered(graph))
    try:
        json.dumps(topology.node_link())
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"topology {kind!r} has an attribute that cannot be recorded: {error}") from error
    return topology


def _check_rates(kind: str, graph: "nx.Graph[Any]") -> None:
    for a, b, rate in graph.edges(data="rate_bps"):
        if rate is not None and (
            isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 < rate < float("inf")
        ):
            raise InputError(f"topology {kind!r}: rate_bps of the link {a}-{b} must be a positive number, not {rate!r}")


def _numbered(graph: "nx.Graph[Any]") -> "nx.Graph[int]":
    """Nodes numbered from 0: as they are if they are 0 to D - 1 already, else in the order of the map."""
    if set(graph) == set(range(len(graph))) and all(type(node) is int for node in graph):
        return graph
    named = graph.copy()
    for node in named:
        named.nodes[node].setdefault("name", str(node))
    return nx.relabel_nodes(named, {node: number for number, node in enumerate(graph)})
