"""Runs that go on, were killed, interrupted or failed: checked as far as they got."""

import shutil
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncfeel import Scenario, run
from asyncfeel.progress import Silent
from asyncfeel.verify.command import verify

from .conftest import SIZES, alive, make, manifest, told, unfinished

TABLES = ("iterations", "staleness", "mixing")


def cut(folder, iteration, bytes_of_next=0, within="mixing"):
    """Leave the tables as they are when a run is killed in the midst of writing an iteration."""
    for name in TABLES:
        path = folder / f"{name}.csv"
        lines = path.read_bytes().splitlines(keepends=True)
        whole = [lines[0], *(line for line in lines[1:] if int(line.split(b",")[0]) < iteration)]
        upcoming = b"".join(line for line in lines[1:] if int(line.split(b",")[0]) == iteration)
        if TABLES.index(name) < TABLES.index(within):
            path.write_bytes(b"".join(whole) + upcoming)
        else:
            path.write_bytes(b"".join(whole) + (upcoming[:bytes_of_next] if name == within else b""))
    for name in ("metrics", "servers"):
        path = folder / f"{name}.csv"
        lines = path.read_bytes().splitlines(keepends=True)
        keep = [lines[0], *(line for line in lines[1:] if int(line.split(b",")[0]) < iteration)]
        path.write_bytes(b"".join(keep))
    return folder


@pytest.mark.parametrize("within", TABLES)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(iteration=st.integers(0, 11), more=st.integers(0, 60))
def test_a_run_that_was_killed_anywhere(within, iteration, more, trained, tmp_path):
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    unfinished(cut(shutil.copytree(trained, folder), iteration, more, within))
    verdict = verify(folder)
    assert verdict.code == 0, verdict.table()
    assert "killed" in verdict.about


def test_a_run_that_goes_on_may_write_while_it_is_read(copied):
    whole = {name: (copied / f"{name}.csv").read_bytes() for name in TABLES}
    unfinished(cut(copied, 6), process=alive())
    for name in ("staleness", "mixing"):
        (copied / f"{name}.csv").write_bytes(whole[name])
    verdict = verify(copied)
    assert verdict.code == 0, verdict.table()
    assert "running" in verdict.about


@pytest.mark.parametrize("name", TABLES)
def test_a_killed_run_that_lost_rows_of_one_file(name, copied):
    unfinished(copied)
    path = copied / f"{name}.csv"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if not line[:1].isdigit() or int(line.split(b",")[0]) < 6))
    code, differences = told(copied)
    assert code == 1
    assert "it ends before iteration" in differences


def test_a_torn_row_is_no_excuse_for_a_wrong_one(copied):
    unfinished(copied)
    path = copied / "mixing.csv"
    path.write_bytes(path.read_bytes()[:-2] + b"x")
    assert told(copied)[0] == 1


def test_a_changed_row_of_a_killed_run(copied):
    unfinished(copied)
    path = copied / "iterations.csv"
    path.write_text(path.read_text().replace("\n3,", "\n4,", 1))
    code, differences = told(copied)
    assert code == 1
    assert "iterations.csv, row 4, iteration: 4 instead of 3" in differences


class Impatient(Silent):
    """Asks a run to end after some iterations."""

    def __init__(self, stop, after):
        self._stop, self._after = stop, after

    def completed(self, federation, completion):
        if federation.iteration >= self._after:
            self._stop.set()


@pytest.mark.parametrize("after", [1, 5])
def test_an_interrupted_run(after, tmp_path):
    stop = threading.Event()
    scenario = Scenario.load(set=SIZES, iterations=12, clients=9, servers=3, executor="serial", device="cpu")
    run(scenario, tmp_path / "run", view=Impatient(stop, after), stop=stop)
    assert manifest(tmp_path / "run")["status"] == "interrupted"
    verdict = verify(tmp_path / "run", retrain=True)
    assert verdict.code == 0, verdict.table()
    assert {check.name: check.rows for check in verdict.checks}["iterations.csv"] == manifest(tmp_path / "run")[
        "iterations"
    ]
    path = tmp_path / "run" / "iterations.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    assert verify(tmp_path / "run").code == 1


class Broken(Silent):
    """Fails in the midst of a run."""

    def completed(self, federation, completion):
        if federation.iteration == 4:
            raise RuntimeError("on purpose")


def test_a_failed_run_has_digests_too(tmp_path):
    scenario = Scenario.load(set=SIZES, iterations=12, clients=9, servers=3, executor="serial", device="cpu")
    with pytest.raises(RuntimeError, match="on purpose"):
        run(scenario, tmp_path / "run", view=Broken())
    verdict = verify(tmp_path / "run")
    assert (verdict.code, "failed" in verdict.about) == (0, True), verdict.table()
    path = tmp_path / "run" / "metrics.csv"
    path.write_text(path.read_text().replace("0.", "1.", 1))
    assert verify(tmp_path / "run").code == 1


def test_a_single_server_that_was_killed(tmp_path):
    folder = unfinished(make(tmp_path / "run", algorithm="fedbuff"))
    path = folder / "staleness.csv"
    path.write_bytes(path.read_bytes()[:-5])
    assert verify(folder).code == 0
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:8]))
    assert told(folder)[0] == 1
