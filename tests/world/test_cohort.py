"""One process for all clients of a broadcast: the very events of one process for each, ties included."""

import asyncio
import math
import random
from functools import partial

import numpy as np
import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.algorithms.ad_psgd import AdPsgd
from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.d_psgd import DPsgd
from asyncfeel.algorithms.fedavg import Fedavg
from asyncfeel.algorithms.fednova import Fednova
from asyncfeel.algorithms.hierfavg import Hierfavg
from asyncfeel.algorithms.mll_sgd import MllSgd
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel
from asyncfeel.streams import stream
from asyncfeel.world import variation
from asyncfeel.world.cohort import latest
from tests.conftest import make_world
from tests.world.one_process_each import plain

SYSTEMS = {
    "async": AsyncSdFeel(),
    "async, together": AsyncSdFeel(simultaneous="together"),
    "async, fixed": AsyncSdFeel(deadline="fixed", deadline_s=8.0),
    "sync": SyncSdFeel(tau2=2),
    "hierarchical": Hierfavg(kappa2=3),
    "slots": MllSgd(tau=3),
    "gossip in step": DPsgd(),
    "gossip of clients": DPsgd(nodes="clients"),
    "gossip of pairs": AdPsgd(),
    "gossip of pairs of clients": AdPsgd(nodes="clients"),
    "one server": Fedavg(fraction=0.6),
    "one server, deadline": Fednova(),
}
# Powers of two make ties of whole clusters, thirds make sums that are nearly ties.
SPEEDS = st.sampled_from([0.5, 1.0, 1.0, 1.0, 2.0, 4.0, 1 / 3, 3.0])
FACTORS = {
    "none": variation.none(),
    "jitter": variation.jitter(partial(stream, 7, "test"), period_s=1.5),
    "daily": variation.daily(partial(stream, 7, "test"), period_s=20.0),
    "halves": lambda client, start_s: 0.5 if (client + int(start_s)) % 2 else 1.0,
}


@st.composite
def worlds(draw):
    servers = draw(st.integers(1, 4))
    more = draw(st.lists(st.integers(0, servers - 1), max_size=8))
    clients = [(server, draw(st.integers(1, 4)), draw(SPEEDS)) for server in [*range(servers), *more]]
    return {
        "links": [(server, server + 1) for server in range(servers - 1)],
        "clients": clients,
        "local_steps": draw(st.integers(1, 3)),
        "drift": FACTORS[draw(st.sampled_from(sorted(FACTORS)))],
        "fading": FACTORS[draw(st.sampled_from(sorted(FACTORS)))],
        "uplink_bps": draw(st.sampled_from([1.0, 2.0, 3.0, math.inf])),
        "exchange_bps": draw(st.sampled_from([1.0, 2.0, 8.0])),
        "downlink_bps": draw(st.sampled_from([None, 1.0, 4.0])),
    }


def trained(algorithm, given, each):
    """The world after 25 iterations, and every event that it has dealt with."""
    made = make_world(
        train=lambda job: job.model * 0.5 + job.steps * (job.client + 1),
        iterations=25,
        layout=getattr(algorithm, "layout", None),
        **given,
    )
    if each:
        plain(made.federation)
    return made.run(algorithm, until=300.0)


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=60)
@given(given=worlds())
def test_the_schedule_and_the_models_are_those_of_one_process_for_each_client(system, given):
    one, each = (trained(SYSTEMS[system], given, each) for each in (False, True))
    assert one.diary.completions == each.diary.completions
    assert one.diary.after == each.diary.after
    assert one.executor.jobs == each.executor.jobs
    assert one.executor.starts == each.executor.starts


PHASES = [(1.0, 2.0), (2.0, 1.0), (2.5, 0.5), (1.0, 1.0), (1.0, 0.5), (2.0, 2.0)]
"""Seconds of computation and of upload: half of the clients arrive after 3, though they began to upload one by one."""


@pytest.mark.parametrize("system", ["hierarchical", "gossip of pairs", "sync", "async, together"])
@settings(max_examples=100)
@given(st.lists(st.lists(st.sampled_from(PHASES), min_size=1, max_size=3), min_size=2, max_size=4))
def test_clusters_whose_last_uploads_arrive_at_one_instant_go_on_in_the_same_order(system, clusters):
    phases = [phase for cluster in clusters for phase in cluster]
    owners = [server for server, cluster in enumerate(clusters) for _ in cluster]
    given = {
        "links": [(server, server + 1) for server in range(len(clusters) - 1)],
        "clients": [(server, 1, 1 / compute_s) for server, (compute_s, _) in zip(owners, phases, strict=True)],
        "fading": lambda client, start_s: 1 / phases[client][1],
        "uplink_bps": 1.0,
        "exchange_bps": 1.0,
    }
    one, each = (trained(SYSTEMS[system], given, each) for each in (False, True))
    assert one.diary.completions == each.diary.completions
    assert one.diary.after == each.diary.after


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5]), st.sampled_from([0.0, 0.1, 0.5, 1.0])),
        min_size=1,
        max_size=8,
    )
)
def test_the_latest_is_the_one_whose_process_ends_last(phases):
    clock, order = simpy.Environment(initial_time=0.3), []

    def live(place, compute_s, upload_s):
        yield clock.timeout(compute_s)
        yield clock.timeout(upload_s)
        order.append(place)

    for place, (compute_s, upload_s) in enumerate(phases):
        clock.process(live(place, compute_s, upload_s))
    clock.run()
    compute, upload = (np.array(column) for column in zip(*phases, strict=True))
    done = 0.3 + compute
    assert latest(done, done + upload) == order[-1]


def test_a_broadcast_costs_the_same_few_events_whatever_its_clients(world):
    def events(clients):
        made = world([], [(0, 1, 1.0)] * clients, iterations=3)
        AsyncSdFeel().start(made.federation)
        count = iter(range(10**6))
        asyncio.run(made.federation.clock.advance(math.inf, lambda: next(count)))
        return next(count)

    assert events(1) == events(1000)


def test_clients_are_no_objects_until_they_go_at_their_own_pace(world):
    made = world([], [(0, 1, 1.0)] * 10, iterations=3).run(AsyncSdFeel())
    assert "clients" not in vars(made.federation.servers[0])
    assert [client.number for client in made.federation.servers[0].clients] == list(range(10))
    assert {client.jobs for client in made.federation.servers[0].clients} == {3}


def test_nothing_can_be_collected_before_a_broadcast(world):
    (server,) = world([], [(0, 1, 1.0)]).federation.servers
    with pytest.raises(RuntimeError, match="server 0 has not broadcast"):
        next(server.collect())


def test_busy_seconds_and_bytes_under_way_are_those_of_one_process_for_each_client(world):
    """The reference counts client by client what has come to an end, as a stopwatch would."""
    rng = random.Random(1)
    clients = [(rng.randrange(3), 1, rng.choice([0.5, 1.0, 1.3, 2.0])) for _ in range(20)] + [
        (d, 1, 1.0) for d in range(3)
    ]
    for until in (0.3, 1.0, 2.05, 3.7, 5.0):
        made = world([(0, 1), (1, 2)], clients, local_steps=2, downlink_bps=5.0, model_bits=8.0, uplink_bps=16.0)
        made.run(SyncSdFeel(), until)
        busy, down, up = 0.0, 0, 0
        round_s = 1.6 + 2 / 0.5 + 0.5 + 0.8
        for start in np.arange(0.0, until, round_s):
            for _, _, flops in clients:
                phases = [(start, 1.6), (start + 1.6, 2 / flops), (start + 1.6 + 2 / flops, 0.5)]
                busy += sum(min(max(until - begin, 0.0), length) for begin, length in phases)
                down += until >= start + 1.6
                up += until >= start + 1.6 + 2 / flops + 0.5
        assert made.federation.traffic.total_bytes(until)["downlink_bytes"] == down
        assert made.federation.traffic.total_bytes(until)["uplink_bytes"] == up
        assert made.federation.traffic.idle_share(len(clients), until) == pytest.approx(
            1 - busy / (len(clients) * until), abs=1e-12
        )
