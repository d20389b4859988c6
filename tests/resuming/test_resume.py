"""A run that was stopped and goes on leaves what a run leaves that never stopped, to the byte."""

import itertools
import json
import shutil
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel import InputError, Scenario, run
from asyncfeel.errors import Interrupted
from asyncfeel.learning.executors._helper import can_fork
from asyncfeel.learning.learner import Learner
from asyncfeel.progress import Silent
from asyncfeel.resuming.command import again, resume

EXECUTORS = ["threads", "batched", *(["processes"] if can_fork() else [])]
TABLES = ("clients.csv", "iterations.csv", "staleness.csv", "mixing.csv", "metrics.csv", "servers.csv")
RARE = ("divergence.csv", "faults.csv")
SYSTEMS = {
    "async-sd-feel": {},
    "sync-sd-feel": {"algorithm.alpha": 2},
    "fedavg": {"algorithm.fraction": 0.5},
    "feel": {},
    "fedasync": {},
    "fedsa": {},
    "safa": {"algorithm.crash": 0.2, "algorithm.fraction": 0.4},
    "hierfavg": {},
    "mll-sgd": {},
    "fednova": {},
    "ad-psgd": {},
    "d-psgd": {},
    "fedbuff": {"algorithm.K": 3},
    "central": {},
}


def scenario(algorithm="async-sd-feel", more=None, **flags):
    keys = {"training.local_steps": 2, "evaluation.every_iterations": 3, "evaluation.train_sample": 50}
    flags = {"clients": 9, "servers": 3, "model": "mlp", "iterations": 14, "executor": "serial"} | flags
    return Scenario.load(algorithm=algorithm, set=keys | (more or {}), **flags)


class Stopping(Silent):
    """A view that asks the run to end when so many iterations are complete."""

    def __init__(self, after):
        self.after, self.stop = after, threading.Event()

    def completed(self, federation, completion):
        if completion.iteration + 1 >= self.after:
            self.stop.set()


def stopped(wanted, folder, after):
    view = Stopping(after)
    result = run(wanted, folder, view=view, stop=view.stop)
    assert result.summary["status"] == "interrupted"
    return folder


def content(folder):
    """Everything that must be the same, by name."""
    names = (*TABLES, *RARE, "topology.json")
    kept = {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}
    manifest = json.loads((folder / "manifest.json").read_text())
    same = ("status", "digests", "iterations", "time_s", "steps", "metrics", "servers", "traffic", "consensus")
    return kept | {"model": (folder / "model.safetensors").read_bytes()} | {name: manifest[name] for name in same}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that is never stopped, made once for each scenario."""
    made = {}

    def make(name, wanted):
        if name not in made:
            folder = tmp_path_factory.mktemp("whole") / "run"
            run(wanted, folder)
            made[name] = content(folder)
        return made[name]

    return make


@pytest.mark.parametrize("after", [1, 6])
@pytest.mark.parametrize("algorithm", SYSTEMS)
def test_every_system_goes_on_as_if_nothing_had_happened(tmp_path, whole, algorithm, after):
    wanted = scenario(algorithm, SYSTEMS[algorithm])
    folder = stopped(wanted, tmp_path / "run", after)
    resume(folder)
    assert content(folder) == whole(algorithm, wanted)


@pytest.mark.parametrize(
    "more",
    [
        {"algorithm.deadline": "adaptive", "stop.until_s": 0.4},
        {"stop.patience": 2, "stop.tolerance": 0.01, "stop.iterations": 60},
        {"algorithm.simultaneous": "together", "speeds.heterogeneity": 1.0},
        {"training.momentum": 0.5, "network.downlink_bps": 1e7},
        {"evaluation.every_iterations": 1},
        {"training.on_divergence": "skip", "training.divergence_limit": 0.3},
    ],
    ids=["adaptive", "patience", "together", "momentum", "often tested", "diverging"],
)
def test_what_depends_on_losses_or_instants_goes_on_too(tmp_path, whole, more):
    wanted = scenario(more=more)
    folder = stopped(wanted, tmp_path / "run", 5)
    resume(folder)
    assert content(folder) == whole(str(more), wanted)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_more_or_fewer_workers_make_no_difference(tmp_path, executor):
    wanted = scenario(executor=executor, model="cnn", workers=2)
    expected = run(wanted, tmp_path / "whole").folder
    folder = stopped(wanted, tmp_path / "run", 6)
    resume(folder, workers=1)
    assert content(folder) == content(expected)


def test_stopped_again_and_again(tmp_path, whole):
    wanted = scenario()
    folder = stopped(wanted, tmp_path / "run", 2)
    for after in (5, 5, 9, 12):
        view = Stopping(after)
        assert resume(folder, view=view, stop=view.stop).summary["status"] == "interrupted"
    resume(folder)
    assert content(folder) == whole("async-sd-feel", wanted)
    assert len(json.loads((folder / "manifest.json").read_text())["resumed"]) == 5


@pytest.mark.parametrize("more", [{}, {"checkpoint.every_s": 1e6}], ids=["anew", "from a checkpoint"])
def test_a_finished_run_can_have_a_later_end(tmp_path, whole, more):
    wanted = scenario()
    folder = run(scenario(iterations=8, more=more), tmp_path / "run").folder
    with pytest.raises(InputError, match="is finished: give a later --until"):
        resume(folder)
    resume(folder, iterations=14)
    assert content(folder) == whole("async-sd-feel", wanted)


def test_killed_after_the_last_checkpoint(tmp_path, whole):
    """The last event has happened, but the last evaluation, the model and the manifest are not there yet."""
    wanted = scenario(more={"checkpoint.every_iterations": 5})
    folder = run(wanted, tmp_path / "run").folder
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"status": "running", "process": 2**22 + 1}))
    (folder / "model.safetensors").unlink()
    resume(folder)
    assert content(folder) == whole("async-sd-feel", wanted)


@settings(max_examples=12)
@given(st.floats(0.0, 0.6), st.sampled_from(EXECUTORS))
def test_stopped_at_any_real_moment(tmp_path_factory, after_s, executor):
    """The signal may come in the middle of a job, of an evaluation, or of a wait for results."""
    wanted = scenario(executor=executor, more={"evaluation.every_iterations": 1}, iterations=30)
    base = tmp_path_factory.mktemp("any")
    if executor not in EXPECTED:
        EXPECTED[executor] = content(run(wanted, base / "whole").folder)
    stop = threading.Event()
    timer = threading.Timer(after_s, stop.set)
    timer.start()
    result = run(wanted, base / "run", stop=stop)
    timer.cancel()
    if result.summary["status"] == "interrupted":
        resume(base / "run")
    assert content(base / "run") == EXPECTED[executor]
    shutil.rmtree(base / "run")


EXPECTED = {}


class Patient(threading.Event):
    """An event that happens when it has been asked for so many times."""

    def __init__(self, times):
        super().__init__()
        self.left = times

    def is_set(self):
        self.left -= 1
        if self.left < 0:
            self.set()
        return super().is_set()


@pytest.mark.parametrize("grid", [{"evaluation.every_s": 0.05}, {"evaluation.every_iterations": 1}], ids="".join)
def test_stopped_wherever_it_asks_whether_to_stop(tmp_path, whole, grid):
    """Also before the first iteration, with the initial model tested."""
    wanted = scenario(more=grid, iterations=4)
    expected = whole(f"short, {grid}", wanted)
    for times in itertools.count(0, 7):
        folder = tmp_path / str(times)
        if run(wanted, folder, stop=Patient(times)).summary["status"] == "finished":
            break
        resume(folder)
        assert content(folder) == expected
    assert times > 20


def test_stopped_while_it_waits_for_one_evaluation_of_several(tmp_path, whole, monkeypatch):
    """The event in which it waited is complete, and has left more evaluations behind than may be under way."""
    keys = {"executor": "threads", "workers": 4, "iterations": 14}
    wanted = scenario(more={"evaluation.every_iterations": 1}, **keys)
    stop, asked, real = threading.Event(), itertools.count(), Learner.evaluate

    def evaluate(learner, flat, asked_to_stop=None):
        number = next(asked)
        if number < 5:
            return real(learner, flat)
        if number == 7:
            stop.set()
        stop.wait()
        raise Interrupted("the evaluation was interrupted")

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "evaluate", evaluate)
        assert run(wanted, tmp_path / "run", stop=stop).summary["iterations"] == 7
    resume(tmp_path / "run")
    assert content(tmp_path / "run") == whole(f"threads, {keys}", wanted)


def test_rows_after_the_checkpoint_are_cut_off(tmp_path, whole):
    wanted = scenario()
    folder = stopped(wanted, tmp_path / "run", 6)
    for name in TABLES:
        with (folder / name).open("a") as file:
            file.write("999,0.1,0,0,half a r")
    resume(folder)
    assert content(folder) == whole("async-sd-feel", wanted)


@pytest.mark.parametrize("damage", ["cut", "changed", "gone", "empty"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, whole, damage):
    wanted = scenario(more={"checkpoint.every_iterations": 2})
    folder = stopped(wanted, tmp_path / "run", 7)
    _, newer = sorted((folder / "checkpoints").iterdir())
    data = newer.read_bytes()
    place = len(data) - 100
    changed = data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
    newer.write_bytes({"cut": data[:-8], "changed": changed, "gone": b"x" * 20, "empty": b""}[damage])
    resume(folder)
    assert content(folder) == whole("async-sd-feel", wanted)


def test_a_run_without_a_checkpoint_begins_anew(tmp_path, whole):
    wanted = scenario()
    folder = stopped(wanted, tmp_path / "run", 6)
    shutil.rmtree(folder / "checkpoints")
    resume(folder)
    assert content(folder) == whole("async-sd-feel", wanted)


@pytest.mark.parametrize("name", TABLES)
def test_a_changed_row_is_noticed(tmp_path, name):
    folder = stopped(scenario(), tmp_path / "run", 6)
    text = (folder / name).read_text()
    place = text.index("\n") + 1
    digit = "1" if text[place] != "1" else "2"
    (folder / name).write_text(text[:place] + digit + text[place + 1 :])
    with pytest.raises(InputError, match=f"{name}.*is not what it was"):
        resume(folder)


def test_another_scenario_or_version_is_refused_by_name(tmp_path, monkeypatch):
    folder = stopped(scenario(), tmp_path / "run", 6)
    config = folder / "config.toml"
    before = config.read_text()
    config.write_text(before.replace("learning_rate = 0.05", "learning_rate = 0.06"))
    with pytest.raises(InputError, match=r"training.learning_rate was 0.05 and is 0.06"):
        resume(folder)
    config.write_text(before)
    monkeypatch.setattr("asyncfeel.recording.manifest.versions", lambda: {"asyncfeel": "99"})
    with pytest.raises(InputError, match=r"was written with .* and this is "):
        resume(folder)


def test_an_earlier_end_is_refused(tmp_path):
    folder = stopped(scenario(), tmp_path / "run", 6)
    with pytest.raises(InputError, match="fewer than the"):
        resume(folder, iterations=3)


def test_the_same_command_starts_goes_on_and_leaves_alone(tmp_path, whole):
    wanted, folder = scenario(), tmp_path / "run"
    view = Stopping(4)
    assert again(wanted, folder, view=view, stop=view.stop).summary["status"] == "interrupted"
    with pytest.raises(InputError, match=r"seed was 1 and is 2"):
        again(scenario(seed=2), folder)
    assert again(wanted, folder).summary["status"] == "finished"
    before = (folder / "manifest.json").read_bytes()
    assert again(wanted, folder).summary["status"] == "finished"
    assert (folder / "manifest.json").read_bytes() == before
    assert content(folder) == whole("async-sd-feel", wanted)
    with pytest.raises(InputError, match="needs --out"):
        again(wanted, None)


def test_a_folder_is_for_one_process_at_a_time(tmp_path):
    caught = []

    class Meddling(Silent):
        def completed(self, federation, completion):
            if completion.iteration == 3:
                with pytest.raises(InputError, match="in use by another process") as found:
                    resume(tmp_path / "run")
                caught.append(found.value)

    run(scenario(), tmp_path / "run", view=Meddling())
    assert len(caught) == 1
    assert not (tmp_path / "run" / ".lock").exists()


def test_a_short_run_takes_no_time_for_checkpoints(tmp_path):
    folder = run(scenario(), tmp_path / "run").folder
    assert not (folder / "checkpoints").exists()
    folder = run(scenario(more={"checkpoint.every_s": 1e6}), tmp_path / "asked").folder
    assert len(list((folder / "checkpoints").iterdir())) == 1


def test_without_checkpoints_there_are_none(tmp_path):
    folder = run(scenario(more={"checkpoint.enabled": False}), tmp_path / "run").folder
    assert not (folder / "checkpoints").exists()


def test_a_plan_that_was_killed_is_made_again(tmp_path):
    sizes = {"work.flops_per_step": 1e6, "network.model_bits": 1e5}
    expected = run(scenario(more=sizes), tmp_path / "whole", train=False).folder
    view = Stopping(5)
    run(scenario(more=sizes), tmp_path / "run", train=False, view=view, stop=view.stop)
    resume(tmp_path / "run")
    names = ("clients.csv", "iterations.csv", "staleness.csv", "mixing.csv")
    assert all((tmp_path / "run" / name).read_bytes() == (expected / name).read_bytes() for name in names)


def test_nothing_to_go_on_with(tmp_path):
    with pytest.raises(InputError, match=r"no config\.toml"):
        resume(tmp_path)
