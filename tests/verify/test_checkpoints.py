"""Checkpoints are verified too: a run must not go on from a damaged one unnoticed."""

import shutil

import pytest

from asyncfeel.resuming import files
from asyncfeel.verify.command import verify


@pytest.mark.parametrize("place", [9, 0.5, 0.9, -1])
def test_a_changed_byte_of_a_checkpoint_is_caught(trained, tmp_path, place):
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    assert verify(folder).code == 0
    (path,) = files.found(folder)
    data = bytearray(path.read_bytes())
    data[int(place * len(data)) if isinstance(place, float) else place] ^= 1
    path.write_bytes(data)
    verdict = verify(folder)
    assert verdict.code == 1
    assert [one.file for check in verdict.checks for one in check.differences] == [f"checkpoints/{path.name}"]
