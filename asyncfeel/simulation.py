"""Runs a scenario: the one place where the simulated world, the training and the record meet."""

import asyncio
import hashlib
import math
import threading
import time
from collections.abc import Coroutine, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from asyncfeel import execution, tracking
from asyncfeel.errors import Interrupted
from asyncfeel.evaluation import Evaluator
from asyncfeel.measurements import Measurements
from asyncfeel.prepare import Prepared, prepare
from asyncfeel.progress import Silent, View
from asyncfeel.recording import folder as folders
from asyncfeel.result import Result
from asyncfeel.scenario import Scenario, text
from asyncfeel.scenario.build import as_table
from asyncfeel.streams import stream
from asyncfeel.tally import Tally
from asyncfeel.tracking import Tracker, Trackers
from asyncfeel.world import consensus
from asyncfeel.world.clock import Clock
from asyncfeel.world.federation import Federation, Observer
from asyncfeel.world.stopping import Patience

if TYPE_CHECKING:
    from asyncfeel.learning.learner import Learner

T = TypeVar("T")


def run(
    scenario: Scenario,
    out: str | Path | None = None,
    *,
    train: bool = True,
    view: View | None = None,
    stop: threading.Event | None = None,
    trackers: Sequence[Tracker] = (),
) -> Result:
    """Simulate the scenario and train for real; the result has the run folder and its tables.

    With `train=False` it is a plan: the same schedule without training. Setting `stop` ends the
    run early and cleanly. It may be called where an event loop is running already, as in a notebook.
    The trackers are told of every iteration and every evaluation.
    """
    followers = tracking.checked(trackers)
    stop = stop or threading.Event()
    train = train and scenario.execution.executor != "stub"
    started = time.perf_counter()
    prepared = prepare(scenario, train)
    followed = Trackers(followers, evaluated=prepared.learner is not None)
    simulation = Simulation(prepared, None if out is None else Path(out), view or Silent(), stop, started, followed)
    return _complete(simulation.run(), stop)


def _complete(work: Coroutine[Any, Any, T], stop: threading.Event) -> T:
    """Run a coroutine to its end, in a thread of its own if this one has a running loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def target() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="asyncfeel")
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:
        stop.set()
        thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


class Simulation:
    """One run from its first event to its closed folder."""

    def __init__(
        self,
        prepared: Prepared,
        out: Path | None,
        view: View,
        stop: threading.Event,
        started: float,
        trackers: Trackers,
    ) -> None:
        self._prepared = prepared
        self._scenario = prepared.scenario
        self._view = view
        self._stop = stop
        self._started = started
        self._trained_at: float | None = None
        self._trackers = trackers
        self._observers: list[Observer] = []
        self._executor = execution.executor(prepared, stop)
        self._scenario = execution.settled(prepared.scenario, self._executor)
        self._federation = self._make_federation()
        prepared.algorithm.start(self._federation)
        self._tally = Tally(self._federation, prepared.algorithm.objective(self._federation))
        path = folders.create(out, self._name())
        self._folder = folders.RunFolder(path, self._config(), *prepared.recorded, self._facts())
        self._federation.tell_of_faults(self._folder.failed)
        self._measurements = Measurements(self._folder, view, trackers)
        self._evaluator = self._make_evaluator()
        self._observers += [self._folder, self._tally, view, trackers]
        if self._evaluator:
            self._observers.append(self._evaluator)

    async def run(self) -> Result:
        """Simulate to the end; whatever happens, the files are closed and the status is written."""
        status: Any = "failed"
        ended: dict[str, Any] = {}
        self._training_from = time.perf_counter()
        try:
            with self._one_thread_per_job():
                self._view.start(self._scenario, self._federation, self._folder.path)
                self._trackers.start(self._told())
                try:
                    await self._simulate()
                    status = "finished"
                except Interrupted:
                    status = "interrupted"
                    if self._evaluator:
                        self._evaluator.abandon()
                except KeyboardInterrupt:
                    status = "interrupted"
                    raise
                ended = self._wind_up(status)
        finally:
            self._executor.close()
            self._folder.close()
            self._folder.manifest.close(status, ended)
            self._view.finish()
            summary = {"folder": str(self._folder.path), "status": status, **ended}
            self._trackers.finish(summary, failed=not ended)
        return Result(self._folder.path, summary)

    async def _simulate(self) -> None:
        if self._evaluator:
            self._evaluator.start(self._federation)
        await self._federation.clock.advance(self._scenario.stop.until_s or math.inf, self._poll)
        self._trained_at = time.perf_counter()
        if dismiss := getattr(self._executor, "dismiss", None):
            dismiss()
        if self._evaluator:
            self._evaluator.finish(self._federation, self._end_s())
            self._measurements.test_servers(self._federation, self._executor.evaluate)

    def _poll(self) -> None:
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
            settings = self._scenario.consensus
            norm = learner.norm if learner else None
            agreement = consensus.agree(self._federation, settings.rounds, settings.tolerance, norm)
        digests = self._folder.digests()
        if learner:
            digests["model"] = save_model(self._folder.path / "model.safetensors", learner, output)
        return {
            "iterations": self._federation.iteration,
            "time_s": self._end_s(),
            "steps": self._tally.steps,
            "metrics": asdict(latest) if (latest := self._measurements.latest) else None,
            "best_accuracy": self._measurements.best_accuracy,
            "servers": self._tally.table(),
            "traffic": self._federation.traffic.total_bytes(self._end_s()),
            **({"faults": faults.log.summary()} if (faults := self._federation.faults) else {}),
            "idle_share": self._federation.traffic.idle_share(self._clients(), self._end_s()),
            "consensus": asdict(agreement) if agreement else None,
            "digests": digests,
            "wall": wall,
        }

    def _wall(self, ended_at: float) -> dict[str, float]:
        """Real seconds: of the set-up, of the training, of waiting for the last evaluations, and of work in hand."""
        trained_at = self._trained_at or ended_at
        busy = getattr(self._executor, "busy", None)
        return {
            "setup_s": self._training_from - self._started,
            "training_s": trained_at - self._training_from,
            "evaluation_s": ended_at - trained_at,
            **({"busy_s": busy.seconds} if busy else {}),
        }

    def _clients(self) -> int:
        return sum(len(server) for server in self._federation.servers)

    def _make_federation(self) -> Federation:
        prepared, stop, layout = self._prepared, self._scenario.stop, self._prepared.layout
        patience = None
        if stop.patience and prepared.learner:
            taking_part = [int(client) for cluster in layout.profiles.clusters for client in cluster]
            patience = Patience(taking_part, stop.patience, stop.tolerance)
        return Federation(
            Clock(),
            layout.network,
            layout.profiles,
            prepared.psi,
            self._executor,
            prepared.learner.initial() if prepared.learner else 0.0,
            self._scenario.training.local_steps,
            stop.iterations,
            patience,
            self._observers,
            partial(stream, self._scenario.seed, "algorithm"),
            stop.until_s or math.inf,
            prepared.learner.trained_norm if prepared.learner else None,
            self._scenario.training.learning_rate,
            prepared.hazards,
        )

    def _make_evaluator(self) -> Evaluator | None:
        settings, learner = self._scenario.evaluation, self._prepared.learner
        if learner is None:
            return None
        norm = learner.trained_norm if self._folder.servers else None
        grid = settings.every_s, settings.every_iterations
        return Evaluator(self._executor.evaluate, self._measurements.add, *grid, norm)

    def _one_thread_per_job(self) -> Any:
        if self._prepared.learner is None:
            return nullcontext()
        from asyncfeel.learning.intraop import one_thread

        return one_thread()

    def _name(self) -> str:
        scenario = self._scenario
        kinds = (scenario.algorithm.kind, scenario.topology.kind, scenario.psi.kind)
        plain = "-".join(Path(kind.replace(":", "/")).stem for kind in kinds)
        return f"{'' if self._prepared.learner else 'plan-'}{plain}-seed{scenario.seed}"

    def _config(self) -> str:
        return text.write(
            self._scenario, "The scenario of this run, complete: 'asyncfeel run --config' on it repeats the run."
        )

    def _told(self) -> dict[str, Any]:
        """What trackers hear of the run at its start."""
        return {"folder": str(self._folder.path), **self._facts(), "scenario": as_table(self._scenario)}

    def _facts(self) -> dict[str, Any]:
        scenario, learner = self._scenario, self._prepared.learner
        return {
            "kind": "run" if learner else "plan",
            "by_client": not self._prepared.layout.recorded,
            "seed": scenario.seed,
            "algorithm": scenario.algorithm.kind,
            "topology": scenario.topology.kind,
            "psi": scenario.psi.kind,
            "dataset": scenario.dataset.kind,
            "model": scenario.model.kind,
            "executor": scenario.execution.executor if learner else "stub",
            "executor_note": getattr(self._executor, "why", None) or getattr(self._executor, "note", None),
            "workers": getattr(self._executor, "workers", 0),
            "device": str(learner.device) if learner else None,
            "flops_per_step": scenario.work.flops_per_step,
            "model_bits": scenario.network.model_bits,
            **({"faults": {}} if self._federation.faults else {}),
        }


def save_model(path: Path, learner: "Learner", model: Any) -> str:
    """Write the output model and give the SHA-256 of the file."""
    from safetensors.torch import save

    data = save(learner.export(model))
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
