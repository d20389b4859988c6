"""The replay of a run: a world worked out by hand, the run's own idle share, and what is refused."""

import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel import InputError, Scenario, run
from asyncfeel.replay import Flow, Phase, replay

SIZES = {"work.flops_per_step": 1e7, "network.model_bits": 1e5}
SYSTEMS = ["async-sd-feel", "sync-sd-feel", "fedasync", "fedavg", "hierfavg", "mll-sgd", "safa", "fedbuff"]


def planned(folder, algorithm="async-sd-feel", more=None, **flags):
    limits = {"servers": 3, "clients": 7, "until": 0.5} | flags
    return run(Scenario.load(algorithm=algorithm, set=SIZES | (more or {}), **limits), folder, train=False)


@pytest.mark.parametrize("algorithm", SYSTEMS)
def test_busy_seconds_agree_with_the_idle_share(tmp_path, algorithm):
    result = planned(tmp_path / "run", algorithm, {"network.downlink_bps": 1e7})
    found = replay(result.folder)
    assert found.end_s == 0.5
    busy_s = sum(one.end_s - one.start_s for one in found.phases if one.who == "client")
    assert 1 - busy_s / (7 * 0.5) == pytest.approx(result.summary["idle_share"], abs=1e-9)


@settings(max_examples=10)
@given(st.sampled_from(SYSTEMS), st.integers(1, 4), st.integers(4, 9), st.integers(1, 50), st.booleans())
def test_no_client_does_two_things_at_once(algorithm, servers, clients, seed, downlink):
    more = {"network.downlink_bps": 1e7} if downlink else {}
    with tempfile.TemporaryDirectory() as folder:
        result = planned(folder, algorithm, more, servers=servers, clients=clients, seed=seed, until=0.2)
        found = replay(result.folder)
    last = {}
    for one in found.phases:
        assert last.get((one.who, one.number), 0.0) <= one.start_s < one.end_s <= found.end_s
        last[one.who, one.number] = one.end_s
    assert all(one.sent_s <= one.arrived_s <= found.end_s for one in found.flows)


def test_two_servers_as_worked_out_by_hand(tmp_path):
    """A step takes 1 s, an upload 2 s, an exchange 1 s: iterations of 4 s, alike for both."""
    numbers = {
        "work.flops_per_step": 1e6,
        "network.model_bits": 2e6,
        "network.uplink_bps": 1e6,
        "network.exchange_bps": 2e6,
        "speeds.mean_flops": 1e6,
        "training.local_steps": 1,
    }
    result = planned(tmp_path / "run", more=numbers, heterogeneity=1, topology="line", servers=2, clients=2, until=4.0)
    found = replay(result.folder)
    assert [one for one in found.phases if one.who == "client" and one.number == 1] == [
        Phase("client", 1, "compute", 0.0, 1.0),
        Phase("client", 1, "upload", 1.0, 3.0),
    ]
    assert [one for one in found.phases if one.who == "server" and one.number == 0] == [
        Phase("server", 0, "wait", 0.0, 3.0),
        Phase("server", 0, "exchange", 3.0, 4.0),
    ]
    home = found.homes[1]
    assert Flow(("server", home), ("client", 1), 0.0, 0.0, "broadcast") in found.flows
    assert Flow(("client", 1), ("server", home), 1.0, 3.0, "upload") in found.flows
    assert Flow(("server", 0), ("server", 1), 3.0, 4.0, "exchange") in found.flows


@pytest.mark.parametrize("column", [1, 2, 3])
def test_a_changed_row_is_named(tmp_path, column):
    folder = planned(tmp_path / "run").folder
    path = folder / "iterations.csv"
    lines = path.read_text().splitlines()
    cells = lines[3].split(",")
    cells[column] = str(float(cells[column]) + 1e-9) if column != 2 else str((int(cells[2]) + 1) % 3)
    path.write_text("\n".join([*lines[:3], ",".join(cells), *lines[4:]]) + "\n")
    with pytest.raises(InputError, match="row 3"):
        replay(folder)


def test_a_killed_run_is_replayed_to_its_last_complete_row(tmp_path):
    folder = planned(tmp_path / "run").folder
    manifest, path = folder / "manifest.json", folder / "iterations.csv"
    manifest.write_text(manifest.read_text().replace('"finished"', '"interrupted"'))
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[:5]) + "\n" + lines[5][:4])
    assert replay(folder).end_s == float(lines[4].split(",")[1])


def test_learned_deadlines_cannot_be_replayed(tmp_path):
    folder = planned(tmp_path / "run").folder
    config = folder / "config.toml"
    config.write_text(config.read_text().replace('"min-steps"', '"adaptive"'))
    with pytest.raises(InputError, match="without training"):
        replay(folder)
