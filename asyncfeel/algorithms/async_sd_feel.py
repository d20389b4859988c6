"""Asynchronous SD-FEEL (the paper): each server closes its own round and mixes by staleness."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from asyncfeel.errors import InputError
from asyncfeel.jobs import Gathered, Model
from asyncfeel.theory import aggregation, mixing, objective, synchronous
from asyncfeel.theory.adaptive import PHI
from asyncfeel.theory.mixing import Columns
from asyncfeel.world.deadlines import Rule, deadlines
from asyncfeel.world.federation import Federation
from asyncfeel.world.gathering import Gathering
from asyncfeel.world.pacing import Pace, paces
from asyncfeel.world.records import Trigger
from asyncfeel.world.server import Server, Steps

MIXING = {"paper": mixing.paper, "weighted": mixing.weighted}
Arrival = tuple[Trigger, Model]


@dataclass(frozen=True)
class AsyncSdFeel:
    """Each cluster trains until its own deadline, then its server mixes with its neighbours.

    At the end of the exchange, in one instant (A17):
    yhat = y[d] + taubar_d sum_i mhat_i Delta_i, then y <- y P_k with P_k from the staleness.
    """

    deadline: Rule = "min-steps"
    """How long clients train: min-steps (of the slowest), fixed (deadline_s), balanced, or adaptive."""
    min_steps: int | None = None
    """Steps of the slowest client of each cluster (A13); left out: training.local_steps."""
    deadline_s: float | None = None
    """The deadline of all clusters when `deadline` is `fixed`."""
    phi: float = PHI
    """The constant of the adaptive rule."""
    mixing: Literal["paper", "weighted"] = "paper"
    """P_k as in the paper, or the one that keeps the data-weighted mean."""
    own_staleness: Literal["literal", "fresh"] = "literal"
    """The trigger's own staleness: since its last broadcast, or 0 (A7)."""
    rate_correction: bool = False
    """Whether updates are scaled so that frequent clusters do not count more."""
    simultaneous: Literal["one-by-one", "together"] = "one-by-one"
    """What completions at the same instant do (A14)."""

    def start(self, federation: Federation) -> None:
        """Start every cluster at the present instant, in the order of their numbers."""
        if self.rate_correction and self.deadline == "adaptive":
            raise InputError("algorithm.rate_correction needs deadlines that are known beforehand, not 'adaptive'")
        plans = paces(self.deadline, federation, self.min_steps, self.deadline_s, self.phi)
        rates = [1.0] * len(federation.servers)
        if self.rate_correction:
            rates = objective.rate_corrections(*self._paces(federation), federation.shares)
        gathering = Gathering[Arrival](federation.clock)
        for server, pace, rate in zip(federation.servers, plans, rates, strict=True):
            federation.clock.process(self.serve(server, federation, pace, rate, gathering))

    def serve(
        self, server: Server, federation: Federation, pace: Pace, rate: float, gathering: Gathering[Arrival]
    ) -> Steps:
        """The life of an edge server (the paper's Algorithm 1)."""
        while True:
            yield from server.ready()
            server.broadcast_until(pace.deadline_s, probe=pace.probe)
            uploads = yield from server.collect()
            if uploads.nobody:
                yield from server.skip()
                continue
            yield from server.exchange()
            if self.simultaneous == "together":
                gathering.arrive()
            gathered = yield from federation.join(uploads)
            pace.learn(uploads, gathered)
            aggregated = self.aggregate(server, gathered, rate)
            if self.simultaneous == "one-by-one":
                self.complete(server.trigger(uploads), aggregated, federation)
            else:
                act = partial(self.complete_together, federation=federation)
                yield from gathering.meet((server.trigger(uploads), aggregated), act)

    def aggregate(self, server: Server, gathered: Gathered, rate: float) -> Model:
        """The cluster's update on top of the server's present model (eq. intra, A5)."""
        return server.model + (rate * gathered.change if self.rate_correction else gathered.change)

    def complete(self, trigger: Trigger, aggregated: Model, federation: Federation) -> None:
        """Mix by staleness and count: one server's iteration, one instant (eqs. pk, inter)."""
        staleness = federation.staleness()
        if self.own_staleness == "fresh":
            staleness[trigger.server] = 0
        neighbours = federation.neighbours(trigger.server)
        weights = mixing.staleness_weights(trigger.server, neighbours, staleness, federation.psi)
        columns = MIXING[self.mixing](trigger.server, weights, federation.shares)
        federation.mix({trigger.server: aggregated}, columns)
        federation.count([trigger], staleness, columns)

    def complete_together(self, arrivals: Sequence[Arrival], federation: Federation) -> None:
        """All aggregate, then one synchronous mixing over the links of these servers (A14)."""
        if len(arrivals) == 1:
            return self.complete(*arrivals[0], federation)
        arrivals = sorted(arrivals, key=lambda arrival: arrival[0].server)
        staleness = federation.staleness()
        if self.own_staleness == "fresh":
            staleness = [0 if any(t.server == j for t, _ in arrivals) else d for j, d in enumerate(staleness)]
        columns = _links_mixing({trigger.server for trigger, _ in arrivals}, federation)
        federation.mix({trigger.server: aggregated for trigger, aggregated in arrivals}, columns)
        federation.count([trigger for trigger, _ in arrivals], staleness, columns)
        return None

    def objective(self, federation: Federation) -> list[float]:
        """How much each cluster's loss counts in what is really minimised, for small steps."""
        lengths, steps = self._paces(federation)
        if self.simultaneous == "together" and len(set(lengths)) == len(set(steps)) == 1:
            return list(federation.shares)  # every completion is a synchronous one
        if self.rate_correction:
            rates = objective.rate_corrections(lengths, steps, federation.shares)
            steps = [tau * rate for tau, rate in zip(steps, rates, strict=True)]
        return objective.implied_weights(lengths, steps, federation.shares if self.mixing == "weighted" else None)

    def _deadlines(self, federation: Federation) -> list[float]:
        return deadlines(self.deadline, federation, self.min_steps, self.deadline_s)

    def _paces(self, federation: Federation) -> tuple[list[float], list[float]]:
        """The length of each cluster's iterations and its mean steps taubar_d, as the deadlines imply them."""
        network, clusters, periods = federation.network, federation.profiles.clusters, self._deadlines(federation)
        lengths = [network.iteration_s(d, cluster, periods[d]) for d, cluster in enumerate(clusters)]
        steps = [
            aggregation.mean_steps(
                server.samples.tolist(), network.steps_each_within(server.members, period, 0.0).tolist()
            )
            for server, period in zip(federation.servers, periods, strict=True)
        ]
        return lengths, steps


def _links_mixing(triggers: set[int], federation: Federation) -> Columns:
    links = [link for link in federation.links() if triggers & set(link)]
    return synchronous.synchronous("optimal", links, federation.shares)
