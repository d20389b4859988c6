"""Synchronous SD-FEEL (Sun et al. 2021): every cluster waits for the slowest client of all."""

from dataclasses import dataclass
from typing import Literal

from asyncfeel.errors import InputError
from asyncfeel.theory.mixing import Columns
from asyncfeel.theory.synchronous import synchronous
from asyncfeel.world import rounds
from asyncfeel.world.deadlines import slowest_s
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class SyncSdFeel:
    """Every client does tau1 steps and every server averages; every tau2 rounds, alpha mixings.

    A round lasts max_i tau1 N_step / h_i + T_up, and alpha T_ss more when the servers mix:
    y[d] <- sum_j p^{j,d} y[j] with P = I - 2/(lambda_1 + lambda_{D-1}) L Omega^-1.
    """

    tau1: int | None = None
    """Steps of every client in a round; left out: training.local_steps."""
    tau2: int = 1
    """Rounds between two mixings of the servers."""
    alpha: int = 1
    """Exchanges at each mixing."""
    mixing: Literal["optimal", "metropolis"] = "optimal"
    """The matrix above, or Metropolis weights."""

    def start(self, federation: Federation) -> None:
        """Start the common rounds."""
        for name, value in [("tau1", self.tau1), ("tau2", self.tau2), ("alpha", self.alpha)]:
            if value is not None and value < 1:
                raise InputError(f"algorithm.{name} must be at least 1, not {value}")
        columns = synchronous(self.mixing, federation.topology.links, federation.shares, self.alpha)
        federation.clock.process(self.conduct(federation, columns))

    def conduct(self, federation: Federation, columns: Columns) -> Steps:
        """All clusters in step: train, upload, average; mix when it is time."""
        steps = self.tau1 or federation.local_steps
        slowest = max(slowest_s(federation, steps))
        while True:
            for server in federation.servers:
                server.broadcast_steps(steps, slowest)
            mixing = (federation.iteration + 1) % self.tau2 == 0
            outcomes = yield from rounds.finish(federation, self.alpha if mixing else 0)
            averaged = {one.server.number: one.server.model + one.change() for one in outcomes}
            rounds.close(federation, outcomes, columns if mixing else {}, averaged)

    def objective(self, federation: Federation) -> list[float]:
        """How much each cluster's loss counts: by its data, as stated."""
        return list(federation.shares)
