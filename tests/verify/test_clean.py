"""Folders as runs leave them: everything is checked, and nothing differs."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import asyncfeel
from asyncfeel import catalogue
from asyncfeel.cli import app
from asyncfeel.verify.command import verify

from .conftest import make

VARIANTS = [
    "--until 0.2 --set algorithm.mixing=weighted",
    "--until 0.2 --set algorithm.own_staleness=fresh",
    "--until 0.2 --heterogeneity 1 --set algorithm.simultaneous=together",
    "--until 0.2 --set algorithm.simultaneous=together --set algorithm.own_staleness=fresh --heterogeneity 1",
    "--until 0.2 --set algorithm.rate_correction=true --set network.downlink_bps=1e7",
    "--until 0.2 --set drift.kind=jitter --set fading.kind=jitter",
    "--until 0.2 --set algorithm.deadline=balanced",
    "--until 0.2 --psi threshold --set psi.v=0.0 --set psi.c=1 --topology star",
    "--until 0.2 --algorithm sync-sd-feel --set algorithm.alpha=2 --set algorithm.tau2=2",
    "--until 0.2 --algorithm sync-sd-feel --mixing metropolis",
    "--until 0.2 --algorithm ad-psgd --set algorithm.nodes=clients",
    "--until 0.2 --algorithm d-psgd --set algorithm.nodes=clients",
    "--until 0.5 --algorithm safa --set algorithm.crash=0.3 --set algorithm.fraction=0.5",
    "--until 0.5 --algorithm fedavg --set algorithm.server=edge",
    "--until 0.0001",
    "--iterations 5 --servers 1",
]


def asks(line):
    return CliRunner().invoke(app, shlex.split(line))


@pytest.mark.parametrize("algorithm", catalogue.names("algorithm"))
def test_every_algorithm_verifies_as_a_plan_and_as_a_run(algorithm, tmp_path):
    for train in (False, True):
        verdict = verify(make(tmp_path / f"{train}", train, algorithm=algorithm))
        assert (verdict.code, verdict.unreadable) == (0, None), verdict.table()
        checked = {check.name: check.rows for check in verdict.checks}
        assert checked["iterations.csv"] >= 12
        assert checked["staleness.csv"] == checked["staleness"]
        assert checked["staleness"] > 0 or algorithm == "central"
        assert not any(check.skipped for check in verdict.checks)


@pytest.mark.parametrize("line", VARIANTS)
def test_every_reading_of_the_paper_verifies(line, tmp_path):
    sizes = "--set work.flops_per_step=1e6 --set network.model_bits=1e5 --dataset quadratic --clients 9"
    servers = "" if "--servers" in line else "--servers 3"
    assert asks(f"run {sizes} {servers} {line} --executor serial --device cpu --out {tmp_path / 'run'}").exit_code == 0
    verdict = verify(tmp_path / "run")
    assert verdict.code == 0, verdict.table()


def test_the_table_says_what_was_checked_and_how_many_rows(trained):
    done = asks(f"verify {trained}")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = {line.split()[0]: line.split() for line in done.stdout.splitlines()}
    assert lines["mixing.csv"][1:4] == ["84", "rows", "ok"]
    assert lines["P_k"][1:4] == ["84", "entries", "ok"]
    assert "symmetric, non-negative" in done.stdout
    assert f"verified: {trained} (run, finished: async-sd-feel)" in done.stdout


def test_several_folders_and_json(trained, planned):
    found = json.loads(asks(f"verify --json {trained} {planned}").stdout)
    assert found["ok"] is True
    assert [one["folder"] for one in found["runs"]] == [str(trained), str(planned)]
    rows = {check["check"]: check for check in found["runs"][1]["checks"]}
    assert rows["iterations.csv"]["checked"] == 12
    assert {check["outcome"] for check in rows.values()} == {"ok"}


def test_verifying_changes_nothing(trained):
    def state():
        files = [path for path in trained.rglob("*") if path.is_file()]
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    verify(trained, retrain=True)
    assert state() == before


def test_other_files_in_the_folder_are_nobodys_business(copied):
    (copied / "report.html").write_text("<html>")
    (copied / "notes.csv").write_text("1,2,3")
    assert verify(copied).code == 0


def test_what_follows_from_losses_is_left_to_retraining(tmp_path):
    folder = make(tmp_path / "run", until="0.2", keys={"algorithm.deadline": "adaptive"})
    verdict = verify(folder)
    skipped = [check for check in verdict.checks if check.skipped]
    assert (verdict.code, len(skipped)) == (0, 1)
    assert "--retrain" in skipped[0].note
    again = {check.name: check for check in verify(folder, retrain=True).checks if "trained again" in check.note}
    assert again["iterations.csv"].rows > 0
    assert all(check.ok for check in again.values())


def test_patience_ends_where_the_manifest_says(tmp_path):
    folder = make(tmp_path / "run", until="3", keys={"stop.patience": 2, "stop.tolerance": 0.5})
    verdict = verify(folder, retrain=True)
    assert verdict.code == 0
    assert any("patience" in check.note for check in verdict.checks)


def test_a_system_of_ones_own_is_derived_again_and_promises_little(tmp_path):
    example = Path(asyncfeel.__file__).parent.parent / "examples" / "custom_algorithm.py"
    folder = make(tmp_path / "run", train=False, algorithm=f"{example}:RandomNeighbour")
    verdict = verify(folder)
    assert verdict.code == 0, verdict.table()
    found = {check.name: check for check in verdict.checks}
    assert found["iterations.csv"].rows == 12
    assert found["P_k"].note == "columns sum to 1"
    assert found["staleness"].skipped
