"""Faults from a scenario to the run folder: the record, what stays byte for byte, and what is refused."""

import csv
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, run
from asyncfeel.cli import app
from asyncfeel.progress import Silent
from asyncfeel.replay import replay
from asyncfeel.resuming.command import resume

SIZES = {"work.flops_per_step": "10 MFLOP", "network.model_bits": "1 Mbit"}
FAULTY = {
    "availability.kind": "exponential",
    "availability.mean_up_s": 1.0,
    "availability.mean_down_s": 0.3,
    "server_outages.kind": "exponential",
    "server_outages.mean_up_s": 1.0,
    "server_outages.mean_down_s": 0.2,
    "link_outages.kind": "exponential",
    "link_outages.mean_up_s": 1.0,
    "link_outages.mean_down_s": 0.3,
    "faults.crash": 0.05,
    "faults.upload_failure": 0.1,
}
HARMLESS = {
    "availability.kind": "probability",
    "availability.away": 0.0,
    "faults.crash": 0.0,
    "faults.upload_failure": 0.0,
    "faults.upload_attempts": 7,
}
ROUNDS = ("sync-sd-feel", "mll-sgd", "hierfavg", "d-psgd", "fedavg", "feel", "fednova")
ALGORITHMS = ("async-sd-feel", "ad-psgd", "fedasync", "fedbuff", "fedsa", "safa", *ROUNDS)


def planned(folder, algorithm="async-sd-feel", until=3.0, **faults):
    scenario = Scenario.load(until=until, algorithm=algorithm, set=SIZES | faults)
    return run(scenario, folder, train=False)


def contents(folder):
    """The schedule files that there are."""
    others = ("manifest.json", "metrics.csv", "servers.csv")
    files = [path for path in folder.iterdir() if path.suffix in (".csv", ".json") and path.name not in others]
    return {path.name: path.read_bytes() for path in files}


@pytest.mark.parametrize("algorithm", ["async-sd-feel", "sync-sd-feel", "fedasync"])
def test_odds_of_zero_are_as_if_nothing_had_been_said(tmp_path, algorithm):
    one = planned(tmp_path / "one", algorithm)
    other = planned(tmp_path / "other", algorithm, **HARMLESS)
    assert contents(one.folder) == contents(other.folder)
    assert "faults.csv" not in contents(one.folder)
    assert "faults" not in one.summary


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_system_goes_on_and_records_what_went_wrong(tmp_path, algorithm):
    result = planned(tmp_path / "run", algorithm, until=6.0, **FAULTY)
    assert result.summary["status"] == "finished"
    assert result.summary["iterations"] > 1
    found = result.faults
    counts = {kind: {"count": int((found["kind"] == kind).sum())} for kind in result.summary["faults"]}
    for kind, one in result.summary["faults"].items():
        assert one["count"] == counts[kind]["count"]
        assert one["lost_s"] == pytest.approx(found["lost_s"][found["kind"] == kind].sum())
    assert set(found["kind"].tolist()) == set(result.summary["faults"])
    assert found["time_s"].max() <= 6.0
    assert found["lost_s"].min() >= 0
    assert result.iterations["clients"].min() >= 1


def test_nothing_goes_wrong_with_data_in_one_place(tmp_path):
    result = planned(tmp_path / "run", "central", **FAULTY)
    assert result.faults["kind"].tolist() == []
    assert result.summary["iterations"] > 1


@pytest.mark.parametrize("algorithm", ["async-sd-feel", "sync-sd-feel", "hierfavg", "fedasync", "safa"])
def test_the_same_scenario_gives_the_same_faults(tmp_path, algorithm):
    one = planned(tmp_path / "one", algorithm, **FAULTY)
    again = run(Scenario.load(config=one.folder / "config.toml"), tmp_path / "again", train=False)
    other = planned(tmp_path / "other", algorithm, seed=2, **FAULTY)
    assert contents(one.folder) == contents(again.folder)
    assert (one.folder / "config.toml").read_bytes() == (again.folder / "config.toml").read_bytes()
    assert contents(one.folder)["faults.csv"] != contents(other.folder)["faults.csv"]


@pytest.mark.parametrize("algorithm", ["async-sd-feel", "sync-sd-feel", "fedbuff"])
def test_the_schedule_is_that_of_the_plan_for_every_executor(tmp_path, algorithm):
    tiny = Scenario.load(until=1.0, algorithm=algorithm, clients=12, servers=4, model="logistic", set=SIZES | FAULTY)
    plan = run(tiny, tmp_path / "plan", train=False)
    assert plan.summary["faults"]
    for executor in ("serial", "threads", "batched"):
        result = run(tiny.replace(executor=executor, workers=2), tmp_path / executor)
        assert contents(result.folder) == contents(plan.folder), executor
        assert result.summary["digests"]["faults"] == plan.summary["digests"]["faults"]


class Stopping(Silent):
    """A view that asks the run to end when so many iterations are complete."""

    def __init__(self, after):
        self.after, self.stop = after, threading.Event()

    def completed(self, federation, completion):
        if completion.iteration + 1 >= self.after:
            self.stop.set()


@pytest.mark.parametrize(
    "algorithm", ["async-sd-feel", "sync-sd-feel", "hierfavg", "ad-psgd", "fedavg", "fedasync", "safa"]
)
def test_a_run_with_faults_goes_on_after_a_stop_to_the_byte(tmp_path, algorithm):
    keys = {"training.local_steps": 2, "evaluation.every_iterations": 3, "evaluation.train_sample": 50}
    flags = {"clients": 9, "servers": 3, "model": "mlp", "iterations": 14, "executor": "serial"}
    wanted = Scenario.load(algorithm=algorithm, set=SIZES | FAULTY | keys, **flags)
    whole = run(wanted, tmp_path / "whole")
    view = Stopping(6)
    run(wanted, tmp_path / "stopped", view=view, stop=view.stop)
    result = resume(tmp_path / "stopped")
    for name in ("faults.csv", "iterations.csv", "metrics.csv", "model.safetensors"):
        assert (result.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
    assert result.summary["faults"] == whole.summary["faults"] != {}


@pytest.mark.parametrize("algorithm", ["async-sd-feel", "sync-sd-feel", "fedasync", "safa", "hierfavg"])
def test_a_run_with_faults_can_be_replayed(tmp_path, algorithm):
    """The replay itself compares every row of iterations.csv; uploads that fail must not arrive."""
    result = planned(tmp_path / "run", algorithm, **FAULTY)
    found = replay(result.folder)
    failed = result.faults["kind"] == "upload-failed"
    assert failed.any()
    arrivals = {(one.source, one.arrived_s) for one in found.flows if one.kind == "upload"}
    for client, time_s in zip(result.faults["number"][failed].tolist(), result.faults["time_s"][failed], strict=True):
        assert not any(who == ("client", client) and abs(at_s - time_s) < 1e-9 for who, at_s in arrivals)
    uploads = [one for one in found.phases if one.kind == "upload"]
    assert len(uploads) > len(arrivals)


def test_the_weights_in_the_record_are_those_that_were_used(tmp_path):
    result = planned(tmp_path / "run", **FAULTY)
    weights = result.staleness["weight"].reshape(-1, 6)
    assert np.allclose(weights.sum(axis=1), 1)
    degrees = (weights > 0).sum(axis=1)
    assert set(degrees.tolist()) == {1, 2, 3}  # of a ring: alone, with one neighbour, with both


def test_a_trace_decides_who_is_there(tmp_path):
    """Clients 0 to 9 are there in the first half of every second, all others always."""
    rows = [(client, 0.0, 0.5 if client < 10 else 1.0) for client in range(30)]
    path = tmp_path / "trace.csv"
    path.write_text("client,from_s,until_s\n" + "".join(f"{c},{a},{b}\n" for c, a, b in rows))
    trace = {"availability.kind": "trace", "availability.path": str(path), "availability.period_s": 1.0}
    result = planned(tmp_path / "run", **trace)
    found = result.faults
    away = found["kind"] == "away"
    assert set(found["number"][away].tolist()) <= set(range(10))
    assert (found["time_s"][away] % 1 >= 0.5).all()
    left = found["kind"] == "left"
    assert np.allclose(found["time_s"][left] % 1, 0.5)
    assert away.any()
    assert left.any()


def test_outages_of_a_trace(tmp_path):
    (tmp_path / "servers.csv").write_text("server,from_s,until_s\n2,0,1.5\n")
    (tmp_path / "links.csv").write_text("a,b,from_s,until_s\n5,0,0,10\n")
    outages = {
        "server_outages.kind": "trace",
        "server_outages.path": str(tmp_path / "servers.csv"),
        "link_outages.kind": "trace",
        "link_outages.path": str(tmp_path / "links.csv"),
    }
    result = planned(tmp_path / "run", **outages)
    assert result.iterations["started_s"][result.iterations["server"] == 2].min() == 1.5
    ends = {(a, b) for a, b in zip(result.mixing["source"].tolist(), result.mixing["target"].tolist(), strict=True)}
    assert (0, 5) not in ends
    assert (5, 0) not in ends
    cut = result.faults["kind"] == "link-down"
    assert set(zip(result.faults["number"][cut].tolist(), result.faults["other"][cut].tolist(), strict=True)) == {
        (0, 5)
    }
    # A system with one server has neither server 2 nor links: the same scenario runs.
    assert planned(tmp_path / "one", "fedavg", **outages).summary["faults"] == {}


def test_faults_can_be_shown_exported_and_reported(tmp_path):
    result = planned(tmp_path / "run", **FAULTY)
    shown = CliRunner().invoke(app, ["show", str(result.folder)])
    assert "faults" in shown.output
    assert "crash" in shown.output
    out = tmp_path / "faults.json"
    done = CliRunner().invoke(app, ["export", str(result.folder), "faults", "--out", str(out), "--format", "json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(out.read_text())
    with (result.folder / "faults.csv").open() as lines:
        assert [row["kind"] for row in rows] == [row["kind"] for row in csv.DictReader(lines)]
    assert CliRunner().invoke(app, ["report", str(result.folder), "--out", str(tmp_path / "r.html")]).exit_code == 0
    assert CliRunner().invoke(app, ["timeline", str(result.folder)]).exit_code == 0


def test_a_run_that_was_killed_still_tells_of_its_faults(tmp_path):
    result = planned(tmp_path / "run", **FAULTY)
    path = result.folder / "manifest.json"
    facts = json.loads(path.read_text())
    kept = {name: facts[name] for name in ("kind", "algorithm", "topology", "psi", "seed", "by_client")}
    path.write_text(json.dumps({**kept, "status": "interrupted", "faults": {}}))
    shown = CliRunner().invoke(app, ["show", str(result.folder)])
    assert f"{result.summary['faults']['crash']['count']} crash" in shown.output


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"faults.crash": 1.0}, "faults.crash must be less than 1"),
        ({"faults.crash": -0.1}, "faults.crash must be at least 0"),
        ({"faults.upload_failure": 1.5}, "faults.upload_failure must be less than 1"),
        ({"faults.upload_attempts": 0}, "faults.upload_attempts must be at least 1"),
        ({"faults.crashes": 0.1}, "there are crash, upload_attempts, upload_failure"),
        ({"availability.kind": "probability", "availability.away": 1.0}, "away must be at least 0 and below 1"),
        ({"availability.kind": "nope"}, "availability 'nope' is unknown: there are always, exponential, probability"),
        ({"availability.kind": "exponential"}, "needs the option 'mean_up_s'"),
        (
            {"availability.kind": "exponential", "availability.mean_up_s": 1.0, "availability.mean_down_s": 0.0},
            "mean_down_s must be at least 1e-06, not 0.0",
        ),
        ({"availability.kind": "trace"}, "needs the option 'path'"),
        ({"availability.kind": "trace", "availability.path": "nope.csv"}, "'nope.csv' cannot be read"),
        (
            {"server_outages.kind": "probability"},
            "server_outages 'probability' is unknown: there are exponential, none",
        ),
        ({"link_outages.kind": "trace", "link_outages.path": "LINKS"}, "there is no link 0-2: they are 0-1, 0-5, 1-2"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, keys, message):
    (tmp_path / "links.csv").write_text("a,b,from_s,until_s\n0,2,0,10\n")
    keys = {key: str(tmp_path / "links.csv") if value == "LINKS" else value for key, value in keys.items()}
    with pytest.raises(InputError) as error:
        run(Scenario.load(iterations=3, set=SIZES | keys), tmp_path / "run", train=False)
    assert message in str(error.value)
    assert not Path(tmp_path, "run").exists()


def test_an_algorithm_of_ones_own_must_know_what_to_do_with_nobody(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "class Careless:\n"
        "    def objective(self, federation):\n        return list(federation.shares)\n"
        "    def start(self, federation):\n        federation.clock.process(self.serve(federation))\n"
        "    def serve(self, federation):\n"
        "        server = federation.servers[0]\n"
        "        while True:\n"
        "            server.broadcast_until(1.0)\n"
        "            uploads = yield from server.collect()\n"
        "            yield from federation.join(uploads)\n"
        "            federation.count([server.trigger(uploads)], federation.staleness(), {})\n"
    )
    with pytest.raises(InputError, match=r"must ask uploads\.nobody first"):
        planned("run", "mine:Careless", until=50.0, **{"faults.crash": 0.8})


def test_an_availability_of_ones_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import numpy as np\n"
        "class Even:\n"
        "    def there(self, who, turns, now_s):\n        return who % 2 == 0\n"
        "    def leaves_s(self, who, now_s):\n        return np.full(len(who), np.inf)\n"
        "    def back_s(self, who, now_s):\n        return np.where(who % 2 == 0, now_s, np.inf)\n"
        "def even():\n    return Even()\n"
        "def nonsense():\n    return 3\n"
    )
    result = planned("run", **{"availability.kind": "mine:even"})
    assert set((result.faults["number"] % 2).tolist()) == {1}
    with pytest.raises(InputError, match="methods there, leaves_s and back_s"):
        planned("other", **{"availability.kind": "mine:nonsense"})
