"""An algorithm of one's own: after its deadline a server averages with one neighbour, drawn at random.

From the command line, in this folder: asyncfeel run --algorithm custom_algorithm:RandomNeighbour
"""

import tempfile
from dataclasses import dataclass

from asyncfeel import Scenario, run
from asyncfeel.streams import stream
from asyncfeel.theory.mixing import paper
from asyncfeel.world.deadlines import deadlines
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Server, Steps


@dataclass(frozen=True)
class RandomNeighbour:
    """Train until the deadline, then mix half and half with one random neighbour."""

    draw_seed: int = 1
    """Names the stream of the draws."""

    def start(self, federation: Federation) -> None:
        """Start every cluster."""
        for server, deadline_s in zip(federation.servers, deadlines("min-steps", federation, None, None), strict=True):
            federation.clock.process(self.serve(server, federation, deadline_s))

    def objective(self, federation: Federation) -> list[float]:
        """Every cluster counts by its data, to a first approximation."""
        return list(federation.shares)

    def serve(self, server: Server, federation: Federation, deadline_s: float) -> Steps:
        """The life of a server: broadcast, collect, exchange; then aggregate, mix and count in one instant."""
        while True:
            server.broadcast_until(deadline_s)
            uploads = yield from server.collect()
            yield from server.exchange()
            gathered = yield from federation.join(uploads)
            rng = stream(self.draw_seed, "neighbour", server.number, server.iterations)
            other = int(rng.choice(federation.topology.neighbours[server.number]))
            mixing = paper(server.number, {server.number: 0.5, other: 0.5}, federation.shares)
            staleness = federation.staleness()
            federation.mix({server.number: server.model + gathered.change}, mixing)
            federation.count([server.trigger(uploads)], staleness, mixing)


if __name__ == "__main__":
    scenario = Scenario.load(algorithm=f"{__file__}:RandomNeighbour", until="2s", set={"training.learning_rate": 0.05})
    result = run(scenario, tempfile.mkdtemp())
    partners = (result.mixing["source"] != result.mixing["target"]).sum() // 2
    print("iterations:", len(result.iterations["iteration"]), "exchanges:", int(partners))
    print("learned something:", bool(result.metrics["test_accuracy"][-1] > 0.5))
