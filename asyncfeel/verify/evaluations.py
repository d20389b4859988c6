"""metrics.csv and servers.csv: evaluations on their grid, of the right iterations, with possible values."""

import math
from typing import Any

from asyncfeel.recording.manifest import strict
from asyncfeel.recording.tables import COLUMNS
from asyncfeel.scenario import Scenario
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Malformed, Row, Rows
from asyncfeel.verify.totals import differing
from asyncfeel.verify.world import World

TESTED = 64
"""Up to how many servers have their own models tested at the end of a run."""


class Evaluations:
    """Goes through metrics.csv with iterations.csv and servers.csv beside it."""

    def __init__(self, opened: Opened, scenario: Scenario, world: World) -> None:
        self._opened, self._grid = opened, scenario.evaluation
        self._servers = 0 if opened.by_client else world.servers
        self.metrics = Check("metrics.csv", note="on the grid, of the right iterations, shares from 0 to 1")
        self.servers = Check("servers.csv", note="a row per server and evaluation")
        if opened.gaps:
            self.metrics.note = "on the grid, shares from 0 to 1; iterations may have no row, so these are not counted"
        self._completed, self._completed_s = 0, 0.0
        self._before = (0.0, 0.0)
        self._best = -math.inf

    def checks(self) -> list[Check]:
        """Walk to the end of the tables, or to the first row that is none."""
        torn, path = not self._opened.ended, self._opened.path
        try:
            metrics = Rows(path / "metrics.csv", COLUMNS["metrics"], torn)
            iterations = Rows(path / "iterations.csv", self._opened.columns("iterations"), torn)
            servers = Rows(path / "servers.csv", COLUMNS["servers"], torn) if self._servers else None
            self._walk(metrics, iterations, servers)
        except Malformed as error:
            self.metrics.differ("metrics.csv or servers.csv", str(error))
        return [self.metrics, *([self.servers] if self._servers else [])]

    def _walk(self, metrics: Rows, iterations: Rows, servers: Rows | None) -> None:
        row: Row | None = None
        while (upcoming := metrics.peek()) is not None and not self.metrics.full and not self.servers.full:
            row = upcoming
            metrics.take()
            last = metrics.peek() is None
            self._row(row, metrics.row - (1 if last else 2), iterations, last)
            if servers is not None and not self._distances(row, servers, last):
                servers = None
        if servers is not None and self._opened.ended and servers.peek() is not None:
            self.servers.differ("servers.csv", "it goes on after the last evaluation", servers.row)
        if self._opened.ended and not self.metrics.full:
            self._manifest(row)

    def _row(self, row: Row, place: int, iterations: Rows, last: bool) -> None:
        self.metrics.rows += 1
        time_s, number = row["time_s"], place + 1
        if (row["iteration"], time_s) < self._before or not 0 <= time_s < math.inf:
            self._wrong(number, "time_s", time_s, f"not before {self._before[1]}")
        self._before = (row["iteration"], time_s)
        self._advance(iterations, row)
        expected = self._place(row, place, last)
        for column, value in expected.items():
            if row[column] != value:
                self._wrong(number, column, row[column], value)
        if not (math.isnan(row["test_accuracy"]) or 0 <= row["test_accuracy"] <= 1):
            self._wrong(number, "test_accuracy", row["test_accuracy"], "a share from 0 to 1")
        if row["test_accuracy"] > self._best:
            self._best = row["test_accuracy"]

    def _advance(self, iterations: Rows, row: Row) -> None:
        """Read on to the newest iteration that the evaluation can have seen."""
        by_time = self._grid.every_s is not None
        while (done := iterations.peek()) is not None:
            if done["time_s"] > row["time_s"] if by_time else done["iteration"] >= row["iteration"]:
                return
            iterations.take()
            self._completed, self._completed_s = int(done["iteration"]) + 1, done["time_s"]

    def _place(self, row: Row, place: int, last: bool) -> dict[str, Any]:
        """Where and of which iteration the evaluation at this place must be."""
        if self._grid.every_s is not None and self._grid.every_iterations is not None:
            return {}  # two grids at once: what is left is the order
        if last and self._opened.status != "finished":
            return {}  # the run may have been at its very end, which need not lie on the grid
        if last:
            end = {"iteration": self._opened.iterations, "time_s": self._opened.manifest.get("time_s")}
            missing = self._grid.every_s is not None and place * self._grid.every_s < row["time_s"]
            if missing:
                self.metrics.differ("metrics.csv", "an evaluation of the grid is missing before the last", place + 1)
            return end
        if self._grid.every_s is not None:
            time_s = {"time_s": place * self._grid.every_s}
            return time_s if self._opened.gaps else time_s | {"iteration": self._completed}
        iteration = {"iteration": place * (self._grid.every_iterations or 1)}
        return iteration if self._opened.gaps else iteration | {"time_s": self._completed_s}

    def _distances(self, row: Row, table: Rows, last: bool) -> bool:
        """One row per server; whether the table goes on."""
        for server in range(self._servers):
            one = table.take()
            if one is None:
                if self._opened.ended:
                    self.servers.differ("servers.csv", f"it ends at iteration {int(row['iteration'])}", table.row)
                return False
            self.servers.rows += 1
            expected = {"iteration": row["iteration"], "time_s": row["time_s"], "server": server}
            for column, value in expected.items():
                if one[column] != value:
                    self.servers.compare("servers.csv", one[column], value, table.row, column)
            self._values(one, table.row, last and self._servers <= TESTED)
        return not self.servers.full

    def _values(self, row: Row, number: int, tested: bool) -> None:
        if row["distance"] < 0:
            self.servers.compare("servers.csv", row["distance"], "a distance", number, "distance")
        if not (math.isnan(row["test_accuracy"]) or 0 <= row["test_accuracy"] <= 1):
            self.servers.compare("servers.csv", row["test_accuracy"], "a share from 0 to 1", number, "test_accuracy")
        if not tested and not (math.isnan(row["test_loss"]) and math.isnan(row["test_accuracy"])):
            self.servers.compare("servers.csv", row["test_loss"], "nan before the end", number, "test_loss")

    def _manifest(self, row: Row | None) -> None:
        """The last evaluation and the best accuracy, as the manifest has them."""
        last = row and {**row, "iteration": int(row["iteration"])}
        best = self._best if self._best > -math.inf else None
        for name, value in {"metrics": last, "best_accuracy": best}.items():
            for path, found, expected in differing(name, self._opened.manifest.get(name), strict(value)):
                self.metrics.compare("manifest.json", found, expected, None, path)

    def _wrong(self, number: int, column: str, found: Any, expected: Any) -> None:
        self.metrics.compare("metrics.csv", found, expected, number, column)
