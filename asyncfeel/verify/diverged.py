"""divergence.csv: results that were left out, each of a client whose result came just then.

Who diverges, only training can tell. What follows from it can be derived: the world is lived through
with these very results left out, so that the weights of all others are those of the run.
"""

import math
from dataclasses import replace
from typing import Any

from asyncfeel.jobs import EVERYONE
from asyncfeel.recording.tables import COLUMNS
from asyncfeel.verify.against import near
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Malformed, Row, Rows
from asyncfeel.verify.world import World
from asyncfeel.world.client import Upload
from asyncfeel.world.cohort import Uploads
from asyncfeel.world.divergence import Divergence

FILE = "divergence.csv"


class Replayed(Divergence):
    """Leaves out the results that divergence.csv names, and notes rows that nobody's result fits."""

    def __init__(self, opened: Opened) -> None:
        rate = opened.scenario.training.learning_rate
        super().__init__(lambda model: 0.0, "skip", math.inf, rate)
        self.check = Check(FILE, note="each result came then, from that client; whether it diverged, training tells")
        self._rate, self._rounding = rate, bool(opened.elsewhere)
        self._rows = Rows(opened.path / FILE, COLUMNS["divergence"], torn=not opened.ended)

    def checked(self, upload: Upload | Uploads, result: Any, iteration: int, time_s: float) -> Any:
        """The result, without what the file leaves out."""
        row = self._rows.peek()
        if row is None or row["iteration"] != iteration or not self._same(row["time_s"], time_s):
            return result
        rate = upload.rate if isinstance(upload, Upload) else 1.0
        clients = [upload.client] if isinstance(upload, Upload) else upload.clients.tolist()
        found = []
        for place, client in enumerate(clients):
            row = self._rows.peek()
            if row is not None and (row["iteration"], row["client"]) == (iteration, client):
                self._take(time_s, rate * self._rate)
                found.append((place, row["norm"]))
        if isinstance(upload, Upload):
            return replace(result, model=upload.sent, diverged=True) if found else result
        return replace(result, diverged=found)

    def _take(self, time_s: float, rate: float) -> None:
        row = self._rows.take() or {}
        self.check.rows += 1
        for column, expected in {"time_s": time_s, "learning_rate": rate}.items():
            if not self._same(row[column], expected):
                self.check.compare(FILE, row[column], expected, self._rows.row, column)

    def _same(self, found: float, expected: float) -> bool:
        return found == expected or (self._rounding and near(found, expected))

    def close(self) -> Check:
        """The check, with a difference if a row is left that nobody's result fits."""
        if (row := self._rows.peek()) is not None:
            what = f"client {row['client']} had no result at iteration {row['iteration']}, second {row['time_s']}"
            self.check.differ(FILE, f"{what}, in this order", self._rows.row)
        return self.check


def check(opened: Opened, world: World) -> Check:
    """The rows by themselves: in their order, of clients that there are, beyond the limit, as many as counted."""
    found = Check("divergence", note="order, clients, norms beyond the limit, the manifest's count")
    table, before = Rows(opened.path / FILE, COLUMNS["divergence"], torn=not opened.ended), (0.0, 0.0)
    try:
        while (row := table.take()) is not None and not found.full:
            found.rows += 1
            _row(found, opened, world, row, before, table.row)
            before = (row["iteration"], row["time_s"])
    except Malformed as error:
        found.differ(FILE, str(error))
    if opened.ended and found.ok and opened.manifest.get("diverged") != found.rows:
        found.compare("manifest.json", opened.manifest.get("diverged"), found.rows, None, "diverged")
    return found


def _row(found: Check, opened: Opened, world: World, row: Row, before: tuple[float, float], number: int) -> None:
    training, central = opened.scenario.training, opened.manifest.get("algorithm") == "central"
    if (row["iteration"], row["time_s"]) < before or not math.isfinite(row["time_s"]):
        found.compare(FILE, row["time_s"], f"not before {before[1]}", number, "time_s")
    if not (row["client"] == EVERYONE if central else 0 <= row["client"] < world.clients):
        found.compare(FILE, row["client"], "one of the clients", number, "client")
    if row["norm"] <= training.divergence_limit and opened.scenario.stop.patience is None:
        found.compare(FILE, row["norm"], f"above {training.divergence_limit}, the limit", number, "norm")
    if not 0 < row["learning_rate"] < math.inf:
        found.compare(FILE, row["learning_rate"], "a learning rate", number, "learning_rate")
