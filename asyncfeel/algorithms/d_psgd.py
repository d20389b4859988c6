"""D-PSGD (Lian et al. 2017): synchronous gossip; every node waits for the slowest of all."""

from collections.abc import Callable
from dataclasses import dataclass

from asyncfeel.theory.aggregation import data_shares
from asyncfeel.theory.mixing import Columns
from asyncfeel.world import rounds
from asyncfeel.world.deadlines import slowest_s
from asyncfeel.world.federation import Federation
from asyncfeel.world.layout import Layout, Nodes, nodes
from asyncfeel.world.server import Steps


@dataclass(frozen=True)
class DPsgd:
    """All nodes compute their changes, then X <- X W + changes, with Metropolis weights W.

    W is symmetric and doubly stochastic, so nodes count alike. A round lasts the slowest client's
    steps, its upload and the exchange.
    """

    nodes: Nodes = "servers"
    """Who gossips: the edge servers with their clusters, or every client by itself."""
    min_steps: int | None = None
    """Steps of each job; left out: training.local_steps."""

    def layout(self, world: Layout) -> Layout:
        """The servers as they are, or every client as a node."""
        return nodes(world, self.nodes)

    def objective(self, federation: Federation) -> list[float]:
        """All nodes count alike, whatever data they hold."""
        return [1 / len(federation.servers)] * len(federation.servers)

    def start(self, federation: Federation) -> None:
        """Start the common rounds."""
        federation.job_steps("min_steps", self.min_steps)
        alike = self.objective(federation)
        columns = rounds.mixing(federation, "metropolis", alike)
        federation.clock.process(self.conduct(federation, columns))

    def conduct(self, federation: Federation, columns: Callable[[], Columns]) -> Steps:
        """All nodes in step: compute, exchange, mix and apply."""
        steps = federation.job_steps("min_steps", self.min_steps)
        slowest = max(slowest_s(federation, steps))
        while True:
            for node in federation.servers:
                node.broadcast_steps(steps, slowest, weigh=data_shares)
            outcomes = yield from rounds.finish(federation, 1)
            if not outcomes:
                continue
            changes = {one.server.number: one.gathered.change for one in outcomes}
            rounds.close(federation, outcomes, columns(), {}, changes)
