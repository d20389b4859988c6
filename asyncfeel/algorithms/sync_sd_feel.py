"""Synchronous SD-FEEL (Sun et al. 2021): every cluster waits for the slowest client of all."""

from dataclasses import dataclass
from typing import Literal

from asyncfeel.errors import InputError
from asyncfeel.theory.mixing import Columns
from asyncfeel.theory.synchronous import synchronous
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
            uploads = []
            for server in federation.servers:
                uploads.append((yield from server.collect()))
                server.phase = "waiting"
            mixing = (federation.iteration + 1) % self.tau2 == 0
            if mixing:
                yield from self.exchange(federation)
            updates = yield from federation.join([upload for cluster in uploads for upload in cluster])
            aggregated = {}
            for server, cluster in zip(federation.servers, uploads, strict=True):
                results, updates = updates[: len(cluster)], updates[len(cluster) :]
                aggregated[server.number] = server.model + server.change(cluster, results)
            triggers = [server.trigger(cluster) for server, cluster in zip(federation.servers, uploads, strict=True)]
            staleness = federation.staleness()
            federation.mix(aggregated, columns if mixing else {})
            federation.count(triggers, staleness, columns if mixing else {})

    def objective(self, federation: Federation) -> list[float]:
        """How much each cluster's loss counts: by its data, as stated."""
        return list(federation.shares)

    def exchange(self, federation: Federation) -> Steps:
        """Wait for alpha exchanges over the slowest link."""
        now = federation.clock.now
        for server in federation.servers:
            server.phase = "exchanging"
        longest = max(federation.network.exchange_s(server.number, now) for server in federation.servers)
        yield federation.clock.timeout(self.alpha * longest)
        federation.traffic.move("exchange", 2 * self.alpha * len(federation.topology.links))
