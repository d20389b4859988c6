"""What a run amounts to: iterations, steps and staleness, counted as it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion


@dataclass
class ServerTally:
    """One server's iterations, and how stale it was when it completed them."""

    server: int
    clients: int
    share: float
    objective_weight: float
    iterations: int = 0
    steps: int = 0
    staleness_sum: int = 0
    staleness_max: int = 0

    @property
    def staleness_mean(self) -> float:
        """The mean of its own staleness over its iterations; 0 before the first."""
        return self.staleness_sum / self.iterations if self.iterations else 0.0


class Tally:
    """Counts what every server did."""

    def __init__(self, federation: Federation, objective: Sequence[float]) -> None:
        self.servers = [
            ServerTally(one.number, len(one), one.share, weight)
            for one, weight in zip(federation.servers, objective, strict=True)
        ]

    def changing(self, federation: Federation) -> None:
        """Nothing: only completed iterations count."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Add an iteration."""
        for trigger in completion.triggers:
            tally, staleness = self.servers[trigger.server], completion.staleness[trigger.server]
            tally.iterations += 1
            tally.steps += trigger.total_steps
            tally.staleness_sum += staleness
            tally.staleness_max = max(tally.staleness_max, staleness)

    @property
    def steps(self) -> int:
        """All mini-batch steps of completed iterations."""
        return sum(one.steps for one in self.servers)

    def table(self) -> Sequence[dict[str, Any]]:
        """One row per server, for summaries."""
        return [
            {
                "server": one.server,
                "clients": one.clients,
                "share": one.share,
                "objective_weight": one.objective_weight,
                "iterations": one.iterations,
                "steps": one.steps,
                "staleness_mean": one.staleness_mean,
                "staleness_max": one.staleness_max,
            }
            for one in self.servers
        ]
