"""The command `asyncfeel resume`: a run folder whose run was stopped, and a run that goes on."""

import dataclasses
import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncfeel import tracking
from asyncfeel.errors import InputError
from asyncfeel.learning.metrics import Metrics
from asyncfeel.prepare import Prepared, prepare
from asyncfeel.progress import View
from asyncfeel.recording import manifest, tables
from asyncfeel.recording.lock import Lock
from asyncfeel.result import Result
from asyncfeel.resuming.files import Checkpoint, State, newest
from asyncfeel.scenario import Scenario
from asyncfeel.scenario.build import as_table, dotted
from asyncfeel.simulation import run, start
from asyncfeel.tracking import Tracker
from asyncfeel.units import duration

FREE = (
    *("stop.until_s", "stop.iterations", "data_dir", "checkpoint."),
    *("execution.workers", "execution.ray_address", "execution.timeout_s"),
)
"""Keys that may change between two lives of a run: its numbers up to now do not depend on them."""


@dataclass(frozen=True)
class Stopped:
    """What an earlier life of a run has left."""

    folder: Path
    checkpoint: Checkpoint | None
    """Nothing if it did not get as far as a first one: then the run begins anew."""
    metrics: Sequence[Metrics]
    """What was found in the evaluations before the checkpoint."""
    notes: Sequence[str] = ()
    """What the user should know: damaged checkpoints that were passed over."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many bytes of each table are valid."""
        return {name: int(size) for name, (size, _) in self.checkpoint.state.tables.items()} if self.checkpoint else {}


def resume(
    folder: str | Path,
    *,
    until: float | str | None = None,
    iterations: int | None = None,
    workers: int | None = None,
    view: View | None = None,
    stop: threading.Event | None = None,
    trackers: Sequence[Tracker] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Result:
    """Go on with a run that was stopped or killed; the result is that of a run that never was.

    `until` and `iterations` give it a later end, which a finished run may have too. Nothing else of the
    scenario can change but the number of workers. `say` is told from where the run goes on.
    """
    started = time.perf_counter()
    path = Path(folder)
    recorded = scenario_of(path)
    changed = {"stop.until_s": until, "stop.iterations": iterations, "execution.workers": workers}
    scenario = recorded.replace(set={key: value for key, value in changed.items() if value is not None})
    scenario = dataclasses.replace(scenario, stop=_limits(recorded, scenario, until, iterations))
    return go_on(path, scenario, started, view, stop, tracking.checked(trackers), say)


def again(
    scenario: Scenario,
    out: Path | None,
    *,
    view: View | None = None,
    stop: threading.Event | None = None,
    trackers: Sequence[Tracker] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Result:
    """Start the scenario in this folder, or go on with it there; a finished run is left as it is."""
    started = time.perf_counter()
    if out is None:
        raise InputError("--resume needs --out, the folder of the run that is to go on")
    if not (out / "config.toml").is_file():
        return run(scenario, out, view=view, stop=stop, trackers=trackers)
    recorded = scenario_of(out)
    wanted = prepare(scenario, True).scenario
    _check_same(dotted(as_table(recorded)), dotted(as_table(wanted)), ("execution.", "checkpoint.", "data_dir"))
    facts = _facts(out)
    if facts.get("status") == "finished":
        return Result(out, {"folder": str(out), **facts})
    return go_on(out, recorded, started, view, stop, tracking.checked(trackers), say)


def go_on(
    folder: Path,
    scenario: Scenario,
    started: float,
    view: View | None = None,
    stop: threading.Event | None = None,
    trackers: Sequence[Tracker] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Result:
    """Go on with the run in a folder, as this scenario says, which must be the recorded one but for its end."""
    recorded = scenario_of(folder)
    facts = _facts(folder)
    Lock(folder).release()
    train = facts.get("kind", "run") == "run" and scenario.execution.executor != "stub"
    _check_end(folder, facts, recorded, scenario)
    stopped = left(folder)
    for line in _said(stopped):
        say(line)
    prepared = prepare(scenario, train)
    if stopped.checkpoint:
        _check(stopped.checkpoint.state, prepared)
    return start(prepared, folder, started, view, stop, trackers, stopped)


def scenario_of(folder: Path) -> Scenario:
    """The recorded scenario of a run."""
    if not (folder / "config.toml").is_file():
        raise InputError(f"{str(folder)!r} is not a run folder that could go on: it has no config.toml")
    return Scenario.load(config=folder / "config.toml")


def left(folder: Path) -> Stopped:
    """What the earlier life of a run has left, its tables checked against the checkpoint."""
    checkpoint, damaged = newest(folder)
    if checkpoint is None:
        return Stopped(folder, None, (), damaged)
    try:
        for name, (size, digest) in checkpoint.state.tables.items():
            _check_table(folder / f"{name}.csv", int(size), str(digest))
        found = tables.read(folder, "metrics")
        tested = checkpoint.state.tested
        columns = (found[name][:tested].tolist() for name in ("train_loss", "test_loss", "test_accuracy"))
        metrics = [Metrics(*row) for row in zip(*columns, strict=True)]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"the run {str(folder)!r} cannot go on: {error}") from error
    return Stopped(folder, checkpoint, metrics, damaged)


def _said(stopped: Stopped) -> list[str]:
    """From where the run goes on, and what is wrong with newer checkpoints."""
    lines = [f"passed over: {note}" for note in stopped.notes]
    if stopped.checkpoint is None:
        return [*lines, f"{stopped.folder} has no checkpoint: the run begins anew"]
    state = stopped.checkpoint.state
    return [*lines, f"going on from simulated {duration(state.time_s)}, iteration {state.iteration:,}"]


def _facts(folder: Path) -> dict[str, Any]:
    """The manifest; nothing where the run was killed before it had one."""
    return manifest.read(folder) if (folder / "manifest.json").exists() else {}


def _limits(recorded: Scenario, wanted: Scenario, until: Any, iterations: Any) -> Any:
    """The limits of the run: one that is given replaces the recorded one of its kind; the other stays."""
    kept: dict[str, Any] = {}
    if until is None and recorded.stop.until_s is not None:
        kept["until_s"] = recorded.stop.until_s
    if iterations is None and recorded.stop.iterations is not None:
        kept["iterations"] = recorded.stop.iterations
    return dataclasses.replace(wanted.stop, **kept)


def _check_end(folder: Path, facts: Mapping[str, Any], recorded: Scenario, scenario: Scenario) -> None:
    longer = scenario.stop != recorded.stop
    if facts.get("status") == "finished" and not longer:
        raise InputError(
            f"the run {str(folder)!r} is finished: give a later --until, or more --iterations, to go on with it"
        )
    adaptive = recorded.algorithm.options.get("deadline") == "adaptive"
    if longer and adaptive and scenario.stop.until_s != recorded.stop.until_s:
        raise InputError("adaptive deadlines were planned for the recorded --until: it cannot change")


def _check(state: State, prepared: Prepared) -> None:
    """An error that names what has changed since the checkpoint."""
    now = manifest.versions()
    for name, version in state.versions.items():
        if now.get(name) != version:
            raise InputError(
                f"the checkpoint was written with {name} {version}, and this is {now.get(name)}: results would differ; "
                f"install {name} {version} to go on, or start the run anew"
            )
    _check_same(state.config, dotted(as_table(prepared.scenario)), FREE)
    stop = prepared.scenario.stop
    if stop.until_s is not None and stop.until_s < state.time_s:
        raise InputError(f"--until {stop.until_s} lies before the checkpoint, which is at {state.time_s} s")
    if stop.iterations is not None and stop.iterations < state.iteration:
        raise InputError(f"--iterations {stop.iterations} are fewer than the {state.iteration} of the checkpoint")


def _check_same(before: Mapping[str, Any], now: Mapping[str, Any], free: tuple[str, ...]) -> None:
    for key in sorted({*before, *now}):
        if now.get(key) != before.get(key) and not key.startswith(free):
            raise InputError(
                f"the run cannot go on with another scenario: {key} was {before.get(key)!r} and is {now.get(key)!r}"
            )


def _check_table(path: Path, size: int, digest: str) -> None:
    """An error unless the first so many bytes of a table are what they were."""
    total = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while size and (block := file.read(min(size, 1 << 20))):
                total.update(block)
                size -= len(block)
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    if size or total.hexdigest() != digest:
        raise InputError(f"{str(path)!r} is not what it was when the checkpoint was written: rows are lost or changed")
