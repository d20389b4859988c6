"""P_k as mixing.csv has it: stochastic, symmetric where promised, non-negative where promised."""

import math
from collections import defaultdict

from asyncfeel.verify.findings import Check
from asyncfeel.verify.promises import Promise
from asyncfeel.verify.reading import Rows
from asyncfeel.verify.world import World

FILE = "mixing.csv"
MOST = 10_000_000
"""The entries of one matrix beyond which it is not looked at."""
NEAR = 1e-9
"""How far a sum may be from what it should be."""

Entries = dict[tuple[int, int], float]


def take(check: Check, table: Rows, iteration: int, world: World) -> Entries:
    """The entries of one iteration by source and target, in the order of the file."""
    entries: Entries = {}
    last = (-1, -1)
    for row in table.of(iteration):
        place, weight = (int(row["source"]), int(row["target"])), row["weight"]
        if max(place) >= world.servers or place <= last:
            check.differ(FILE, f"the entry {place} is out of its order, or of no server", table.row)
        elif not math.isfinite(weight) or weight == (place[0] == place[1]):
            check.compare(FILE, weight, "a number that differs from the identity's", table.row, "weight")
        elif len(entries) < MOST:
            entries[place] = weight
        last = place
        check.rows += 1
        if check.full:
            break
    return entries


def stochastic(check: Check, iteration: int, entries: Entries, promise: Promise, world: World) -> None:
    """Every promise of one matrix; entries that are not listed are those of the identity."""
    columns: dict[int, list[float]] = defaultdict(list)
    touched = {server for place in entries for server in place}
    for (_, target), weight in entries.items():
        columns[target].append(weight)
    for target, weights in columns.items():
        total = math.fsum(weights) + ((target, target) not in entries)
        _near(check, iteration, f"the column of target {target} sums to", total, 1.0)
    for (source, target), weight in entries.items():
        if promise.non_negative and weight < 0:
            _differ(check, iteration, f"the weight from {source} to {target} is {weight}, which is negative")
        if promise.one_hop and source != target and target not in world.neighbours[source]:
            _differ(check, iteration, f"servers {source} and {target} mix, and are no neighbours")
        if promise.symmetric and entries.get((target, source), 0.0) != weight:
            _differ(check, iteration, f"the weights between {source} and {target} differ, where P_k is symmetric")
    if promise.keeps_shares:
        _shares(check, iteration, entries, touched, world)


def _shares(check: Check, iteration: int, entries: Entries, touched: set[int], world: World) -> None:
    """P mtil = mtil: the data-weighted mean of the models stays."""
    flow = {server: 0.0 if (server, server) in entries else float(world.shares[server]) for server in touched}
    for (source, target), weight in entries.items():
        flow[source] += weight * float(world.shares[target])
    for server, found in flow.items():
        _near(check, iteration, f"P mtil of server {server} is", found, float(world.shares[server]))


def _near(check: Check, iteration: int, what: str, found: float, expected: float) -> None:
    if not math.isclose(found, expected, rel_tol=NEAR, abs_tol=NEAR):
        _differ(check, iteration, f"{what} {found} instead of {expected}")


def _differ(check: Check, iteration: int, message: str) -> None:
    check.differ(FILE, f"iteration {iteration}: {message}")
