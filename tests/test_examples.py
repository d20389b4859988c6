"""The examples do what they say: programs print what is expected, scenarios give their golden traces."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from asyncfeel import Scenario, run
from asyncfeel.recording import tables

ROOT = Path(__file__).parent.parent
PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
SCENARIOS = sorted((ROOT / "examples").glob("*.toml"))
GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_program_prints_what_is_expected(program, tmp_path):
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == (program.parent / "expected" / f"{program.stem}.txt").read_text()


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda path: path.stem)
def test_scenario_is_valid(scenario):
    assert Scenario.load(config=scenario).federation.clients >= 30


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.csv")))
def test_golden_trace(name, tmp_path):
    """Whole numbers are exact; times may differ in the last bits between processors."""
    result = run(Scenario.load(config=ROOT / "examples" / f"{name}.toml"), tmp_path / "plan", train=False)
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "iterations.csv").write_bytes((GOLDEN / f"{name}.csv").read_bytes())
    golden = tables.read(tmp_path / "golden", "iterations")
    assert list(golden) == list(result.iterations)
    for column, values in golden.items():
        assert len(values) == len(result.iterations[column])
        np.testing.assert_allclose(result.iterations[column], values, rtol=1e-9 if values.dtype.kind == "f" else 0)
