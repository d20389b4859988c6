"""The schedule, derived again from config.toml without training and set against the files row by row."""

import dataclasses
import math
from collections.abc import Sequence
from functools import partial

from asyncfeel.errors import InputError
from asyncfeel.learning.executors.stub import Stub
from asyncfeel.prepare import Prepared, prepare
from asyncfeel.recording import rows
from asyncfeel.replay import drive
from asyncfeel.streams import stream
from asyncfeel.theory import mixing
from asyncfeel.verify import files, world_files
from asyncfeel.verify.against import Against
from asyncfeel.verify.diverged import Replayed
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.verify.totals import Totals
from asyncfeel.world.clock import Clock
from asyncfeel.world.federation import Federation, Observer
from asyncfeel.world.mishaps import Mishaps
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
        self.complete = False
        """Whether it was left just where an interrupted run ended."""
        self._faulty = opened.faulty
        self._last = opened.iterations if opened.status == "interrupted" and opened.faulty else None
        for name in ("iterations", "staleness", *(() if self._by_client else ("mixing",)), *("faults",) * self._faulty):
            check = Check(f"{name}.csv", note=DERIVED)
            # An interrupted run has some of the faults after its last iteration, up to any event.
            own = options | ({"complete": False} if name == "faults" and self._last is not None else {})
            self.tables[name] = Against(check, opened.path / f"{name}.csv", opened.columns(name), **own)

    def changing(self, federation: Federation) -> None:
        """Nothing: what is recorded is the completed iteration."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Compare the rows of an iteration."""
        k, time_s = completion.iteration, completion.time_s
        if k == self._last:
            self.complete = True
            raise Enough
        self._left = self._idle
        short = [table for table in self.tables.values() if table.ended]
        known = self.tables["staleness"].check.rows
        for trigger in completion.triggers:
            own = completion.staleness[trigger.server]
            times = (k, time_s, trigger.server, trigger.started_s, trigger.deadline_s)
            clients = (len(trigger.steps),) if self._faulty else ()
            self.tables["iterations"].take(_line(*times, *trigger.spread, own, *clients))
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

    def failed(self, iteration: int, mishaps: Sequence[Mishaps]) -> None:
        """Compare the rows of what went wrong."""
        if not self._faulty:
            return
        known = self.tables["faults"].check.rows
        self.tables["faults"].take(rows.faults(iteration, mishaps))
        ended, check = self.tables["iterations"].ended, self.tables["iterations"].check
        if ended and self.tables["faults"].check.rows > known and not self._growing and check.ok:
            check.differ("iterations.csv", f"it ends before iteration {iteration}, which faults.csv has")

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
        # Faults may have come after the last iteration: the next one is where these end.
        further = 1 if opened.status == "interrupted" and opened.faulty else 0
        reached = None if opened.iterations is None else opened.iterations + further
        limits = [limit for limit in (stop.iterations, reached) if limit is not None]
        stop = dataclasses.replace(stop, patience=None, iterations=min(limits, default=None))
    prepared = prepare(dataclasses.replace(scenario, stop=stop), train=False)
    checks = world_files.compare(opened, *prepared.recorded)
    if opened.faulty != prepared.hazards.any:
        wrong = Check("faults.csv", note=DERIVED)
        wrong.differ("manifest.json", f"config.toml has {'no' if opened.faulty else 'some'} faults", None, "faults")
        return [*checks, wrong]
    if scenario.algorithm.options.get("deadline") == "adaptive":
        adaptive = Check("schedule")
        adaptive.skip("algorithm.deadline = 'adaptive': it follows from losses, so only --retrain can check it")
        return [*checks, adaptive]
    return checks + _live(opened, prepared)


def _live(opened: Opened, prepared: Prepared) -> list[Check]:
    """Live through the derived world and compare; without the totals if it was left before its end."""
    scenario = prepared.scenario
    observers: list[Expected | Totals] = []
    diverged = Replayed(opened) if opened.diverging and files.there(opened.path / "divergence.csv") else None
    federation = _federation(prepared, observers, diverged)
    prepared.algorithm.start(federation)
    totals = Totals(federation, prepared)
    expected = Expected(opened, len(federation.servers), IDLE + 100 * len(federation.profiles))
    observers += [expected, totals]
    federation.tell_of_faults(expected.failed)
    cut = False
    try:
        if scenario.stop.iterations != 0:  # a run that was interrupted before its first iteration
            drive(federation.clock, federation.budget_s, expected.poll)
    except Enough:
        cut = not expected.complete
    finally:
        for table in expected.tables.values():
            table.close()
    checks = [table.check for table in expected.tables.values()]
    if opened.elsewhere:
        for check in checks:
            check.note = f"{DERIVED}, floats up to rounding: made with {opened.elsewhere}"
    if diverged and opened.status != "running" and all(check.ok for check in checks):
        checks.append(diverged.close())
    elif diverged:
        checks.append(diverged.check)
    return checks + ([] if cut or not opened.ended else [totals.check(opened)])


def _federation(prepared: Prepared, observers: Sequence[Observer], diverged: Replayed | None) -> Federation:
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
        divergence=diverged,
        hazards=prepared.hazards,
    )


def _line(*fields: float) -> str:
    return ",".join(map(repr, fields)) + "\n"
