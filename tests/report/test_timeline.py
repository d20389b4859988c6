"""The trace of a run: slices that never overlap, arrows that join slices, files that are kept."""

import itertools
import json
from collections import defaultdict

import pytest
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, run
from asyncfeel.cli import app
from asyncfeel.report import timeline

SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e5}
SYSTEMS = {
    "async-sd-feel": {},
    "sync-sd-feel": {"network.downlink_bps": 1e6},
    "fedasync": {"network.downlink_bps": 1e6},
    "fedavg": {"algorithm.fraction": 0.5},
    "fedbuff": {"algorithm.K": 3},
    "hierfavg": {},
    "mll-sgd": {"algorithm.tau": 2},
    "safa": {"algorithm.tau": 0, "algorithm.fraction": 0.2, "network.downlink_bps": 1e6},
    "ad-psgd": {"algorithm.nodes": "clients"},
    "central": {},
}


def planned(folder, algorithm="async-sd-feel", **more):
    options = SIZES | SYSTEMS.get(algorithm, {}) | more
    return run(
        Scenario.load(algorithm=algorithm, servers=3, clients=7, iterations=12, set=options), folder, train=False
    ).folder


def events(path):
    found = defaultdict(list)
    for event in json.loads(path.read_text())["traceEvents"]:
        found[event["ph"]].append(event)
    return found


def within(event, slices):
    """The slice of the event's track in whose inside it lies."""
    tracks = [one for one in slices if (one["pid"], one["tid"]) == (event["pid"], event["tid"])]
    (found,) = [one for one in tracks if one["ts"] < event["ts"] < one["ts"] + one["dur"]]
    return found


@pytest.mark.parametrize("algorithm", SYSTEMS)
def test_slices_never_overlap_and_arrows_join_slices(tmp_path, algorithm):
    found = events(timeline.write(planned(tmp_path / "run", algorithm)).path)
    tracks = defaultdict(list)
    for one in found["X"]:
        start = round(one["ts"] * 1000)
        tracks[one["pid"], one["tid"]].append((start, start + round(one["dur"] * 1000)))
    for slices in tracks.values():
        slices.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(slices))
    assert len(found["s"]) == len(found["f"])
    assert (len(found["s"]) > 0) == (algorithm != "central")
    for sent, arrived in zip(found["s"], found["f"], strict=True):
        assert sent["id"] == arrived["id"]
        assert sent["ts"] <= arrived["ts"]
        source, target = within(sent, found["X"])["cat"], within(arrived, found["X"])["cat"]
        sides = {"broadcast": ("server", "client"), "upload": ("client", "server"), "exchange": ("server", "server")}
        assert (source, target) == sides[sent["name"]]


def test_only_a_timeline_is_overwritten(tmp_path):
    folder = planned(tmp_path / "run")
    timeline.write(folder)
    timeline.write(folder)
    with pytest.raises(InputError, match="not a timeline"):
        timeline.write(folder, folder / "manifest.json")


def test_the_command_writes_a_span(tmp_path):
    folder = planned(tmp_path / "run")
    done = CliRunner().invoke(app, ["timeline", str(folder), "--from", "0.1s", "--until", "0.2s"])
    assert done.exit_code == 0, done.output
    assert "perfetto" in done.output
    slices = events(folder / "timeline.json")["X"]
    assert all(one["ts"] >= 1e5 - 1 and one["ts"] + one["dur"] <= 2e5 + 1 for one in slices)


def test_a_span_of_nothing_and_a_wrong_folder_are_one_sentence(tmp_path):
    with pytest.raises(InputError, match="later than"):
        timeline.write(tmp_path, None, 2.0, 1.0)
    with pytest.raises(InputError, match="not a run folder"):
        timeline.write(tmp_path)
