"""FEEL: FedAvg at a single edge server, with the clients and the data of one cluster only."""

from dataclasses import dataclass

from asyncfeel.algorithms.fedavg import Fedavg
from asyncfeel.world.layout import Place


@dataclass(frozen=True)
class Feel(Fedavg):
    """FedAvg whose server is at the edge: fast links, but it reaches one cluster alone."""

    server: Place = "edge"
    """Where the server is: at the edge."""
