"""Who did what in a run, second by second: re-derived from its config.toml, without training.

The schedule is a function of the scenario, so the same world is lived through again with somebody
watching; that it is the same world is checked against every row of iterations.csv.
"""

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from asyncfeel.errors import InputError
from asyncfeel.learning.executors.stub import Stub
from asyncfeel.prepare import Prepared, prepare
from asyncfeel.recording import manifest, tables
from asyncfeel.scenario import Scenario
from asyncfeel.streams import stream
from asyncfeel.theory.latency import Counts, Floats
from asyncfeel.world.clock import Clock
from asyncfeel.world.federation import Federation
from asyncfeel.world.records import Completion
from asyncfeel.world.traffic import Link, Outcome

Row = tuple[int, float, int, float]
COLUMNS = ("iteration", "time_s", "server", "started_s")


@dataclass(frozen=True, slots=True)
class Phase:
    """What a client or server does from one simulated second to another."""

    who: Literal["client", "server"]
    number: int
    kind: Literal["download", "compute", "upload", "exchange", "wait"]
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Flow:
    """A model on its way: from whom at which second, to whom at which second."""

    source: tuple[str, int]
    target: tuple[str, int]
    sent_s: float
    arrived_s: float
    kind: Literal["broadcast", "upload", "exchange"]


@dataclass(frozen=True)
class Replay:
    """All phases and models of a run, up to a second."""

    phases: Sequence[Phase]
    """Sorted by their start; a client that has no phase is idle."""
    flows: Sequence[Flow]
    """The models that have arrived."""
    end_s: float
    homes: Sequence[int] = ()
    """The server of each client; -1 for those that take no part."""


class Recorder:
    """Keeps what clients and servers do, as a watch of the traffic and an observer of the federation."""

    def __init__(self, homes: Sequence[int]) -> None:
        self.phases: list[Phase] = []
        self.flows: list[Flow] = []
        self.rows: list[Row] = []
        self._homes = homes
        self._last: dict[int, list[int]] = {}
        self._fresh: set[int] = set()
        self._turned: dict[int, tuple[str, float]] = {}
        self._exchanging: dict[int, float] = {}
        self._linked: bool | None = None

    def busy(
        self, clients: Counts, start_s: Floats, seconds: Floats, link: Link | None, outcome: Outcome = "arrived"
    ) -> None:
        """Keep a phase of each client, and the model that it sends or receives."""
        kind: Any = "compute" if link is None else "download" if link == "downlink" else "upload"
        columns = zip(clients.tolist(), start_s.tolist(), seconds.tolist(), strict=True)
        for client, start, length in columns:
            end, me, home = start + length, ("client", client), ("server", self._homes[client])
            places = self._last.setdefault(client, [])
            if kind == "download" or (kind == "compute" and client not in self._fresh):
                places.clear()
                self.flows.append(Flow(home, me, start, end if kind == "download" else start, "broadcast"))
            self._fresh.discard(client)
            if kind == "download":
                self._fresh.add(client)
            if kind == "upload" and outcome == "arrived":
                self.flows.append(Flow(me, home, start, end, "upload"))
            if end > start:
                places.append(len(self.phases))
                self.phases.append(Phase("client", client, kind, start, end))

    def interrupted(self, client: int, now: float) -> None:
        """Cut what the client was doing, and leave out the model that never arrives."""
        self._fresh.discard(client)
        for place in self._last.get(client, []):
            if self.phases[place].end_s > now:
                self.phases[place] = dataclasses.replace(self.phases[place], end_s=now)
        me = ("client", client)
        self.flows = [one for one in self.flows if me not in (one.source, one.target) or one.arrived_s <= now]

    def turned(self, server: int, phase: str, now: float) -> None:
        """Close the server's phase and begin another, if it is another."""
        kind = "exchange" if phase == "exchanging" else "wait"
        if kind == "exchange":
            self._exchanging[server] = now
        before = self._turned.get(server, ("wait", 0.0))
        if kind != before[0]:
            self._close(server, before, now)
            self._turned[server] = (kind, now)

    def changing(self, federation: Federation) -> None:
        """Nothing: phases and completions are all there is to keep."""

    def completed(self, federation: Federation, completion: Completion) -> None:
        """Keep the rows of an iteration, cut its servers' phases there, and add what they exchanged."""
        now = completion.time_s
        starts = {}
        for one in completion.triggers:
            self.rows.append((completion.iteration, now, one.server, one.started_s))
            before = self._turned.get(one.server, ("wait", 0.0))
            self._close(one.server, before, now)
            self._turned[one.server] = ("wait", now)
            if self._exchanging.get(one.server, -1.0) >= one.started_s:
                starts[one.server] = self._exchanging[one.server]
        if starts and completion.mixing:
            self._exchanged(federation, completion, starts)

    def _exchanged(self, federation: Federation, completion: Completion, starts: dict[int, float]) -> None:
        if self._linked is None:  # by links between servers, or all of them over the cloud
            self._linked = federation.traffic.total_bytes(completion.time_s)["exchange_bytes"] > 0
        for target, column in completion.mixing.items():
            for source in column:
                apart = source != target and (source in starts or target in starts)
                if apart and (not self._linked or target in federation.topology.neighbours[source]):
                    sent_s = starts[source] if source in starts else starts[target]
                    models = ("server", source), ("server", target)
                    self.flows.append(Flow(*models, sent_s, completion.time_s, "exchange"))

    def _close(self, server: int, phase: tuple[str, float], now: float) -> None:
        kind: Any = phase[0]
        if now > phase[1]:
            self.phases.append(Phase("server", server, kind, phase[1], now))

    def finish(self, servers: int, end_s: float) -> Replay:
        """Everything up to the end: what is under way is cut, and what has not arrived is left out."""
        for server in range(servers):
            self._close(server, self._turned.get(server, ("wait", 0.0)), end_s)
        cut = [
            one if one.end_s <= end_s else dataclasses.replace(one, end_s=end_s)
            for one in self.phases
            if one.start_s < end_s
        ]
        flows = [one for one in self.flows if one.sent_s < end_s and one.arrived_s <= end_s]
        return Replay(sorted(cut, key=lambda one: one.start_s), flows, end_s, self._homes)


def replay(folder: Path, until_s: float | None = None) -> Replay:
    """The phases and models of a run up to its end, or to a second before it."""
    facts, recorded = _facts(folder), _rows(folder)
    scenario = Scenario.load(config=folder / "config.toml")
    if scenario.algorithm.options.get("deadline") == "adaptive":
        raise InputError(
            f"the run {str(folder)!r} has algorithm.deadline = 'adaptive': its deadlines follow from losses, "
            "so its phases cannot be told without training it again"
        )
    finished = facts.get("status") == "finished"
    if not recorded and not finished:
        raise InputError(f"the run {str(folder)!r} has no completed iteration yet: wait for its first one")
    last_s = recorded[-1][1] if recorded else 0.0
    end_s = max(float(facts["time_s"]), last_s) if finished else last_s
    count = int(facts["iterations"]) if finished else recorded[-1][0] + 1
    limit = count if end_s == last_s or scenario.stop.iterations == count else None
    if until_s is not None and until_s < end_s:
        end_s, limit = until_s, None
    if end_s <= 0:
        raise InputError(f"the run {str(folder)!r} has nothing to replay up to {end_s} simulated seconds")
    stop = dataclasses.replace(scenario.stop, until_s=end_s, iterations=None, patience=None)
    prepared = prepare(dataclasses.replace(scenario, stop=stop), train=False)
    recorder = Recorder(prepared.layout.profiles.server.tolist())
    servers = _live(prepared, recorder, limit, end_s)
    _compare(folder, [row for row in recorded if row[1] <= end_s], recorder.rows, finished)
    return recorder.finish(servers, end_s)


def _live(prepared: Prepared, recorder: Recorder, limit: int | None, end_s: float) -> int:
    """Advance the world to the second; how many servers it has."""
    scenario, layout = prepared.scenario, prepared.layout
    federation = Federation(
        Clock(),
        layout.network,
        layout.profiles,
        prepared.psi,
        Stub(),
        local_steps=scenario.training.local_steps,
        iterations=limit,
        observers=[recorder],
        draw=partial(stream, scenario.seed, "algorithm"),
        budget_s=end_s,
        learning_rate=scenario.training.learning_rate,
        hazards=prepared.hazards,
    )
    federation.traffic.watch = recorder
    prepared.algorithm.start(federation)
    drive(federation.clock, end_s)
    return len(federation.servers)


def drive(clock: Clock, end_s: float, poll: Callable[[], None] = lambda: None) -> None:
    """Advance without an event loop: all results are ready, so nothing is ever awaited."""
    try:
        clock.advance(end_s, poll).send(None)
    except StopIteration:
        return
    raise InputError("the run cannot be replayed: its algorithm awaits real results")


def _facts(folder: Path) -> dict[str, Any]:
    found = manifest.read(folder)
    if found.get("status") == "finished" and ("time_s" not in found or "iterations" not in found):
        raise InputError(f"the manifest of {str(folder)!r} is damaged: it has no time_s or no iterations")
    return found


def _rows(folder: Path) -> list[Row]:
    table = tables.read(folder, "iterations")
    columns = zip(*(table[name].tolist() for name in COLUMNS), strict=True)
    return [(int(k), float(time_s), int(server), float(started_s)) for k, time_s, server, started_s in columns]


def _compare(folder: Path, recorded: Sequence[Row], found: Sequence[Row], finished: bool) -> None:
    """An error that names the first row that the replay does not give."""
    for number, row in enumerate(recorded):
        again = found[number] if number < len(found) else None
        if row != again:
            raise InputError(
                f"iterations.csv of {str(folder)!r} differs from a replay of its config.toml in row {number + 1}: "
                f"{dict(zip(COLUMNS, row, strict=True))} against {again and dict(zip(COLUMNS, again, strict=True))}"
            )
    more = found[len(recorded) :]
    if more and (finished or more[-1][0] != recorded[-1][0]):
        raise InputError(
            f"iterations.csv of {str(folder)!r} ends before a replay of its config.toml: row {len(recorded) + 1} "
            f"would be {dict(zip(COLUMNS, more[0], strict=True))}"
        )
