"""Speeds (A15), assignment, variation over time, durations and patience (A18)."""

import math
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.errors import InputError
from asyncfeel.plugins import Plugin
from asyncfeel.streams import stream
from asyncfeel.world import speeds, variation
from asyncfeel.world.network import Network
from asyncfeel.world.profiles import Profiles, assign
from asyncfeel.world.stopping import Patience
from asyncfeel.world.topology import Topology


@given(
    st.integers(2, 200), st.floats(1, 100), st.integers(0, 99), st.sampled_from([speeds.uniform, speeds.log_uniform])
)
def test_a15_the_gap_is_exactly_h_and_the_ends_have_the_mean_in_their_middle(clients, gap, seed, kind):
    flops = kind(clients, stream(seed, "speeds"), heterogeneity=gap, mean_flops=1e9)
    assert flops.max() / flops.min() == pytest.approx(gap, rel=1e-15)
    assert (flops.max() + flops.min()) / 2 == pytest.approx(1e9)
    assert flops.min() == 2e9 / (1 + gap)


def test_a15_the_other_clients_are_kept_as_drawn():
    drawn = stream(3, "speeds").uniform(2e9 / 11, 10 * (2e9 / 11), 30)
    flops = speeds.uniform(30, stream(3, "speeds"), heterogeneity=10.0)
    changed = np.flatnonzero(flops != drawn)
    assert set(changed) == {drawn.argmin(), drawn.argmax()}


def test_equal_speeds_are_exactly_equal():
    assert set(speeds.uniform(10, stream(1, "speeds"), heterogeneity=1.0).tolist()) == {1e9}


def test_other_distributions_have_the_stated_mean():
    rng = stream(5, "speeds")
    assert speeds.two_point(1000, rng, heterogeneity=4.0, slow_share=0.25).mean() == pytest.approx(1e9)
    assert speeds.log_normal(200_000, rng, sigma=0.5).mean() == pytest.approx(1e9, rel=0.01)
    assert speeds.exponential(200_000, rng, least=1e-9).mean() == pytest.approx(1e9, rel=0.01)
    assert speeds.exponential(1000, rng, least=0.2).min() >= 2e8


@given(st.integers(1, 12), st.integers(0, 60), st.sampled_from(["random", "sorted"]))
def test_cluster_sizes_differ_by_at_most_one(servers, more, rule):
    clients = servers + more
    server = assign(rule, np.arange(clients, dtype=float), servers, Plugin("uniform"), stream(1, "assignment"))
    sizes = np.bincount(server, minlength=servers)
    assert sizes.sum() == clients
    assert sizes.max() - sizes.min() <= 1


def test_sorted_clusters_are_sorted_by_speed():
    flops = np.array([5.0, 1.0, 4.0, 2.0, 3.0, 6.0])
    assert assign("sorted", flops, 3, Plugin("uniform"), stream(1, "x")).tolist() == [2, 0, 1, 0, 1, 2]


def test_fewer_clients_than_servers_is_refused():
    with pytest.raises(InputError, match="3 clients cannot serve 6 servers"):
        assign("random", np.ones(3), 6, Plugin("uniform"), stream(1, "x"))


def test_clusters_and_shares():
    profiles = Profiles(np.array([1, 0, 1, 2]), np.array([10, 20, 30, 40]), np.ones(4))
    assert [cluster.tolist() for cluster in profiles.clusters] == [[1], [0, 2], [3]]
    assert profiles.shares == [0.2, 0.4, 0.4]


def test_durations_follow_links_rates_and_start_times():
    graph = nx.path_graph(3)
    graph.edges[0, 1]["rate_bps"] = 50.0
    network = Network(
        Topology(graph),
        np.array([2.0, 4.0]),
        flops_per_step=8.0,
        model_bits=100.0,
        uplink_bps=10.0,
        exchange_bps=20.0,
        drift=lambda client, start_s: 2.0 if start_s >= 5 else 1.0,
        fading=lambda client, start_s: 0.5 if client == 1 else 1.0,
    )
    assert [network.exchange_s(server, 0.0) for server in range(3)] == [2.0, 5.0, 5.0]
    assert [network.compute_s(1, 3, start) for start in (0.0, 5.0)] == [6.0, 3.0]
    assert [network.steps_within(0, 12.0, start) for start in (0.0, 5.0)] == [3, 6]
    assert [network.uplink_s(client, 0.0) for client in (0, 1)] == [10.0, 20.0]
    assert network.downlink_s(0, 0.0) == 0.0


@pytest.mark.parametrize("kind", [variation.jitter, variation.daily])
def test_variation_depends_on_client_and_time_alone(kind):
    factor = kind(partial(stream, 7, "drift"), period_s=10.0)
    forwards = [factor(client, time) for client in (0, 1) for time in (0.0, 3.0, 12.0, 95.0)]
    backwards = [factor(client, time) for client in (1, 0) for time in (95.0, 12.0, 3.0, 0.0)]
    assert forwards == backwards[::-1]
    assert all(value > 0 for value in forwards)
    assert len(set(forwards)) > 4


def test_jitter_has_mean_one_and_holds_for_a_period():
    factor = variation.jitter(partial(stream, 7, "drift"), sigma=0.5, period_s=10.0)
    assert factor(0, 20.0) == factor(0, 29.9)
    assert np.mean([factor(client, 0.0) for client in range(4000)]) == pytest.approx(1, abs=0.03)


def test_daily_is_a_sine_around_one():
    factor = variation.daily(partial(stream, 7, "drift"), depth=0.5, period_s=100.0)
    values = [factor(3, float(time)) for time in range(100)]
    assert np.mean(values) == pytest.approx(1)
    assert max(values) == pytest.approx(1.5, abs=1e-2)
    assert factor(3, 10.0) == pytest.approx(factor(3, 110.0))


def test_a18_patience_waits_for_every_client():
    patience = Patience(clients=[0, 1], patience=2, tolerance=0.1)
    for loss in (1.0, 0.95, 0.95):
        patience.observe(0, loss)
    assert not patience.exhausted
    patience.observe(1, 3.0)
    patience.observe(1, 2.95)
    assert not patience.exhausted
    patience.observe(1, 2.91)
    assert patience.exhausted
    patience.observe(0, 0.5)
    assert not patience.exhausted


def test_a18_slow_improvement_within_the_tolerance_does_not_reset_the_best():
    patience = Patience(clients=[0], patience=3, tolerance=0.1)
    for loss in (1.0, 0.95, 0.92, 0.91):
        patience.observe(0, loss)
    assert patience.exhausted
    assert math.isfinite(patience.tolerance)
