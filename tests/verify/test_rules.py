"""The rows by themselves: what is checked without the program that wrote them, each rule on its own."""

import pytest

from asyncfeel.plugins import Plugin
from asyncfeel.verify import world
from asyncfeel.verify.findings import Check
from asyncfeel.verify.matrices import stochastic
from asyncfeel.verify.opening import read
from asyncfeel.verify.promises import Promise, promise
from asyncfeel.verify.walk import Walk

from .conftest import make

PAIR = {(0, 0): 0.75, (0, 1): 0.25, (1, 0): 0.25, (1, 1): 0.75}


def walked(folder):
    """What the rows themselves show, as one text."""
    opened = read(folder)
    checks = Walk(opened, opened.scenario, world.read(folder)).checks()
    return "\n".join(str(one) for check in checks for one in check.differences)


def edited(folder, name, row, **changes):
    """Change columns of a row, counted from 1."""
    path = folder / f"{name}.csv"
    lines = path.read_text().splitlines()
    titles, fields = lines[0].split(","), lines[row].split(",")
    for column, value in changes.items():
        fields[titles.index(column)] = str(value)
    lines[row] = ",".join(fields)
    path.write_text("\n".join(lines) + "\n")
    return walked(folder)


def test_rows_of_a_run_keep_every_rule(copied):
    assert walked(copied) == ""


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("iteration", 7),
        ("time_s", 0.0),
        ("time_s", "nan"),
        ("time_s", "inf"),
        ("started_s", 0.00125),
        ("deadline_s", 1e9),
        ("deadline_s", -1.0),
        ("steps_min", 99),
        ("steps_mean", 2.0),
        ("steps_max", 1),
        ("staleness", 9),
    ],
)
def test_a_row_of_iterations_that_breaks_a_rule(column, value, copied):
    assert f"iterations.csv, row 6, {column}" in edited(copied, "iterations", 6, **{column: value})


@pytest.mark.parametrize(
    ("column", "value"), [("iteration", 9), ("time_s", 0.5), ("trigger", 2), ("server", 2), ("staleness", 9)]
)
def test_a_row_of_staleness_that_breaks_a_rule(column, value, copied):
    assert f"staleness.csv, row 7, {column}" in edited(copied, "staleness", 7, **{column: value})


def test_weights_are_those_of_the_matrix_and_sum_to_one(copied):
    assert "staleness.csv, row 7, weight: 0.875" in edited(copied, "staleness", 7, weight=0.875)


def test_a_weight_of_the_matrix_that_nothing_else_has(copied):
    found = edited(copied, "mixing", 2, weight=0.875)
    assert "the weights of iteration 0 sum to" in found
    assert "mixing.csv: iteration 0: the column of target" in found
    assert "where P_k is symmetric" in found


def check(entries, promised, folder):
    found = Check("P_k")
    stochastic(found, 0, entries, promised, world.read(folder))
    return " ".join(one.message for one in found.differences)


def test_each_promise_of_a_matrix_is_told_apart(planned):
    everything = Promise(symmetric=True, non_negative=True, one_hop=True)
    assert check(PAIR, everything, planned) == ""
    assert "sums to" in check(PAIR | {(0, 1): 0.5}, Promise(), planned)
    lopsided = PAIR | {(0, 1): 0.5, (1, 1): 0.5}
    assert check(lopsided, Promise(), planned) == ""
    assert "symmetric" in check(lopsided, Promise(symmetric=True), planned)
    negative = {(0, 0): 1.25, (0, 1): -0.25, (1, 0): -0.25, (1, 1): 1.25}
    assert check(negative, Promise(symmetric=True), planned) == ""
    assert "negative" in check(negative, everything, planned)
    assert check(PAIR, Promise(keeps_shares=True), planned) == ""  # clusters with equal data
    assert "P mtil" in check(lopsided, Promise(keeps_shares=True), planned)


def test_only_neighbours_mix(tmp_path):
    folder = make(tmp_path / "line", train=False, topology="line")
    far = {(0, 0): 0.5, (0, 2): 0.5, (2, 0): 0.5, (2, 2): 0.5}
    assert "no neighbours" in check(far, Promise(one_hop=True), folder)
    assert check(far, Promise(), folder) == ""


def test_what_each_system_promises():
    assert promise(Plugin("async-sd-feel", {"mixing": "paper"}), 1).symmetric
    assert not promise(Plugin("async-sd-feel", {"mixing": "weighted"}), 1).symmetric
    assert promise(Plugin("async-sd-feel", {"mixing": "weighted"}), 1).keeps_shares
    assert not promise(Plugin("async-sd-feel", {"mixing": "paper"}), 3).non_negative
    assert not promise(Plugin("sync-sd-feel", {"mixing": "optimal"}), 3).non_negative
    assert promise(Plugin("sync-sd-feel", {"mixing": "metropolis"}), 3).non_negative
    assert promise(Plugin("mine:own"), 1) == Promise()
