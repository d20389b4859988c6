"""What the evaluations of a run find: kept here, and told to the folder and the audience."""

import math
from collections.abc import Sequence
from dataclasses import asdict

from asyncfeel.audience import Audience
from asyncfeel.evaluation import Evaluate, Measurement
from asyncfeel.recording.folder import RunFolder
from asyncfeel.world.federation import Federation

TESTED = 64
"""Up to how many servers have their own models tested at the end of a run."""


class Measurements:
    """The newest measurement and the best accuracy; whoever wants to know hears of each in its order."""

    def __init__(self, folder: RunFolder, audience: Audience) -> None:
        self.latest: Measurement | None = None
        self.count = 0
        self._best = -math.inf
        self._folder = folder
        self._audience = audience

    @property
    def best_accuracy(self) -> float | None:
        """The best test accuracy so far, if there is one."""
        return self._best if self._best > -math.inf else None

    def add(self, measurement: Measurement, distances: Sequence[float]) -> None:
        """Take a measurement of the global model, with the distances of the servers' models from it."""
        self.latest = measurement
        self.count += 1
        if measurement.test_accuracy > self._best:
            self._best = measurement.test_accuracy
        if self._folder.metrics:
            self._folder.metrics.write([tuple(asdict(measurement).values())])
        if self._folder.servers:
            self._folder.servers.measured(measurement.iteration, measurement.time_s, distances)
        self._audience.measured(measurement, distances)

    def test_servers(self, federation: Federation, evaluate: Evaluate) -> None:
        """Test every server's own model, side by side, before the servers agree; of more than 64 none."""
        if not self._folder.servers or len(federation.servers) > TESTED:
            return
        pending = [evaluate(server.model) for server in federation.servers]
        found = [one.result() for one in pending]
        self._folder.servers.tested([(one.test_loss, one.test_accuracy) for one in found])
