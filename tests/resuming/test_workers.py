"""Workers that raise, die or hang, and disks that are full: a clear end, a record that is kept, a run that goes on."""

import json
import os
import shlex
import subprocess
import sys
import threading

import pytest

from asyncfeel import Scenario, run
from asyncfeel.errors import AsyncFeelError, Broken, Hung
from asyncfeel.learning.local import Trainer
from asyncfeel.resuming.command import resume

FILES = ("iterations.csv", "staleness.csv", "mixing.csv", "metrics.csv", "servers.csv", "model.safetensors")


def scenario(**keys):
    settings = {"training.local_steps": 2, "evaluation.every_iterations": 4, "evaluation.train_sample": 50} | keys
    return Scenario.load(clients=6, servers=3, model="mlp", iterations=12, executor="threads", workers=2, set=settings)


def content(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def status(folder):
    return json.loads((folder / "manifest.json").read_text())["status"]


@pytest.fixture
def faulty(monkeypatch):
    """Makes the jobs of client 2 do something else first, from its second job on."""
    train = Trainer.train

    def make(instead):
        def changed(self, job):
            if job.client == 2 and job.number >= 1:
                instead(job)
            return train(self, job)

        monkeypatch.setattr(Trainer, "train", changed)

    return make


def test_a_job_that_fails_once_is_tried_again(tmp_path, faulty):
    expected = content(run(scenario(), tmp_path / "whole").folder)
    seen = []

    def once(job):
        if job.number not in seen:
            seen.append(job.number)
            raise RuntimeError("out of memory")

    faulty(once)
    assert content(run(scenario(), tmp_path / "run").folder) == expected
    assert seen


def test_a_job_that_fails_twice_ends_the_run_and_it_goes_on_later(tmp_path, faulty, monkeypatch):
    expected = content(run(scenario(), tmp_path / "whole").folder)

    def always(job):
        raise MemoryError("no memory\nat all")

    with monkeypatch.context():
        faulty(always)
        with pytest.raises(Broken, match=r"failed twice in a worker \(MemoryError: no memory at all\)"):
            run(scenario(), tmp_path / "run")
    assert status(tmp_path / "run") == "failed"
    monkeypatch.undo()
    resume(tmp_path / "run")
    assert content(tmp_path / "run") == expected


def test_a_worker_that_hangs_ends_the_run(tmp_path, faulty, monkeypatch):
    expected = content(run(scenario(), tmp_path / "whole").folder)
    release = threading.Event()
    faulty(lambda job: release.wait(60))
    with pytest.raises(Hung, match=r"took longer than execution.timeout_s = 0.3 real seconds, twice"):
        run(scenario(**{"execution.timeout_s": 0.3}), tmp_path / "run")
    release.set()
    monkeypatch.undo()
    assert status(tmp_path / "run") == "failed"
    config = tmp_path / "run" / "config.toml"
    config.write_text(config.read_text().replace("timeout_s = 0.3\n", ""))
    resume(tmp_path / "run")
    assert content(tmp_path / "run") == expected


LIMITED = """
import resource, sys
from asyncfeel.cli import app
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv.pop(1)), resource.RLIM_INFINITY))
app()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX limits on the size of a file")
def test_a_full_disk_ends_the_run_and_it_goes_on_when_there_is_room(tmp_path):
    """A limit on the size of files stands for the full disk: writing fails in the middle of a row."""
    flags = shlex.split(
        "--clients 6 --servers 3 --model mlp --iterations 60 --quiet --set checkpoint.every_iterations=5 "
        "--set training.local_steps=2 --set evaluation.every_iterations=20"
    )
    command = [sys.executable, "-c", LIMITED]
    full = subprocess.run(
        [*command, "9000", "run", *flags, "--out", "full"], cwd=tmp_path, capture_output=True, text=True
    )
    assert full.returncode == 1, full.stderr
    assert "Traceback" not in full.stderr
    assert full.stderr.count("\n") == 1
    done = subprocess.run(
        [*command, "99999999", "resume", "full", "--quiet"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    whole = subprocess.run([*command, "99999999", "run", *flags, "--out", "whole"], cwd=tmp_path, capture_output=True)
    assert whole.returncode == 0
    assert content(tmp_path / "full") == content(tmp_path / "whole")


def test_errors_are_of_one_family():
    assert issubclass(Broken, AsyncFeelError)
    assert issubclass(Hung, AsyncFeelError)
