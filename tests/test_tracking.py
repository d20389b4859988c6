"""Trackers: what they hear and in which order, what their errors do, and how the command line finds them."""

import json
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, run
from asyncfeel.cli import app
from asyncfeel.progress import Silent

TINY = Scenario.load(clients=6, servers=3, until=0.5, set={"training.local_steps": 3, "evaluation.every_s": 0.1})
SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e5}
PLAN = Scenario.load(clients=6, servers=3, iterations=8, set=SIZES)


class Diary:
    """A tracker that writes down every call; it fails in the method named, at the call numbered."""

    def __init__(self, fails="", at=0):
        self.calls, self.fails, self.at = [], fails, at

    def _note(self, *call):
        before = sum(one[0] == call[0] for one in self.calls)
        self.calls.append(call)
        if (call[0], before) == (self.fails, self.at):
            raise ValueError("the line is dead")

    def start(self, facts):
        self._note("start", facts)

    def log(self, values, *, time_s, iteration):
        self._note("log", values, time_s, iteration)

    def finish(self, summary):
        self._note("finish", summary)

    def logs(self, name):
        return [(call[1][name], *call[2:]) for call in self.calls if call[0] == "log" and name in call[1]]


def test_they_hear_the_tables_in_the_order_of_simulated_time(tmp_path):
    diary = Diary()
    result = run(TINY, tmp_path / "run", trackers=[diary])
    assert [call[0] for call in diary.calls] == ["start", *["log"] * (len(diary.calls) - 2), "finish"]
    times = [(call[2], call[3]) for call in diary.calls[1:-1]]
    assert times == sorted(times)
    done, metrics = result.iterations, result.metrics
    expected = zip(done["staleness"].tolist(), done["time_s"].tolist(), (done["iteration"] + 1).tolist(), strict=True)
    assert diary.logs("staleness") == list(expected)
    for name in ("train_loss", "test_loss", "test_accuracy"):
        expected = zip(metrics[name].tolist(), metrics["time_s"].tolist(), metrics["iteration"].tolist(), strict=True)
        assert diary.logs(name) == list(expected)
    assert sum(steps for steps, *_ in diary.logs("steps")) == result.summary["steps"]
    farthest = result.servers["distance"].reshape(-1, 3).max(axis=1)
    assert [value for value, *_ in diary.logs("consensus_distance_max")] == farthest.tolist()


def test_the_order_is_the_same_for_every_executor(tmp_path):
    heard = []
    for executor in ("serial", "threads"):
        diary = Diary()
        run(TINY.replace(executor=executor), tmp_path / executor, trackers=[diary])
        heard.append(diary.calls[1:-1])
    assert heard[0] == heard[1]


def test_facts_and_summary_are_those_of_the_manifest(tmp_path):
    diary = Diary()
    result = run(TINY, tmp_path / "run", trackers=[diary])
    manifest = json.loads((result.folder / "manifest.json").read_text())
    facts, summary = diary.calls[0][1], diary.calls[-1][1]
    assert facts["folder"] == summary["folder"] == str(result.folder)
    assert all(facts[key] == manifest[key] for key in facts if key not in ("folder", "scenario"))
    assert facts["scenario"]["stop"]["until_s"] == 0.5
    assert (summary["status"], summary["iterations"]) == ("finished", manifest["iterations"])


def test_a_plan_tells_of_its_iterations_at_once(tmp_path):
    diary = Diary()
    result = run(PLAN, tmp_path / "plan", train=False, trackers=[diary])
    assert [iteration for _, _, iteration in diary.logs("staleness")] == list(range(1, 9))
    assert diary.calls[-1][1]["status"] == "finished"
    assert np.array(diary.logs("staleness"))[:, 0].tolist() == result.iterations["staleness"].tolist()


def test_an_iteration_of_several_servers_is_told_once(tmp_path):
    diary = Diary()
    run(PLAN.replace(algorithm="sync-sd-feel"), tmp_path / "plan", train=False, trackers=[diary])
    assert [iteration for _, _, iteration in diary.logs("steps")] == list(range(1, 9))


def test_a_task_without_classes_tells_no_accuracy(tmp_path):
    diary = Diary()
    run(PLAN.replace(dataset="quadratic", iterations=2), tmp_path / "run", trackers=[diary])
    assert diary.logs("train_loss")
    assert not diary.logs("test_accuracy")


def test_what_a_tracker_does_to_its_values_is_not_seen_by_others(tmp_path):
    class Thief(Diary):
        def log(self, values, *, time_s, iteration):
            values.clear()

        def start(self, facts):
            facts.clear()

    diary = Diary()
    run(PLAN, tmp_path / "plan", train=False, trackers=[Thief(), diary])
    assert diary.calls[0][1]["algorithm"] == "async-sd-feel"
    assert len(diary.logs("steps")) == 8


@pytest.mark.parametrize(("method", "at"), [("start", 0), ("log", 3), ("finish", 0)])
def test_an_error_of_a_tracker_ends_the_run_and_names_it(tmp_path, method, at):
    broken, other = Diary(method, at), Diary()
    with pytest.raises(InputError, match="tracker 'Diary' failed: ValueError: the line is dead"):
        run(PLAN, tmp_path / "plan", train=False, trackers=[broken, other])
    heard = [call[0] for call in broken.calls]
    assert heard == ["start", *["log"] * 8, "finish"][: heard.index(method) + at + 1]
    status = json.loads((tmp_path / "plan" / "manifest.json").read_text())["status"]
    assert status == ("finished" if method == "finish" else "failed")
    told = [call[1]["status"] for call in other.calls if call[0] == "finish"]
    assert told == ([] if method == "start" else [status])


def test_an_interrupted_run_is_told_as_such(tmp_path):
    stop, diary = threading.Event(), Diary()

    class Impatient(Silent):
        def completed(self, federation, completion):
            if completion.iteration == 2:
                stop.set()

    result = run(TINY.replace(until=10_000), tmp_path / "run", view=Impatient(), stop=stop, trackers=[diary])
    assert diary.calls[-1][1]["status"] == "interrupted"
    done = [iteration for _, _, iteration in diary.logs("steps")]
    assert done == list(range(1, len(result.iterations["iteration"]) + 1))


def test_a_run_that_fails_keeps_its_own_error(tmp_path):
    class Explosive(Silent):
        def completed(self, federation, completion):
            raise ZeroDivisionError("mine")

    diary = Diary("finish")
    with pytest.raises(ZeroDivisionError, match="mine"):
        run(PLAN, tmp_path / "plan", train=False, view=Explosive(), trackers=[diary])
    assert diary.calls[-1][1]["status"] == "failed"


def test_an_object_without_the_methods_is_refused_before_anything_is_created(tmp_path):
    class Half:
        def start(self, facts): ...

    with pytest.raises(InputError, match="tracker 'Half' has no method log: it must have start, log, finish"):
        run(PLAN, tmp_path / "plan", train=False, trackers=[Half()])
    assert not (tmp_path / "plan").exists()


PLUGIN = """
class Printer:
    def start(self, facts): print("start", facts["algorithm"])
    def log(self, values, *, time_s, iteration): print("log", iteration, sorted(values))
    def finish(self, summary): print("finish", summary["status"])

def broken(): raise OSError("no network")

def empty(): return None
"""
COMMAND = "run --clients 6 --servers 3 --iterations 2 --executor serial --quiet --out out"


@pytest.fixture
def asks(tmp_path, monkeypatch):
    """Run the command with some more words, in a folder with a tracker of one's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(PLUGIN)
    return lambda more: CliRunner().invoke(app, [*COMMAND.split(), *more.split()])


def test_log_takes_a_function_of_ones_own_more_than_once(asks):
    done = asks("--log mine:Printer --log mine.py:Printer")
    assert done.exit_code == 0, done.output
    said = done.output.splitlines()
    assert said[:2] == ["start async-sd-feel"] * 2
    assert said.count("log 2 ['staleness', 'steps']") == 2
    assert said[-3:] == ["finish finished", "finish finished", "out"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--log wandb", "tracker 'wandb' is unknown: there is tensorboard, or a module:function of your own"),
        ("--log mine:Nobody", "has no function 'Nobody'"),
        ("--log nowhere:Tracker", "no module 'nowhere'"),
        ("--log mine:broken", "tracker 'mine:broken' failed: OSError: no network"),
        ("--log mine:empty", "has no method start"),
    ],
)
def test_a_wrong_log_is_one_sentence_before_anything_is_created(asks, tmp_path, more, said):
    done = asks(more)
    assert done.exit_code == 2
    assert said in done.output
    assert not (tmp_path / "out").exists()
