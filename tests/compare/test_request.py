"""A request as a value: its scenarios, and its file."""

import tomllib

import pytest

from asyncfeel import InputError, Scenario
from asyncfeel.compare import request as requests
from asyncfeel.compare.request import Request

BASE = Scenario.load("paper-small")


def test_every_variant_with_one_seed_before_the_next_seed():
    found = Request(BASE, {"psi.kind": ("inverse", "hinge")}, (3, 4)).runs
    assert [run.name for run in found] == [f"psi={psi}-seed{seed}" for seed in (3, 4) for psi in ("inverse", "hinge")]
    assert [(run.scenario.psi.kind, run.scenario.seed) for run in found[:2]] == [("inverse", 3), ("hinge", 3)]


def test_what_is_set_holds_for_all_and_options_go_with_the_kind():
    request = Request(BASE, {"psi.kind": ("hinge", "polynomial")}, given={"psi.a": 2.0, "federation.clients": 12})
    assert [dict(run.scenario.psi.options) for run in request.runs] == [{"a": 2.0}] * 2
    assert {run.scenario.federation.clients for run in request.runs} == {12}


def test_nothing_varied_is_one_variant_called_by_its_algorithm():
    (run,) = Request(BASE, {}, (5,), given={"algorithm.kind": "sync-sd-feel"}).runs
    assert run.name == "sync-sd-feel-seed5"


AXES = {
    "algorithm.kind": ("async-sd-feel", "sync-sd-feel"),
    "psi.kind": ("inverse", {"kind": "hinge", "b": 2}),
    "training.momentum": (0, 0.5),
    "training.augment": (True, False),
    "data_dir": ('quo"te', "back\\slash", "größe\n"),
}


def test_the_file_gives_the_request_back(tmp_path):
    request = Request(BASE, AXES, (1, 9), (0.5, 0.9), {"stop.until_s": "2h", "psi": "inverse"})
    (tmp_path / "comparison.toml").write_text(requests.write(request), encoding="utf-8")
    found = requests.read(tmp_path)
    assert found.runs == request.runs
    assert list(found.targets) == [0.5, 0.9]
    assert found.differences(request) == []


def test_the_file_is_plain_toml():
    table = tomllib.loads(requests.write(Request(BASE, AXES, (1,), (0.9,))))
    assert table["vary"]["psi.kind"] == ["inverse", {"kind": "hinge", "b": 2}]
    assert table["scenario"]["network.uplink_bps"] == 5e6


@pytest.mark.parametrize("content", ["", "seeds = 3", "not toml", "seeds = [1]\ntargets = []\n[vary]\n[set]\n"])
def test_a_broken_file_is_one_message(content, tmp_path):
    (tmp_path / "comparison.toml").write_text(content)
    with pytest.raises(InputError, match="is not that of a comparison"):
        requests.read(tmp_path)


def test_differences_are_named():
    axes = {"psi.kind": ("inverse", "hinge")}
    request = Request(BASE, axes, (1, 2))
    assert request.differences(Request(BASE, axes, [1, 2], (0.5,))) == []
    assert request.differences(Request(BASE, axes, (1, 3))) == ["the seeds"]
    assert request.differences(Request(BASE, {"psi.kind": ("inverse",)}, (1, 2))) == ["the variants"]
    assert request.differences(Request(BASE.replace(clients=6), axes, (1, 2))) == ["the scenario"]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"algorithm.kind": ("async-sd-feel", "nope")}, "variant 'nope': algorithm 'nope' is unknown"),
        ({"psi.kind": ("inverse", "nope")}, "variant 'psi=nope': psi 'nope' is unknown"),
        ({"psi.kinds": ("inverse", "hinge")}, "has no option 'kinds'"),
        ({"nope.kind": ("a", "b")}, "key 'nope' is unknown"),
        ({"federation.clients": (6, "six")}, "variant 'clients=six': federation.clients must be"),
        ({"federation.clients": (6, 0)}, "variant 'clients=0': federation.clients must be at least 1"),
        ({"topology.kind": ("ring", "nope.json")}, "nope.json"),
        ({"federation.clients": tuple(range(1, 10_002))}, "10,001 runs"),
    ],
)
def test_what_is_wrong_is_seen_before_anything_runs(axes, message):
    with pytest.raises(InputError) as caught:
        Request(BASE, axes).check()
    assert message in str(caught.value)
