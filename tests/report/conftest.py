"""Small run folders for reports: planned worlds, with the tables of a training written beside them."""

import json
from pathlib import Path

import pytest

from asyncfeel import Scenario, run

SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e6}


def plan(folder, iterations=24, seed=1, keys=None, **flags):
    """A planned run; nothing is trained."""
    scenario = Scenario.load(iterations=iterations, seed=seed, set=SIZES | (keys or {}), **flags)
    return Path(run(scenario, folder, train=False).folder)


def trained(folder, seed=1, tests=5, **flags):
    """A plan with metrics.csv and servers.csv as a training would have left them."""
    path = plan(folder, seed=seed, **flags)
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps(manifest | {"kind": "run"}))
    metrics, servers = ["iteration,time_s,train_loss,test_loss,test_accuracy"], [
        "iteration,time_s,server,distance,test_loss,test_accuracy"
    ]  # fmt: skip
    for k in range(tests):
        metrics.append(f"{k * 4},{k * 0.1!r},{2.5 / (k + seed)!r},{2.0!r},{k / (tests + seed)!r}")
        servers += [f"{k * 4},{k * 0.1!r},{d},{(k + d) / 7!r},2.0,{k / (tests + d + 1)!r}" for d in range(6)]
    (path / "metrics.csv").write_text("\n".join(metrics) + "\n")
    (path / "servers.csv").write_text("\n".join(servers) + "\n")
    return path


@pytest.fixture
def planned(tmp_path):
    """A maker of planned runs."""
    return lambda name="plan", **rest: plan(tmp_path / name, **rest)


@pytest.fixture
def tested(tmp_path):
    """A maker of runs with metrics."""
    return lambda name="run", **rest: trained(tmp_path / name, **rest)
