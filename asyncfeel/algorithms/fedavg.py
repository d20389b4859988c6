"""FedAvg (McMahan et al. 2017): one server waits for the slowest of the clients it has drawn."""

import math
from dataclasses import dataclass

from asyncfeel.algorithms._one_server import OneServer
from asyncfeel.errors import InputError
from asyncfeel.world.client import Client
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Merged
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Fedavg(OneServer):
    """Each round S of the clients train; then w = sum_S n_i w_i / sum_S n_j.

    A round lasts as long as the slowest of the S clients needs for its steps and its upload.
    """

    fraction: float = 1.0
    """The share of the clients that take part in a round."""
    local_steps: int | None = None
    """Steps of each client in a round; left out: training.local_steps."""

    def start(self, federation: Federation) -> None:
        """Start the rounds."""
        federation.job_steps("local_steps", self.local_steps)
        if not 0 < self.fraction <= 1:
            raise InputError(f"algorithm.fraction must be above 0 and at most 1, not {self.fraction}")
        federation.clock.process(self.serve(federation))

    def serve(self, federation: Federation) -> Steps:
        """The life of the server: draw clients, broadcast, wait for all of them, average."""
        (server,) = federation.servers
        steps = federation.job_steps("local_steps", self.local_steps)
        while True:
            chosen = self.participants(federation)
            now = federation.clock.now
            slowest_s = max(federation.network.compute_s(client.number, steps, now) for client in chosen)
            server.broadcast_steps(steps, slowest_s, chosen)
            uploads = yield from server.collect()
            updates = yield from federation.join(uploads)
            total = sum(upload.samples for upload in uploads)
            merged = [Merged(upload.client, 0, upload.samples / total) for upload in uploads]
            federation.mix({0: server.model + server.average_change(uploads, updates)}, {})
            federation.count([server.trigger(uploads)], [0], {}, merged)

    def participants(self, federation: Federation) -> list[Client]:
        """The clients of this round: all, or a fresh draw without repetition, in their order."""
        clients = federation.servers[0].clients
        size = max(1, math.ceil(self.fraction * len(clients) - 1e-9))
        drawn = federation.draw("participants", federation.iteration).permutation(len(clients))[:size]
        return [clients[number] for number in sorted(drawn)]
