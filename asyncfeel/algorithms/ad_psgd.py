"""AD-PSGD (Lian et al. 2018): nodes average with one random neighbour at a time; nobody waits."""

from dataclasses import dataclass

from asyncfeel.theory.aggregation import data_shares
from asyncfeel.theory.mixing import paper
from asyncfeel.world.deadlines import slowest_s
from asyncfeel.world.federation import Federation
from asyncfeel.world.layout import Layout, Nodes, nodes
from asyncfeel.world.server import Server, Steps


@dataclass(frozen=True)
class AdPsgd:
    """A node computes its change at a copy of its model, averages with a neighbour, applies the change.

    x_d, x_j <- (x_d + x_j) / 2 in one instant, then x_d <- x_d + change: averaging keeps the sum. A
    node that is a server gets its change from one job of its cluster, plain averaged.
    """

    nodes: Nodes = "servers"
    """Who gossips: the edge servers with their clusters, or every client by itself."""
    min_steps: int | None = None
    """Steps of each job; left out: training.local_steps."""

    def layout(self, world: Layout) -> Layout:
        """The servers as they are, or every client as a node."""
        return nodes(world, self.nodes)

    def objective(self, federation: Federation) -> list[float]:
        """Nodes count by how often they apply a change: neither data nor steps play a part."""
        network = federation.network
        times = slowest_s(federation, federation.job_steps("min_steps", self.min_steps))
        clusters = enumerate(federation.profiles.clusters)
        lengths = [network.iteration_s(node, cluster, times[node]) for node, cluster in clusters]
        total = sum(1 / length for length in lengths)
        return [1 / length / total for length in lengths]

    def start(self, federation: Federation) -> None:
        """Start every node."""
        times = slowest_s(federation, federation.job_steps("min_steps", self.min_steps))
        for node, compute_s in zip(federation.servers, times, strict=True):
            federation.clock.process(self.gossip(node, federation, compute_s))

    def gossip(self, node: Server, federation: Federation, compute_s: float) -> Steps:
        """The life of a node: compute at a copy, meet a neighbour, apply."""
        steps = federation.job_steps("min_steps", self.min_steps)
        while True:
            yield from node.ready()
            node.broadcast_steps(steps, compute_s, weigh=data_shares)
            uploads = yield from node.collect()
            if uploads.nobody:
                yield from node.skip()
                continue
            yield from node.ready()
            partner = None
            if neighbours := federation.neighbours(node.number, note=False):
                partner = int(federation.draw("partner", node.number, node.iterations).choice(neighbours))
                node.phase = "exchanging"
                yield federation.clock.timeout(federation.network.link_s(node.number, partner, federation.clock.now))
                federation.traffic.move("exchange", 2)
                yield from node.ready()
                if partner not in federation.neighbours(node.number):
                    partner = None
            gathered = yield from federation.join(uploads)
            weights = {node.number: 1.0} if partner is None else {node.number: 0.5, partner: 0.5}
            columns = paper(node.number, weights, federation.shares)
            staleness = federation.staleness()
            federation.mix({}, columns, {node.number: gathered.change})
            federation.count([node.trigger(uploads)], staleness, columns)
