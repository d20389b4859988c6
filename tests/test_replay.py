"""Every row of planned runs against the oracle of replay.py, and the oracle against figures worked out by hand."""

import json
import shutil
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from typer.testing import CliRunner

from asyncfeel.cli import app
from tests.replay import COLUMNS, compare, optimal_matrix, replay

SMALL = "--dataset digits --set work.flops_per_step=1e8 --set network.model_bits=1e6"
UNEVEN = "--servers 6 --clients 31"
SYNC = "--algorithm sync-sd-feel"
# Durations that are short binary fractions, so that servers of different pace often complete at one instant.
BINARY = (
    "--set algorithm.deadline=fixed --set algorithm.deadline_s=1.0 "
    "--set network.uplink_bps=2e6 --set network.exchange_bps=8e6"
)
PACES = (
    "--set speeds.kind=two-point --set speeds.mean_flops=0.75e9 --heterogeneity 2 "
    "--set network.uplink_bps=2e6 --set network.exchange_bps=2e6"
)
TOGETHER = "--set algorithm.simultaneous=together"
FRESH = "--set algorithm.own_staleness=fresh"

CASES = {
    "ring": "--topology ring",
    "grid": "--topology grid --psi constant --servers 9 --clients 31",
    "random": "--topology random --psi polynomial --servers 8 --seed 2",
    "random-regular": "--topology random-regular --psi hinge --servers 8 --seed 3",
    "small-world": "--topology small-world --psi exponential --servers 9 --seed 4",
    "star": "--topology star --psi harmonic --seed 5",
    "line": "--topology line --psi threshold --seed 6",
    "complete": "--topology complete --psi bound --seed 7",
    "tree": "--topology tree --psi logarithmic --servers 7 --seed 8",
    "sigmoid": f"--psi sigmoid --seed 9 {UNEVEN}",
    "hinge": "--psi hinge --set psi.a=2.5 --set psi.b=1 --mixing weighted",
    "threshold-leak": "--psi threshold --set psi.c=2 --set psi.v=0.25 --heterogeneity 30",
    "threshold-only-own": "--psi threshold --set psi.c=0 --set psi.v=0 --topology star --mixing weighted",
    "weighted": f"--mixing weighted --topology star {UNEVEN}",
    "weighted-corrected": "--mixing weighted --set algorithm.rate_correction=true --topology grid --seed 10",
    "fresh": f"{FRESH} --seed 11",
    "fresh-weighted": f"{FRESH} --mixing weighted --topology line {UNEVEN}",
    "equal-speeds": "--heterogeneity 1 --iterations 100",
    "ties-two-paces": f"{PACES} {UNEVEN}",
    "together-equal-speeds": f"{TOGETHER} --heterogeneity 1",
    "together-two-paces": f"{TOGETHER} {PACES} {UNEVEN}",
    "together-two-paces-fresh": f"{TOGETHER} {PACES} {FRESH} --mixing weighted {UNEVEN}",
    "together-links": f"{TOGETHER} {BINARY} --topology LINKS --servers 5 --clients 23",
    "fixed-deadline": "--set algorithm.deadline=fixed --set algorithm.deadline_s=2.7 --seed 12",
    "min-steps": "--set algorithm.min_steps=3 --iterations 200",
    "downlink": "--set network.downlink_bps=3e6",
    "links": "--topology LINKS --servers 5 --clients 23",
    "ties-links": f"{BINARY} --topology LINKS --servers 5 --clients 23 --mixing weighted",
    "one-server": "--servers 1 --clients 7",
    "ends-on-the-limit": "--heterogeneity 1 --until 1.3",
    "sync": f"{SYNC} {UNEVEN}",
    "sync-tau2": f"{SYNC} --set algorithm.tau2=3 --set algorithm.alpha=2",
    "sync-tau1": f"{SYNC} --set algorithm.tau1=7 --topology random --seed 13 --iterations 20",
    "sync-metropolis": f"{SYNC} --mixing metropolis --topology star {UNEVEN}",
    "sync-downlink-links": f"{SYNC} --set network.downlink_bps=3e6 --topology LINKS --servers 5 --clients 23",
    "sync-one-server": f"{SYNC} --servers 1 --clients 7",
}

LINKS = [(0, 1, 4e6), (1, 2, 1e6), (2, 3, None), (3, 4, 2e6), (0, 3, 8e6)]


def plan(parent: Path, flags: str) -> Path:
    """Plan a run in a new folder under the parent and return the folder."""
    edges = [{"source": u, "target": v} | ({"rate_bps": rate} if rate else {}) for u, v, rate in LINKS]
    data = {"directed": False, "multigraph": False, "graph": {}, "nodes": [{"id": d} for d in range(5)], "edges": edges}
    (parent / "links.json").write_text(json.dumps(data))
    words = [str(parent / "links.json") if word == "LINKS" else word for word in flags.split()]
    limit = [] if "--until" in words else ["--until", "200"]
    result = CliRunner().invoke(app, ["plan", "--quiet", "--out", str(parent / "run"), *SMALL.split(), *limit, *words])
    assert result.exit_code == 0, result.output
    return parent / "run"


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that agrees with the oracle, to be copied and spoilt."""
    return plan(tmp_path_factory.mktemp("planned"), "--until 40")


@pytest.fixture
def copy(planned: Path, tmp_path: Path) -> Path:
    return shutil.copytree(planned, tmp_path / "copy")


@pytest.mark.parametrize("flags", CASES.values(), ids=CASES.keys())
def test_every_row_follows_from_the_inputs(tmp_path: Path, flags: str) -> None:
    assert compare(plan(tmp_path, flags)) > 0


def other_digit(text: str) -> str:
    """Return the text with its tenth digit changed, or its last if it has fewer."""
    place = [place for place, char in enumerate(text) if char.isdigit()][:10][-1]
    return text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]


@pytest.mark.parametrize(("name", "column"), [(name, column) for name in COLUMNS for column in COLUMNS[name]])
def test_one_digit_in_a_schedule_file_is_noticed(copy: Path, name: str, column: str) -> None:
    path = copy / f"{name}.csv"
    lines = path.read_text().splitlines()
    cells = lines[len(lines) // 2].split(",")
    place = list(COLUMNS[name]).index(column)
    cells[place] = other_digit(cells[place])
    lines[len(lines) // 2] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(AssertionError, match=rf"{name}.csv, row \d+, {column}"):
        compare(copy)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("config.toml", "uplink_bps = 2", "uplink_bps = 3"),
        ("config.toml", "local_steps = 10", "local_steps = 11"),
        ("topology.json", '"target": 1', '"target": 2'),
    ],
)
def test_one_digit_in_an_input_is_noticed(copy: Path, name: str, old: str, new: str) -> None:
    text = (copy / name).read_text()
    assert old in text
    (copy / name).write_text(text.replace(old, new, 1))
    with pytest.raises(AssertionError, match=r"\.csv, row \d+"):
        compare(copy)


def test_one_digit_of_the_slowest_client_is_noticed(copy: Path) -> None:
    path = copy / "clients.csv"
    lines = path.read_text().splitlines()
    slowest = min(range(1, len(lines)), key=lambda number: float(lines[number].split(",")[3]))
    *others, flops = lines[slowest].split(",")
    lines[slowest] = ",".join([*others, other_digit(flops)])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(AssertionError, match=r"\.csv, row \d+"):
        compare(copy)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("more", [True, False])
def test_a_row_too_many_or_too_few_is_noticed(copy: Path, name: str, more: bool) -> None:
    path = copy / f"{name}.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[-1]] if more else lines[:-1]) + "\n")
    with pytest.raises(AssertionError, match=rf"{name}.csv has \d+ rows, expected"):
        compare(copy)


@pytest.mark.parametrize(("own", "staleness", "weight"), [("literal", 5, 5 / 41), ("fresh", 0, 5 / 11)])
def test_equal_speeds_on_a_ring_as_worked_out_by_hand(tmp_path: Path, own: str, staleness: int, weight: float) -> None:
    flags = f"--heterogeneity 1 --iterations 30 --set algorithm.own_staleness={own}"
    rows = [row for row in replay(plan(tmp_path, flags)).staleness if row[0] >= 6 and row[2] == row[3]]
    assert len(rows) == 24
    assert all(row[4] == staleness for row in rows)
    assert [row[5] for row in rows] == pytest.approx([weight] * 24)


@pytest.mark.parametrize(
    ("graph", "zeta"),
    [
        (nx.cycle_graph(6), 0.600),
        (nx.star_graph(5), 0.714),
        (nx.complete_graph(6), 0),
        (nx.cycle_graph(10), 0.826),
    ],
    ids=["ring-6", "star-6", "complete-6", "ring-10"],
)
def test_synchronous_matrix_contracts_as_known(graph: nx.Graph, zeta: float) -> None:
    matrix = optimal_matrix(graph, np.full(len(graph), 1 / len(graph)))
    assert np.sort(np.abs(np.linalg.eigvalsh(matrix)))[-2] == pytest.approx(zeta, abs=5e-4)
