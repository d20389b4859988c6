"""The schedule, derived again from config.toml without training and set against the files row by row."""

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

from asyncfeel.errors import InputError
from asyncfeel.learning.executors.stub import Stub
from asyncfeel.prepare import Prepared, prepare
from asyncfeel.recording import rows
from asyncfeel.recording.tables import COLUMNS
from asyncfeel.replay import drive
from asyncfeel.streams import stream
from asyncfeel.theory import mixing
from asyncfeel.verify import world_files
from asyncfeel.verify.against import Against
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.totals import Totals
from asyncfeel.world.clock import Clock
from asyncfeel.world.federation import Federation, Observer
from asyncfeel.world.records import Completion

IDLE = 5_000_000
"""The events without a completed iteration after which a scenario is taken for one that goes nowhere."""


DERIVED = "derived again from config.toml"


class Enough(Exception):
    """There is nothing more to compare."""


class Expected:
    """Sets the rows of every iteration against the files, as an observer of the federation."""

    def __init__(self, opened: Opened, servers: int, idle: int) -> None:
        self._growing = opened.status == "running"
        options = {"complete": opened.ended, "rounding": bool(opened.elsewhere), "growing": self._growing}
        self._by_client = opened.by_client
        self._rows = rows.StalenessRows(servers)
        self._idle = self._left = idle
        self.tables: dict[str, Against] = {}
        for name in ("iterations", "staleness", *(() if self._by_client else ("mixing",))):
            more = ("client",) if self._by_client and name == "staleness" else ()
            check = Check(f"{name}.csv", note=DERIVED)
            self.tables[name] = Against(check, opened.path / f"{name}.csv", (*COLUMNS[name], *more), **options)

    def changing(self, federation: Federation) -> None:
        """Nothing: what is recorded is the completed iteration."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Compare the rows of an iteration."""
        k, time_s = completion.iteration, completion.time_s
        self._left = self._idle
        short = [table for table in self.tables.values() if table.ended]
        known = self.tables["staleness"].check.rows
        for trigger in completion.triggers:
            own = completion.staleness[trigger.server]
            times = (k, time_s, trigger.server, trigger.started_s, trigger.deadline_s)
            self.tables["iterations"].take(_line(*times, *trigger.spread, own))
            if not self._by_client:
                weights = completion.mixing.get(trigger.server, {trigger.server: 1.0})
                text = self._rows.text(k, time_s, trigger.server, completion.staleness, weights)
                self.tables["staleness"].take(text)
        if self._by_client:
            merged = (_line(k, time_s, 0, 0, one.staleness, one.weight, one.client) for one in completion.merged)
            self.tables["staleness"].take("".join(merged))
        else:
            self.tables["mixing"].take("".join(_line(k, *entry) for entry in mixing.entries(completion.mixing)))
        self._in_step(k, short, known)

    def _in_step(self, k: int, short: list[Against], known: int) -> None:
        """An iteration is written to one file after the other, so none may end long before another."""
        staleness, iterations = self.tables["staleness"].check, self.tables["iterations"]
        for table in short if not iterations.ended else []:
            if table.check.ok:
                table.check.differ(table.check.name, f"it ends before iteration {k}, which iterations.csv has")
        if iterations.ended and staleness.rows > known and not self._growing:
            iterations.check.differ("iterations.csv", f"it ends before iteration {k}, which staleness.csv has")

    def poll(self) -> None:
        """End the world when the files have ended or are known to differ, or when it goes nowhere."""
        self._left -= 1
        if self._left < 0:
            raise InputError(f"after {self._idle} events no iteration was completed: config.toml is not that of a run")
        if self.tables["iterations"].done and self.tables["staleness"].done:
            raise Enough


def derive(opened: Opened) -> list[Check]:
    """Derive clients.csv, topology.json and the schedule again; a check for each file, and one of the totals."""
    scenario = opened.scenario
    if too_large := world_files.disagreement(opened.path, scenario):
        return [too_large]
    if too_dense := world_files.too_many_links(scenario):
        raise InputError(too_dense)
    stop = scenario.stop
    if opened.status == "interrupted" or (stop.patience and opened.trained):
        limits = [limit for limit in (stop.iterations, opened.iterations) if limit is not None]
        stop = dataclasses.replace(stop, patience=None, iterations=min(limits, default=None))
    prepared = prepare(dataclasses.replace(scenario, stop=stop), train=False)
    checks = world_files.compare(opened, *prepared.recorded)
    if scenario.algorithm.options.get("deadline") == "adaptive":
        adaptive = Check("schedule")
        adaptive.skip("algorithm.deadline = 'adaptive': it follows from losses, so only --retrain can check it")
        return [*checks, adaptive]
    return checks + _live(opened, prepared)


def _live(opened: Opened, prepared: Prepared) -> list[Check]:
    """Live through the derived world and compare; without the totals if it was left before its end."""
    scenario = prepared.scenario
    observers: list[Expected | Totals] = []
    federation = _federation(prepared, observers)
    prepared.algorithm.start(federation)
    totals = Totals(federation, prepared)
    expected = Expected(opened, len(federation.servers), IDLE + 100 * len(federation.profiles))
    observers += [expected, totals]
    cut = False
    try:
        if scenario.stop.iterations != 0:  # a run that was interrupted before its first iteration
            drive(federation.clock, federation.budget_s, expected.poll)
    except Enough:
        cut = True
    finally:
        for table in expected.tables.values():
            table.close()
    checks = [table.check for table in expected.tables.values()]
    if opened.elsewhere:
        for check in checks:
            check.note = f"{DERIVED}, floats up to rounding: made with {opened.elsewhere}"
    return checks + ([] if cut or not opened.ended else [totals.check(opened)])


def _federation(prepared: Prepared, observers: Sequence[Observer]) -> Federation:
    """The federation of the run, with nobody to train."""
    scenario, layout = prepared.scenario, prepared.layout
    return Federation(
        Clock(),
        layout.network,
        layout.profiles,
        prepared.psi,
        Stub(),
        local_steps=scenario.training.local_steps,
        iterations=scenario.stop.iterations,
        observers=observers,
        draw=partial(stream, scenario.seed, "algorithm"),
        budget_s=scenario.stop.until_s or math.inf,
        learning_rate=scenario.training.learning_rate,
    )


def _line(*fields: float) -> str:
    return ",".join(map(repr, fields)) + "\n"
