"""Limits in which the systems of the comparison become each other."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.fedasync import Fedasync
from asyncfeel.algorithms.fedavg import Fedavg
from asyncfeel.algorithms.fednova import Fednova
from asyncfeel.algorithms.fedsa import Fedsa
from asyncfeel.algorithms.feel import Feel
from asyncfeel.algorithms.hierfavg import Hierfavg
from asyncfeel.algorithms.mll_sgd import MllSgd
from asyncfeel.algorithms.safa import Safa
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel

POINTS = np.random.default_rng(7).standard_normal((32, 4))
START = np.linspace(-1.0, 2.0, 4)
CLIENTS = [(0, 3, 1.0), (0, 11, 2.5), (0, 6, 4.0), (0, 1, 7.0)]
few = settings(max_examples=25, deadline=None)
some_samples = st.lists(st.integers(1, 50), min_size=1, max_size=6)
some_speeds = st.lists(st.floats(0.2, 5.0), min_size=6, max_size=6)


def step(job):
    """A pull towards the client's own point, once per step, at the job's rate."""
    model = job.model
    for _ in range(job.steps):
        model = model + 0.05 * job.rate * (POINTS[job.client] - model)
    return model


def times(made):
    return [completion.time_s for completion in made.diary.completions]


def same_bits(one, other):
    """Whether all models after all iterations are equal to the last bit."""
    pairs = zip(one.diary.after, other.diary.after, strict=True)
    return all((a == b).all() for mine, theirs in pairs for a, b in zip(mine, theirs, strict=True))


def close(one, other):
    pairs = zip(one.diary.after, other.diary.after, strict=True)
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-12) for ab in pairs for a, b in zip(*ab, strict=True))


def run(system, algorithm, clients, *, iterations=8, **more):
    given_ = {"initial": START, "iterations": iterations, "local_steps": 3} | more
    return system(algorithm, clients, step, **given_)


class TestOneServerIsFedNova:
    """D = 1: the exchange costs nothing, and the normalised update is all there is."""

    @pytest.mark.parametrize("place", ["edge", "cloud"])
    def test_to_the_last_bit(self, system, place):
        rates = {"uplink_bps": 3.0, "cloud_bps": 3.0}
        nova = run(system, Fednova(server=place), CLIENTS, **rates)
        feel = run(system, AsyncSdFeel(), CLIENTS, **rates)
        assert times(nova) == times(feel)
        assert same_bits(nova, feel)
        assert [c.triggers for c in nova.diary.completions] == [c.triggers for c in feel.diary.completions]
        assert nova.executor.starts == feel.executor.starts

    @few
    @given(samples=some_samples, speeds=some_speeds, deadline_s=st.floats(5.0, 9.0))
    def test_any_cluster_and_any_deadline(self, system, samples, speeds, deadline_s):
        clients = [(0, n, h) for n, h in zip(samples, speeds, strict=False)]
        options = {"deadline": "fixed", "deadline_s": deadline_s}
        nova = run(system, Fednova(server="edge", **options), clients, iterations=4)
        feel = run(system, AsyncSdFeel(**options), clients, iterations=4)
        assert times(nova) == times(feel)
        assert same_bits(nova, feel)

    def test_one_cluster_among_others_is_that_cluster_alone(self, system):
        clients = [(1 - d, n, h) for d, n, h in CLIENTS] + [(0, 50, 0.5), (2, 50, 9.0)]
        nova = run(system, Fednova(server="edge", cluster=1), clients, links=[(0, 1), (1, 2)])
        alone = run(system, AsyncSdFeel(), CLIENTS)
        assert times(nova) == times(alone)
        assert same_bits(nova, alone)


class TestEqualStepsAreFedAvg:
    """Equal tau inside a cluster: the factors mhat_i taubar / tau_i are the data shares."""

    @few
    @given(samples=some_samples, speed=st.floats(0.2, 5.0))
    def test_to_the_last_bit(self, system, samples, speed):
        clients = [(0, n, speed) for n in samples]
        rates = {"uplink_bps": 3.0, "iterations": 4}
        average = run(system, Fedavg(server="edge"), clients, **rates)
        nova = run(system, Fednova(server="edge"), clients, **rates)
        feel = run(system, AsyncSdFeel(), clients, **rates)
        assert times(average) == times(nova) == times(feel)
        assert same_bits(average, nova)
        assert same_bits(average, feel)

    def test_speeds_that_differ_by_less_than_a_step(self, system):
        clients = [(0, n, 1.0 + 0.09 * i) for i, n in enumerate([4, 1, 9])]
        average = run(system, Fedavg(server="edge"), clients)
        feel = run(system, AsyncSdFeel(), clients)
        assert {job.steps for job in feel.executor.jobs} == {3}
        assert times(average) == times(feel)
        assert same_bits(average, feel)

    def test_the_average_by_its_definition(self, system):
        made = run(system, Fedavg(), CLIENTS, iterations=5)
        model = START
        for _ in range(5):
            trained = []
            for client in range(4):
                local = model
                for _ in range(3):
                    local = local + 0.05 * (POINTS[client] - local)
                trained.append(local)
            model = sum(n * w for (_, n, _), w in zip(CLIENTS, trained, strict=True)) / 21
        assert made.models[0] == pytest.approx(model, rel=1e-9)

    def test_feel_is_fedavg_at_the_edge(self, system):
        clients = [*CLIENTS, (1, 5, 1.0), (1, 2, 2.0)]
        for cluster in (0, 1):
            feel = run(system, Feel(cluster=cluster), clients, links=[(0, 1)])
            average = run(system, Fedavg(server="edge", cluster=cluster), clients, links=[(0, 1)])
            assert feel.diary.completions == average.diary.completions
            assert same_bits(feel, average)


class TestCompleteGraphIsHierFAVG:
    """Equal clusters, all linked, synchronous P: every exchange is an average over everybody."""

    @pytest.mark.parametrize("period", [1, 2, 3])
    @pytest.mark.parametrize("servers", [2, 3, 5])
    def test_at_the_cloud_rounds(self, system, servers, period):
        # Twelve samples in every cluster, in different parts, at different speeds.
        clients = [(d, n, 1.0 + 0.3 * d + 0.7 * i) for d in range(servers) for i, n in enumerate((1 + d, 11 - d))]
        links = [(a, b) for a in range(servers) for b in range(a)]
        cycles = 4
        flat = run(system, SyncSdFeel(tau1=2, tau2=period), clients, links=links, iterations=cycles * period)
        per_cycle = servers * (period - 1) + 1
        cloud = run(system, Hierfavg(kappa1=2, kappa2=period), clients, links=links, iterations=cycles * per_cycle)
        flat_at = [after for c, after in zip(flat.diary.completions, flat.diary.after, strict=True) if c.mixing]
        cloud_at = [after for c, after in zip(cloud.diary.completions, cloud.diary.after, strict=True) if c.mixing]
        assert len(flat_at) == len(cloud_at) == cycles
        for mine, theirs in zip(flat_at, cloud_at, strict=True):
            for a, b in zip(mine, theirs, strict=True):
                assert np.allclose(a, b, rtol=1e-9, atol=1e-12)

    def test_the_same_clock_when_the_cloud_is_as_near_as_the_neighbours(self, system):
        clients = [(d, 4, 2.0) for d in range(3)]
        links = [(0, 1), (0, 2), (1, 2)]
        rates = {"uplink_bps": 4.0, "exchange_bps": 2.0, "cloud_bps": 2.0, "links": links}
        flat = run(system, SyncSdFeel(tau1=2, tau2=2), clients, iterations=6, **rates)
        cloud = run(system, Hierfavg(kappa1=2, kappa2=2), clients, iterations=12, **rates)
        assert [c.time_s for c in cloud.diary.completions if c.mixing] == times(flat)[1::2]

    def test_one_edge_is_fedavg_seen_from_the_cloud(self, system):
        """With a single edge every round averages the same clients, whatever kappa2."""
        edge = run(system, Hierfavg(kappa2=2), CLIENTS, iterations=6)
        average = run(system, Fedavg(server="edge"), CLIENTS, iterations=6)
        assert close(edge, average)


class TestEqualSpeedsTogetherAreSynchronous:
    """H = 1 and `together`: synchronous SD-FEEL with tau2 = alpha = 1."""

    @few
    @given(
        samples=st.lists(st.integers(1, 30), min_size=4, max_size=10),
        speed=st.floats(0.2, 5.0),
        local_steps=st.integers(1, 5),
    )
    def test_to_the_last_bit(self, system, samples, speed, local_steps):
        servers = len(samples) // 2
        links = [(d, (d + 1) % servers) for d in range(servers)] if servers > 2 else [(0, 1)]
        clients = [(i % servers, n, speed) for i, n in enumerate(samples)]
        more = {"links": links, "local_steps": local_steps, "iterations": 4}
        together = run(system, AsyncSdFeel(simultaneous="together"), clients, **more)
        synchronous = run(system, SyncSdFeel(), clients, **more)
        assert together.diary.completions == synchronous.diary.completions
        assert same_bits(together, synchronous)

    def test_one_by_one_is_something_else(self, system):
        clients = [(d, 1 + d, 1.0) for d in range(4)]
        links = [(0, 1), (1, 2), (2, 3)]
        apart = run(system, AsyncSdFeel(), clients, links=links, iterations=4)
        together = run(system, SyncSdFeel(), clients, links=links, iterations=1)
        # Four iterations of one server each, at the instant of the one iteration of all.
        assert times(apart) == times(together) * 4
        assert [[t.server for t in c.triggers] for c in apart.diary.completions] == [[0], [1], [2], [3]]
        assert not np.allclose(apart.models, together.models)


class TestFedSA:
    @few
    @given(samples=some_samples, speeds=some_speeds)
    def test_waiting_for_everyone_is_fedavg(self, system, samples, speeds):
        """M = C; everyone has taken part equally often, so that adapted rates are 1."""
        clients = [(0, n, h) for n, h in zip(samples, speeds, strict=False)]
        everyone = run(system, Fedsa(M=len(clients)), clients, iterations=5)
        average = run(system, Fedavg(), clients, iterations=5)
        assert times(everyone) == times(average)
        assert close(everyone, average)
        assert [job.rate for job in everyone.executor.jobs] == pytest.approx([1.0] * len(everyone.executor.jobs))
        assert {one.staleness for c in everyone.diary.completions for one in c.merged} == {0}

    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    def test_one_at_a_time_is_fedasync_with_equal_data(self, system, count):
        """M = 1 and equal data: alpha = 1 / C, s = 1, no proximal pull."""
        clients = [(0, 5, h) for _, _, h in CLIENTS[:count]]
        semi = run(system, Fedsa(M=1, adapt_rate=False), clients, iterations=40)
        fully = run(system, Fedasync(alpha=1 / count, s="constant", rho=0.0), clients, iterations=40)
        assert times(semi) == times(fully)
        assert [c.merged for c in semi.diary.completions] == [c.merged for c in fully.diary.completions]
        assert close(semi, fully)
        assert semi.executor.starts == fully.executor.starts

    def test_one_at_a_time_with_unequal_data_uses_the_data_shares(self, system):
        """Replayed from the record: w = (1 - n_i / n) w + (n_i / n) w_i."""
        made = run(system, Fedsa(M=1, adapt_rate=False), CLIENTS, iterations=40)
        history = [START]
        for completion, (after,) in zip(made.diary.completions, made.diary.after, strict=True):
            (one,) = completion.merged
            share = CLIENTS[one.client][1] / 21
            assert one.weight == pytest.approx(share, rel=1e-12)
            local = history[completion.iteration - one.staleness]
            for _ in range(3):
                local = local + 0.05 * (POINTS[one.client] - local)
            expected = (1 - share) * history[-1] + share * local
            assert after == pytest.approx(expected, rel=1e-9)
            history.append(after)


class TestSafa:
    @few
    @given(samples=some_samples, speed=st.floats(0.2, 5.0), tau=st.integers(0, 5))
    def test_everyone_at_equal_speeds_without_crashes_is_fedavg(self, system, samples, speed, tau):
        clients = [(0, n, speed) for n in samples]
        everyone = run(system, Safa(fraction=1.0, tau=tau), clients, iterations=5)
        average = run(system, Fedavg(), clients, iterations=5)
        assert times(everyone) == times(average)
        assert close(everyone, average)
        found = [{(one.client, one.staleness) for one in c.merged} for c in everyone.diary.completions]
        assert found == [{(client, 0) for client in range(len(clients))}] * 5

    def test_a_generous_limit_changes_nothing(self, system):
        clients = [(0, n, 1.0) for n in (1, 2, 5)]
        everyone = run(system, Safa(fraction=1.0, T_lim_s=1000.0), clients)
        average = run(system, Fedavg(), clients)
        assert times(everyone) == times(average)
        assert close(everyone, average)

    def test_unequal_speeds_too_as_long_as_everyone_is_waited_for(self, system):
        everyone = run(system, Safa(fraction=1.0), CLIENTS)
        average = run(system, Fedavg(), CLIENTS)
        assert times(everyone) == times(average)
        assert close(everyone, average)


class TestMllSgdWithoutChance:
    """All p = 1: nobody ever misses a slot, so that it is synchronous SD-FEEL(tau, q)."""

    @pytest.mark.parametrize(("tau", "q"), [(1, 1), (4, 1), (3, 2), (2, 5)])
    def test_to_the_last_bit(self, system, ring, tau, q):
        clients = [(d, 1 + 3 * d + 5 * i, 2.0) for d in range(4) for i in range(2)]
        more = {"links": ring(4), "iterations": 10, "uplink_bps": 4.0, "exchange_bps": 2.0}
        levels = run(system, MllSgd(tau=tau, q=q), clients, **more)
        synchronous = run(system, SyncSdFeel(tau1=tau, tau2=q), clients, **more)
        assert levels.diary.completions == synchronous.diary.completions
        assert same_bits(levels, synchronous)

    def test_tau_is_local_steps_by_default(self, system, ring):
        clients = [(d, 1 + d, 0.7) for d in range(3)]
        levels = run(system, MllSgd(), clients, links=ring(3))
        synchronous = run(system, SyncSdFeel(), clients, links=ring(3))
        assert levels.diary.completions == synchronous.diary.completions
        assert same_bits(levels, synchronous)


class TestAlphaIsNeverStoredBack:
    """FedAsync discounts each arrival by itself: after any number of stale ones, a fresh one gets alpha in full."""

    @pytest.mark.parametrize("s", ["polynomial", "hinge", "constant"])
    def test_after_many_stale_arrivals(self, system, s):
        # Seven clients are slow: the fast one comes many times between them, mostly fresh.
        clients = [(0, 1, 100.0)] + [(0, 1, 1 / math.sqrt(p)) for p in (2, 3, 5, 7, 11, 13, 17)]
        made = system(Fedasync(s=s), clients, step, initial=START, iterations=600, cloud_bps=40.0)
        found = [one for c in made.diary.completions for one in c.merged]
        assert sum(one.staleness > 8 for one in found) > 50
        fresh = [one.weight for one in found if one.staleness == 0]
        assert len(fresh) > 100
        assert set(fresh) == {0.6}
        assert found[0].weight == 0.6
        assert any(one.staleness == 0 for one in found[-20:])

    @few
    @given(speeds=some_speeds)
    def test_a_weight_depends_on_its_own_staleness_alone(self, system, speeds):
        made = system(Fedasync(alpha=0.9), [(0, 1, h) for h in speeds], step, initial=START, iterations=60)
        for completion in made.diary.completions:
            (one,) = completion.merged
            assert one.weight == pytest.approx(0.9 / math.sqrt(1 + one.staleness), rel=1e-12)

    def test_one_object_may_run_twice(self, system):
        algorithm = Fedasync()
        first, second = (run(system, algorithm, CLIENTS, iterations=40) for _ in range(2))
        assert first.diary.completions == second.diary.completions
        assert same_bits(first, second)
