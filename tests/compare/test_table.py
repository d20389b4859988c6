"""The numbers of a comparison, from run folders written by hand."""

import csv
import json
import math

import pytest

from asyncfeel import Scenario
from asyncfeel.compare import folder, table
from asyncfeel.compare.outcome import Outcome, of_folder
from asyncfeel.compare.request import Request

SCENARIO = Scenario.load()
TARGETS = (0.5, 0.9)
TRAFFIC = {"uplink_bytes": 100, "exchange_bytes": 50, "downlink_bytes": 25, "cloud_bytes": 0}


def by_hand(path, accuracies, staleness=(1, 2, 3), **facts):
    """A run folder with an evaluation every two seconds."""
    path.mkdir(parents=True)
    header = "iteration,time_s,server,started_s,deadline_s,steps_min,steps_mean,steps_max,staleness\n"
    rows = [f"{k},{k + 1.0},0,0.0,1.0,1,1.0,1,{stale}\n" for k, stale in enumerate(staleness)]
    (path / "iterations.csv").write_text(header + "".join(rows))
    if accuracies:
        rows = [f"{k},{2.0 * k},1.0,1.0,{accuracy}\n" for k, accuracy in enumerate(accuracies)]
        (path / "metrics.csv").write_text("iteration,time_s,train_loss,test_loss,test_accuracy\n" + "".join(rows))
        last = accuracies[-1]
        facts |= {"metrics": {"test_accuracy": last if last == last else None}, "best_accuracy": max(accuracies)}
    usual = {"status": "finished", "iterations": len(staleness), "time_s": 10.0, "steps": 30}
    (path / "manifest.json").write_text(json.dumps(usual | facts))
    return path


def runs(*psis, seeds=(1,)):
    return Request(SCENARIO, {"psi.kind": psis}, seeds).runs


def test_a_run_in_numbers(tmp_path):
    facts = {"traffic": TRAFFIC, "idle_share": 0.25, "digests": {"schedule": "abc"}}
    path = by_hand(tmp_path / "run", [0.1, 0.6, 0.4, 0.5], (0, 4), **facts)
    found = of_folder(runs("hinge")[0], path, TARGETS)
    assert found.status == "finished"
    assert found.schedule == "abc"
    assert found.numbers == {
        "iterations": 2,
        "simulated_s": 10.0,
        "time_to_0.5_s": 2.0,
        "time_to_0.9_s": None,
        "final_accuracy": 0.5,
        "best_accuracy": 0.6,
        **TRAFFIC,
        "staleness_mean": 2.0,
        "staleness_max": 4,
        "idle_share": 0.25,
        "steps": 30,
    }


def test_a_target_that_the_initial_model_reaches_takes_no_time(tmp_path):
    found = of_folder(runs("hinge")[0], by_hand(tmp_path / "run", [0.95, 0.2]), TARGETS)
    assert found.numbers["time_to_0.9_s"] == 0.0


def test_numbers_that_a_run_does_not_have_are_blank(tmp_path):
    path = by_hand(tmp_path / "run", [], (), digests={"schedule": "that of nothing"})
    found = of_folder(runs("hinge")[0], path, TARGETS)
    blank = [name for name, value in found.numbers.items() if value is None]
    assert blank == [name for name in found.numbers if name not in ("iterations", "simulated_s", "steps")]
    assert found.schedule == "", "runs without an iteration are no pair"


def test_a_task_without_classes_reaches_no_target(tmp_path):
    path = by_hand(tmp_path / "run", [math.nan, math.nan])
    found = of_folder(runs("hinge")[0], path, TARGETS)
    assert found.numbers["time_to_0.5_s"] is None
    assert found.numbers["final_accuracy"] is None


@pytest.fixture
def outcomes(tmp_path):
    """Two variants with three seeds; of the second one two seeds failed, and no run reaches 0.9."""
    everything = runs("inverse", "hinge", seeds=(1, 2, 3))
    first, second = everything[::2], everything[1::2]
    curves = {1: [0.1, 0.5, 0.6], 2: [0.1, 0.2, 0.8], 3: [0.1, 0.2, 0.4]}
    found = {}
    for run in first:
        facts = {"traffic": TRAFFIC, "idle_share": run.seed / 10, "digests": {"schedule": f"s{run.seed}"}}
        path = by_hand(tmp_path / run.name, curves[run.seed], (1, run.seed), steps=10 * run.seed, **facts)
        found[run.name] = of_folder(run, path, TARGETS)
    path = by_hand(tmp_path / second[0].name, [0.1, 0.5], (7,), digests={"schedule": "s1"})
    found[second[0].name] = of_folder(second[0], path, TARGETS)
    found[second[1].name] = Outcome(second[1], "failed", "no memory")
    found[second[2].name] = Outcome(second[2], "failed", "no memory")
    return [found[run.name] for run in everything]


def test_means_and_spreads_over_the_seeds(outcomes):
    first, _ = table.of_variants(outcomes, TARGETS)
    assert (first["variant"], first["psi.kind"]) == ("psi=inverse", "inverse")
    assert (first["runs"], first["finished"]) == (3, 3)
    assert first["iterations_mean"] == 2.0
    assert (first["time_to_0.5_s_mean"], first["reached_0.5"]) == (3.0, 2), "seed 3 never reached it"
    assert first["time_to_0.5_s_std"] == pytest.approx(math.sqrt(2))
    assert first["final_accuracy_mean"] == pytest.approx(0.6)
    assert first["final_accuracy_std"] == pytest.approx(0.2)
    assert first["best_accuracy_mean"] == pytest.approx(0.6)
    assert (first["uplink_bytes_mean"], first["cloud_bytes_mean"]) == (100, 0)
    assert first["staleness_mean"] == pytest.approx(1.5)
    assert first["staleness_max"] == 3
    assert first["idle_share_mean"] == pytest.approx(0.2)
    assert first["steps_mean"] == 20
    assert first["message"] == ""


def test_a_target_that_no_seed_reached(outcomes):
    first, _ = table.of_variants(outcomes, TARGETS)
    assert first["time_to_0.9_s_mean"] is first["time_to_0.9_s_std"] is None
    assert first["reached_0.9"] == 0


def test_failed_runs_do_not_enter_the_means(outcomes):
    _, second = table.of_variants(outcomes, TARGETS)
    assert (second["runs"], second["finished"], second["message"]) == (3, 1, "no memory")
    assert second["final_accuracy_mean"] == 0.5
    assert second["final_accuracy_std"] is None, "one run has no spread"
    assert second["uplink_bytes_mean"] is second["idle_share_mean"] is None


def test_runs_of_one_seed_with_one_schedule_are_paired(outcomes):
    assert table.pairs(outcomes) == ["A", "A", "-", "-", "-", "-"]
    assert [row["paired"] for row in table.of_variants(outcomes, TARGETS)] == ["A,-", "A"]


def paired(*schedules, seeds=(1,)):
    """The letters of four variants with these schedules, given seed after seed."""
    everything = runs("inverse", "hinge", "constant", "bound", seeds=seeds)
    return "".join(
        table.pairs([Outcome(run, "finished", schedule=one) for run, one in zip(everything, schedules, strict=True)])
    )


def test_groups_keep_their_letters_from_seed_to_seed():
    assert paired(*"xxyy") == "AABB"
    assert paired(*"xyzw") == "----"
    assert paired(*"xyxy", *"xyxy", seeds=(1, 2)) == "ABABABAB"
    assert paired(*"xxyy", *"ppqr", seeds=(1, 2)) == "AABBAA--"
    assert paired(*"xxyz", *"xyyz", seeds=(1, 2)) == "AA---BB-", "another group has another letter"


def test_the_same_schedule_under_another_seed_is_no_pair():
    assert paired(*"abcd", *"abcd", seeds=(1, 2)) == "--------"


def test_tables_on_disk_leave_blank_what_is_not_known(outcomes, tmp_path):
    folder.write_table(tmp_path / "runs.csv", table.of_runs(outcomes, TARGETS))
    with (tmp_path / "runs.csv").open(newline="") as lines:
        found = list(csv.DictReader(lines))
    assert [row["status"] for row in found] == ["finished", "finished", "finished", "failed", "finished", "failed"]
    assert (found[0]["final_accuracy"], found[0]["time_to_0.9_s"], found[3]["steps"]) == ("0.6", "", "")
    assert (found[0]["schedule"], found[0]["folder"]) == ("s1", "runs/psi=inverse-seed1")
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("asked", "resolved", "same"),
    [
        ({"a": 1}, {"a": 1.0, "b": 2}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": 1}, {}, False),
        ({"a": {"kind": "auto"}}, {"a": {"kind": "cnn"}}, True),
        ({"a": {"kind": "ring"}}, {"a": {"kind": "grid"}}, False),
        ({"bits": "model"}, {"bits": 32.0}, True),
        ({"a": {"b": 1}}, {"a": 1}, False),
    ],
)
def test_a_complete_scenario_agrees_with_what_was_asked_for(asked, resolved, same):
    assert folder.agrees(asked, resolved) is same
