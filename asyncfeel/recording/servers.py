"""servers.csv: how far every server's own model is from the global one, and at the end how good it is.

The rows of the newest evaluation are held back until the next one comes: should it be the last, the
servers' own models are tested too, and their losses belong into the same rows.
"""

import math
from collections.abc import Sequence

from asyncfeel.recording.tables import Table

Test = tuple[float, float]
"""The test loss and the test accuracy of a model."""


class ServerRows:
    """Writes one row per server and evaluation, in the order of the evaluations."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._held: tuple[int, float, Sequence[float]] | None = None

    def measured(self, iteration: int, time_s: float, distances: Sequence[float]) -> None:
        """Take the distances ||y_d - ybar|| of all servers at an evaluation of the global model."""
        self._release(())
        self._held = (iteration, time_s, distances)

    def tested(self, tests: Sequence[Test]) -> None:
        """Add what every server's own model is worth to the rows of the last evaluation."""
        self._release(tests)

    def close(self) -> None:
        """Write what was held back."""
        self._release(())

    def _release(self, tests: Sequence[Test]) -> None:
        if self._held is None:
            return
        iteration, time_s, distances = self._held
        self._held = None
        found = tests or [(math.nan, math.nan)] * len(distances)
        self.table.write(
            (iteration, time_s, server, distance, *test)
            for server, (distance, test) in enumerate(zip(distances, found, strict=True))
        )
