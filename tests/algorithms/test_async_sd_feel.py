"""Asynchronous SD-FEEL: known answers for the readings of the paper, and the identity at every event."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.errors import InputError
from asyncfeel.theory import staleness
from asyncfeel.theory.mixing import into
from asyncfeel.world.stopping import Patience

CENTRES = (0.0, 1.0, 4.0, -2.0, 7.0, 3.0)


def pull(job, eta=0.1):
    """A client's gradient descent on (w - c)^2 / 2 in closed form."""
    centre = CENTRES[job.client % len(CENTRES)]
    return centre + (1 - eta) ** job.steps * (job.model - centre)


def test_a13_first_completions_by_hand(world):
    """Two clusters: compute 2 / 1 s, upload 0.5 s, exchange 0.25 s."""
    made = world(
        [(0, 1)],
        [(0, 10, 1.0), (0, 30, 3.5), (1, 40, 2.0)],
        train=pull,
        iterations=3,
        local_steps=2,
        uplink_bps=2.0,
        exchange_bps=4.0,
    ).run(AsyncSdFeel())
    rows = [
        (c.iteration, c.time_s, c.triggers[0].server, list(c.triggers[0].steps), list(c.staleness))
        for c in made.diary.completions
    ]
    assert rows == [
        (0, 1.75, 1, [2], [0, 0]),
        (1, 2.75, 0, [2, 7], [1, 0]),
        (2, 3.5, 1, [2], [0, 1]),
    ]
    assert [c.triggers[0].started_s for c in made.diary.completions] == [0.0, 0.0, 1.75]
    assert [c.triggers[0].deadline_s for c in made.diary.completions] == [1.0, 2.0, 1.0]


def test_first_iteration_in_numbers(world):
    """One completion computed by hand: eqs. intra, pk, inter with tau = (2, 7), samples (10, 30)."""
    made = world(
        [(0, 1)], [(0, 10, 1.0), (0, 30, 3.5), (1, 40, 0.1)], train=pull, iterations=1, local_steps=2, initial=1.0
    ).run(AsyncSdFeel())
    w0, w1 = 0.9**2 * 1.0, 1.0
    mean = 0.25 * 2 + 0.75 * 7
    aggregated = 1.0 + mean * (0.25 * (w0 - 1.0) / 2 + 0.75 * (w1 - 1.0) / 7)
    assert made.models == pytest.approx([0.5 * aggregated + 0.5, 0.5 * 1.0 + 0.5 * aggregated])


def test_a3_servers_out_of_reach_are_untouched(world, ring):
    made = world(ring(6), [(d, 10, 1.0 + d) for d in range(6)], train=pull, iterations=30).run(AsyncSdFeel())
    for before, after, completion in zip(made.diary.before, made.diary.after, made.diary.completions, strict=True):
        trigger = completion.triggers[0].server
        reach = {trigger, (trigger + 1) % 6, (trigger - 1) % 6}
        assert all(after[server] is before[server] for server in range(6) if server not in reach)


def test_a5_a6_update_is_added_to_the_present_model_and_measured_from_the_one_sent(world):
    """Server 1 is slow: neighbours mix into it meanwhile, and its clients know nothing of that."""
    made = world([(0, 1)], [(0, 1, 10.0), (1, 1, 1.0)], train=lambda job: job.model + job.client, iterations=11)
    made.run(AsyncSdFeel())
    slow = next(k for k, c in enumerate(made.diary.completions) if c.triggers[0].server == 1)
    present = made.diary.before[slow]
    sent = 0.0
    job = next(job for job in made.executor.jobs if job.client == 1)
    assert job.model == sent
    weights = into(made.diary.completions[slow].mixing, 1, 2)
    aggregated = present[1] + (sent + 1 - sent)
    assert made.diary.after[slow][1] == pytest.approx(weights[1] * aggregated + weights[0] * present[0])


def test_a7_staleness_of_equal_speeds_on_a_ring(world, ring):
    """Own delta is 5 for ever after the first lap; its weight .122 as printed, .4545 when fresh."""
    for option, own, weight in [("literal", 5, 0.122), ("fresh", 0, 0.4545)]:
        made = world(ring(6), [(d, 10, 1.0) for d in range(6)], iterations=60).run(AsyncSdFeel(own_staleness=option))
        for completion in made.diary.completions[6:]:
            trigger = completion.triggers[0].server
            assert completion.staleness[trigger] == own
            shown = into(completion.mixing, trigger, 6)[trigger]
            assert round(shown, len(str(weight)) - 2) == weight


def test_a8_only_a_servers_own_broadcast_resets_its_staleness(world):
    made = world([(0, 1)], [(0, 1, 8.0), (1, 1, 1.0)], iterations=8, uplink_bps=1e9, exchange_bps=1e9).run(
        AsyncSdFeel()
    )
    seen = [(c.triggers[0].server, list(c.staleness)) for c in made.diary.completions]
    assert seen[:7] == [(0, [0, k]) for k in range(7)]


def test_a14_one_by_one_goes_in_the_order_of_the_servers(world, ring):
    made = world(ring(5), [(d, 10, 1.0) for d in range(5)], iterations=15).run(AsyncSdFeel())
    assert [c.triggers[0].server for c in made.diary.completions] == [0, 1, 2, 3, 4] * 3
    assert [c.iteration for c in made.diary.completions] == list(range(15))


def test_a14_together_counts_once(world, ring):
    made = world(ring(5), [(d, 10, 1.0) for d in range(5)], iterations=3).run(AsyncSdFeel(simultaneous="together"))
    assert [[t.server for t in c.triggers] for c in made.diary.completions] == [[0, 1, 2, 3, 4]] * 3
    assert all(set(c.staleness) == {0} for c in made.diary.completions)


def test_a14_together_with_some_servers_mixes_over_their_links_only(world):
    """Servers 0 and 1 of a line complete together; the link 2-3 carries nothing and 3 stays."""
    speeds = [1.0, 1.0, 0.3, 0.1]
    made = world([(0, 1), (1, 2), (2, 3)], [(d, 10, speeds[d]) for d in range(4)], train=pull, iterations=1)
    made.run(AsyncSdFeel(simultaneous="together"))
    (completion,) = made.diary.completions
    assert [trigger.server for trigger in completion.triggers] == [0, 1]
    assert sorted(completion.mixing) == [0, 1, 2]
    assert made.models[3] == 0.0


def test_a14_together_with_one_server_is_the_staleness_rule(world, ring):
    clients = [(d, 10, 1.0 + 0.37 * d) for d in range(4)]
    one = world(ring(4), clients, train=pull, iterations=12).run(AsyncSdFeel())
    other = world(ring(4), clients, train=pull, iterations=12).run(AsyncSdFeel(simultaneous="together"))
    assert one.models == other.models


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_identity_of_the_weighted_mean_holds_at_every_event(data):
    """The mean grows by mtil_d (yhat - y_d) - sum_j w_j (mtil_d - mtil_j)(yhat - y_j), whatever happens."""
    from tests.conftest import make_world

    servers = data.draw(st.integers(2, 6))
    links = [(d, (d + 1) % servers) for d in range(servers)] if servers > 2 else [(0, 1)]
    clients = [
        (d, data.draw(st.integers(1, 90)), data.draw(st.floats(0.5, 5)))
        for d in range(servers)
        for _ in range(data.draw(st.integers(1, 3)))
    ]
    made = make_world(links, clients, train=pull, iterations=25, initial=0.5).run(AsyncSdFeel())
    shares = np.array(made.federation.shares)
    for before, after, completion in zip(made.diary.before, made.diary.after, made.diary.completions, strict=True):
        trigger = completion.triggers[0].server
        weights = np.array(into(completion.mixing, trigger, servers))
        old, new = np.array(before), np.array(after)
        aggregated = (new[trigger] - sum(weights[j] * old[j] for j in range(servers) if j != trigger)) / weights[
            trigger
        ]
        expected = shares @ old + shares[trigger] * (aggregated - old[trigger])
        expected -= sum(
            weights[j] * (shares[trigger] - shares[j]) * (aggregated - old[j]) for j in range(servers) if j != trigger
        )
        assert shares @ new == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("mixing", "kept"), [("paper", "plain"), ("weighted", "weighted")])
def test_a17_mixing_keeps_its_mean_under_any_interleaving(world, ring, mixing, kept):
    """Without training, the plain or the data-weighted mean of the servers never moves."""
    made = world(ring(6), [(d, 5 + 7 * d, 1.0 + 0.7 * d) for d in range(6)], iterations=50, psi=staleness.hinge())
    for server in made.federation.servers:
        server.model = float(server.number**2)
    weights = np.full(6, 1 / 6) if kept == "plain" else np.array(made.federation.shares)
    start = weights @ np.array(made.models)
    made.run(AsyncSdFeel(mixing=mixing))
    assert weights @ np.array(made.models) == pytest.approx(start, rel=1e-12)
    assert made.models[0] != 0.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1, 20), min_size=2, max_size=7))
def test_a31_staleness_is_bounded(flops):
    from tests.conftest import make_world

    servers = len(flops)
    gap = max(flops) / min(flops)
    made = make_world([(0, d) for d in range(1, servers)], [(d, 1, h) for d, h in enumerate(flops)], iterations=200)
    made.run(AsyncSdFeel())
    assert max(max(c.staleness) for c in made.diary.completions) <= (servers - 1) * math.ceil(gap)


def test_a18_iteration_limit(world, ring):
    assert (
        len(world(ring(3), [(d, 1, 1.0 + d) for d in range(3)], iterations=7).run(AsyncSdFeel()).diary.completions) == 7
    )


def test_a18_time_limit_includes_its_own_second(world):
    for until, completions in [(1.2, 0), (1.25, 1), (2.49, 1), (2.5, 2)]:
        made = world([], [(0, 1, 1.0)], uplink_bps=4.0).run(AsyncSdFeel(), until=until)
        assert len(made.diary.completions) == completions


def test_a18_patience_stops_the_run(world):
    """The stub's losses never improve, so three iterations of the slower cluster are enough."""
    made = world([(0, 1)], [(0, 1, 2.0), (1, 1, 1.0)], patience=Patience([0, 1], 2, 0.0)).run(AsyncSdFeel())
    own = [sum(t.server == server for c in made.diary.completions for t in c.triggers) for server in (0, 1)]
    assert min(own) == 3


def test_fixed_deadline_is_the_same_for_all_and_must_allow_a_step(world):
    clients = [(0, 1, 2.0), (1, 1, 1.0)]
    made = world([(0, 1)], clients, iterations=4).run(AsyncSdFeel(deadline="fixed", deadline_s=3.0))
    assert {c.triggers[0].deadline_s for c in made.diary.completions} == {3.0}
    assert {(c.triggers[0].server, *c.triggers[0].steps) for c in made.diary.completions} == {(0, 6), (1, 3)}
    with pytest.raises(InputError, match=r"too short: the slowest client needs 1\.0 s"):
        world([(0, 1)], clients).run(AsyncSdFeel(deadline="fixed", deadline_s=0.9))


def test_downlink_comes_before_the_training(world):
    made = world([], [(0, 1, 1.0)], iterations=1, downlink_bps=0.5, uplink_bps=1.0).run(AsyncSdFeel())
    assert made.diary.completions[0].time_s == 2.0 + 1.0 + 1.0


def test_jobs_are_numbered_by_client(world, ring):
    made = world(ring(3), [(d % 3, 1, 1.0 + d) for d in range(6)], iterations=20).run(AsyncSdFeel())
    for client in range(6):
        numbers = [job.number for job in made.executor.jobs if job.client == client]
        assert numbers == list(range(len(numbers)))
