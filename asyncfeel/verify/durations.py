"""How long an iteration of asynchronous SD-FEEL lasts and how many steps fit, by the paper's equations (A11, A16)."""

import math
from dataclasses import dataclass

import numpy as np

from asyncfeel.scenario import Scenario
from asyncfeel.verify.reading import Row
from asyncfeel.verify.world import World

NEAR = 1e-9
"""How far two durations may be apart, relatively: one was added up phase by phase."""

Wrong = tuple[str, float, float]
"""A column, what it is, and what it should be, or at least or at most."""


@dataclass(frozen=True)
class Durations:
    """The equations, with the numbers of one run; it says what a row of iterations.csv has wrong."""

    work: float
    bits: float
    down_s: float
    up_s: float
    exchange_bps: float
    world: World
    faulty: bool = False

    def wrong(self, row: Row) -> Wrong | None:
        """The first column that does not follow from the others, with what it is and what it should be."""
        server, deadline_s = int(row["server"]), row["deadline_s"]
        started_s = row["started_s"] + self.down_s + deadline_s + self.up_s
        steps = np.maximum(1, np.floor(deadline_s * self.world.flops[server] / self.work + 1e-9))
        if self.faulty:
            return self._impossible(row, steps, started_s)
        expected = {"steps_min": steps.min(), "steps_max": steps.max(), "steps_mean": steps.mean()}
        rates = [self.exchange_bps if rate is None else rate for rate in self.world.neighbours[server].values()]
        exchange_s = self.bits / min(rates) if rates else 0.0
        expected["time_s"] = started_s + exchange_s
        for column, value in expected.items():
            if not math.isclose(row[column], value, rel_tol=NEAR):
                return column, row[column], float(value)
        return None

    def _impossible(self, row: Row, steps: "np.typing.NDArray[np.float64]", least_s: float) -> Wrong | None:
        """The first column that cannot be, where clients may be missing, uploads repeated and links down."""
        if not 1 <= row["clients"] <= len(steps):
            return "clients", row["clients"], len(steps)
        if row["time_s"] < least_s * (1 - NEAR):
            return "time_s", row["time_s"], least_s
        for column, most in (("steps_min", steps.min()), ("steps_max", steps.max())):
            if row[column] not in steps or (row["clients"] == len(steps) and row[column] != most):
                return column, row[column], float(most)
        return None


def durations(scenario: Scenario, world: World, faulty: bool = False) -> Durations | None:
    """The equations for a scenario in which they are all there is; else nothing."""
    work, network = scenario.work.flops_per_step, scenario.network
    constant = scenario.drift.kind == scenario.fading.kind == "none"
    if scenario.algorithm.kind != "async-sd-feel" or not constant:
        return None
    if isinstance(work, str) or isinstance(network.model_bits, str):
        return None
    bits = network.model_bits
    down_s = bits / network.downlink_bps if network.downlink_bps else 0.0
    return Durations(work, bits, down_s, bits / network.uplink_bps, network.exchange_bps, world, faulty)
