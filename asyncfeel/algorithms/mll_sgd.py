"""MLL-SGD (Castiglia et al. 2020): time is cut into slots, and workers step with the odds of their speed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from asyncfeel.errors import InputError
from asyncfeel.theory.latency import Counts
from asyncfeel.theory.mixing import Columns
from asyncfeel.world import rounds
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Server, Steps


@dataclass(frozen=True)
class MllSgd:
    """Slots of N_step / h_max; worker i steps in a slot with probability p_i = h_i / h_max.

    Hubs average their workers every tau slots and mix with their neighbours every q tau slots, with
    the matrix that keeps the data shares. Nobody waits for a slow worker: it has just done less.
    """

    tau: int | None = None
    """Slots between two averages of a hub; left out: training.local_steps."""
    q: int = 1
    """Averages between two mixings of the hubs."""

    def objective(self, federation: Federation) -> list[float]:
        """Clusters count by data and by their workers' mean odds of a step."""
        top = float(federation.network.flops.max())
        flops = federation.network.flops
        pull = [float((server.samples * flops[server.members] / top).sum()) for server in federation.servers]
        total = sum(pull)
        return [value / total for value in pull]

    def start(self, federation: Federation) -> None:
        """Start the common slots."""
        if self.q < 1 or (self.tau is not None and self.tau < 1):
            raise InputError(f"algorithm.tau and q must be at least 1, not {self.tau} and {self.q}")
        columns = rounds.mixing(federation, "optimal", federation.shares)
        federation.clock.process(self.conduct(federation, columns))

    def conduct(self, federation: Federation, columns: Callable[[], Columns]) -> Steps:
        """All hubs in step: tau slots, upload, average; mix when it is time."""
        slots = federation.job_steps("tau", self.tau)
        top = float(federation.network.flops.max())
        round_s = slots * federation.network.flops_per_step / top
        while True:
            for server in federation.servers:
                server.broadcast_during(self.steps(server, federation, slots, top), round_s)
            mixing = (federation.iteration + 1) % self.q == 0
            outcomes = yield from rounds.finish(federation, 1 if mixing else 0)
            if not outcomes:
                continue
            averaged = {one.server.number: one.averaged for one in outcomes}
            rounds.close(federation, outcomes, columns() if mixing else {}, averaged)

    def steps(self, server: Server, federation: Federation, slots: int, top: float) -> Counts:
        """How many of the slots each worker of a hub uses: one draw per worker and round."""
        draws = [federation.draw("slots", client, federation.iteration) for client in server.members.tolist()]
        odds = (federation.network.flops[server.members] / top).tolist()
        return np.array([rng.binomial(slots, p) for rng, p in zip(draws, odds, strict=True)], dtype=np.int64)
