"""Nothing real touches the schedule: not the time that training takes, not the executor, not training at all."""

import asyncio
import json
import random

import numpy as np
import pytest

from asyncfeel import Scenario, run
from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel
from asyncfeel.jobs import Update
from asyncfeel.learning.executors._helper import can_fork

SCHEDULE = ("clients.csv", "topology.json", "iterations.csv", "staleness.csv", "mixing.csv")
TINY = Scenario.load(clients=8, servers=4, until=0.6, set={"training.local_steps": 3, "evaluation.every_s": 0.2})


class Delayed:
    """An executor whose jobs take a random real time and finish in any order."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def submit(self, job):
        return asyncio.ensure_future(self.train(job, self.random.random() / 2000))

    async def train(self, job, delay_s):
        await asyncio.sleep(delay_s)
        return Update(job.model + 0.1 * job.steps * (job.client - job.model))

    def close(self):
        pass


@pytest.mark.parametrize("algorithm", [AsyncSdFeel(), AsyncSdFeel(simultaneous="together"), SyncSdFeel()])
def test_random_real_delays_change_nothing(world, ring, algorithm):
    clients = [(d % 4, 3 + d, [1.0, 1.0, 2.0, 2.5][d % 4]) for d in range(8)]

    def outcome(executor, train=None):
        made = world(ring(4), clients, train=train, executor=executor, iterations=25, initial=1.0).run(algorithm)
        return made.diary.completions, made.diary.after

    plain = outcome(None, lambda job: job.model + 0.1 * job.steps * (job.client - job.model))
    for seed in range(3):
        assert outcome(Delayed(seed)) == plain


def files(folder, names):
    return {name: (folder / name).read_bytes() for name in names}


def test_schedule_files_are_the_same_with_training_on_and_off_and_for_every_executor(tmp_path):
    plan = run(TINY, tmp_path / "plan", train=False)
    expected = files(plan.folder, SCHEDULE)
    models = {}
    for executor, workers in [
        ("serial", 1),
        ("threads", 1),
        ("threads", 3),
        *([("processes", 2)] if can_fork() else []),
        ("batched", 1),
        ("batched", 3),
        ("auto", 2),
    ]:
        result = run(TINY.replace(executor=executor, workers=workers), tmp_path / f"{executor}{workers}")
        assert files(result.folder, SCHEDULE) == expected
        assert result.summary["digests"]["schedule"] == plan.summary["digests"]["schedule"]
        models[executor, workers] = files(result.folder, ("metrics.csv", "model.safetensors"))
    alike = [found for (kind, _), found in models.items() if kind in ("serial", "threads", "processes")]
    assert all(found == alike[0] for found in alike)
    assert models["batched", 1] == models["batched", 3] == models["auto", 2]


def test_what_auto_has_chosen_is_recorded_and_repeats_itself_to_the_bit(tmp_path):
    first = run(TINY, tmp_path / "first")
    manifest = json.loads((first.folder / "manifest.json").read_text())
    assert manifest["executor"] == "batched"
    assert manifest["executor_note"].startswith("by rule")
    assert 0 < manifest["wall"]["busy_s"] <= manifest["wall"]["total_s"]
    again = Scenario.load(config=first.folder / "config.toml")
    assert again.execution.executor == "batched"
    second = run(again, tmp_path / "second")
    names = (*SCHEDULE, "metrics.csv", "model.safetensors", "config.toml")
    assert files(first.folder, names) == files(second.folder, names)


def test_stacks_learn_what_single_models_learn(tmp_path):
    runs = [run(TINY.replace(executor=kind), tmp_path / kind) for kind in ("serial", "batched")]
    one, two = (result.metrics for result in runs)
    assert np.allclose(one["train_loss"], two["train_loss"], rtol=1e-3)
    assert np.abs(one["test_accuracy"] - two["test_accuracy"]).max() < 0.01


@pytest.mark.parametrize("change", [{"every_s": 0.05}, {"every_iterations": 1}, {"train_sample": 0}])
def test_evaluation_touches_neither_the_schedule_nor_the_model(tmp_path, change):
    one = run(TINY, tmp_path / "one")
    other = run(TINY.replace(set={f"evaluation.{key}": value for key, value in change.items()}), tmp_path / "other")
    assert files(one.folder, (*SCHEDULE, "model.safetensors")) == files(other.folder, (*SCHEDULE, "model.safetensors"))


@pytest.mark.parametrize(
    "change",
    [
        {"psi": "constant"},
        {"set": {"training.learning_rate": 0.5}},
        {"model": "mlp", "set": {"work.flops_per_step": 2864640, "network.model_bits": 233280}},
    ],
)
def test_psi_rate_and_model_keep_the_schedule_digest(tmp_path, change):
    """Two runs with one digest are a paired comparison."""
    counted = {"set": {"work.flops_per_step": 2864640, "network.model_bits": 233280}}
    one = run(TINY.replace(**counted), tmp_path / "one", train=False)
    other = run(TINY.replace(**counted).replace(**change), tmp_path / "other", train=False)
    assert one.summary["digests"]["schedule"] == other.summary["digests"]["schedule"]


def test_another_seed_is_another_world(tmp_path):
    one, other = (run(TINY.replace(seed=seed), tmp_path / str(seed), train=False) for seed in (1, 2))
    assert one.summary["digests"]["schedule"] != other.summary["digests"]["schedule"]
    assert not np.array_equal(one.clients["flops"], other.clients["flops"])
