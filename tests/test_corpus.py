"""The corpus of the fuzzer, replayed: every input that was ever interesting, in every normal run of the tests."""

from pathlib import Path

import pytest

from tests.fuzz.fuzz import CORPUS
from tests.fuzz.targets import TARGETS, replayed

INPUTS = sorted(path for path in CORPUS.glob("*/*") if path.is_file())


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}-{path.name[:24]}")
def test_nothing_but_an_input_error_comes_out(path: Path):
    replayed(path.parent.name, path.read_bytes())


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_seeds(target):
    assert any(path.parent.name == target for path in INPUTS)
