"""The manifest's counts against what the rows of iterations.csv add up to."""

import math
from dataclasses import dataclass, field
from typing import Any

from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.reading import Row
from asyncfeel.verify.world import World


@dataclass
class Counts:
    """Iterations, staleness and mean steps of every server, as the rows have them."""

    servers: int
    iterations: int = 0
    rows: list[int] = field(init=False)
    staleness: list[float] = field(init=False)
    stalest: list[float] = field(init=False)
    steps: list[float] = field(init=False)
    """The steps of all clients together."""

    def __post_init__(self) -> None:
        self.rows = [0] * self.servers
        self.staleness, self.stalest, self.steps = ([0.0] * self.servers for _ in range(3))

    def add(self, server: int, row: Row, clients: int) -> None:
        """Count a row of so many clients; it says itself how many there were if not all took part."""
        self.rows[server] += 1
        self.staleness[server] += row["staleness"]
        self.stalest[server] = max(self.stalest[server], row["staleness"])
        self.steps[server] += row["steps_mean"] * row.get("clients", clients)


def compare(opened: Opened, counted: Counts, world: World) -> Check | None:
    """A check of the manifest's counts; nothing for a run that has none yet."""
    if not opened.ended:
        return None
    check = Check("counts", "values", note="the manifest against the rows")
    _same(check, "iterations", opened.manifest.get("iterations"), counted.iterations)
    table = opened.manifest.get("servers")
    if not isinstance(table, list) or len(table) != counted.servers or not all(isinstance(one, dict) for one in table):
        check.differ("manifest.json", f"it is not a list of {counted.servers} servers", None, "servers")
        return check
    for server, one in enumerate(table):
        expected: dict[str, Any] = {
            "server": server,
            "iterations": counted.rows[server],
            "staleness_mean": counted.staleness[server] / max(1, counted.rows[server]),
            "staleness_max": counted.stalest[server],
        }
        if not opened.by_client:
            clients = len(world.flops[server])
            share, steps = float(world.shares[server]), counted.steps[server]
            expected |= {"clients": clients, "share": share, "steps": steps}
        for name, value in expected.items():
            _same(check, f"servers[{server}].{name}", one.get(name), value)
    if not opened.by_client:
        _same(check, "steps", opened.manifest.get("steps"), sum(counted.steps))
    return check


def _same(check: Check, name: str, found: Any, expected: float) -> None:
    check.rows += 1
    number = type(found) in (int, float)
    if not number or not math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9):
        check.compare("manifest.json", found, expected, None, name)
