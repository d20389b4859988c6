"""faults.csv by itself: mishaps of those that there are, as many as the manifest counts."""

import math
from collections.abc import Iterator

from asyncfeel.recording.tables import COLUMNS
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import KINDS, OWNERS, Malformed, Row, Rows
from asyncfeel.verify.world import World
from asyncfeel.world.mishaps import NOBODY, WHO

FILE = "faults.csv"
NEAR = 1e-9
Wrong = tuple[str, object]
"""A column, and what it should be."""


def check(opened: Opened, world: World) -> Check:
    """The rows in their order, each possible, and the manifest's count and seconds of each kind."""
    found = Check("faults", note="order, whom they happened to, the manifest's counts and seconds")
    servers, before = 1 if opened.by_client else world.servers, 0.0
    counts: dict[str, int] = {}
    lost_s: dict[str, list[float]] = {}
    try:
        table = Rows(opened.path / FILE, COLUMNS["faults"], torn=not opened.ended)
        while (row := table.take()) is not None and not found.full:
            found.rows += 1
            kind = KINDS[int(row["kind"])]
            counts[kind] = counts.get(kind, 0) + 1
            lost_s.setdefault(kind, [0.0])[0] += row["lost_s"]
            for column, expected in (*_wrong(row, world, servers), *_wrong_times(row, opened, before)):
                found.compare(FILE, row[column], expected, table.row, column)
            before = row["iteration"]
    except Malformed as error:
        found.differ(FILE, str(error))
    if opened.ended and found.ok:
        _summary(found, opened, {kind: (counts[kind], lost_s[kind][0]) for kind in counts})
    return found


def _wrong(row: Row, world: World, servers: int) -> Iterator[Wrong]:
    """What is not right with whom it happened to."""
    kind = KINDS[int(row["kind"])]
    who = WHO[kind]
    if OWNERS[int(row["who"])] != who:
        yield "who", who
    most = world.clients if who == "client" else servers
    if not 0 <= row["number"] < most:
        yield "number", f"a {who} below {most}"
    elif who == "link" and row["other"] not in world.neighbours[int(row["number"])]:
        yield "other", "a neighbour"
    if who != "link" and row["other"] != NOBODY and not (kind == "left-out" and 0 <= row["other"] < servers):
        yield "other", NOBODY
    if (row["job"] == NOBODY) == (who == "client"):
        yield "job", "the number of a job" if who == "client" else NOBODY


def _wrong_times(row: Row, opened: Opened, before: float) -> Iterator[Wrong]:
    """What is not right with when it happened, and what it cost."""
    end_s = opened.manifest.get("time_s") if opened.status == "finished" else None
    if not 0 <= row["time_s"] <= (end_s if isinstance(end_s, float) else math.inf) or math.isinf(row["time_s"]):
        yield "time_s", "a second of the run"
    if not 0 <= row["lost_s"] < math.inf:
        yield "lost_s", "seconds"
    if row["iteration"] < before or (opened.ended and row["iteration"] > (opened.iterations or 0)):
        yield "iteration", f"from {int(before)} on, and at most all iterations"


def _summary(found: Check, opened: Opened, counted: dict[str, tuple[int, float]]) -> None:
    """The manifest's faults against the rows."""
    noted = opened.manifest["faults"]
    if not isinstance(noted, dict) or noted.keys() != counted.keys():
        found.compare("manifest.json", noted, f"faults of the kinds {', '.join(counted) or 'none'}", None, "faults")
        return
    for kind, (count, lost_s) in counted.items():
        one = noted[kind] if isinstance(noted[kind], dict) else {}
        seconds = one.get("lost_s")
        close = isinstance(seconds, int | float) and math.isclose(seconds, lost_s, rel_tol=NEAR, abs_tol=NEAR)
        if one.get("count") != count or not close:
            found.compare("manifest.json", one, f"{count} times, {lost_s} s", None, f"faults.{kind}")
