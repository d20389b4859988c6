"""Folders with faults and with results that diverged: all of them verify, and a changed digit is caught."""

import shutil
import threading

import pytest

from asyncfeel import Scenario, catalogue, run
from asyncfeel.recording import tables
from asyncfeel.resuming.command import resume
from asyncfeel.verify.command import verify

from .conftest import SIZES, make, manifest, resealed, told, unfinished
from .test_unfinished import Impatient

FAULTY = {
    "availability.kind": "exponential",
    "availability.mean_up_s": 0.1,
    "availability.mean_down_s": 0.03,
    "faults.crash": 0.2,
    "faults.upload_failure": 0.2,
    "server_outages.kind": "exponential",
    "server_outages.mean_up_s": 0.1,
    "server_outages.mean_down_s": 0.02,
    "link_outages.kind": "exponential",
    "link_outages.mean_up_s": 0.1,
    "link_outages.mean_down_s": 0.03,
}
DIVERGING = {"training.on_divergence": "skip", "training.divergence_limit": 1.0}
HALF = {"dataset.kind": "digits", "model.kind": "logistic", "training.learning_rate": 3.0}


def digits(folder, name):
    """The places of the digits in a table after its titles."""
    content = bytearray((folder / name).read_bytes())
    start = content.index(b"\n")
    return content, [place for place in range(start, len(content)) if chr(content[place]).isdigit()]


def changed(folder, name, share):
    """Change one digit."""
    content, places = digits(folder, name)
    place = places[int(share * (len(places) - 1))]
    content[place] = b"1234567890"[content[place] - ord("0")]
    (folder / name).write_bytes(content)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A run with faults; nobody may change it."""
    return make(tmp_path_factory.mktemp("faulty") / "run", iterations=30, keys=FAULTY)


@pytest.fixture(scope="module")
def diverged(tmp_path_factory):
    """A run that left out some results; nobody may change it."""
    return make(tmp_path_factory.mktemp("diverged") / "run", keys=DIVERGING | HALF, algorithm="fedbuff")


@pytest.mark.parametrize("algorithm", catalogue.names("algorithm"))
def test_every_system_verifies_with_faults(algorithm, tmp_path):
    folder = make(tmp_path / "plan", train=False, iterations=30, keys=FAULTY, algorithm=algorithm)
    verdict = verify(folder)
    assert (verdict.code, verdict.unreadable) == (0, None), verdict.table()
    checked = {check.name: check.rows for check in verdict.checks}
    rows = len(tables.read(folder, "faults")["kind"])
    assert checked["faults.csv"] == checked["faults"] == rows
    assert rows > 0 or algorithm == "central"
    assert not any(check.skipped for check in verdict.checks)


@pytest.mark.parametrize("algorithm", ["async-sd-feel", "hierfavg", "fedavg"])
def test_a_run_with_faults_is_trained_again(algorithm, tmp_path):
    verdict = verify(make(tmp_path / "run", iterations=15, keys=FAULTY, algorithm=algorithm), retrain=True)
    assert verdict.code == 0, verdict.table()
    assert any(check.name == "faults.csv" and "trained again" in check.note for check in verdict.checks)


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.8, 1.0])
def test_a_changed_digit_of_the_faults_is_caught(share, sealed, faulty, tmp_path):
    folder = shutil.copytree(faulty, tmp_path / "copy")
    changed(folder, "faults.csv", share)
    if sealed:
        resealed(folder)
    assert told(folder)[0] == 1


@pytest.mark.parametrize("column", ["clients", "steps_max", "started_s"])
def test_a_row_that_faults_do_not_explain(column, faulty, tmp_path):
    folder = shutil.copytree(faulty, tmp_path / "copy")
    path = folder / "iterations.csv"
    lines = path.read_text().splitlines()
    titles, fields = lines[0].split(","), lines[9].split(",")
    fields[titles.index(column)] = "0.0" if column == "started_s" else "77"
    path.write_text("\n".join([*lines[:9], ",".join(fields), *lines[10:]]) + "\n")
    resealed(folder)
    verdict = verify(folder)
    (own,) = [check for check in verdict.checks if check.name == "iterations"]
    assert any(one.column == column for one in own.differences)


def test_a_wrong_summary_of_faults_is_caught_even_under_a_seal(faulty, tmp_path):
    folder = shutil.copytree(faulty, tmp_path / "copy")
    found = manifest(folder)["faults"]
    found["crash"]["count"] += 1
    resealed(folder, faults=found)
    assert "manifest.json, faults.crash" in told(folder)[1]
    resealed(folder, faults=manifest(faulty)["faults"], digests=manifest(faulty)["digests"] | {"faults": "0" * 64})
    assert "manifest.json, digests.faults" in told(folder)[1]


def test_faults_that_config_does_not_have(faulty, trained, tmp_path):
    folder = shutil.copytree(trained, tmp_path / "copy")
    shutil.copy(faulty / "faults.csv", folder)
    resealed(folder, faults={})
    assert "config.toml has no faults" in told(folder)[1]


@pytest.mark.parametrize("after", [2, 9])
def test_an_interrupted_run_with_faults_and_the_same_run_resumed(after, tmp_path):
    stop, folder = threading.Event(), tmp_path / "run"
    flags = {"clients": 9, "servers": 3, "executor": "serial", "device": "cpu"}
    scenario = Scenario.load(set=SIZES | FAULTY, iterations=15, **flags)
    run(scenario, folder, view=Impatient(stop, after), stop=stop)
    assert manifest(folder)["status"] == "interrupted"
    interrupted = verify(folder)
    resume(folder)
    assert manifest(folder)["status"] == "finished"
    for verdict in (interrupted, verify(folder)):
        assert verdict.code == 0, verdict.table()
        assert "totals" in {check.name for check in verdict.checks}


@pytest.mark.parametrize("rows", [0, 5, 11])
def test_a_killed_run_with_faults(rows, faulty, tmp_path):
    folder = unfinished(shutil.copytree(faulty, tmp_path / "copy"))
    assert told(folder) == (0, "")
    path = folder / "faults.csv"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[: 1 + rows]))
    code, differences = told(folder)
    assert (code, "faults.csv: it ends before iteration" in differences) == (1, True)


@pytest.mark.parametrize("algorithm", catalogue.names("algorithm"))
def test_every_system_verifies_with_results_left_out(algorithm, tmp_path):
    folder = make(tmp_path / "run", keys=DIVERGING | HALF, algorithm=algorithm)
    verdict = verify(folder)
    assert verdict.code == 0, verdict.table()
    checked = {check.name: check.rows for check in verdict.checks}
    assert checked["divergence.csv"] == checked["divergence"] == manifest(folder)["diverged"] > 0


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_a_changed_digit_of_the_divergence_is_caught(share, diverged, tmp_path):
    folder = shutil.copytree(diverged, tmp_path / "copy")
    changed(folder, "divergence.csv", share)
    assert told(folder)[0] == 1


@pytest.mark.parametrize(
    ("column", "value"), [("iteration", "11"), ("time_s", "0.5"), ("client", "8"), ("norm", "0.5")]
)
def test_a_case_that_was_none_is_caught_even_under_a_seal(column, value, diverged, tmp_path):
    folder = shutil.copytree(diverged, tmp_path / "copy")
    path = folder / "divergence.csv"
    lines = path.read_text().splitlines()
    fields = lines[1].split(",")
    place = lines[0].split(",").index(column)
    fields[place] = value if fields[place] != value else "0"
    path.write_text("\n".join([lines[0], ",".join(fields), *lines[2:]]) + "\n")
    resealed(folder)
    assert told(folder)[0] == 1


def test_the_manifest_counts_what_was_left_out(diverged, tmp_path):
    folder = shutil.copytree(diverged, tmp_path / "copy")
    resealed(folder, diverged=manifest(folder)["diverged"] + 1)
    assert "manifest.json, diverged" in told(folder)[1]


def test_a_run_that_left_results_out_is_trained_again(diverged):
    verdict = verify(diverged, retrain=True)
    assert verdict.code == 0, verdict.table()
    assert any(check.name == "divergence.csv" and "trained again" in check.note for check in verdict.checks)
