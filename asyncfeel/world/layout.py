"""Who is served by whom: systems without edge clusters rearrange the same clients and channels.

A layout keeps the clients, their data, their speeds and their numbers. What changes is the server
that each of them talks to, and over what.
"""

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import networkx as nx
import numpy as np

from asyncfeel.errors import InputError
from asyncfeel.world.network import Network
from asyncfeel.world.profiles import Profiles
from asyncfeel.world.topology import Topology

Place = Literal["cloud", "edge"]
Nodes = Literal["servers", "clients"]


@dataclass(frozen=True)
class Layout:
    """Clients and channels as one system uses them."""

    profiles: Profiles
    network: Network
    draw: Callable[[int], Topology]
    """The scenario's kind of graph for another number of nodes."""
    recorded: bool = True
    """Whether clients.csv and topology.json describe this arrangement, or the world before it."""


def one_server(world: Layout, place: Place, cluster: int = 0) -> Layout:
    """A single server: in the cloud for all clients, or at the edge for those of one cluster."""
    servers = world.network.topology.servers
    if place == "edge" and not 0 <= cluster < servers:
        raise InputError(f"algorithm.cluster must be from 0 to {servers - 1}, not {cluster}")
    taking_part = np.ones(len(world.profiles), dtype=bool) if place == "cloud" else world.profiles.server == cluster
    profiles = dataclasses.replace(world.profiles, server=np.where(taking_part, 0, -1))
    network = dataclasses.replace(world.network, topology=Topology(nx.empty_graph(1)))
    if place == "cloud":
        network = dataclasses.replace(network, uplink_bps=network.cloud_rate_bps, access="cloud")
    return dataclasses.replace(world, profiles=profiles, network=network, recorded=False)


def nodes(world: Layout, kind: Nodes) -> Layout:
    """The nodes of a gossip: the edge servers with their clusters, or every client by itself.

    Clients that are nodes exchange models over their own uplinks and need no upload beforehand.
    """
    if kind == "servers":
        return world
    clients = len(world.profiles)
    profiles = dataclasses.replace(world.profiles, server=np.arange(clients, dtype=np.int64))
    network = dataclasses.replace(
        world.network, topology=world.draw(clients), uplink_bps=math.inf, exchange_bps=world.network.uplink_bps
    )
    return dataclasses.replace(world, profiles=profiles, network=network)
