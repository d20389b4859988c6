"""Small folders to verify, and ways to damage copies of them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from asyncfeel import Scenario, run
from asyncfeel.recording.manifest import fingerprint, sealed
from asyncfeel.verify import files
from asyncfeel.verify.command import verify

SIZES = {"work.flops_per_step": 1e6, "network.model_bits": 1e5, "dataset.kind": "quadratic", "training.local_steps": 3}


def make(folder, train=True, iterations=12, keys=None, **flags):
    """A tiny run: three servers, nine clients, a task with a known answer."""
    flags = {"clients": 9, "servers": 3, "executor": "serial", "device": "cpu"} | flags
    if "until" not in flags:
        flags["iterations"] = iterations
    scenario = Scenario.load(set=SIZES | {"evaluation.every_iterations": 4} | (keys or {}), **flags)
    return Path(run(scenario, folder, train=train).folder)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A finished run; nobody may change it."""
    return make(tmp_path_factory.mktemp("trained") / "run")


@pytest.fixture(scope="session")
def planned(tmp_path_factory):
    """A finished plan; nobody may change it."""
    return make(tmp_path_factory.mktemp("planned") / "plan", train=False)


@pytest.fixture
def copied(trained, tmp_path):
    """A copy of the run, to be damaged."""
    return shutil.copytree(trained, tmp_path / "copy")


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def resealed(folder, **changes):
    """Write the manifest anew, with its seal and all digests: what somebody does who knows how."""
    facts = {key: value for key, value in manifest(folder).items() if key != "seal"} | changes
    for name in facts["files"]:
        path = folder / name
        if files.there(path):
            facts["files"][name] = fingerprint(path, files.digest(path))
    (folder / "manifest.json").write_text(sealed(json.dumps(facts, indent=2)))


def dead():
    """The number of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def unfinished(folder, status="running", process=None):
    """Make a finished folder one whose run has not ended: by default it was killed."""
    late = ("iterations", "time_s", "steps", "metrics", "best_accuracy", "servers", "traffic", "idle_share", "diverged")
    facts = {
        key: value for key, value in manifest(folder).items() if key not in (*late, "consensus", "digests", "wall")
    }
    facts["files"] = {name: facts["files"][name] for name in ("config.toml", "topology.json", "clients.csv")}
    facts |= {"status": status, "process": process or dead()}
    facts.pop("seal")
    (folder / "manifest.json").write_text(sealed(json.dumps(facts, indent=2)))
    (folder / "model.safetensors").unlink(missing_ok=True)
    return folder


def alive():
    return os.getpid()


def told(folder, **options):
    """The verdict's code, and all its differences as one text."""
    verdict = verify(folder, **options)
    return verdict.code, "\n".join(str(one) for check in verdict.checks for one in check.differences)
