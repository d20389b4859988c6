"""Every algorithm as people use it: by name on the command line, trained for real, recorded, documented."""

import csv
import inspect
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from asyncfeel import catalogue
from asyncfeel.cli import app

WORLD = (
    "--clients 9 --servers 3 --model logistic --set training.learning_rate=0.05 --set evaluation.every_iterations=1000 "
    "--set network.uplink_bps=20M --set network.exchange_bps=40M"
)
UNTIL = {
    "ad-psgd": 0.1,
    "async-sd-feel": 0.1,
    "central": 0.02,
    "d-psgd": 0.15,
    "fedasync": 0.4,
    "fedavg": 0.4,
    "fedbuff": 0.4,
    "fednova": 0.3,
    "fedsa": 0.6,
    "feel": 0.2,
    "hierfavg": 0.3,
    "mll-sgd": 0.2,
    "safa": 0.4,
    "sync-sd-feel": 0.15,
}
"""Simulated seconds in which each of them learns something, and a test does not take long."""

ONE_SERVER = {"central", "fedasync", "fedavg", "fedbuff", "fednova", "fedsa", "feel", "safa"}
SCHEDULE = {"clients.csv", "topology.json", "iterations.csv", "staleness.csv"}
TRAINED = {"metrics.csv", "model.safetensors"}
PAGE = Path(__file__).parent.parent / "docs" / "algorithms.md"


def asks(line):
    """What a command prints that succeeds."""
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code == 0, result.stderr or repr(result.exception)
    return result.stdout


def rows(folder, name):
    with (folder / f"{name}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def manifest(folder):
    return json.loads((folder / "manifest.json").read_text())


def schedule(name):
    """The files that tell when what happened, and to whom."""
    return SCHEDULE if name in ONE_SERVER else SCHEDULE | {"mixing.csv"}


def trained_files(name):
    """The files that only real training leaves."""
    return TRAINED if name in ONE_SERVER else TRAINED | {"servers.csv"}


@pytest.fixture(scope="module", params=UNTIL)
def trained(request, tmp_path_factory):
    """An algorithm and the folder of its run."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    asks(f"run --algorithm {request.param} {WORLD} --until {UNTIL[request.param]} --executor serial --out {folder}")
    return request.param, folder


def test_it_learns(trained):
    _, folder = trained
    first, *_, last = [float(row["test_accuracy"]) for row in rows(folder, "metrics")]
    assert first < 0.2
    assert last > first + 0.4
    assert manifest(folder)["metrics"]["test_accuracy"] == last


def test_its_folder_has_the_files_that_make_sense_for_it(trained):
    name, folder = trained
    assert {path.name for path in folder.iterdir()} == schedule(name) | trained_files(name) | {
        "config.toml",
        "manifest.json",
    }
    facts = manifest(folder)
    assert (facts["status"], facts["algorithm"], facts["time_s"]) == ("finished", name, UNTIL[name])
    assert len({row["iteration"] for row in rows(folder, "iterations")}) == facts["iterations"] > 0


def test_its_staleness_is_that_of_servers_or_of_clients(trained):
    name, folder = trained
    header = (folder / "staleness.csv").read_text().partition("\n")[0].split(",")
    assert header[:6] == ["iteration", "time_s", "trigger", "server", "staleness", "weight"]
    assert header[6:] == (["client"] if name in ONE_SERVER else [])
    found = rows(folder, "staleness")
    if name in ONE_SERVER:
        assert {(row["trigger"], row["server"]) for row in found} <= {("0", "0")}
        assert {row["client"] for row in found} <= {row["client"] for row in rows(folder, "clients")}
        assert (name == "central") == (not found)
        stalest = {}
        for row in found:
            stalest[row["iteration"]] = max(int(row["staleness"]), stalest.get(row["iteration"], 0))
        own = {row["iteration"]: int(row["staleness"]) for row in rows(folder, "iterations")}
        assert name == "central" or stalest == own
    else:
        assert len(found) == 3 * len(rows(folder, "iterations"))


def test_a_plan_is_the_same_schedule(trained, tmp_path):
    name, folder = trained
    asks(f"plan --algorithm {name} {WORLD} --until {UNTIL[name]} --out {tmp_path / 'plan'}")
    for file in schedule(name):
        assert (tmp_path / "plan" / file).read_bytes() == (folder / file).read_bytes(), file
    planned, ran = (manifest(one)["digests"] for one in (tmp_path / "plan", folder))
    assert planned == {key: value for key, value in ran.items() if key != "model"}
    assert not any((tmp_path / "plan" / file).exists() for file in TRAINED)


@pytest.mark.parametrize("name", ["fedasync", "safa"])
def test_serial_and_threads_leave_the_same_folder(name, tmp_path):
    for executor in ("serial", "threads"):
        options = f"--until 0.3 --executor {executor} --workers 3 --out {tmp_path / executor}"
        asks(f"run --algorithm {name} {WORLD} {options}")
    serial, threads = tmp_path / "serial", tmp_path / "threads"
    names = {path.name for path in serial.iterdir()}
    assert names == {path.name for path in threads.iterdir()}
    for file in names - {"manifest.json", "config.toml"}:
        assert (serial / file).read_bytes() == (threads / file).read_bytes(), file
    config = (threads / "config.toml").read_text()
    assert (serial / "config.toml").read_text() == config.replace('executor = "threads"', 'executor = "serial"')
    own = {"started", "process", "wall", "executor", "workers", "files", "seal"}
    one, other = ({key: value for key, value in manifest(one).items() if key not in own} for one in (serial, threads))
    assert one == other
    assert max(int(row["staleness"]) for row in rows(serial, "staleness")) > 0


def test_the_list_shows_all_of_them():
    listed = re.findall(r"^  ([a-z-]+) +\S", asks("list algorithm"), re.M)
    assert sorted(listed) == sorted(UNTIL)
    assert len(listed) == 14


def documented():
    """The names in the table of the page, with their parameters and defaults; nothing for one that is left out."""
    table = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 5 and (name := re.fullmatch(r"`([a-z-]+)`", cells[0])):
            items = [re.fullmatch(r"`(\w+)` (?:left out|= (.+))", item) for item in cells[3].split(", ")]
            assert all(items), cells[3]
            assert name[1] not in table
            table[name[1]] = {item[1]: item[2] and json.loads(item[2]) for item in items}
    return table


def test_the_table_names_exactly_the_algorithms_there_are():
    assert sorted(documented()) == sorted(catalogue.names("algorithm"))


@pytest.mark.parametrize("name", catalogue.names("algorithm"))
def test_the_table_has_exactly_the_parameters_with_their_defaults(name):
    parameters = inspect.signature(catalogue.find("algorithm", name)).parameters
    defaults = {key: parameter.default for key, parameter in parameters.items()}
    found = documented()[name]
    assert found == defaults
    assert [type(value) for value in found.values()] == [type(defaults[key]) for key in found]
