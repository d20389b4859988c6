"""Tiny worlds in which things go wrong: every time, weight and model worked out by hand."""

import asyncio
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.algorithms.ad_psgd import AdPsgd
from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.d_psgd import DPsgd
from asyncfeel.algorithms.fedasync import Fedasync
from asyncfeel.algorithms.fedavg import Fedavg
from asyncfeel.algorithms.fedbuff import Fedbuff
from asyncfeel.algorithms.fednova import Fednova
from asyncfeel.algorithms.fedsa import Fedsa
from asyncfeel.algorithms.hierfavg import Hierfavg
from asyncfeel.algorithms.mll_sgd import MllSgd
from asyncfeel.algorithms.safa import Safa
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel
from asyncfeel.errors import Stalled
from asyncfeel.streams import key, uniforms
from asyncfeel.theory.mixing import into
from asyncfeel.world import availability
from asyncfeel.world.hazards import Hazards
from asyncfeel.world.presence import ALWAYS, Alternating, Intervals, Opposite
from tests.conftest import make_world
from tests.world.test_fates import Told

PAIR = [(0, 1)]
CLIENTS = [(0, 10, 1.0), (0, 30, 2.0), (1, 20, 1.0), (1, 20, 1.0)]
"""Two clusters of two: in 1 s they take 1 and 2 steps, and 1 step each; then 0.1 s to upload and 0.1 s to exchange."""


def intervals(count, *rows):
    """Those of `count` that have a row (who, from_s, until_s) are there then, the others always."""
    whole = [(who, 0.0, 1e9) for who in range(count) if who not in {row[0] for row in rows}]
    who, from_s, until_s = (np.array(column) for column in zip(*sorted([*rows, *whole]), strict=True))
    return Intervals(count, who, from_s, until_s, None)


def down(count, *rows):
    who, from_s, until_s = (np.array(column) for column in zip(*sorted(rows), strict=True))
    return Opposite(Intervals(count, who, from_s, until_s, None))


def lived(algorithm, hazards, until=1.25, clients=CLIENTS, links=PAIR, **settings):
    """The world at that second, with what was noted in it as (kind, number, time, lost)."""
    notes = []
    made = make_world(
        links,
        clients,
        settings.pop("train", lambda job: job.model + 100.0**job.client),
        layout=getattr(algorithm, "layout", None),
        hazards=hazards,
        budget_s=until,
        **settings,
    )
    made.federation.tell_of_faults(
        lambda k, found: notes.extend((r[1], r[3], r[0], r[7]) for r in sorted(x for one in found for x in one.rows(k)))
    )
    made.run(algorithm, until)
    return made, [(kind, number, round(time_s, 9), round(lost_s, 9)) for kind, number, time_s, lost_s in notes]


def first(made, server=0):
    """The first completion of a server, with its time and its steps."""
    for completion in made.diary.completions:
        for trigger in completion.triggers:
            if trigger.server == server:
                return completion, round(completion.time_s, 9), list(trigger.steps)
    raise AssertionError(f"server {server} completed nothing")


def test_clients_that_are_away_are_left_out_and_the_rest_weighs_one():
    made, notes = lived(AsyncSdFeel(), Told(availability=intervals(4, (0, 5.0, 9.0))))
    _, time_s, steps = first(made)
    assert (time_s, steps) == (1.2, [2])
    # yhat = 0 + 1 * 100 (client 1 alone), mixed by halves with the neighbour's 0: both have delta 0.
    assert made.diary.after[0] == pytest.approx([50.0, 50.0])
    assert notes[0] == ("away", 0, 0.0, 0.0)
    assert [job.client for job in made.executor.jobs][:3] == [1, 2, 3]


def test_a_client_that_crashes_is_left_out_and_its_job_is_not_computed():
    made, notes = lived(AsyncSdFeel(), Told(crashes={(1, 0): 0.5}))
    _, time_s, steps = first(made)
    assert (time_s, steps) == (1.2, [1])
    assert made.diary.after[0] == pytest.approx([0.5, 0.5])
    assert notes == [("crash", 1, 0.5, 0.5)]
    assert (1, 0) not in {(job.client, job.number) for job in made.executor.jobs}


def test_the_job_after_a_crash_has_a_number_of_its_own():
    made, _ = lived(AsyncSdFeel(), Told(crashes={(1, 0): 0.5}), until=2.45)
    assert [job.number for job in made.executor.jobs if job.client == 1] == [1, 2]


def test_a_repeated_upload_takes_its_time_again():
    made, notes = lived(AsyncSdFeel(), Told(failures={(1, 0): 2}), until=1.45)
    _, time_s, steps = first(made)
    assert (time_s, steps) == (1.4, [1, 2])
    assert notes == [("upload-failed", 1, 1.1, 0.1), ("upload-failed", 1, 1.2, 0.1)]
    assert made.federation.traffic.total_bytes(1.4)["uplink_bytes"] == pytest.approx((4 + 2) / 8)


def test_an_upload_that_never_comes_is_left_out():
    made, notes = lived(AsyncSdFeel(), Told(failures={(1, 0): 9}, upload_attempts=2), until=1.45)
    _, time_s, steps = first(made)
    assert (time_s, steps) == (1.3, [1])
    assert ("upload-lost", 1, 1.2, 1.2) in notes


def test_a_client_that_leaves_in_its_job_is_left_out():
    made, notes = lived(AsyncSdFeel(), Told(availability=intervals(4, (1, 0.0, 0.75))))
    assert first(made)[1:] == (1.2, [1])
    assert notes[0] == ("left", 1, 0.75, 0.75)


def test_a_cluster_with_nobody_waits_for_its_deadline_and_for_somebody():
    away = intervals(4, (0, 3.0, 9.0), (1, 4.0, 9.0))
    made, notes = lived(AsyncSdFeel(), Told(availability=away), until=4.25)
    completion, time_s, steps = first(made)
    assert (time_s, steps, completion.triggers[0].started_s) == (4.2, [1], 3.0)
    assert notes[:3] == [("away", 0, 0.0, 0.0), ("away", 1, 0.0, 0.0), ("skipped", 0, 3.0, 3.0)]
    # Server 1 goes on: it completes at 1.2, 2.4 and 3.6, and mixes with server 0, which is up.
    assert [t.server for c in made.diary.completions for t in c.triggers] == [1, 1, 1, 0]
    assert completion.staleness == [3, 0]


def test_a_cluster_whose_clients_all_crash_begins_anew_at_once():
    made, notes = lived(AsyncSdFeel(), Told(crashes={(0, 0): 0.25, (1, 0): 0.5}), until=1.75)
    completion, time_s, steps = first(made)
    assert (time_s, steps, completion.triggers[0].started_s) == (1.7, [1, 2], 0.5)
    assert ("skipped", 0, 0.5, 0.5) in notes


def test_a_server_that_is_down_waits_and_is_left_out_by_its_neighbours():
    made, notes = lived(AsyncSdFeel(), Told(servers=down(2, (1, 1.15, 2.0))), until=2.05)
    assert first(made)[0].mixing == {0: {0: 1.0}}
    completion, time_s, _ = first(made, 1)
    assert time_s == 2.0  # its exchange was over at 1.2, when it was down
    # Server 0 has broadcast since, so its delta is 0 and that of server 1 is 1: psi gives 1/2 and 1/4.
    assert completion.staleness == [0, 1]
    assert completion.mixing[1] == pytest.approx({0: 2 / 3, 1: 1 / 3})
    assert sorted(notes) == [("left-out", 1, 1.2, 0.0), ("server-down", 1, 1.2, 0.8)]


def test_a_server_that_is_down_starts_no_iteration():
    made, notes = lived(AsyncSdFeel(), Told(servers=down(2, (0, 0.0, 0.7))), until=2.0)
    assert first(made)[0].triggers[0].started_s == 0.7
    assert notes[0] == ("server-down", 0, 0.0, 0.7)


def test_a_link_that_is_down_carries_nothing_and_takes_no_time():
    made, notes = lived(AsyncSdFeel(), Told(links=down(1, (0, 0.0, 1.5))))
    completion, time_s, _ = first(made)
    assert time_s == 1.1
    assert completion.mixing == {0: {0: 1.0}}
    assert notes == [("link-down", 0, 1.1, 0.0), ("link-down", 0, 1.1, 0.0)]
    assert made.federation.traffic.total_bytes(1.2)["exchange_bytes"] == 0


def test_completions_together_mix_over_the_links_that_are_up():
    hazards = Told(links=down(2, (1, 0.0, 9.0)))
    alike = [(0, 10, 1.0), (1, 10, 1.0), (2, 10, 1.0)]
    made, _ = lived(AsyncSdFeel(simultaneous="together"), hazards, clients=alike, links=[(0, 1), (1, 2)])
    together = next(c for c in made.diary.completions if len(c.triggers) == 2)
    assert set(together.mixing) == {0, 1}
    assert together.mixing[0] == pytest.approx({0: 0.5, 1: 0.5})


def test_a_round_goes_on_without_a_cluster_that_has_nobody():
    away = intervals(4, (0, 2.0, 9.0), (1, 2.0, 9.0))
    made, notes = lived(SyncSdFeel(), Told(availability=away))
    completion, time_s, steps = first(made, 1)
    assert (time_s, steps) == (1.2, [1, 1])
    assert [trigger.server for trigger in completion.triggers] == [1]
    assert set(completion.mixing) == {0, 1}  # server 0 is up: it mixes with the model that it has
    assert ("skipped", 0, 1.1, 1.1) in notes


def test_a_server_that_is_down_sits_out_the_round_and_its_mixing():
    made, notes = lived(SyncSdFeel(), Told(servers=down(2, (0, 0.0, 2.0))), until=2.45)
    completion = made.diary.completions[0]
    assert [trigger.server for trigger in completion.triggers] == [1]
    assert completion.mixing == {}
    assert round(completion.time_s, 9) == 1.1  # no link carries anything, so there is nothing to exchange
    assert notes[:2] == [("server-down", 0, 1.1, 1.1), ("left-out", 0, 1.1, 0.0)]


def test_a_server_that_is_down_when_the_uploads_are_in_loses_them():
    made, notes = lived(SyncSdFeel(), Told(servers=down(2, (0, 0.9, 1.15))))
    completion = made.diary.completions[0]
    assert [trigger.server for trigger in completion.triggers] == [1]
    assert notes[0] == ("server-down", 0, 1.1, 1.1)


def test_a_round_with_nobody_at_all_is_tried_again():
    away = intervals(4, *((client, 3.0, 9.0) for client in range(4)))
    made, notes = lived(SyncSdFeel(), Told(availability=away), until=4.25)
    assert [round(c.time_s, 9) for c in made.diary.completions] == [4.2]
    assert [trigger.started_s for trigger in made.diary.completions[0].triggers] == [3.0, 3.0]
    assert [note[0] for note in notes].count("skipped") == 2


def test_gossip_in_step_goes_on_without_a_node():
    made, _ = lived(DPsgd(), Told(servers=down(2, (1, 0.0, 9.0))))
    assert [trigger.server for trigger in made.diary.completions[0].triggers] == [0]


def test_slots_go_on_without_a_worker():
    made, notes = lived(MllSgd(tau=4), Told(availability=intervals(4, (1, 50.0, 90.0))), until=2.5)
    assert [len(trigger.steps) for trigger in made.diary.completions[0].triggers] == [1, 2]
    assert notes[0] == ("away", 1, 0.0, 0.0)


def test_the_cloud_takes_the_model_of_an_edge_with_nobody_as_it_is():
    away = intervals(4, (0, 50.0, 90.0), (1, 50.0, 90.0))
    made, notes = lived(Hierfavg(kappa2=1), Told(availability=away), cloud_bps=10.0)
    completion = made.diary.completions[0]
    assert [trigger.server for trigger in completion.triggers] == [1]
    assert completion.mixing[0] == completion.mixing[1] == {0: 0.5, 1: 0.5}
    assert ("skipped", 0, 1.0, 1.0) in notes


def test_a_pair_needs_a_link():
    made, _ = lived(AdPsgd(), Told(links=down(1, (0, 0.0, 9.0))))
    completion, time_s, _ = first(made)
    assert time_s == 1.1
    assert completion.mixing == {0: {0: 1.0}}
    made, notes = lived(AdPsgd(), Told(servers=down(2, (1, 1.15, 9.0))))
    assert first(made)[1] == 1.2
    assert first(made)[0].mixing == {0: {0: 1.0}}
    assert ("left-out", 1, 1.2, 0.0) in notes


ONE = [(0, 10, 1.0), (0, 30, 2.0)]
"""One server in the cloud with two clients that need 1 s and 0.5 s for a step, and 0.1 s for an upload."""
CLOUD = {"clients": ONE, "links": (), "cloud_bps": 10.0}


def times(made):
    return [round(completion.time_s, 9) for completion in made.diary.completions]


def test_one_server_averages_those_that_arrive():
    made, _ = lived(Fedavg(), Told(crashes={(0, 0): 0.5}), **CLOUD)
    assert [(one.client, one.weight) for one in made.diary.completions[0].merged] == [(1, 1.0)]
    assert made.diary.after[0] == pytest.approx([100.0])
    made, _ = lived(Fednova(), Told(availability=intervals(2, (1, 5.0, 9.0))), **CLOUD)
    assert [(one.client, one.weight) for one in made.diary.completions[0].merged] == [(0, 1.0)]


def test_a_round_that_is_skipped_draws_others():
    """One of two clients is drawn a round, and client 0 never comes: it must not be drawn for ever."""
    made, notes = lived(Fedavg(fraction=0.5), Told(availability=intervals(2, (0, 1e6, 1e7))), until=20.0, **CLOUD)
    assert {one.client for c in made.diary.completions for one in c.merged} == {1}
    assert len(made.diary.completions) > 5
    assert "skipped" in {note[0] for note in notes}


def test_a_client_at_its_own_pace_starts_when_it_is_back():
    made, notes = lived(Fedasync(), Told(availability=intervals(2, (0, 2.0, 9.0))), until=3.15, **CLOUD)
    assert [
        time_s for job, time_s in zip(made.executor.jobs, made.executor.starts, strict=True) if job.client == 0
    ] == [
        2.0,
        pytest.approx(3.1),
    ]
    assert notes == [("away", 0, 0.0, 2.0)]


def test_a_lost_job_is_begun_anew_with_the_present_model():
    made, notes = lived(Fedasync(alpha=1.0, s="constant"), Told(crashes={(0, 0): 0.75}), until=1.9, **CLOUD)
    mine = [
        (job, time_s) for job, time_s in zip(made.executor.jobs, made.executor.starts, strict=True) if not job.client
    ]
    assert [(job.number, job.model, time_s) for job, time_s in mine] == [
        (1, 100.0, 0.75),
        (2, pytest.approx(101.0), 1.85),
    ]
    assert notes == [("crash", 0, 0.75, 0.75)]


def test_a_client_that_sits_out_a_turn_waits_as_long_as_its_job_would_take():
    made, notes = lived(Fedasync(), Told(availability=Turns({(0, 0), (0, 1)})), until=3.15, **CLOUD)
    assert (
        next(time_s for job, time_s in zip(made.executor.jobs, made.executor.starts, strict=True) if not job.client)
        == 2.0
    )
    assert notes == [("away", 0, 0.0, 1.0), ("away", 0, 1.0, 1.0)]


class Turns(type(ALWAYS)):
    """Away at given turns (client, turn)."""

    def __init__(self, away):
        self.away = away

    def there(self, who, turns, now_s):
        return np.array([pair not in self.away for pair in zip(who.tolist(), turns.tolist(), strict=True)], dtype=bool)


def test_a_server_that_is_down_merges_when_it_is_back():
    made, notes = lived(Fedasync(), Told(servers=down(1, (0, 0.5, 0.9))), until=1.0, **CLOUD)
    assert times(made) == [0.9]
    assert notes == [("server-down", 0, 0.6, 0.3)]


@pytest.mark.parametrize("algorithm", [Fedbuff(K=2), Fedsa(M=1), Fedsa(M=2), Safa(fraction=1.0)])
def test_buffers_and_quotas_wait_for_those_that_come(algorithm):
    faulty = Told(crashes={(0, 0): 0.5}, failures={(1, 0): 1}, availability=intervals(2, (1, 0.3, 99.0)))
    made, notes = lived(algorithm, faulty, until=12.0, **CLOUD)
    assert len(made.diary.completions) >= 3
    assert {note[0] for note in notes} == {"away", "crash", "upload-failed"}


def test_safas_own_crashes_are_in_the_record_too():
    _, notes = lived(Safa(crash=0.5), Told(failures={(0, 0): 1}), until=30.0, **CLOUD)
    assert [note[0] for note in notes].count("crash") > 3


def test_a_world_without_anybody_waits_for_its_end_or_is_stalled():
    nobody = Told(availability=intervals(4, *((client, 0.0, 0.5) for client in range(4))))
    for algorithm in (AsyncSdFeel(), SyncSdFeel()):
        made, _ = lived(algorithm, nobody, until=50.0)
        assert made.diary.completions == []
    with pytest.raises(Stalled):
        make_world(PAIR, CLIENTS, hazards=nobody, iterations=5).run(AsyncSdFeel())


SYSTEMS = {
    "async": AsyncSdFeel(),
    "weighted": AsyncSdFeel(mixing="weighted"),
    "together": AsyncSdFeel(simultaneous="together"),
    "sync": SyncSdFeel(mixing="metropolis"),
    "optimal": SyncSdFeel(tau2=2),
    "slots": MllSgd(tau=2),
    "gossip in step": DPsgd(),
    "gossip of pairs": AdPsgd(),
    "hierarchical": Hierfavg(),
}
DOUBLY = ("async", "gossip in step", "gossip of pairs")
NON_NEGATIVE = (*DOUBLY, "weighted", "sync", "hierarchical")


def drawn(seed, servers, clients, links):
    def draws(what):
        return partial(uniforms, key(seed, "faults", what))

    return Hazards(
        Alternating(draws("availability"), clients, 3.0, 1.0),
        Alternating(draws("server_outages"), servers, 4.0, 1.0),
        Alternating(draws("link_outages"), links, 3.0, 2.0),
        crash=0.1,
        upload_failure=0.2,
        key=lambda *names: key(seed, "faults", *names),
    )


@pytest.mark.parametrize("system", SYSTEMS)
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    members=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9), st.sampled_from([0.5, 1.0, 2.0])), max_size=6),
    chords=st.sets(st.sampled_from([(0, 2), (1, 3), (0, 3)])),
)
def test_every_mixing_matrix_stays_what_it_is_whatever_goes_wrong(system, seed, members, chords):
    clients = [(0, 3, 1.0), (1, 5, 2.0), (2, 1, 0.5), (3, 2, 1.0), *members]
    links = [(0, 1), (1, 2), (2, 3), *sorted(chords)]
    hazards = drawn(seed, 4, len(clients), len(links))
    made, _ = lived(SYSTEMS[system], hazards, until=40.0, clients=clients, links=links, train=lambda job: job.model)
    shares = np.array(made.federation.shares)
    assert made.diary.completions
    for completion in made.diary.completions:
        matrix = np.array([into(completion.mixing, target, 4) for target in range(4)]).T
        assert np.allclose(matrix.sum(axis=0), 1)
        if system in NON_NEGATIVE:
            assert (matrix >= -1e-12).all()
        if system in DOUBLY:
            assert np.allclose(matrix.sum(axis=1), 1)
        else:
            # Under `together` a server that completes alone mixes as in the paper.
            assert np.allclose(matrix @ shares, shares) or (system == "together" and len(completion.triggers) == 1)
        assert all(len(trigger.steps) for trigger in completion.triggers)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_mixing_keeps_the_sum_of_the_models(seed):
    """Clients that learn nothing leave the sum to the mixing alone."""
    links = [(0, 1), (1, 2), (2, 3), (0, 3)]
    clients = [(server, 1, 1.0) for server in (0, 1, 2, 3, 0, 1)]
    made = make_world(links, clients, hazards=drawn(seed, 4, 6, 4), budget_s=30.0)
    for server in made.federation.servers:
        server.model = float(3**server.number)
    made.run(AsyncSdFeel(), 30.0)
    assert sum(made.models) == pytest.approx(1 + 3 + 9 + 27)


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6), algorithm=st.sampled_from([Fedavg(), Fedavg(fraction=0.5), Fednova()]))
def test_the_weights_of_those_that_arrive_sum_to_one(seed, algorithm):
    clients = [(0, samples, speed) for samples, speed in [(3, 1.0), (5, 1.0), (1, 2.0), (7, 0.5), (2, 1.0)]]
    made, _ = lived(algorithm, drawn(seed, 1, 5, 0), until=40.0, clients=clients, links=(), cloud_bps=10.0)
    for completion in made.diary.completions:
        assert sum(one.weight for one in completion.merged) == pytest.approx(1)


def test_a_broadcast_costs_the_same_few_events_whatever_goes_wrong_with_its_clients():
    def events(clients):
        hazards = Hazards(crash=0.3, upload_failure=0.3, key=lambda *names: key(5, *names))
        made = make_world([], [(0, 1, 1.0)] * clients, iterations=3, hazards=hazards)
        AsyncSdFeel().start(made.federation)
        count = iter(range(10**6))
        asyncio.run(made.federation.clock.advance(math.inf, lambda: next(count)))
        assert "clients" not in vars(made.federation.servers[0])
        return next(count)

    assert events(500) == events(5000)


def test_a_client_meets_the_same_fate_in_every_system():
    """The crash of a client's n-th job does not depend on who asks for it, nor with whom."""
    hazards = Hazards(crash=0.4, key=lambda *names: key(9, *names))
    numbers = {}
    for name, algorithm in [("rounds", Fedavg()), ("pace", Fedasync())]:
        made, _ = lived(algorithm, hazards, until=30.0, **CLOUD)
        numbers[name] = {(job.client, job.number) for job in made.executor.jobs if job.number < 10}
    assert numbers["rounds"] == numbers["pace"]
    assert 0 < len(numbers["pace"]) < 20


def test_odds_of_nothing_are_no_hazards():
    assert not Hazards(availability=availability.probability(lambda *_: None, away=0.0)).any
    assert Hazards(crash=1e-9).any
    assert Hazards(upload_failure=1e-9).any
