"""Synchronous SD-FEEL (Sun et al. 2021): every cluster waits for the slowest client of all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from asyncfeel.errors import InputError
from asyncfeel.theory.adaptive import PHI, Estimates
from asyncfeel.theory.mixing import Columns
from asyncfeel.world import pacing, rounds
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
    deadline: Literal["min-steps", "adaptive"] = "min-steps"
    """Whether tau1 stays as it is, or is chosen anew after each round (adaptive)."""
    phi: float = PHI
    """The constant of the adaptive rule."""
    mixing: Literal["optimal", "metropolis"] = "optimal"
    """The matrix above, or Metropolis weights."""

    def start(self, federation: Federation) -> None:
        """Start the common rounds."""
        for name, value in [("tau1", self.tau1), ("tau2", self.tau2), ("alpha", self.alpha)]:
            if value is not None and value < 1:
                raise InputError(f"algorithm.{name} must be at least 1, not {value}")
        if self.deadline == "adaptive":
            pacing.require_training(federation)
        columns = rounds.mixing(federation, self.mixing, federation.shares, self.alpha)
        federation.clock.process(self.conduct(federation, columns))

    def conduct(self, federation: Federation, columns: Callable[[], Columns]) -> Steps:
        """All clusters in step: train, upload, average; mix when it is time."""
        steps = federation.job_steps("tau1", self.tau1)
        while True:
            slowest = max(slowest_s(federation, steps))
            for server in federation.servers:
                server.broadcast_steps(steps, slowest, probe=self.deadline == "adaptive")
            mixing = (federation.iteration + 1) % self.tau2 == 0
            outcomes = yield from rounds.finish(federation, self.alpha if mixing else 0)
            if not outcomes:
                continue
            if self.deadline == "adaptive":
                steps = self.adapt(federation, outcomes, steps)
            averaged = {one.server.number: one.averaged for one in outcomes}
            rounds.close(federation, outcomes, columns() if mixing else {}, averaged)

    def adapt(self, federation: Federation, outcomes: Sequence[rounds.Outcome], steps: int) -> int:
        """The steps of the next round, from the clusters' estimates weighed by their data."""
        found = [pacing.measure(one.server, federation, one.uploads, one.gathered) for one in outcomes]
        shares = [one.server.share for one in outcomes]
        if len(outcomes) < len(federation.servers):
            shares = [share / sum(shares) for share in shares]
        weighed = zip(shares, found, strict=True)
        mean = Estimates(*map(sum, zip(*([share * x for x in one] for share, one in weighed), strict=True)))
        step_s, network = max(slowest_s(federation, 1)), federation.network
        everyone = np.concatenate([one.server.members for one in outcomes])
        upload_s = float(network.uplink_each_s(everyone, np.zeros(len(everyone))).max())
        exchange_s = self.alpha * max(network.exchange_s(one.server.number, 0.0) for one in outcomes)
        return pacing.next_steps(federation, steps, step_s, upload_s + exchange_s / self.tau2, mean, self.phi)

    def objective(self, federation: Federation) -> list[float]:
        """How much each cluster's loss counts: by its data, as stated."""
        return list(federation.shares)
