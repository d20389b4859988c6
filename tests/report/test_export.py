"""Exports: every format gives back every number, and what cannot be written is one sentence."""

import csv
import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel.cli import app
from asyncfeel.errors import InputError
from asyncfeel.recording import tables
from asyncfeel.report.export import TABLES, export

ODD = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 2.0, -0.0]
"""Floats that lose something where a format or a reader rounds."""


def back(path):
    """The columns of an exported file, read by what others would read it with."""
    if path.suffix == ".npz":
        with np.load(path) as file:
            return {name: file[name].tolist() for name in file}
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return parquet.read_table(path).to_pydict()
    if path.suffix == ".json":
        rows = json.loads(path.read_text())
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    with path.open(newline="") as file:
        header, *rows = list(csv.reader(file))
    return {name: [float(row[place]) for row in rows] for place, name in enumerate(header)}


def same(found, table):
    """Whether two tables have the same columns and, to the last bit, the same numbers; null stands for no number."""
    assert list(found) == list(table)
    for name, values in table.items():
        wanted = [None if isinstance(v, float) and not math.isfinite(v) else v for v in values.tolist()]
        got = [None if v is None or not math.isfinite(v) else v for v in found[name]]
        assert got == wanted, name
        assert [math.copysign(1, v) for v in got if v is not None] == [
            math.copysign(1, v) for v in wanted if v is not None
        ]


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "npz"])
@pytest.mark.parametrize("what", [name for name in TABLES if name != "faults"])
def test_every_table_in_every_format_to_the_last_bit(tested, tmp_path, what, kind):
    folder = tested()
    if what in ("metrics", "servers"):
        with (folder / f"{what}.csv").open("a") as file:
            middle = "" if what == "metrics" else "3,"
            file.writelines(f"24,{odd!r},{middle}{odd!r},nan,inf\n" for odd in ODD)
    path = export(folder, what, kind, tmp_path / f"out.{kind}")
    if (what, kind) == ("mixing", "npz"):
        assert back(path)["mixing"]
    else:
        same(back(path), tables.read(folder, what))


def test_csv_is_the_file_of_the_run_byte_for_byte(planned, tmp_path):
    folder = planned()
    path = export(folder, "staleness", "csv", tmp_path / "s.csv")
    assert path.read_bytes() == (folder / "staleness.csv").read_bytes()


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "npz"])
def test_wide_staleness_has_a_column_per_server(planned, tmp_path, kind):
    folder = planned()
    found, long = (
        back(export(folder, "staleness", kind, tmp_path / f"w.{kind}", wide=True)),
        tables.read(folder, "staleness"),
    )
    assert list(found) == ["iteration", "time_s", *(f"server_{d}" for d in range(6))]
    assert found["iteration"] == list(range(24))
    for d in range(6):
        mine = long["server"] == d
        assert found[f"server_{d}"] == long["staleness"][mine].tolist()
        assert found["time_s"] == long["time_s"][mine].tolist()


def test_wide_staleness_of_synchronous_rounds_has_a_row_per_round(planned, tmp_path):
    folder = planned(algorithm="sync-sd-feel", iterations=4)
    found = back(export(folder, "staleness", "npz", tmp_path / "w.npz", wide=True))
    assert found["iteration"] == [0, 1, 2, 3]


@pytest.mark.parametrize("flags", [{}, {"algorithm": "sync-sd-feel", "iterations": 6}], ids=str)
def test_the_dense_stack_is_the_sparse_rows_in_identities(planned, tmp_path, flags):
    folder = planned(keys={"algorithm.tau2": 2} if flags else {}, **flags)
    with np.load(export(folder, "mixing", "npz", tmp_path / "m.npz")) as file:
        stack, iteration, time_s = file["mixing"], file["iteration"], file["time_s"]
    sparse, done = tables.read(folder, "mixing"), tables.read(folder, "iterations")
    assert iteration.tolist() == sorted(set(done["iteration"].tolist()))
    assert stack.shape == (len(iteration), 6, 6)
    for k in iteration.tolist():
        matrix, rows = np.eye(6), sparse["iteration"] == k
        matrix[sparse["source"][rows], sparse["target"][rows]] = sparse["weight"][rows]
        assert (stack[k] == matrix).all()
        assert time_s[k] == done["time_s"][done["iteration"] == k][0]


def running(folder):
    """Make a folder look like that of a run that goes on, in the middle of writing an iteration."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(
        json.dumps(manifest | {"status": "running", "machine": {"host": "elsewhere"}})
    )
    for name in ("staleness", "mixing"):
        text = (folder / f"{name}.csv").read_text()
        (folder / f"{name}.csv").write_text(text[: text.rindex("\n", 0, -30) + 9])
    return folder


def test_a_running_folder_gives_complete_rows_and_complete_iterations(planned, tmp_path):
    folder = running(planned())
    rows = (folder / "staleness.csv").read_text().count("\n") - 1
    assert len(back(export(folder, "staleness", "npz", tmp_path / "s.npz"))["staleness"]) == rows
    wide = back(export(folder, "staleness", "json", tmp_path / "w.json", wide=True))
    assert wide["iteration"] == list(range(23))
    assert back(export(folder, "mixing", "npz", tmp_path / "m.npz"))["iteration"] == list(range(23))


@pytest.mark.parametrize("kind", ["csv", "json", "parquet", "npz"])
def test_a_table_without_rows(planned, tmp_path, kind):
    folder = planned()
    header = (folder / "iterations.csv").read_text().splitlines()[0]
    (folder / "iterations.csv").write_text(header + "\n")
    found = back(export(folder, "iterations", kind, tmp_path / f"e.{kind}"))
    assert all(values == [] for values in found.values())


def test_a_single_server_has_its_clients_and_no_matrices(planned, tmp_path):
    folder = planned(algorithm="fedasync")
    same(back(export(folder, "staleness", "parquet", tmp_path / "s.parquet")), tables.read(folder, "staleness"))
    assert "client" in back(export(folder, "staleness", "json", tmp_path / "s.json"))
    with pytest.raises(InputError, match=r"no mixing\.csv: it has"):
        export(folder, "mixing", "csv", tmp_path / "m.csv")
    with pytest.raises(InputError, match=r"--wide.*single server"):
        export(folder, "staleness", "csv", tmp_path / "w.csv", wide=True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["weights"], "nothing to export as 'weights': choose staleness, mixing"),
        (["staleness", "--format", "xlsx"], "format 'xlsx' is unknown: choose csv, json, parquet, npz"),
        (["metrics"], "has no metrics.csv: it has staleness, mixing"),
        (["mixing", "--wide"], "--wide is for staleness"),
        (["staleness", "--out", "nowhere/x.csv"], "folder 'nowhere' of 'x.csv' does not exist"),
        (["staleness", "--out", "."], "is a folder: name a file"),
        (["staleness", "--out", "{run}/mixing.csv", "--force"], "belongs to the run folder"),
        (["staleness", "--out", "there.csv"], "'there.csv' exists: choose another --out, or --force"),
    ],
    ids=str,
)
def test_bad_input_is_one_sentence_and_writes_nothing(planned, tmp_path, monkeypatch, asked, said):
    folder = planned()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    done = CliRunner().invoke(app, ["export", str(folder), *(word.format(run=folder) for word in asked)])
    assert done.exit_code == 2
    assert said in done.output
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before


def test_a_folder_that_is_none_and_a_damaged_table(planned, tmp_path):
    with pytest.raises(InputError, match=r"not a run folder: it has no manifest\.json"):
        export(tmp_path, "staleness")
    folder = planned()
    with (folder / "iterations.csv").open("a") as file:
        file.write("25,1\n")
    with pytest.raises(InputError, match=r"iterations\.csv is damaged: '25,1' has 2 fields instead of 9"):
        export(folder, "iterations", "npz", tmp_path / "i.npz")
    assert not list(tmp_path.glob("i.npz*"))


def test_the_command_names_the_file_and_force_overwrites(planned, tmp_path, monkeypatch):
    folder = planned()
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["export", str(folder), "staleness", "--wide"])
    assert done.output == "wrote plan-staleness-wide.csv\n"
    assert CliRunner().invoke(app, ["export", str(folder), "staleness", "--wide"]).exit_code == 2
    assert CliRunner().invoke(app, ["export", str(folder), "staleness", "--wide", "--force"]).exit_code == 0
    done = CliRunner().invoke(app, ["export", str(folder), "mixing", "--out", "p.npz"])
    assert done.output == "wrote p.npz\n"
    assert np.load(tmp_path / "p.npz")["mixing"].shape == (24, 6, 6)


def test_a_stack_too_large_for_memory_is_refused(planned, tmp_path, monkeypatch):
    from asyncfeel.report import dense

    monkeypatch.setattr(dense, "LIMIT_BYTES", 1000)
    with pytest.raises(InputError, match=r"24 x 6 x 6 float64.*choose --format parquet, csv or json"):
        export(planned(), "mixing", "npz", tmp_path / "m.npz")
