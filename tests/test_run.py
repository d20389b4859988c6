"""`run` from Python: results as arrays, notebooks, interruption, failure, stopping, consensus."""

import asyncio
import json
import math
import threading

import numpy as np
import pytest

from asyncfeel import InputError, Result, Scenario, run
from asyncfeel.errors import Broken
from asyncfeel.progress import Silent

TINY = Scenario.load(clients=6, servers=3, until=0.5, set={"training.local_steps": 3})


def test_five_lines_to_a_result(tmp_path):
    result = run(Scenario.load(topology="grid", psi="hinge", until=1.0), tmp_path / "run")
    assert isinstance(result, Result)
    assert result.metrics["test_accuracy"][-1] > result.metrics["test_accuracy"][0]
    assert len(result.staleness["weight"]) == 6 * len(result.iterations["iteration"])
    assert result.summary["status"] == "finished"


def test_it_learns(tmp_path):
    result = run(Scenario.load(until=2.5, clients=12, set={"training.learning_rate": 0.05}), tmp_path / "run")
    assert result.summary["metrics"]["test_accuracy"] > 0.85


def test_usable_where_a_loop_is_running_already(tmp_path):
    async def notebook():
        return run(TINY, tmp_path / "run")

    assert asyncio.run(notebook()).summary["status"] == "finished"


def test_metrics_lie_on_the_grid_and_describe_the_model_of_that_second(tmp_path):
    result = run(TINY.replace(set={"evaluation.every_s": 0.05}), tmp_path / "run")
    metrics, done = result.metrics, result.iterations
    assert metrics["time_s"] == pytest.approx(np.arange(11) * 0.05)
    for time_s, iteration in zip(metrics["time_s"], metrics["iteration"], strict=True):
        assert iteration == (done["time_s"] <= time_s).sum()


def test_evaluation_by_iterations(tmp_path):
    result = run(TINY.replace(iterations=10, set={"evaluation.every_iterations": 4}), tmp_path / "run")
    assert result.metrics["iteration"].tolist() == [0, 4, 8, 10]
    assert result.metrics["time_s"][1:3].tolist() == result.iterations["time_s"][[3, 7]].tolist()


def test_stopping_early_is_clean(tmp_path):
    stop = threading.Event()

    class Impatient(Silent):
        def completed(self, federation, completion):
            if completion.iteration == 2:
                stop.set()

    scenario = TINY.replace(until=10_000, executor="threads")
    result = run(scenario, tmp_path / "run", view=Impatient(), stop=stop)
    assert result.summary["status"] == "interrupted"
    assert json.loads((result.folder / "manifest.json").read_text())["status"] == "interrupted"
    assert len(result.iterations["time_s"]) == result.summary["iterations"] > 0
    assert (result.folder / "model.safetensors").is_file()


def test_a_failure_is_recorded_and_raised(tmp_path, monkeypatch):
    from asyncfeel.learning.local import Trainer

    def broken(self, job, *room):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Trainer, "train", broken)
    with pytest.raises(Broken, match="out of memory"):
        run(TINY, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["status"] == "failed"


def test_a_folder_in_use_is_never_overwritten(tmp_path):
    run(TINY, tmp_path / "run", train=False)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(InputError, match="are not overwritten"):
        run(TINY, tmp_path / "run", train=False)
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before


def test_folders_get_numbers_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [run(TINY, train=False).folder.name for _ in range(3)]
    assert folders == [f"plan-async-sd-feel-ring-inverse-seed1{suffix}" for suffix in ("", "-2", "-3")]


def test_the_resolved_scenario_repeats_the_run(tmp_path):
    one = run(TINY, tmp_path / "one")
    other = run(Scenario.load(config=one.folder / "config.toml"), tmp_path / "other")
    names = ["config.toml", "iterations.csv", "staleness.csv", "mixing.csv", "metrics.csv", "model.safetensors"]
    assert all((one.folder / name).read_bytes() == (other.folder / name).read_bytes() for name in names)


def test_quadratics_reach_the_known_optimum_with_both_corrections(tmp_path):
    """Real SGD on a task whose optimum is known: the corrected algorithm ends there."""
    from safetensors.numpy import load_file

    from asyncfeel.learning.datasets import quadratics
    from asyncfeel.learning.datasets.builtin import quadratic
    from asyncfeel.streams import stream

    scenario = Scenario.load(
        dataset="quadratic",
        clients=6,
        servers=3,
        mixing="weighted",
        iterations=1500,
        set={
            "algorithm.rate_correction": True,
            "training.learning_rate": 0.002,
            "training.batch": 50,
            "work.flops_per_step": 1e6,
            "network.model_bits": 1e4,
            "evaluation.every_iterations": 500,
        },
    )
    result = run(scenario, tmp_path / "run")
    optimum = quadratics.optimum(quadratic(6, stream(1, "dataset")))
    (model,) = load_file(result.folder / "model.safetensors").values()
    assert np.abs(model - optimum).max() < 0.03
    assert math.isnan(result.metrics["test_accuracy"][0])


def test_a19_consensus_brings_the_servers_together(tmp_path):
    found = run(TINY, tmp_path / "auto").summary["consensus"]
    assert 0 < found["spread_after"] <= 0.01 * found["spread_before"]
    fixed = run(TINY.replace(set={"consensus.rounds": 2}), tmp_path / "fixed").summary["consensus"]
    assert fixed["rounds"] == 2
    assert fixed["spread_after"] < fixed["spread_before"]


def test_a18_patience_ends_a_run_without_any_other_limit(tmp_path):
    scenario = TINY.replace(set={"stop.patience": 2, "stop.tolerance": 10.0}).replace(until=1000)
    result = run(scenario, tmp_path / "run")
    assert result.summary["time_s"] < 1000
    assert min(np.bincount(result.iterations["server"])) == 3


def test_a_run_without_a_limit_is_refused():
    from asyncfeel.scenario import build

    table = build.as_table(TINY)
    del table["stop"]["until_s"]
    with pytest.raises(InputError, match="would never end"):
        run(build.from_table(table))


def test_the_views_are_told_everything(tmp_path):
    from asyncfeel.progress import Lines

    lines = []
    run(TINY, tmp_path / "run", view=Lines(lines.append))
    assert "recording to" in lines[1]
    assert sum("test accuracy" in line for line in lines) == 51
