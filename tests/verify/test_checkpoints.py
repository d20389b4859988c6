"""Checkpoints are verified too: a run must not go on from a damaged one unnoticed."""

import pytest

from asyncfeel import Scenario, run
from asyncfeel.resuming import files
from asyncfeel.verify.command import verify

SIZES = {"work.flops_per_step": 1e6, "network.model_bits": 1e5, "dataset.kind": "quadratic", "training.local_steps": 3}


def make(folder, keys):
    return run(Scenario.load(clients=6, servers=3, iterations=6, executor="serial", set=SIZES | keys), folder).folder


@pytest.mark.parametrize("place", [9, 0.5, 0.9, -1])
def test_a_changed_byte_of_a_checkpoint_is_caught(tmp_path, place):
    folder = make(tmp_path / "run", keys={"checkpoint.every_s": 1e6})
    assert verify(folder).code == 0
    (path,) = files.found(folder)
    data = bytearray(path.read_bytes())
    data[int(place * len(data)) if isinstance(place, float) else place] ^= 1
    path.write_bytes(data)
    verdict = verify(folder)
    assert verdict.code == 1
    assert [one.file for check in verdict.checks for one in check.differences] == [f"checkpoints/{path.name}"]
