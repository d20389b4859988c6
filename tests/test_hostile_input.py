"""Files and names that were made to do harm: one line, exit code 2, no hang, no memory, nothing deleted."""

import io
import json
import os
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, run, safe_files, terminal
from asyncfeel.cli import app
from asyncfeel.learning.datasets import files
from asyncfeel.scenario.build import LONGEST_TEXT
from tests.fuzz.targets import FILES, replayed

PLAN = "plan --iterations 3 --set work.flops_per_step=1e6 --set network.model_bits=1e5 "


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)


def ends(line, code=2, *fragments):
    """What the command prints as its error: one line."""
    result = CliRunner().invoke(app, shlex.split(line) if isinstance(line, str) else line)
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    assert "Traceback" not in result.output
    assert result.stderr.count("\n") == 1
    for fragment in fragments:
        assert fragment in result.stderr
    return result.stderr


def done(line):
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 0, result.output
    return result.stdout


READERS = {
    "scenario": "--config {}.toml",
    "json": "--topology {}.json",
    "graphml": "--topology {}.graphml",
    "npz": "--dataset {}.npz",
    "clients": "--clients 6 --servers 3 --set speeds.kind=file --set speeds.path={}.csv",
}


@pytest.mark.parametrize("flags", READERS.values(), ids=READERS)
def test_a_pipe_is_refused_and_not_waited_for(flags):
    for ending in ("toml", "json", "graphml", "npz", "csv"):
        os.mkfifo(f"f.{ending}")
    ends(PLAN + flags.format("f"), 2, "f.")


@pytest.mark.parametrize("flags", READERS.values(), ids=READERS)
def test_a_device_that_never_ends_is_refused(flags):
    for ending in ("toml", "json", "graphml", "npz", "csv"):
        Path(f"f.{ending}").symlink_to("/dev/zero")
    ends(PLAN + flags.format("f"), 2, "f.")


@pytest.mark.parametrize("flags", READERS.values(), ids=READERS)
def test_a_folder_instead_of_a_file_is_refused(flags):
    for ending in ("toml", "json", "graphml", "npz", "csv"):
        Path(f"f.{ending}").mkdir()
    ends(PLAN + flags.format("f"), 2, "f.")


@pytest.mark.parametrize("flags", READERS.values(), ids=READERS)
def test_a_file_that_is_too_large_is_refused_at_its_limit(flags):
    for ending in ("toml", "json", "graphml", "npz", "csv"):
        with Path(f"f.{ending}").open("wb") as file:
            file.truncate(1 << 34)
    ends(PLAN + flags.format("f"), 2, "f.")


@pytest.mark.parametrize("name", ["x" * 5000, "a/" * 3000 + "x", "\udcff", "x\ny", "\x1b[31m"])
@pytest.mark.parametrize("flag", ["--topology", "--psi", "--dataset", "--config", "--out", "--data-dir", "--set"])
def test_names_that_no_file_has(flag, name):
    for ending in ("", ".json", ".npz", ".toml", ":f"):
        result = CliRunner().invoke(app, [*shlex.split(PLAN), flag, name + ending])
        assert result.exit_code in (0, 2), (result.exit_code, result.stderr)
        assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    "flags",
    [
        "--clients 1000000000000",
        "--servers 1000000000000",
        "--clients 100000 --servers 100000 --topology complete",
        "--clients 10000 --servers 10000 --topology random --set topology.p=1e-9",
        "--clients 10000 --servers 10000 --algorithm sync-sd-feel",
        "--seed 99999999999999999999999",
        "--set seed=0x" + "f" * 5000,
        "--until 1e300 --set evaluation.every_s=1e-300",
        "--dataset quadratic --set dataset.dimension=1000000000000",
        "--set psi.kind=os:system --set psi.command=exit",
    ],
)
def test_sizes_that_nobody_has_memory_for(flags):
    ends(PLAN + flags, 2)


def test_entities_are_refused_before_they_are_read():
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha"}">' for n in range(12))
    Path("m.graphml").write_text(f"<!DOCTYPE graphml [{entities}]><graphml><graph><node id='&e11;'/></graph></graphml>")
    ends(PLAN + "--topology m.graphml", 2, "document type or entities")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_entities_cannot_hide_in_another_encoding(encoding):
    Path("m.graphml").write_bytes("<!DOCTYPE graphml><graphml/>".encode(encoding))
    ends(PLAN + "--topology m.graphml", 2, "UTF-8")


def bomb(path, size):
    """An archive whose labels unpack to so many zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as box:
        for name in files.KEYS:
            with box.open(f"{name}.npy", "w", force_zip64=True) as file:
                file.write(np.lib.format.magic(1, 0))
                head = io.BytesIO()
                np.lib.format.write_array_header_1_0(head, {"descr": "|u1", "fortran_order": False, "shape": (size,)})
                file.write(head.getvalue()[8:])
                for _ in range(size >> 20):
                    file.write(bytes(1 << 20))


def test_an_archive_that_unpacks_to_gigabytes_is_refused(monkeypatch):
    monkeypatch.setattr(files, "BOMB_BYTES", 1 << 22)
    bomb("d.npz", 1 << 22)
    assert Path("d.npz").stat().st_size < 1 << 17
    ends(PLAN + "--dataset d.npz", 2, "more than 100 times its size")


def test_a_shape_that_does_not_fit_the_file_is_refused():
    from tests.fuzz.seeds import boxed, header

    Path("d.npz").write_bytes(boxed(header("(1000000000000, 3)")))
    ends(PLAN + "--dataset d.npz", 2, "does not fit its 0 bytes")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("content", [b"", b"\0", b"[]", b"{}", b"\xff", b"[" * 100_000, b"9" * 100_000, b"a,b\n1,2\n"])
def test_a_run_folder_with_a_damaged_file(name, content):
    done(PLAN + "--out out --quiet")
    Path("out", name).write_bytes(content)
    commands = (
        "show out",
        "report out",
        "timeline out",
        "export out staleness",
        "export out mixing --format npz --force",
    )
    for line in commands:
        result = CliRunner().invoke(app, shlex.split(line))
        assert result.exit_code in (0, 2), (line, result.exit_code, result.stderr, result.exception)
        assert "Traceback" not in result.output


@given(st.sampled_from(FILES), st.binary(max_size=40), st.integers(0, 3000), st.integers(0, 40))
def test_any_damage_to_a_run_folder_is_told(name, patch, start, cut):
    from tests.fuzz.targets import sound_run

    content = (sound_run() / name).read_bytes()
    start = min(start, len(content))
    replayed("folder", bytes([FILES.index(name)]) + content[:start] + patch + content[start + cut :])


def test_force_replaces_an_ended_run_and_nothing_else():
    done(PLAN + "--out out --quiet")
    ends(PLAN + "--out out", 2, "not empty", "--force")
    done(PLAN + "--seed 5 --out out --force --quiet")
    assert json.loads(Path("out/manifest.json").read_text())["seed"] == 5
    Path("out/precious.txt").write_text("mine")
    ends(PLAN + "--out out --force", 2, "'out/precious.txt' is not a file of a run")
    assert json.loads(Path("out/manifest.json").read_text())["seed"] == 5


def test_force_never_touches_a_folder_that_is_no_run():
    Path("mine").mkdir()
    Path("mine/metrics.csv").write_text("precious")
    ends(PLAN + "--out mine --force", 2, "--force replaces runs only")
    Path("mine/manifest.json").write_text("{}")
    ends(PLAN + "--out mine --force", 2, "--force replaces runs only")
    assert Path("mine/metrics.csv").read_text() == "precious"


def test_force_waits_for_a_run_that_goes_on():
    done(PLAN + "--out out --quiet")
    facts = json.loads(Path("out/manifest.json").read_text())
    Path("out/manifest.json").write_text(json.dumps(facts | {"status": "running", "process": os.getpid()}))
    ends(PLAN + "--out out --force", 2, "is going on in process")


def test_a_wrong_scenario_does_not_cost_the_old_run():
    done(PLAN + "--out out --quiet")
    ends(PLAN + "--out out --force --psi nope", 2, "psi 'nope' is unknown")
    assert Path("out/iterations.csv").exists()


def test_force_without_a_name_replaces_the_run_of_that_name():
    first = done(PLAN + "--quiet")
    assert done(PLAN + "--quiet --force") == first
    assert len(list(Path("runs").iterdir())) == 1


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_where_an_error_comes_from(place):
    line = "--debug show nope" if place == "before" else "show nope --debug"
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: 'nope' is not a run folder")


def test_an_error_of_our_own_is_one_line(monkeypatch):
    monkeypatch.setattr("asyncfeel.summary.of_folder", lambda folder: {}["missing"])
    ends("show nope", terminal.INTERNAL, "internal error: KeyError", "--debug")


@pytest.mark.parametrize(
    ("error", "fragment"),
    [(OSError(28, "No space left on device", "x"), "No space left"), (MemoryError("8 TiB"), "memory")],
)
def test_a_machine_that_refuses_is_told_in_one_line(monkeypatch, error, fragment):
    def refuse(folder):
        raise error

    monkeypatch.setattr("asyncfeel.summary.of_folder", refuse)
    ends("show nope", 1, fragment)


def test_texts_and_whole_numbers_have_limits():
    with pytest.raises(InputError, match="64 bits"):
        Scenario.load(set={"seed": 10**5000})
    with pytest.raises(InputError, match=f"{LONGEST_TEXT:,} characters"):
        Scenario.load(dataset="x" * 5000)
    with pytest.raises(InputError, match="cannot be made"):
        run(Scenario.load(iterations=1), "a\0b", train=False)


@pytest.mark.parametrize("line", ["a." * 3000 + "a = 1", '"=".' * 3000 + "a = 1", "'a.,'." * 3000 + "a = 1"])
def test_a_key_of_thousands_of_parts_is_refused_at_once(line):
    with pytest.raises(InputError, match="more than 32 parts"):
        safe_files.parse_toml(line, "the text")


def test_floats_are_no_keys():
    assert safe_files.parse_toml("a = [" + "0.5, " * 1000 + "]", "the text")["a"] == [0.5] * 1000
