"""Folders that nobody would call a run's: an exit code of 1 or 2, one line, and never a traceback."""

import json
import os
import shlex

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from asyncfeel.cli import app
from asyncfeel.recording.manifest import sealed
from asyncfeel.recording.tables import COLUMNS
from asyncfeel.verify.command import verify

from .conftest import manifest, resealed, unfinished

DEEP = "[" * 100_000
CONTENTS = {
    "empty": b"",
    "zeros": bytes(5000),
    "not utf-8": b"\xff\xfe\x80" * 1000,
    "one long line": b"7" * 10_000_000,
    "commas": b"," * 10_000_000,
    "newlines": b"\n" * 1_000_000,
    "deeply nested": DEEP.encode(),
    "nested tables": b"a = " + DEEP.encode(),
    "a huge number": b"iteration,time_s\n" + b"9" * 400 + b",1e999\n",
    "no numbers": b"nan,inf,-inf,NaN,Infinity\n" * 10,
    "an html page": b"<html>\n<body>" * 100,
}
RARE = ("faults", "divergence")  # which this run has not: see test_faults.py
TABLES = tuple(f"{name}.csv" for name in COLUMNS if name not in RARE)
NAMES = ("config.toml", "manifest.json", "topology.json", "model.safetensors", *TABLES)


def ends(folder, *codes):
    """The command ends with one of these codes, and with words."""
    done = CliRunner().invoke(app, shlex.split(f"verify {shlex.quote(str(folder))}"))
    assert done.exception is None or isinstance(done.exception, SystemExit), repr(done.exception)
    assert done.exit_code in codes, done.output
    assert "Traceback" not in done.output
    assert max(map(len, done.output.splitlines())) < 2000
    return done


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_anything(name, content, copied):
    (copied / name).write_bytes(CONTENTS[content])
    ends(copied, 1, 2)
    if name != "manifest.json":
        ends(copied, 1)
        resealed(copied)
        ends(copied, 1, 2)


@pytest.mark.parametrize("name", RARE)
def test_a_table_that_the_run_did_not_leave(name, copied):
    (copied / f"{name}.csv").write_text("1,2,3\n")
    ends(copied, 1)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_anything_in_a_run_that_goes_on(name, content, copied):
    unfinished(copied)
    (copied / name).write_bytes(CONTENTS[content])
    harmless = content == "empty" or name == "model.safetensors"
    ends(copied, *((0, 1, 2) if harmless else (1, 2)))


@pytest.mark.parametrize("made", ["nothing", "file", "empty folder", "other folder"])
def test_what_is_no_run_folder(made, tmp_path):
    path = tmp_path / "x"
    if made == "file":
        path.write_text("{}")
    if made.endswith("folder"):
        path.mkdir()
    if made == "other folder":
        (path / "manifest.json").write_text('{"name": "an app"}')
    done = ends(path, 2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("text", ["{nonsense}", '{"status": 7}', "[]}", '{"a": NaN}', '{"status": "finished"}'])
def test_a_seal_makes_no_manifest(text, copied):
    (copied / "manifest.json").write_text(sealed(text))
    assert "not the manifest of a run" in ends(copied, 1).stdout


PLAIN = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False) | st.text()
VALUES = PLAIN | st.lists(PLAIN, max_size=3) | st.dictionaries(st.text(max_size=5), PLAIN, max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.integers(0, 30), value=VALUES)
def test_a_manifest_with_anything_in_it(key, value, planned, tmp_path):
    facts = manifest(planned)
    facts.pop("seal")
    name = list(facts)[key % len(facts)]
    folder = tmp_path / "copy"
    folder.mkdir(exist_ok=True)
    for path in planned.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "manifest.json").write_text(sealed(json.dumps(facts | {name: value}, indent=2)))
    assert verify(folder).code in (0, 1, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("clients = 9", "clients = 900000000000"),
        ("servers = 3", "servers = 900000000000"),
        ("until_s", "until_x"),
        ("flops_per_step = 1000000.0", "flops_per_step = 1e-300"),
        ("flops_per_step = 1000000.0", "flops_per_step = 1e300"),
        ("model_bits = 100000.0", "model_bits = 1e308"),
        ("uplink_bps = 20000000.0", "uplink_bps = 1e-308"),
        ('kind = "quadratic"', 'kind = "nobody:knows"'),
        ("samples = 50", "samples = 900000000000"),
        ("dimension = 10", "dimension = 900000000000"),
        ("every_iterations = 4", "every_s = 1e-300"),
        ("local_steps = 3", "local_steps = 900000000000000000"),
        ("iterations = 12", "iterations = 900000000000000000"),
        ('kind = "ring"', 'kind = "../../../../dev/zero"'),
    ],
)
def test_a_scenario_that_asks_for_too_much(old, new, copied):
    path = copied / "config.toml"
    text = path.read_text()
    if old in text:
        path.write_text(text.replace(old, new))
    else:
        path.write_text(text + "\n" + new)
    ends(copied, 1)
    resealed(copied)
    ends(copied, 1, 2)


@pytest.mark.parametrize("topology", ["complete", "random", "random-regular"])
def test_a_graph_of_more_links_than_fit_anywhere_is_not_drawn(topology, copied):
    count, path = 20_000, copied / "config.toml"
    options = "degree = 19_999" if topology == "random-regular" else ""
    text = path.read_text().replace("clients = 9", f"clients = {count}").replace("servers = 3", f"servers = {count}")
    path.write_text(text.replace('kind = "ring"', f'kind = "{topology}"\n{options}'))
    rows = "".join(f"{client},{client},5,1000000000.0\n" for client in range(count))
    (copied / "clients.csv").write_text("client,server,samples,flops\n" + rows)
    resealed(copied)
    assert "too many pairs" in ends(copied, 1, 2).stderr


@pytest.mark.parametrize("name", NAMES)
def test_pipes_devices_and_folders_are_not_read(name, copied):
    (copied / name).unlink()
    os.mkfifo(copied / name)
    ends(copied, 1, 2)
    (copied / name).unlink()
    (copied / name).symlink_to("/dev/zero")
    ends(copied, 1, 2)
    (copied / name).unlink()
    (copied / name).mkdir()
    ends(copied, 1, 2)
    (copied / name).rmdir()
    (copied / name).symlink_to(name)
    ends(copied, 1, 2)
