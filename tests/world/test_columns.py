"""Columns of durations have the very bits of the plain functions; so has everything that is kept as a column."""

import math
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.errors import InputError
from asyncfeel.streams import stream
from asyncfeel.theory import aggregation, latency, synchronous
from asyncfeel.world import variation
from asyncfeel.world.network import Network
from asyncfeel.world.records import Trigger
from asyncfeel.world.stopping import Patience
from asyncfeel.world.topology import Topology

POSITIVE = st.floats(1e-6, 1e12)
SPEEDS = st.lists(POSITIVE, min_size=1, max_size=30)
SECONDS = st.floats(0, 1e6)


@given(SPEEDS, POSITIVE, st.floats(1e-3, 1e6))
def test_steps_and_seconds_element_by_element(flops, work, deadline_s):
    work = max(work, deadline_s * max(flops) / 1e15)
    column = np.array(flops)
    steps = [latency.steps_within(deadline_s, work, one) for one in flops]
    assert latency.steps_each_within(deadline_s, work, column).tolist() == steps
    needed = [latency.compute_s(count, work, one) for count, one in zip(steps, flops, strict=True)]
    assert latency.compute_each_s(np.array(steps), work, column).tolist() == needed
    assert latency.transfer_each_s(work, column).tolist() == [latency.transfer_s(work, one) for one in flops]


@given(st.integers(1, 2000), st.integers(1, 50))
def test_a11_the_guarded_floor_counts_whole_steps_in_both_forms(steps, tenths):
    flops, work = tenths / 10, 0.1
    deadline_s = latency.compute_s(steps, work, flops)
    found = latency.steps_each_within(deadline_s, work, np.array([flops]))
    assert found.tolist() == [latency.steps_within(deadline_s, work, flops)] == [steps]


def test_steps_that_nobody_can_count_are_refused():
    with pytest.raises(InputError, match=r"a deadline of 1e\+20 s is too long"):
        latency.steps_each_within(1e20, 1.0, np.array([1.0, 2.0]))


@pytest.mark.parametrize("drift", ["none", "jitter", "daily"])
@pytest.mark.parametrize("fading", ["none", "jitter", "daily"])
@given(speeds=SPEEDS, start_s=SECONDS, deadline_s=st.floats(1e-3, 1e6))
def test_a_network_gives_the_same_numbers_in_both_forms(drift, fading, speeds, start_s, deadline_s):
    flops = np.array(speeds)
    work = max(1.0, deadline_s * max(speeds) / 1e12)
    network = Network(Topology(nx.path_graph(2)), flops, work, 3e5, 7e6, 1e6, 2e6, None, factor(drift), factor(fading))
    clients = np.arange(len(flops))[::-1].copy()
    numbers = clients.tolist()
    steps = network.steps_each_within(clients, deadline_s, start_s)
    assert steps.tolist() == [network.steps_within(client, deadline_s, start_s) for client in numbers]
    needed = [network.compute_s(client, tau, start_s) for client, tau in zip(numbers, steps.tolist(), strict=True)]
    assert network.compute_each_s(clients, steps, start_s).tolist() == needed
    starts = start_s + network.compute_each_s(clients, steps, start_s)
    uploads = [network.uplink_s(client, begun_s) for client, begun_s in zip(numbers, starts.tolist(), strict=True)]
    assert network.uplink_each_s(clients, starts).tolist() == uploads
    slowest = max(network.downlink_s(c, 0.0) + deadline_s + network.uplink_s(c, 0.0) for c in numbers)
    assert network.iteration_s(0, clients, deadline_s) == slowest + network.exchange_s(0, 0.0)


def factor(kind):
    return variation.none() if kind == "none" else getattr(variation, kind)(partial(stream, 3, kind), period_s=100.0)


def test_speeds_that_do_not_change_are_not_changed(world):
    network = world([], [(0, 1, 2.0), (0, 1, 3.0)], drift=lambda client, start_s: 2.0).federation.network
    assert network.speed_each(np.array([1, 0]), 0.0).tolist() == [6.0, 4.0]
    assert network.flops.tolist() == [2.0, 3.0]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=50))
def test_a_record_tells_plain_numbers_whatever_the_steps_are_kept_in(steps):
    as_list, as_column = Trigger(0, 0.0, 1.0, steps), Trigger(0, 0.0, 1.0, np.array(steps))
    assert as_list == as_column
    assert repr(as_column.spread) == repr((min(steps), sum(steps) / len(steps), max(steps))) == repr(as_list.spread)
    assert repr(as_column.total_steps) == repr(sum(steps))
    assert as_column != Trigger(0, 0.0, 1.0, np.array([*steps, 1]))
    assert as_column != Trigger(1, 0.0, 1.0, np.array(steps))
    assert as_column != steps


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), max_size=60), st.integers(1, 3))
def test_a18_patience_is_exhausted_when_the_least_patient_client_is(losses, patience):
    watch, best, idle = Patience(range(3), patience, 0.5), [math.inf] * 3, [0] * 3
    for client, loss in losses:
        watch.observe(client, float(loss))
        idle[client] = 0 if loss < best[client] - 0.5 else idle[client] + 1
        best[client] = min(best[client], loss) if not idle[client] else best[client]
        assert watch.exhausted == (min(idle) >= patience)


@given(st.integers(2, 9), st.integers(0, 999))
def test_the_contraction_is_the_zeta_of_the_matrix(servers, seed):
    rng = np.random.default_rng(seed)
    links = sorted({(int(rng.integers(0, d)), d) for d in range(1, servers)} | {(0, servers - 1)})
    shares = (weights := rng.uniform(0.2, 1.0, servers)) / weights.sum()
    zeta = synchronous.zeta(synchronous.optimal(links, shares.tolist()))
    assert synchronous.contraction(links, shares.tolist()) == pytest.approx(zeta, abs=1e-9)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=9))
def test_plain_averaging_has_the_factors_of_equal_steps(samples):
    shares = aggregation.data_shares(samples, [])
    assert shares == aggregation.coefficients(samples, [7] * len(samples))
