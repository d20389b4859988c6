"""A folder in which anything at all was changed: exit code 1, with the place."""

import json
import re
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from asyncfeel.recording.tables import COLUMNS
from asyncfeel.verify.command import verify

from .conftest import make, manifest, resealed, told

RARE = ("faults", "divergence")  # which this run has not: see test_faults.py
TABLES = tuple(f"{name}.csv" for name in COLUMNS if name not in RARE)
FILES = ("config.toml", "manifest.json", "topology.json", "model.safetensors", *TABLES)
SCHEDULE = ("clients", "iterations", "staleness", "mixing")
QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("name", FILES)
@QUICK
@given(data=st.data())
def test_a_single_changed_digit_is_caught(name, data, trained, tmp_path):
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(trained, folder)
    content = bytearray((folder / name).read_bytes())
    places = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    place = data.draw(st.sampled_from(places))
    content[place] = data.draw(st.sampled_from([digit for digit in b"0123456789" if digit != content[place]]))
    (folder / name).write_bytes(content)
    assert verify(folder).code == 1


@pytest.mark.parametrize("name", SCHEDULE)
@QUICK
@given(data=st.data())
def test_a_changed_digit_of_the_schedule_is_caught_even_if_all_digests_were_made_anew(name, data, trained, tmp_path):
    folder = tmp_path / "copy"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(trained, folder)
    path = folder / f"{name}.csv"
    content = bytearray(path.read_bytes())
    places = [place for place, byte in enumerate(content) if chr(byte).isdigit()]
    place = data.draw(st.sampled_from(places))
    content[place] = data.draw(st.sampled_from([digit for digit in b"0123456789" if digit != content[place]]))
    path.write_bytes(content)
    resealed(folder)
    assert verify(folder).code == 1


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_gone(name, copied):
    (copied / name).unlink()
    code, differences = told(copied)
    assert code == (2 if name == "manifest.json" else 1)
    assert name == "manifest.json" or f"{name}: there is no such file" in differences


@pytest.mark.parametrize("name", SCHEDULE)
@pytest.mark.parametrize("change", ["cut", "torn", "more", "swapped", "twice"])
def test_rows_that_are_not_the_runs(name, change, copied):
    path = copied / f"{name}.csv"
    lines = path.read_text().splitlines(keepends=True)
    changed = {
        "cut": lines[:-1],
        "torn": [*lines[:-1], lines[-1][:-3]],
        "more": [*lines, lines[-1]],
        "swapped": [*lines[:3], lines[4], lines[3], *lines[5:]],
        "twice": [*lines[:4], lines[3], *lines[4:]],
    }[change]
    path.write_text("".join(changed))
    resealed(copied)
    code, differences = told(copied)
    assert code == 1
    assert f"{name}.csv" in differences


def test_a_difference_names_the_file_the_row_and_the_column(copied):
    path = copied / "staleness.csv"
    lines = path.read_text().splitlines(keepends=True)
    fields = lines[5].split(",")
    lines[5] = ",".join([*fields[:4], "77", fields[5]])
    path.write_text("".join(lines))
    resealed(copied)
    code, differences = told(copied)
    assert code == 1
    assert f"staleness.csv, row 5, staleness: 77 instead of {fields[4]}" in differences


@pytest.mark.parametrize("key", ["iterations", "time_s", "steps", "traffic", "idle_share", "best_accuracy", "metrics"])
def test_a_wrong_total_is_caught_even_under_a_seal(key, copied):
    before = manifest(copied)[key]
    wrong = {"test_loss": 1.0} if isinstance(before, dict) else (before or 0) + 1
    resealed(copied, **{key: wrong})
    code, differences = told(copied)
    assert code == 1
    assert f"manifest.json, {key}" in differences


@pytest.mark.parametrize("name", ["iterations", "steps", "staleness_mean", "staleness_max", "share", "clients"])
def test_a_wrong_count_of_a_server_is_caught_even_under_a_seal(name, copied):
    servers = manifest(copied)["servers"]
    servers[1][name] += 1
    resealed(copied, servers=servers)
    code, differences = told(copied)
    assert code == 1
    assert f"servers[1].{name}" in differences


def test_another_scenario_is_not_the_runs(copied):
    replace(copied / "config.toml", "seed = 1", "seed = 2")
    code, differences = told(copied)
    assert code == 1
    assert "config.toml: its digest is not the one in the manifest" in differences
    resealed(copied)
    code, differences = told(copied)
    assert code == 1
    assert "clients.csv, row 1" in differences
    assert "manifest.json, seed: 1 instead of 2" not in differences


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"^4,([^,]*),", r"5,\1,"),
        (r"^8,([^,]*),", r"8,9999.0,"),
        (r",([^,]*)$", r",1.5"),
        (r"^0,0.0,", r"0,0.5,"),
    ],
)
def test_evaluations_that_cannot_be(old, new, tmp_path):
    folder = make(tmp_path / "run", dataset="digits", keys={"dataset.kind": "digits", "model.kind": "logistic"})
    path = folder / "metrics.csv"
    titles, _, rows = path.read_text().partition("\n")
    changed, count = re.subn(old, new, rows, count=1, flags=re.M)
    assert count == 1
    path.write_text(f"{titles}\n{changed}")
    resealed(folder)
    code, differences = told(folder)
    assert code == 1
    assert "metrics.csv, row" in differences


def test_the_seal_covers_every_byte_of_the_manifest(copied):
    path = copied / "manifest.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps(data, indent=2) + "\n\n")
    assert told(copied) == (1, "manifest.json: its seal is broken: it is not as the run left it")
    del data["seal"]
    path.write_text(json.dumps(data, indent=2) + "\n")
    assert told(copied) == (1, "manifest.json: it has no seal")
