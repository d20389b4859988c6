"""FedAvg (McMahan et al. 2017): one server waits for the slowest of the clients it has drawn."""

import math
from dataclasses import dataclass

import numpy as np

from asyncfeel.algorithms._one_server import OneServer, merged
from asyncfeel.errors import InputError
from asyncfeel.theory.aggregation import data_shares
from asyncfeel.theory.latency import Counts
from asyncfeel.world.federation import Federation
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
        skips = 0
        while True:
            yield from server.ready()
            chosen = self.participants(federation, skips)
            now = federation.clock.now
            slowest_s = float(federation.network.compute_each_s(chosen, np.full(len(chosen), steps), now).max())
            server.broadcast_steps(steps, slowest_s, chosen, data_shares)
            uploads = yield from server.collect()
            if uploads.nobody:
                yield from server.skip()
                skips += 1
                continue
            yield from server.ready()
            skips = 0
            gathered = yield from federation.join(uploads)
            federation.mix({0: server.model + gathered.change}, {})
            federation.count([server.trigger(uploads)], [0], {}, merged(uploads, gathered))

    def participants(self, federation: Federation, skips: int = 0) -> Counts:
        """The clients of this round: all, or a fresh draw without repetition, in their order.

        A round that was skipped is drawn anew, for those who were drawn may stay away.
        """
        clients = federation.servers[0].members
        size = max(1, math.ceil(self.fraction * len(clients) - 1e-9))
        names = (federation.iteration, skips) if skips else (federation.iteration,)
        drawn = federation.draw("participants", *names).permutation(len(clients))[:size]
        return clients[np.sort(drawn)]
