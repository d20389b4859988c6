"""HierFAVG (Liu et al. 2020): clients, edge servers, and a cloud that every edge server waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from asyncfeel.errors import InputError
from asyncfeel.jobs import Model
from asyncfeel.theory.aggregation import data_shares
from asyncfeel.world.deadlines import slowest_s
from asyncfeel.world.federation import Federation
from asyncfeel.world.gathering import Gathering
from asyncfeel.world.records import Trigger
from asyncfeel.world.server import Server, Steps

Arrival = tuple[int, Trigger | None, Model]
"""An edge server, its iteration unless nobody contributed to it, and its model."""


@dataclass(frozen=True)
class Hierfavg:
    """kappa1 steps, then the edge averages; every kappa2 edge rounds, the cloud averages all edges.

    An edge round lasts as long as its slowest client needs, and its upload; between two meetings in
    the cloud the edges run independently, and there they wait for the slowest of them.
    """

    kappa1: int | None = None
    """Steps of every client in an edge round; left out: training.local_steps."""
    kappa2: int = 2
    """Edge rounds between two averages in the cloud."""

    def objective(self, federation: Federation) -> list[float]:
        """Every cluster counts by its data, as stated."""
        return list(federation.shares)

    def start(self, federation: Federation) -> None:
        """Start every edge server."""
        if self.kappa2 < 1 or (self.kappa1 is not None and self.kappa1 < 1):
            raise InputError(f"algorithm.kappa1 and kappa2 must be at least 1, not {self.kappa1} and {self.kappa2}")
        meeting = Gathering[Arrival](federation.clock, len(federation.servers))
        times = slowest_s(federation, federation.job_steps("kappa1", self.kappa1))
        for server, round_s in zip(federation.servers, times, strict=True):
            federation.clock.process(self.serve(server, federation, round_s, meeting))

    def serve(self, server: Server, federation: Federation, round_s: float, meeting: Gathering[Arrival]) -> Steps:
        """The life of an edge server: some rounds of its own, then the cloud."""
        steps = federation.job_steps("kappa1", self.kappa1)
        while True:
            for number in range(1, self.kappa2 + 1):
                yield from server.ready()
                server.broadcast_steps(steps, round_s, weigh=data_shares)
                uploads = yield from server.collect()
                if uploads.nobody:
                    yield from server.skip(patient=False)
                yield from server.ready()
                last = number == self.kappa2
                if last:
                    yield from self.send(server, federation)
                    yield from server.ready()
                if uploads.nobody:
                    trigger, averaged = None, server.model
                    continue
                gathered = yield from federation.join(uploads)
                trigger, averaged = server.trigger(uploads), server.model + gathered.change
                if not last:
                    staleness = federation.staleness()
                    federation.mix({server.number: averaged}, {})
                    federation.count([trigger], staleness, {})
            server.phase = "waiting"
            act = partial(self.average, federation=federation)
            yield from meeting.meet((server.number, trigger, averaged), act)

    def send(self, server: Server, federation: Federation) -> Steps:
        """Send the edge's model to the cloud."""
        server.phase = "exchanging"
        yield federation.clock.timeout(federation.network.cloud_s(federation.clock.now))
        federation.traffic.move("cloud")

    def average(self, arrivals: Sequence[Arrival], federation: Federation) -> None:
        """Everybody gets the data-weighted mean of all edges: P = mtil 1^T."""
        arrivals = sorted(arrivals, key=lambda arrival: arrival[0])
        column = dict(enumerate(federation.shares))
        columns = {server.number: dict(column) for server in federation.servers}
        staleness = federation.staleness()
        federation.mix({server: model for server, _, model in arrivals}, columns)
        federation.count([trigger for _, trigger, _ in arrivals if trigger], staleness, columns)
