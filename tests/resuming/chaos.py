"""Kills runs at random moments, lets them go on, and compares what they leave with a run that never stopped.

`python tests/resuming/chaos.py --runs 100` does it for long; test_chaos.py does it for a while.
"""

import argparse
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from asyncfeel.learning.executors._helper import can_fork

FILES = ("clients.csv", "iterations.csv", "staleness.csv", "mixing.csv", "metrics.csv", "servers.csv")
EXECUTORS = ("batched", "threads", "serial", *(["processes"] if can_fork() else []))
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["asyncfeel.resuming.command", "asyncfeel.learning.learner", "torch"])


def scenario(executor, seed):
    """A small run with a checkpoint every few iterations."""
    from asyncfeel import Scenario

    keys = {
        "training.local_steps": 4,
        "evaluation.every_iterations": 5,
        "evaluation.train_sample": 100,
        "checkpoint.every_iterations": 7,
    }
    flags = {"clients": 9, "servers": 3, "iterations": 120, "executor": executor, "workers": 2, "seed": seed}
    return Scenario.load(model="mlp", set=keys, **flags)


def live(folder, executor, seed, workers):
    """One life of a run: from its beginning, or from where the last one was killed."""
    from asyncfeel.resuming.command import again, resume

    if (folder / "config.toml").is_file():
        resume(folder, workers=workers)
    else:
        again(scenario(executor, seed), folder)


def killed(folder, executor, seed, draw, longest_s):
    """Start a life and end it at a random moment; whether the run had ended by itself before."""
    process = CONTEXT.Process(target=live, args=(folder, executor, seed, draw.choice([1, 2, 3])))
    process.start()
    process.join(draw.uniform(0.0, longest_s))
    if process.exitcode is None:
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        return finished(folder)
    if process.exitcode:
        raise SystemExit(f"a life of {executor}, seed {seed}, ended with exit code {process.exitcode}")
    return True


def finished(folder):
    """Whether the run had come to its end, and only its process had not."""
    manifest = folder / "manifest.json"
    return manifest.is_file() and json.loads(manifest.read_text())["status"] == "finished"


def content(folder):
    """What must be the same."""
    return {name: (folder / name).read_bytes() for name in (*FILES, "model.safetensors")}


def whole(folder, executor, seed):
    """What a run leaves that is never killed, and how long it takes."""
    began = time.monotonic()
    process = CONTEXT.Process(target=live, args=(folder, executor, seed, 2))
    process.start()
    process.join()
    return content(folder), time.monotonic() - began


def rounds(runs, seconds, seed, say=print):
    """Kill and resume so many runs, or as many as fit into the seconds; the number of kills."""
    draw, kills, ended = random.Random(seed), 0, time.monotonic() + seconds
    expected = {}
    with tempfile.TemporaryDirectory() as home:
        for number in range(runs):
            executor = EXECUTORS[number % len(EXECUTORS)]
            if executor not in expected:
                expected[executor] = whole(Path(home) / executor, executor, seed)
            found, longest_s = expected[executor]
            folder = Path(home) / f"run{number}"
            while not killed(folder, executor, seed, draw, longest_s):
                kills += 1
            if content(folder) != found:
                raise SystemExit(f"run {number} ({executor}, seed {seed}) differs after it was killed: see {folder}")
            shutil.rmtree(folder)
            say(f"run {number + 1}: {executor}, {kills} kills so far, all alike")
            if time.monotonic() > ended:
                break
    return kills


def main():
    """Do it as long as asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    print(f"{rounds(asked.runs, asked.seconds, asked.seed)} kills, every result the same", file=sys.stdout)


if __name__ == "__main__":
    main()
