"""Runs a scenario: the one place where the simulated world, the training and the record meet."""

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncfeel import description, execution, tracking
from asyncfeel.audience import Audience
from asyncfeel.errors import Broken, Hung, Interrupted
from asyncfeel.evaluation import Evaluator
from asyncfeel.loops import complete
from asyncfeel.measurements import Measurements
from asyncfeel.prepare import Prepared, prepare
from asyncfeel.progress import Silent, View
from asyncfeel.recording import folder as folders
from asyncfeel.recording.divergence import DivergenceRows
from asyncfeel.recording.manifest import versions
from asyncfeel.result import Result
from asyncfeel.resuming.continuity import Continuity
from asyncfeel.resuming.door import Door
from asyncfeel.resuming.held import Shelf, value_of
from asyncfeel.resuming.journal import Journal
from asyncfeel.resuming.saving import Saving
from asyncfeel.scenario import Scenario
from asyncfeel.scenario.build import as_table, dotted
from asyncfeel.streams import stream
from asyncfeel.tally import Tally
from asyncfeel.totals import totals
from asyncfeel.tracking import Tracker, Trackers
from asyncfeel.world import consensus
from asyncfeel.world.clock import Clock
from asyncfeel.world.federation import Federation, Observer
from asyncfeel.world.stopping import Patience

if TYPE_CHECKING:
    from asyncfeel.learning.learner import Learner
    from asyncfeel.resuming.command import Stopped
    from asyncfeel.resuming.files import State


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    *,
    train: bool = True,
    view: View | None = None,
    stop: threading.Event | None = None,
    trackers: Sequence[Tracker] = (),
    force: bool = False,
) -> Result:
    """Simulate the scenario and train for real; the result has the run folder and its tables.

    With `train=False` it is a plan: the same schedule without training. Setting `stop` ends the
    run early and cleanly. It may be called where an event loop is running already, as in a notebook.
    The trackers are told of every iteration and evaluation; `force` replaces an ended run in `out`.
    """
    started = time.perf_counter()
    train = train and scenario.execution.executor != "stub"
    followers = tracking.checked(trackers)
    return start(
        prepare(scenario, train), None if out is None else Path(out), started, view, stop, followers, force=force
    )


def start(
    prepared: Prepared,
    out: Path | None,
    started: float,
    view: View | None = None,
    stop: threading.Event | None = None,
    trackers: Sequence[Tracker] = (),
    stopped: "Stopped | None" = None,
    force: bool = False,
) -> Result:
    """Run what is prepared, from the beginning or from where it was stopped."""
    stop = stop or threading.Event()
    audience = Audience(view or Silent(), Trackers(trackers, evaluated=prepared.learner is not None))
    simulation = Simulation(prepared, out, audience, stop, started, stopped, force)
    return complete(simulation.run(), stop)


class Simulation:
    """One run from its first event to its closed folder."""

    def __init__(
        self,
        prepared: Prepared,
        out: Path | None,
        audience: Audience,
        stop: threading.Event,
        started: float,
        stopped: "Stopped | None" = None,
        force: bool = False,
    ) -> None:
        self._prepared = prepared
        self._audience = audience
        self._stop = stop
        self._started = started
        self._trained_at: float | None = None
        self._stopped = stopped
        self._checkpoint = stopped.checkpoint if stopped else None
        self._observers: list[Observer] = []
        self._shelf = Shelf(replaying=self._checkpoint is not None)
        self._journal = Journal(self._checkpoint.journal if self._checkpoint else ())
        self._executor = execution.executor(prepared, stop)
        self._scenario = execution.settled(prepared.scenario, self._executor)
        self._door = Door(self._executor, self._shelf, self._journal, self._scenario.execution.timeout_s)
        self._federation = self._make_federation()
        prepared.algorithm.start(self._federation)
        self._tally = Tally(self._federation, prepared.algorithm.objective(self._federation))
        self._folder = self._make_folder(out, force)
        self._federation.tell_of_faults(self._folder.failed)
        self._measurements = Measurements(self._folder, audience)
        self._diverged = DivergenceRows(self._folder, self._federation.divergence)
        self._evaluator = self._make_evaluator()
        self._continuity = self._make_continuity()
        self._observers += [self._folder, self._tally, audience]
        if self._evaluator:
            self._observers.append(self._evaluator)

    async def run(self) -> Result:
        """Simulate to the end; whatever happens, the files are closed and the status is written."""
        status: Any = "failed"
        ended: dict[str, Any] = {}
        self._training_from = time.perf_counter()
        try:
            with execution.one_thread_per_job(self._prepared):
                if self._checkpoint is None:
                    self._tell()
                try:
                    await self._simulate()
                    status = "finished"
                except Interrupted:
                    status = "interrupted"
                    if self._evaluator:
                        self._evaluator.abandon()
                    self._continuity.interrupted()
                except KeyboardInterrupt:
                    status = "interrupted"
                    raise
                except (Broken, Hung) as error:
                    self._door.hung = isinstance(error, Hung)
                    self._continuity.interrupted()
                    raise
                ended = self._wind_up(status)
        finally:
            summary = {"folder": str(self._folder.path), "status": status, **ended}
            with self._audience.leaving(summary, failed=not ended):
                self._door.close()
                self._folder.finish(status, ended)
        return Result(self._folder.path, summary)

    async def _simulate(self) -> None:
        if self._evaluator:
            self._evaluator.start(self._federation)
        await self._federation.clock.advance(self._scenario.stop.until_s or math.inf, self._poll)
        self._trained_at = time.perf_counter()
        if dismiss := getattr(self._executor, "dismiss", None):
            dismiss()
        self._continuity.ended()
        if self._evaluator:
            self._evaluator.finish(self._federation, self._end_s())
            self._measurements.test_servers(self._federation, self._door.evaluate)

    def _poll(self) -> None:
        self._continuity.poll()
        if self._stop.is_set():
            raise Interrupted("the run was asked to end")

    def _end_s(self) -> float:
        """The simulated second at which training ended: the limit, or the last event before it."""
        clock, until_s = self._federation.clock, self._scenario.stop.until_s
        return float(clock.now) if clock.stopped or until_s is None or self._stop.is_set() else until_s

    def _wind_up(self, status: str) -> dict[str, Any]:
        """The consensus phase, the output model, and what the run amounts to."""
        wall = self._wall(time.perf_counter())
        output, learner = self._federation.average(), self._prepared.learner
        agreement = None
        if status == "finished":
            agreement = self._agree(learner)
        digests = self._folder.digests()
        if learner and not self._continuity.replaying:
            from asyncfeel.learning import output as outputs

            digests["model"] = outputs.write(self._folder.path / "model.safetensors", learner, value_of(output))
        return {
            **totals(self._federation, self._tally, self._measurements, self._end_s()),
            "diverged": self._diverged.count,
            "consensus": asdict(agreement) if agreement else None,
            "digests": digests,
            "executor_note": description.remark(self._executor),
            "wall": wall,
        }

    def _agree(self, learner: "Learner | None") -> consensus.Agreement:
        settings = self._scenario.consensus
        norm = None if learner is None else lambda model: learner.norm(value_of(model))
        return consensus.agree(self._federation, settings.rounds, settings.tolerance, norm)

    def _wall(self, ended_at: float) -> dict[str, float]:
        """Real seconds: of the set-up, of the training, of waiting for the last evaluations, and of work in hand."""
        trained_at = self._trained_at or ended_at
        busy = getattr(self._executor, "busy", None)
        saving = self._continuity.saving
        return {
            "setup_s": self._training_from - self._started,
            "training_s": trained_at - self._training_from,
            "evaluation_s": ended_at - trained_at,
            **({"busy_s": busy.seconds} if busy else {}),
            **({"checkpoints_s": saving.seconds} if saving else {}),
            **({"before_s": self._checkpoint.state.wall_s} if self._checkpoint else {}),
        }

    def _make_federation(self) -> Federation:
        prepared, stop, layout = self._prepared, self._scenario.stop, self._prepared.layout
        learner, patience = prepared.learner, None
        if stop.patience and learner:
            taking_part = [int(client) for cluster in layout.profiles.clusters for client in cluster]
            patience = Patience(taking_part, stop.patience, stop.tolerance)
        return Federation(
            Clock(),
            layout.network,
            layout.profiles,
            prepared.psi,
            self._door if learner else self._executor,
            self._shelf.hold(learner.initial()) if learner else 0.0,
            self._scenario.training.local_steps,
            stop.iterations,
            patience,
            self._observers,
            partial(stream, self._scenario.seed, "algorithm"),
            stop.until_s or math.inf,
            self._door.norm(learner.trained_norm) if learner else None,
            self._scenario.training.learning_rate,
            execution.divergence(prepared, self._door),
            prepared.hazards,
        )

    def _make_folder(self, out: Path | None, force: bool) -> folders.RunFolder:
        trained = self._prepared.learner is not None
        path = self._stopped.folder if self._stopped else None
        path = path or folders.create(out, description.name(self._scenario, trained), force)
        return folders.RunFolder(
            path,
            description.config(self._scenario),
            *self._prepared.recorded,
            description.facts(self._prepared, self._scenario, self._executor),
            self._stopped.sizes if self._stopped else None,
        )

    def _make_evaluator(self) -> Evaluator | None:
        settings, learner = self._scenario.evaluation, self._prepared.learner
        if learner is None:
            return None
        norm = self._door.norm(learner.trained_norm) if self._folder.servers else None
        grid = settings.every_s, settings.every_iterations
        known = self._stopped.metrics if self._stopped else ()
        report = self._diverged.watching(self._measurements.add)
        return Evaluator(self._door.evaluate, report, *grid, norm, known)

    def _make_continuity(self) -> Continuity:
        saving, settings = None, self._scenario.checkpoint
        if self._prepared.learner and settings.enabled:
            saving = Saving(settings, self._folder.path, self._shelf, self._journal, self._state)
        return Continuity(self._federation, self._door, saving, self._checkpoint, self._go_live)

    def _go_live(self) -> None:
        """End the replay: the models are put in their places, and the run goes on."""
        from asyncfeel.resuming.restoring import restore

        self._folder.caught_up()
        if self._checkpoint and self._prepared.learner:
            restore(self._checkpoint, self._prepared.learner, self._shelf, self._journal, self._door)
        self._tell()

    def _state(self) -> "State":
        from asyncfeel.resuming.files import State

        clock, before = self._federation.clock, self._checkpoint
        return State(
            clock.ticks,
            float(clock.now),
            self._federation.iteration,
            dotted(as_table(self._scenario)),
            versions(),
            self._folder.sync(),
            self._measurements.count,
            (before.state.wall_s if before else 0.0) + time.perf_counter() - self._started,
        )

    def _tell(self) -> None:
        """Let the audience know that the run begins, or goes on."""
        told = description.facts(self._prepared, self._scenario, self._executor)
        told = {"folder": str(self._folder.path), **told, "scenario": as_table(self._scenario)}
        self._audience.begin(self._scenario, self._federation, self._folder.path, told)
