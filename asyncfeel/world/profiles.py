"""The clients as columns: whose cluster each is in, how much data it has, how fast it is."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError
from asyncfeel.plugins import Plugin
from asyncfeel.world import clients_file

Assignment = Literal["random", "sorted", "file"]


@dataclass(frozen=True)
class Profiles:
    """What is fixed about the clients before the simulation starts."""

    server: NDArray[np.int64]
    samples: NDArray[np.int64]
    flops: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.server)

    @cached_property
    def clusters(self) -> list[NDArray[np.int64]]:
        """The clients C_d of each server, in order; a client of server -1 takes no part."""
        order = np.argsort(self.server, kind="stable")
        starts = np.searchsorted(self.server[order], np.arange(int(self.server.max()) + 1))
        return np.split(order, starts)[1:]

    @cached_property
    def cluster_samples(self) -> list[int]:
        """The samples n(C_d) of each cluster."""
        return [int(self.samples[members].sum()) for members in self.clusters]

    @cached_property
    def shares(self) -> list[float]:
        """Each cluster's share of all the data, mtil_d."""
        total = sum(self.cluster_samples)
        return [count / total for count in self.cluster_samples]


def assign(
    rule: Assignment, flops: NDArray[np.float64], servers: int, speeds: Plugin, rng: np.random.Generator
) -> NDArray[np.int64]:
    """The server of each client; cluster sizes differ by at most one, unless a file says otherwise (A15)."""
    clients = len(flops)
    if clients < servers:
        raise InputError(f"{clients} clients cannot serve {servers} servers: every server needs at least one client")
    if rule == "file":
        return _from_file(clients, servers, speeds)
    order = np.argsort(flops, kind="stable") if rule == "sorted" else rng.permutation(clients)
    server = np.empty(clients, dtype=np.int64)
    server[order] = np.arange(clients) * servers // clients
    return server


def _from_file(clients: int, servers: int, speeds: Plugin) -> NDArray[np.int64]:
    if "path" not in speeds.options:
        raise InputError("federation.assignment = 'file' needs speeds of kind 'file', whose CSV has a column server")
    column = clients_file.column(str(speeds.options["path"]), clients, "server")
    if set(column) != set(range(servers)):
        raise InputError(f"the clients file must name every server from 0 to {servers - 1}, and no other")
    return np.array(column).astype(np.int64)
