"""Paces: how long the clients of a cluster train in each iteration, fixed or chosen anew."""

from collections.abc import Sequence

from asyncfeel.errors import InputError
from asyncfeel.jobs import Gathered, Probe
from asyncfeel.theory import adaptive, latency
from asyncfeel.theory.adaptive import Estimates
from asyncfeel.world.cohort import Uploads
from asyncfeel.world.deadlines import Rule, deadlines
from asyncfeel.world.federation import Federation
from asyncfeel.world.server import Server


class Pace:
    """A deadline that stays as it is."""

    probe = False
    """Whether clients have to report losses and gradients."""

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s

    def learn(self, uploads: Uploads, gathered: Gathered) -> None:
        """Nothing is learned from an iteration."""


class AdaptivePace(Pace):
    """A deadline chosen after each iteration from what the clients measured in it (Wang et al. 2019)."""

    probe = True

    def __init__(self, server: Server, federation: Federation, steps: int, phi: float) -> None:
        require_training(federation)
        self._server = server
        self._federation = federation
        self._steps = steps
        self._phi = phi
        flops = float(federation.network.flops[server.members].min())
        self._step_s = latency.compute_s(1, federation.network.flops_per_step, flops)
        super().__init__(steps * self._step_s)

    def learn(self, uploads: Uploads, gathered: Gathered) -> None:
        """Choose the steps of the slowest client, and so the deadline, for the next iteration."""
        if gathered.diverged:
            return  # nothing can be learned from some of the clients alone
        found = measure(self._server, self._federation, uploads, gathered)
        aggregation_s = self._federation.network.iteration_s(self._server.number, self._server.members, 0.0)
        self._steps = next_steps(self._federation, self._steps, self._step_s, aggregation_s, found, self._phi)
        self.deadline_s = self._steps * self._step_s


def paces(
    rule: Rule, federation: Federation, min_steps: int | None, deadline_s: float | None, phi: float
) -> Sequence[Pace]:
    """The pace of each cluster by the rule."""
    if rule == "adaptive":
        steps = federation.job_steps("min_steps", min_steps)
        return [AdaptivePace(server, federation, steps, phi) for server in federation.servers]
    return [Pace(seconds) for seconds in deadlines(rule, federation, min_steps, deadline_s)]


def require_training(federation: Federation) -> None:
    """An error where an adaptive pace has nothing to learn from, or no budget to plan with."""
    if federation.norm is None:
        raise InputError("algorithm.deadline = 'adaptive' reads losses and gradients: it needs training, not a plan")
    if federation.budget_s == float("inf"):
        raise InputError("algorithm.deadline = 'adaptive' plans for a time budget: give --until")


def measure(server: Server, federation: Federation, uploads: Uploads, gathered: Gathered) -> Estimates:
    """The estimates rho, beta and delta of one cluster."""
    probes: list[Probe] = [update.probe for update in gathered.updates if update.probe is not None]
    if federation.norm is None or len(probes) != len(uploads.clients):
        raise InputError("an adaptive pace needs an executor that measures losses and gradients")
    results = [update.model for update in gathered.updates]
    return adaptive.estimates(uploads.samples.tolist(), server.sent, results, probes, federation.norm)


def next_steps(
    federation: Federation, previous: int, step_s: float, aggregation_s: float, found: Estimates, phi: float
) -> int:
    """The best number of steps for what is known now, given the whole budget of the run."""
    times = (federation.budget_s, step_s, aggregation_s)
    return adaptive.best_steps(previous, *times, federation.learning_rate, *found, phi)
