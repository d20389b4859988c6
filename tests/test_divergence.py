"""Training that diverges: the run stops and says whose result it was, or leaves the result out."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel import Scenario, run
from asyncfeel.cli import app
from asyncfeel.errors import Diverged
from asyncfeel.folding import Folding
from asyncfeel.jobs import Broadcast, Update
from asyncfeel.recording import tables
from asyncfeel.theory import aggregation
from asyncfeel.world.divergence import Divergence

TINY = {"clients": 6, "servers": 3, "iterations": 3, "executor": "serial", "device": "cpu"}
SINGLE = ["fedasync", "fedsa", "fedbuff", "safa", "central"]
SEVERAL = ["async-sd-feel", "sync-sd-feel", "fedavg", "fednova", "hierfavg", "ad-psgd", "d-psgd", "mll-sgd"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def scenario(**flags):
    changes = {"training.learning_rate": 1e30} | flags.pop("set", {})
    return Scenario.load(set=changes, **(TINY | flags))


@pytest.mark.parametrize("executor", ["serial", "threads", "batched"])
def test_the_message_names_the_client_the_iteration_and_the_learning_rate(executor):
    line = (
        f"run --clients 6 --servers 3 --iterations 3 --executor {executor} --set training.learning_rate=1e30 --out out"
    )
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 1
    assert "error: training diverged: client " in result.stderr
    assert "global iteration 0, at learning rate 1e+30: use a smaller training.learning_rate" in result.stderr
    assert "Traceback" not in result.output
    assert json.loads(Path("out/manifest.json").read_text())["status"] == "failed"
    assert len(tables.read(Path("out"), "divergence")["client"]) == 1


@pytest.mark.parametrize("algorithm", SINGLE + SEVERAL)
def test_every_system_stops(algorithm):
    with pytest.raises(Diverged, match="at learning rate"):
        run(scenario(algorithm=algorithm), "out")


@pytest.mark.parametrize("algorithm", SINGLE + SEVERAL)
def test_every_system_goes_on_without_diverged_results(algorithm):
    found = run(scenario(algorithm=algorithm, set={"training.on_divergence": "skip"}), "out")
    rows = tables.read(found.folder, "divergence")
    assert found.summary["status"] == "finished"
    assert found.summary["diverged"] == len(rows["client"]) > 0
    assert np.isfinite(found.metrics["train_loss"]).all()
    assert (rows["learning_rate"] >= 1e29).all()


def test_a_sound_run_has_no_record_of_divergence():
    found = run(scenario(set={"training.learning_rate": 0.05}), "out")
    assert found.summary["diverged"] == 0
    assert not Path("out/divergence.csv").exists()


def test_a_change_above_the_limit_has_diverged():
    with pytest.raises(Diverged, match=r"\(the limit is 1e-09\)"):
        run(scenario(set={"training.learning_rate": 0.05, "training.divergence_limit": 1e-9}), "out")


def watch(limit=10.0):
    return Divergence(abs, "skip", limit, 0.1)


@pytest.mark.parametrize("weigh", [aggregation.coefficients, aggregation.data_shares])
def test_those_that_are_left_are_weighed_as_if_they_were_alone(weigh):
    samples, steps = np.array([10, 30, 20]), np.array([4, 2, 8])
    numbers = np.arange(3)

    def gathered(places, results):
        work = Broadcast(
            1.0,
            numbers[places],
            numbers[places],
            steps[places],
            lambda: weigh(samples[places].tolist(), steps[places].tolist()),
            beyond=watch().beyond,
            factors_of=lambda some: weigh(samples[places][some].tolist(), steps[places][some].tolist()),
        )
        folding = Folding(work)
        for place, result in enumerate(results):
            folding.take(place, Update(result))
        return folding.gathered()

    found = gathered([0, 1, 2], [2.0, float("nan"), 4.0])
    assert [place for place, _ in found.diverged] == [1]
    assert found.change == pytest.approx(gathered([0, 2], [2.0, 4.0]).change, rel=1e-12)
    assert gathered([0, 1, 2], [1e9, float("inf"), float("nan")]).change == 0.0


def test_a_client_whose_loss_is_no_number_has_diverged():
    assert watch().beyond(1.0, float("nan")) == 1.0
    assert watch().beyond(1.0, 3.0) is None
    assert watch().beyond(11.0, None) == 11.0


class Measured:
    iteration = 5

    def __init__(self, loss):
        self.train_loss = loss


@pytest.mark.parametrize(("losses", "stops"), [([2.0, float("nan")], True), ([2.0, 19.0], False), ([2.0, 21.0], True)])
def test_a_global_loss_that_explodes_stops_the_run(losses, stops):
    seen = []
    report = Divergence(abs, "stop", 10.0, 0.1).watching(lambda one, distances: seen.append(one.train_loss))
    report(Measured(losses[0]), ())
    if stops:
        with pytest.raises(Diverged, match=r"after 5 global iterations, at learning rate 0\.1"):
            report(Measured(losses[1]), ())
    else:
        report(Measured(losses[1]), ())
    assert len(seen) == 2


def test_a_limit_below_one_is_for_changes_and_not_for_the_loss_at_the_start():
    report = Divergence(abs, "stop", 1e-9, 0.1).watching(lambda one, distances: None)
    report(Measured(2.3), ())
    report(Measured(2.2), ())
    with pytest.raises(Diverged, match=r"training loss is 2\.4"):
        report(Measured(2.4), ())
