"""FedSA (Ma et al. 2021): the server merges as soon as M updates have arrived; only those restart."""

import math
from collections import Counter
from dataclasses import dataclass

from asyncfeel.algorithms._one_server import OneServer
from asyncfeel.errors import InputError
from asyncfeel.theory.mixing import combine
from asyncfeel.world import arrivals
from asyncfeel.world.arrivals import Arrivals
from asyncfeel.world.client import Client
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class Fedsa(OneServer):
    """With M arrivals, w <- (1 - sum alpha_i) w + sum alpha_i w_i, alpha_i = n_i / n, in arrival order.

    A client that takes part more often learns more slowly: lr_i = lr / (C f_i), with f_i its share of
    all participations so far (1/C before its first). The server waits for the M fastest only.
    """

    M: int | None = None
    """Updates that the server waits for; left out: half of the clients, rounded up."""
    adapt_rate: bool = True
    """Whether the learning rates follow the participation."""
    local_steps: int | None = None
    """Steps of each job; left out: training.local_steps."""

    def start(self, federation: Federation) -> None:
        """Start the server and every client."""
        federation.job_steps("local_steps", self.local_steps)
        clients = len(federation.servers[0])
        wanted = math.ceil(clients / 2) if self.M is None else self.M
        if not 1 <= wanted <= clients:
            raise InputError(f"algorithm.M must be from 1 to {clients} (the clients of the server), not {wanted}")
        federation.clock.process(self.serve(federation, wanted))

    def serve(self, federation: Federation, wanted: int) -> Steps:
        """The life of the server: wait for M arrivals, merge them, send those off again."""
        (server,) = federation.servers
        total = int(server.samples.sum())
        taken: Counter[int] = Counter()

        def rate(client: Client) -> float:
            if not self.adapt_rate or not taken[client.number]:
                return 1.0
            return taken.total() / (len(server) * taken[client.number])

        inbox = Arrivals(federation, server, federation.job_steps("local_steps", self.local_steps), rate=rate)
        while True:
            batch = yield from inbox.several(wanted)
            updates = yield from federation.join_each([arrival.upload for arrival in batch])
            merging = zip(batch, updates, strict=True)
            weights = [0.0 if update.diverged else one.upload.samples / total for one, update in merging]
            terms = zip(weights, (update.model for update in updates), strict=True)
            rest = 0.0 if wanted == len(server) and all(weights) else 1 - sum(weights)
            federation.mix({0: combine([(rest, server.model), *terms])}, {})
            taken.update(arrival.upload.client for arrival in batch)
            arrivals.count(federation, batch, weights)
            for arrival in batch:
                arrival.release()
