"""The other systems, event by event, against traces worked out by hand.

Speeds, rates and pushes are mostly sums of powers of two, so that the arithmetic in the comments is
exact in floats. In most worlds a client with flops h needs 1/h seconds for its one step, and an
upload to the cloud lasts a quarter of a second (`cloud_bps = 4`).
"""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.algorithms.ad_psgd import AdPsgd
from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.central import Central
from asyncfeel.algorithms.d_psgd import DPsgd
from asyncfeel.algorithms.fedasync import Fedasync
from asyncfeel.algorithms.fedavg import Fedavg
from asyncfeel.algorithms.fedbuff import Fedbuff
from asyncfeel.algorithms.fednova import Fednova
from asyncfeel.algorithms.fedsa import Fedsa
from asyncfeel.algorithms.feel import Feel
from asyncfeel.algorithms.hierfavg import Hierfavg
from asyncfeel.algorithms.mll_sgd import MllSgd
from asyncfeel.algorithms.safa import Safa
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel

THREE = [(0, 1, 2.0), (0, 1, 1.0), (0, 2, 0.5)]
"""Of one, one and two samples; from download to arrival they need .75, 1.25 and 2.25 seconds."""
CLOUD = {"cloud_bps": 4.0}


def push(job):
    """Every step of client i adds i + 1, times the rate: w_i = s + tau_i (i + 1) rate."""
    return job.model + job.steps * (job.client + 1) * job.rate


def pull(job):
    """A step of a tenth towards the client's own number, so that the start of a job matters."""
    return job.model + 0.1 * job.steps * (job.client + 1 - job.model)


def times(made):
    return [completion.time_s for completion in made.diary.completions]


def merged(made):
    """The (client, staleness) of every iteration, in the order in which they were merged."""
    return [[(one.client, one.staleness) for one in c.merged] for c in made.diary.completions]


def weights(made):
    return [[one.weight for one in c.merged] for c in made.diary.completions]


def models(made, server=0):
    return [after[server] for after in made.diary.after]


def jobs(made, client):
    """When each job of a client started, and the job."""
    pairs = zip(made.executor.starts, made.executor.jobs, strict=True)
    return [(start, job) for start, job in pairs if job.client == client]


def starts(made, client):
    return [start for start, _ in jobs(made, client)]


class TestFedAvg:
    def test_everyone_in_every_round_by_hand(self, system):
        made = system(Fedavg(), THREE, push, iterations=3, **CLOUD)
        # The slowest needs 1 / .5 = 2 s, the upload .25 s.
        assert times(made) == [2.25, 4.5, 6.75]
        # Each round adds .25 x 1 + .25 x 2 + .5 x 3 = 2.25.
        assert models(made) == [2.25, 4.5, 6.75]
        assert merged(made) == [[(0, 0), (1, 0), (2, 0)]] * 3
        assert weights(made) == [[0.25, 0.25, 0.5]] * 3
        assert starts(made, 0) == starts(made, 2) == [0.0, 2.25, 4.5]
        assert {job.proximal for job in made.executor.jobs} == {0.0}
        assert {job.rate for job in made.executor.jobs} == {1.0}

    def test_a_round_lasts_the_slowest_of_those_drawn_and_weights_sum_to_one_over_them(self, system):
        clients = [(0, 1, 2.0), (0, 1, 1.0), (0, 2, 0.5), (0, 4, 0.25)]
        made = system(Fedavg(fraction=0.5), clients, push, iterations=200, **CLOUD)
        needed_s, samples = [0.5, 1.0, 2.0, 4.0], [1, 1, 2, 4]
        now, model, drawn = 0.0, 0.0, Counter()
        for completion, after in zip(made.diary.completions, models(made), strict=True):
            chosen = [one.client for one in completion.merged]
            drawn.update(chosen)
            assert len(set(chosen)) == 2
            now += max(needed_s[client] for client in chosen) + 0.25
            total = sum(samples[client] for client in chosen)
            model += sum(samples[client] / total * (client + 1) for client in chosen)
            assert completion.time_s == now
            assert [one.weight for one in completion.merged] == pytest.approx([samples[c] / total for c in chosen])
            assert after == pytest.approx(model, rel=1e-12)
        # 200 draws of two in four: 100 each, and 7.1 is one standard deviation.
        assert all(70 < drawn[client] < 130 for client in range(4))
        assert len(made.executor.jobs) in (400, 402)

    def test_the_edge_uses_the_uplink_and_one_cluster(self, system):
        clients = [(0, 1, 0.125), (1, 1, 1.0), (1, 3, 2.0)]
        made = system(Fedavg(server="edge", cluster=1), clients, push, iterations=2, uplink_bps=2.0, links=[(0, 1)])
        assert times(made) == [1.5, 3.0]
        # .25 x 2 + .75 x 3
        assert models(made) == [2.75, 5.5]

    def test_the_cloud_rate_is_a_tenth_of_the_uplink_unless_given(self, system):
        made = system(Fedavg(), [(0, 1, 1.0)], iterations=1, uplink_bps=5.0)
        assert times(made) == [1.0 + 1 / 0.5]

    def test_only_uploads_to_the_cloud_take_the_cloud_link(self, system):
        made = system(Fedavg(), THREE, until=5.0, model_bits=8.0, cloud_bps=32.0)
        # Rounds end at 2.25 and 4.5. By 5.0 each client was sent three models of one byte. In the third
        # round, client 0 computes from 4.5 to 5.0 and client 1 to 5.5: no further upload has arrived.
        assert made.federation.traffic.total_bytes(5.0) == {
            "uplink_bytes": 0.0,
            "downlink_bytes": 9.0,
            "exchange_bytes": 0.0,
            "cloud_bytes": 6.0,
        }
        # Busy in a full round: .75, 1.25, 2.25; and for the last half second, all of them.
        assert made.federation.traffic.idle_share(3, 5.0) == pytest.approx(1 - (2 * 4.25 + 3 * 0.5) / 15)


class TestFeel:
    def test_only_one_cluster_ever_gets_jobs(self, system):
        clients = [(0, 1, 4.0), (1, 1, 1.0), (0, 1, 4.0), (1, 3, 2.0), (2, 9, 0.1)]
        made = system(
            Feel(cluster=1), clients, push, links=[(0, 1), (1, 2)], iterations=4, uplink_bps=4.0, cloud_bps=0.5
        )
        assert {job.client for job in made.executor.jobs} == {1, 3}
        assert times(made) == [1.25, 2.5, 3.75, 5.0]
        # .25 x 2 + .75 x 4 a round
        assert models(made) == [3.5, 7.0, 10.5, 14.0]
        assert merged(made) == [[(1, 0), (3, 0)]] * 4


class TestFedNova:
    def test_steps_until_the_deadline_and_normalised_updates_by_hand(self, system):
        made = system(Fednova(min_steps=2), [(0, 1, 1.0), (0, 3, 2.5)], pull, initial=4.0, iterations=3, **CLOUD)
        # T = 2 s: tau = 2 and floor(5) = 5; p = 1/4, 3/4; tau_eff = .5 + 3.75 = 4.25.
        # x <- x - tau_eff (p_0 (x - x_0) / 2 + p_1 (x - x_1) / 5), x_i = x + .1 tau_i (i + 1 - x)
        x, expected = 4.0, []
        for _ in range(3):
            x0, x1 = x + 0.2 * (1 - x), x + 0.5 * (2 - x)
            x = x - 4.25 * (0.25 * (x - x0) / 2 + 0.75 * (x - x1) / 5)
            expected.append(x)
        assert models(made) == pytest.approx(expected, rel=1e-12)
        assert times(made) == [2.25, 4.5, 6.75]
        assert [list(t.steps) for c in made.diary.completions for t in c.triggers] == [[2, 5]] * 3

    def test_a_fixed_deadline(self, system):
        made = system(
            Fednova(deadline="fixed", deadline_s=1.75), [(0, 1, 1.0), (0, 1, 2.0)], push, iterations=2, **CLOUD
        )
        assert times(made) == [2.0, 4.0]
        # tau = 1 and 3; tau_eff = 2; Delta = 1 and 2: 2 x (.5 x 1 + .5 x 2) = 3
        assert models(made) == [3.0, 6.0]


class TestFedAsync:
    # Seven steps in .5 s and in 1.75 s: arrivals every .75 s and every 2 s.
    TWO = ((0, 1, 14.0), (0, 5, 4.0))

    def test_two_clients_by_hand(self, system):
        made = system(Fedasync(alpha=0.5, a=1.0), self.TWO, pull, initial=8.0, local_steps=7, iterations=7, **CLOUD)
        # client 0:   0.75  1.5        2.25  3.0  3.75
        # client 1:               2.0                    4.0
        # k:          0     1     2    3     4    5      6
        # downloaded: 0     1     0    2     4    5      3
        assert times(made) == [0.75, 1.5, 2.0, 2.25, 3.0, 3.75, 4.0]
        assert merged(made) == [[(0, 0)], [(0, 0)], [(1, 2)], [(0, 1)], [(0, 0)], [(0, 0)], [(1, 3)]]
        assert weights(made) == [[w] for w in (0.5, 0.5, 0.5 / 3, 0.25, 0.5, 0.5, 0.125)]

        def trained(client, model):
            return model + 0.7 * (client + 1 - model)

        x = [8.0]
        x.append(0.5 * x[0] + 0.5 * trained(0, x[0]))
        x.append(0.5 * x[1] + 0.5 * trained(0, x[1]))
        x.append(5 / 6 * x[2] + 1 / 6 * trained(1, x[0]))
        x.append(0.75 * x[3] + 0.25 * trained(0, x[2]))
        x.append(0.5 * x[4] + 0.5 * trained(0, x[4]))
        x.append(0.5 * x[5] + 0.5 * trained(0, x[5]))
        x.append(0.875 * x[6] + 0.125 * trained(1, x[3]))
        assert models(made) == pytest.approx(x[1:], rel=1e-12)
        # Each restarts at once, from the model into which it has just been merged.
        assert [start for start, _ in jobs(made, 0)][:6] == [0.0, 0.75, 1.5, 2.25, 3.0, 3.75]
        assert [job.model for _, job in jobs(made, 0)][:6] == pytest.approx([x[0], x[1], x[2], x[4], x[5], x[6]])
        assert [start for start, _ in jobs(made, 1)][:2] == [0.0, 2.0]
        assert [job.model for _, job in jobs(made, 1)][:2] == pytest.approx([x[0], x[3]])

    def test_the_defaults(self, system):
        made = system(Fedasync(), self.TWO, local_steps=7, iterations=7, **CLOUD)
        assert weights(made) == [pytest.approx([0.6 / math.sqrt(1 + d)]) for d in (0, 0, 2, 1, 0, 0, 3)]
        assert {job.proximal for job in made.executor.jobs} == {0.005}
        assert {job.rate for job in made.executor.jobs} == {1.0}

    def test_rho_is_the_proximal_pull_of_every_job(self, system):
        made = system(Fedasync(rho=0.25), self.TWO, iterations=5, **CLOUD)
        assert {job.proximal for job in made.executor.jobs} == {0.25}

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"s": "constant"}, [0.6] * 14),
            ({"s": "polynomial"}, [0.6 * d**-0.5 for d in (1, 2, 3, 4, 5, 6, 7, *[7] * 7)]),
            ({"s": "polynomial", "a": 2.0}, [0.6 * d**-2.0 for d in (1, 2, 3, 4, 5, 6, 7, *[7] * 7)]),
            ({"s": "hinge"}, [0.6] * 5 + [0.6 / 11] + [0.6 / 21] * 8),
            ({"s": "hinge", "a": 1.0, "b": 5.0}, [0.6] * 6 + [0.6 / 2] * 8),
        ],
    )
    def test_discounts_with_ties_in_the_order_of_the_clients(self, system, options, expected):
        """Seven equals: stale by 0 to 6 in the first lap, by 6 for ever after."""
        made = system(Fedasync(**options), [(0, 1, 1.0)] * 7, iterations=14, **CLOUD)
        assert merged(made) == [[(i % 7, min(i, 6))] for i in range(14)]
        assert times(made) == [1.25] * 7 + [2.5] * 7
        assert weights(made) == [pytest.approx([weight], rel=1e-12) for weight in expected]

    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_any_speeds_against_a_plain_event_list(self, system, data):
        # Seconds that are square roots of different primes never meet.
        needed_s = [math.sqrt(p) for p in data.draw(st.permutations([2, 3, 5, 7, 11, 13]))][
            : data.draw(st.integers(1, 6))
        ]
        alpha, a = data.draw(st.floats(0.05, 1.0)), data.draw(st.floats(0.0, 2.0))
        clients = [(0, 1, 1 / seconds) for seconds in needed_s]
        made = system(Fedasync(alpha=alpha, a=a), clients, pull, initial=5.0, iterations=30, **CLOUD)
        lasting = [1 / h for _, _, h in clients]
        pending = [(seconds + 0.25, i, 5.0, 0) for i, seconds in enumerate(lasting)]
        x = 5.0
        for k, completion in enumerate(made.diary.completions):
            first = min(pending)
            time, i, sent, version = first
            weight = alpha * (1 + k - version) ** -a
            x = (1 - weight) * x + weight * (sent + 0.1 * (i + 1 - sent))
            pending.remove(first)
            pending.append((time + lasting[i] + 0.25, i, x, k + 1))
            assert completion.time_s == time
            assert merged(made)[k] == [(i, k - version)]
            assert completion.merged[0].weight == pytest.approx(weight, rel=1e-12)
            assert models(made)[k] == pytest.approx(x, rel=1e-12)


class TestFedSA:
    def test_three_clients_two_at_a_time_by_hand(self, system):
        made = system(Fedsa(M=2), THREE, push, until=5.0, **CLOUD)
        # client 0 (.75):  0.75        2.0          3.0         3.75         5.0
        # client 1 (1.25):       1.25        (2.5)                    4.25
        # client 2 (2.25):                  2.25          (4.5 waits with 0's 5.0)
        # k:                     0          1        2                3      4
        assert times(made) == [1.25, 2.25, 3.0, 4.25, 5.0]
        assert merged(made) == [
            [(0, 0), (1, 0)],
            [(0, 0), (2, 1)],
            [(1, 1), (0, 0)],
            [(0, 0), (1, 0)],
            [(2, 2), (0, 0)],
        ]
        assert weights(made) == [[0.25, 0.25], [0.25, 0.5], [0.25, 0.25], [0.25, 0.25], [0.5, 0.25]]
        # Only those who were merged restart, together.
        assert starts(made, 0) == [0.0, 1.25, 2.25, 3.0, 4.25, 5.0]
        assert starts(made, 1) == [0.0, 1.25, 3.0, 4.25]
        assert starts(made, 2) == [0.0, 2.25, 5.0]
        # Merged so far, after each merge: (1,1,0) (2,1,1) (3,2,1) (4,3,1) (5,3,2); rate = total / (3 own).
        rates = [[job.rate for _, job in jobs(made, client)] for client in range(3)]
        assert rates[0] == pytest.approx([1, 2 / 3, 4 / 6, 6 / 9, 8 / 12, 10 / 15], rel=1e-12)
        assert rates[1] == pytest.approx([1, 2 / 3, 6 / 6, 8 / 9], rel=1e-12)
        assert rates[2] == pytest.approx([1, 4 / 3, 10 / 6], rel=1e-12)
        # w = (1 - sum alpha_i) w + sum alpha_i w_i, w_i = sent + (i + 1) rate
        x = [0.0]
        x.append(0.5 * x[0] + 0.25 * (x[0] + 1) + 0.25 * (x[0] + 2))
        x.append(0.25 * x[1] + 0.25 * (x[1] + 2 / 3) + 0.5 * (x[0] + 3))
        x.append(0.5 * x[2] + 0.25 * (x[1] + 2 * 2 / 3) + 0.25 * (x[2] + 2 / 3))
        x.append(0.5 * x[3] + 0.25 * (x[3] + 2 / 3) + 0.25 * (x[3] + 2))
        x.append(0.25 * x[4] + 0.5 * (x[2] + 3 * 4 / 3) + 0.25 * (x[4] + 2 / 3))
        assert models(made) == pytest.approx(x[1:], rel=1e-12)

    def test_rates_stay_as_they_are_unless_they_adapt(self, system):
        made = system(Fedsa(M=2, adapt_rate=False), THREE, push, iterations=6, **CLOUD)
        assert {job.rate for job in made.executor.jobs} == {1.0}

    def test_half_of_the_clients_by_default(self, system):
        made = system(Fedsa(), [(0, 1, 2.0**-i) for i in range(4)], iterations=5, **CLOUD)
        assert {len(c.merged) for c in made.diary.completions} == {2}

    @settings(max_examples=30, deadline=None)
    @given(data=st.data())
    def test_any_speeds_against_a_plain_event_list(self, system, data):
        needed_s = [math.sqrt(p) for p in data.draw(st.permutations([2, 3, 5, 7, 11, 13]))][
            : data.draw(st.integers(1, 6))
        ]
        samples = data.draw(st.lists(st.integers(1, 9), min_size=len(needed_s), max_size=len(needed_s)))
        at_once = data.draw(st.integers(1, len(needed_s)))
        clients = [(0, n, 1 / seconds) for n, seconds in zip(samples, needed_s, strict=True)]
        lasting = [1 / h for _, _, h in clients]

        def train(job):
            return job.model + 0.1 * job.rate * (job.client + 1 - job.model)

        made = system(Fedsa(M=at_once), clients, train, initial=5.0, iterations=20, **CLOUD)
        count, x, parts = len(clients), 5.0, [0] * len(clients)
        pending = [(seconds + 0.25, i, 5.0, 0, 1.0) for i, seconds in enumerate(lasting)]
        for k, completion in enumerate(made.diary.completions):
            batch = sorted(pending)[:at_once]
            now = batch[-1][0]
            alphas = [samples[i] / sum(samples) for _, i, *_ in batch]
            x = (1 - sum(alphas)) * x + sum(
                alpha * (sent + 0.1 * rate * (i + 1 - sent))
                for alpha, (_, i, sent, _, rate) in zip(alphas, batch, strict=True)
            )
            for _, i, *_ in batch:
                parts[i] += 1
            for one in batch:
                pending.remove(one)
                i = one[1]
                rate = sum(parts) / (count * parts[i])
                pending.append((now + lasting[i] + 0.25, i, x, k + 1, rate))
            assert completion.time_s == now
            assert merged(made)[k] == [(i, k - version) for _, i, _, version, _ in batch]
            assert weights(made)[k] == pytest.approx(alphas, rel=1e-12)
            assert models(made)[k] == pytest.approx(x, rel=1e-9)


class TestFedBuff:
    def test_two_clients_by_hand(self, system):
        made = system(Fedbuff(K=2, eta_g=0.5), [(0, 1, 2.0), (0, 9, 1.0)], pull, initial=8.0, until=3.0, **CLOUD)
        # client 0 (.75):  0.75        1.5   2.25        3.0
        # client 1 (1.25):       1.25              2.5
        # downloaded:      0     0     0     1     1     2
        # step:                  k=0         k=1         k=2
        assert times(made) == [1.25, 2.25, 3.0]
        assert merged(made) == [[(0, 0), (1, 0)], [(0, 1), (0, 0)], [(1, 1), (0, 0)]]

        def delta(client, model):
            return 0.1 * (client + 1 - model)

        x, s = [8.0], 1 / math.sqrt(2)
        x.append(x[0] + 0.5 * (delta(0, x[0]) + delta(1, x[0])) / 2)
        x.append(x[1] + 0.5 * (s * delta(0, x[0]) + delta(0, x[1])) / 2)
        x.append(x[2] + 0.5 * (s * delta(1, x[1]) + delta(0, x[2])) / 2)
        assert models(made) == pytest.approx(x[1:], rel=1e-12)
        # Each restarts at its upload with the model of then; the last of a buffer after the server's step.
        assert starts(made, 0) == [0.0, 0.75, 1.5, 2.25, 3.0]
        assert [job.model for _, job in jobs(made, 0)] == pytest.approx([x[0], x[0], x[1], x[2], x[3]])
        assert starts(made, 1) == [0.0, 1.25, 2.5]
        assert [job.model for _, job in jobs(made, 1)] == pytest.approx([x[0], x[1], x[2]])
        assert {(job.proximal, job.rate) for job in made.executor.jobs} == {(0.0, 1.0)}

    def test_weights_are_in_proportion_to_the_discounts_whatever_the_data(self, system):
        made = system(Fedbuff(K=2), [(0, 1, 2.0), (0, 9, 1.0)], until=3.0, **CLOUD)
        ratios = [first / second for first, second in weights(made)]
        assert ratios == pytest.approx([1, 1 / math.sqrt(2), 1 / math.sqrt(2)])

    def test_ten_by_default_and_a_client_may_come_twice(self, system):
        made = system(Fedbuff(), [(0, 1, 2.0), (0, 1, 1.0)], push, iterations=1, **CLOUD)
        # By 4.5 s client 0 has come six times and client 1 three times; client 1 comes again at 5 s.
        assert times(made) == [5.0]
        assert Counter(client for client, _ in merged(made)[0]) == {0: 6, 1: 4}
        # Every delta was measured from the model that its client was sent: (6 x 1 + 4 x 2) / 10
        assert models(made) == pytest.approx([1.4])


def safa_by_hand(lasting, samples, quota, tau, limit_s, rounds):
    """SAFA in plain loops, without crashes; `pull` is the training. Rounds count from 1."""
    count, total = len(lasting), sum(samples)
    cache, model, now, last = [5.0] * count, 5.0, 0.0, set()
    finished, base, version, due = [0] * count, [0.0] * count, [0] * count, [0.0] * count
    trace = []
    for t in range(1, rounds + 1):
        for i in range(count):
            if finished[i] == t - 1 or (t - 1) - finished[i] > tau:
                base[i], version[i], due[i] = model, t - 1, now + lasting[i] + 0.25
        end, picked, waiting = now + limit_s, [], []
        for i in sorted(range(count), key=lambda i: due[i]):
            if due[i] > end:
                now = end
                break
            now, finished[i] = due[i], t
            (waiting if i in last else picked).append(i)
            if len(picked) == quota:
                break
        missing = quota - len(picked)
        picked, undrafted = picked + waiting[:missing], waiting[missing:]
        result = {i: base[i] + 0.1 * (i + 1 - base[i]) for i in picked + undrafted}
        for i in picked:
            cache[i] = result[i]
        model = sum(n / total * entry for n, entry in zip(samples, cache, strict=True))
        for i in undrafted:
            cache[i] = result[i]
        last = set(picked)
        trace.append((now, {(i, t - 1 - version[i]) for i in picked}, model))
    return trace


class TestSafa:
    def test_undrafted_and_filled_picks_by_hand(self, system):
        made = system(Safa(fraction=0.5), THREE, push, until=7.0, **CLOUD)
        # The quota is ceil(1.5) = 2; durations are .75, 1.25, 2.25.
        # Round 1: 0 at .75 and 1 at 1.25 are the quota. 2 goes on.
        # Round 2 from 1.25: 0 at 2.0 waits (picked last round), 2 at 2.25 is picked, 1 at 2.5 waits, and
        #   nobody is left at work: 0 fills the quota, 1 is undrafted and enters the cache after the sum.
        # Round 3 from 2.5: 0 at 3.25 waits, 1 at 3.75 is picked, 2 at 4.75 waits; 0 fills, 2 undrafted.
        # Round 4 from 4.75: 0 at 5.5 waits, 1 at 6.0 waits, 2 at 7.0 is picked; 0 fills, 1 undrafted.
        assert times(made) == [1.25, 2.5, 4.75, 7.0]
        assert [set(found) for found in merged(made)] == [
            {(0, 0), (1, 0)},
            {(2, 1), (0, 0)},
            {(1, 0), (0, 0)},
            {(2, 0), (0, 0)},
        ]
        x = [0.0]
        x.append(0.25 * (x[0] + 1) + 0.25 * (x[0] + 2) + 0.5 * x[0])
        x.append(0.25 * (x[1] + 1) + 0.25 * (x[0] + 2) + 0.5 * (x[0] + 3))
        x.append(0.25 * (x[2] + 1) + 0.25 * (x[2] + 2) + 0.5 * (x[0] + 3))
        x.append(0.25 * (x[3] + 1) + 0.25 * (x[2] + 2) + 0.5 * (x[3] + 3))
        assert models(made) == pytest.approx(x[1:], rel=1e-12)
        assert starts(made, 0) == starts(made, 1) == [0.0, 1.25, 2.5, 4.75, 7.0]
        assert starts(made, 2) == [0.0, 2.5, 4.75, 7.0]
        assert {one for found in weights(made) for one in found} == {0.25, 0.5}

    def test_an_undrafted_result_counts_from_the_next_round_on(self, system):
        """Client 0 waits while client 1 closes round 4; its entry of round 3 is in that sum, not its new one."""
        clients = [(0, 1, 2.0), (0, 1, 1.0), (0, 2, 0.25)]
        made = system(Safa(fraction=0.3, tau=10), clients, push, until=4.25, **CLOUD)
        # Durations .75, 1.25, 4.25; one pick a round, nobody twice in a row.
        # round   closes  picked (downloaded)
        #   1      0.75   0 (0)
        #   2      1.25   1 (0)
        #   3      1.5    0 (1)
        #   4      2.5    1 (2)   0 came at 2.25 with (3) and is undrafted
        #   5      3.25   0 (4)
        #   6      3.75   1 (4)
        #   7      4.0    0 (5)
        #   8      4.25   2 (0)   tolerable: seven rounds late
        assert times(made) == [0.75, 1.25, 1.5, 2.5, 3.25, 3.75, 4.0, 4.25]
        assert merged(made) == [[(0, 0)], [(1, 1)], [(0, 1)], [(1, 1)], [(0, 0)], [(1, 1)], [(0, 1)], [(2, 7)]]
        x, cache = [0.0], [0.0, 0.0, 0.0]
        for client, downloaded in [(0, 0), (1, 0), (0, 1), (1, 2), (0, 4), (1, 4), (0, 5), (2, 0)]:
            cache[client] = x[downloaded] + client + 1
            x.append(0.25 * cache[0] + 0.25 * cache[1] + 0.5 * cache[2])
            if len(x) == 5:
                cache[0] = x[3] + 1
        assert models(made) == pytest.approx(x[1:], rel=1e-12)
        # The tolerable client was never interrupted, and takes the model after it has finished.
        assert starts(made, 2) == [0.0, 4.25]

    def test_the_undrafted_entry_is_in_the_sum_even_if_its_owner_never_comes_back(self, system):
        # Client 0 needs .75 s twice and is stuck afterwards; the quota of one goes to 0, 1, 1 ... by turns.
        drift = {"drift": lambda client, start_s: 1.0 if client or start_s < 1.0 else 2.0**-20}
        clients = [(0, 1, 2.0), (0, 1, 0.5)]
        made = system(Safa(fraction=0.5, T_lim_s=2.5, tau=100), clients, push, until=6.0, **CLOUD, **drift)
        # Round 1 closes at .75 with 0. Round 2: 0 at 1.5 waits, 1 at 2.25 is picked: 0 undrafted, and stuck.
        # Round 3 from 2.25: 1 at 4.5 waits; at 4.75 the limit; 1 fills the quota.
        assert times(made) == [0.75, 2.25, 4.75]
        assert merged(made) == [[(0, 0)], [(1, 1)], [(1, 0)]]
        x1 = 0.5 * 1 + 0.5 * 0
        x2 = 0.5 * 1 + 0.5 * 2
        x3 = 0.5 * (x1 + 1) + 0.5 * (x2 + 2)
        assert models(made) == [x1, x2, x3]

    def test_a_deprecated_client_drops_its_work_and_takes_the_model(self, system):
        # Client 2 would need 64 s for the job that it starts at 0, and a quarter of a second later on.
        drift = {"drift": lambda client, start_s: 2.0**-8 if client == 2 and start_s == 0 else 1.0}
        clients = [(0, 1, 4 / 3), (0, 1, 1.0), (0, 2, 4.0)]
        made = system(Safa(fraction=0.3, tau=1), clients, push, until=1.75, **CLOUD, **drift)
        # Round 1 closes at 1.0 (client 0), round 2 at 1.25 (client 1). At the start of round 3 client 2 is
        # 2 - 0 > 1 rounds behind: it starts anew at 1.25 and is picked at 1.75, before client 0 comes at 2.
        assert times(made) == [1.0, 1.25, 1.75]
        assert merged(made) == [[(0, 0)], [(1, 1)], [(2, 0)]]
        x1 = 0.25 * 1
        x2 = 0.25 * 1 + 0.25 * 2
        x3 = 0.25 * 1 + 0.25 * 2 + 0.5 * (x2 + 3)
        assert models(made) == [x1, x2, x3]
        assert [(start, job.model) for start, job in jobs(made, 2)][:2] == [(0.0, 0.0), (1.25, x2)]

    def test_a_client_within_the_tolerance_goes_on(self, system):
        clients = [(0, 1, 4 / 3), (0, 1, 1.0), (0, 2, 0.5)]
        made = system(Safa(fraction=0.3, tau=2), clients, push, until=2.25, **CLOUD)
        # Rounds 1 to 3 close at 1.0 (client 0), 1.25 (client 1) and 2.0 (client 0). Round 4: 3 - 0 > 2.
        assert starts(made, 2) == [0.0, 2.0]
        # With one round more it is just in time: 2.25, the pick of round 4.
        made = system(Safa(fraction=0.3, tau=3), clients, push, until=2.25, **CLOUD)
        assert starts(made, 2) == [0.0, 2.25]
        assert merged(made)[3] == [(2, 3)]

    def test_a_client_that_has_finished_no_round_since_is_deprecated_again(self, system):
        """The lag counts from the last round that it finished, so it takes each new model until it is in time."""
        clients = [(0, 1, 4 / 3), (0, 1, 1.0), (0, 2, 0.125)]
        made = system(Safa(fraction=0.3, tau=1), clients, until=3.5, model_bits=8.0, cloud_bps=32.0)
        # Clients 0 (1 s) and 1 (1.25 s) are picked by turns, and restart at once.
        assert times(made) == [1.0, 1.25, 2.0, 2.5, 3.0]
        assert merged(made) == [[(0, 0)], [(1, 1)], [(0, 1)], [(1, 1)], [(0, 1)]]
        # Client 2 (8.25 s) is two rounds behind at the start of round 3, three at that of round 4 ...
        assert starts(made, 2) == [0.0, 1.25, 2.0, 2.5, 3.0]
        # What it drops is never uploaded, and it was busy all the time like the others.
        assert made.federation.traffic.total_bytes(3.5)["cloud_bytes"] == 5.0
        assert made.federation.traffic.total_bytes(3.5)["downlink_bytes"] == 4.0 + 3.0 + 5.0
        assert made.federation.traffic.idle_share(3, 3.5) == pytest.approx(0.0)

    def test_a_round_closes_at_the_limit_or_when_nobody_is_left_at_work(self, system):
        made = system(Safa(fraction=1.0, T_lim_s=1.0), [(0, 1, 2.0), (0, 3, 0.5)], push, until=4.0, **CLOUD)
        # Client 0 comes .75 s into each round, client 1 at 2.25. The limit ends rounds 1, 2 and 4; in round 3
        # client 1 comes at 2.25, two rounds late, and client 0 at 2.75: then nobody is left at work.
        assert times(made) == [1.0, 2.0, 2.75, 3.75]
        assert [set(found) for found in merged(made)] == [{(0, 0)}, {(0, 0)}, {(0, 0), (1, 2)}, {(0, 0)}]
        x = [0.0]
        x.append(0.25 * (x[0] + 1))
        x.append(0.25 * (x[1] + 1))
        x.append(0.25 * (x[2] + 1) + 0.75 * (x[0] + 2))
        x.append(0.25 * (x[3] + 1) + 0.75 * (x[0] + 2))
        assert models(made) == x[1:]

    def test_the_limit_closes_a_round_before_the_quota(self, system):
        made = system(Safa(fraction=1.0, T_lim_s=1.0), [(0, 1, 2.0), (0, 3, 0.125)], push, until=3.5, **CLOUD)
        # Client 0 comes .75 s into each round and waits for its end; client 1 would come at 8.25.
        assert times(made) == [1.0, 2.0, 3.0]
        assert merged(made) == [[(0, 0)]] * 3
        # Its share is the one of its data among all, present or not.
        x1 = 0.25 * 1
        x2 = 0.25 * (x1 + 1)
        assert models(made) == [x1, x2, 0.25 * (x2 + 1)]
        assert starts(made, 0) == [0.0, 1.0, 2.0, 3.0]

    def test_a_round_may_end_with_nothing(self, system):
        made = system(Safa(fraction=1.0, T_lim_s=0.5), [(0, 1, 1.0)], push, initial=8.0, until=1.25, **CLOUD)
        # The client comes at 1.25, in the third round, which it closes.
        assert times(made) == [0.5, 1.0, 1.25]
        assert merged(made) == [[], [], [(0, 2)]]
        assert models(made) == [8.0, 8.0, 9.0]

    @pytest.mark.parametrize("limit_s", [math.inf, math.pi, 1.3])
    @settings(max_examples=40, deadline=None)
    @given(data=st.data())
    def test_any_speeds_against_plain_loops(self, system, limit_s, data):
        needed_s = [math.sqrt(p) for p in data.draw(st.permutations([2, 3, 5, 7, 11, 83, 997]))]
        needed_s = needed_s[: data.draw(st.integers(1, 7))]
        count = len(needed_s)
        samples = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
        quota = data.draw(st.integers(1, count))
        tau = data.draw(st.integers(0, 6))
        clients = [(0, n, 1 / seconds) for n, seconds in zip(samples, needed_s, strict=True)]
        algorithm = Safa(fraction=(quota - 0.5) / count, tau=tau, T_lim_s=None if limit_s == math.inf else limit_s)
        made = system(algorithm, clients, pull, initial=5.0, iterations=25, **CLOUD)
        expected = safa_by_hand([1 / h for _, _, h in clients], samples, quota, tau, limit_s, 25)
        assert times(made) == pytest.approx([time for time, _, _ in expected], rel=1e-12)
        assert [set(found) for found in merged(made)] == [found for _, found, _ in expected]
        assert models(made) == pytest.approx([model for _, _, model in expected], rel=1e-9)

    @pytest.mark.parametrize("tau", [0, 1, 5])
    def test_crashes_by_their_properties(self, system, tau):
        samples = [1, 2, 5]
        clients = [(0, n, 1.0) for n in samples]
        made = system(Safa(fraction=1.0, crash=0.6, tau=tau), clients, pull, initial=5.0, iterations=400, **CLOUD)
        # Crashed or not, everyone is done, or lost, after 1.25 s.
        assert times(made) == [1.25 * k for k in range(1, 401)]
        history, cache, missed = [5.0], [5.0] * 3, [0] * 3
        for completion, after in zip(made.diary.completions, models(made), strict=True):
            present = {one.client: one.staleness for one in completion.merged}
            for client in range(3):
                if client not in present:
                    missed[client] += 1
                    continue
                # It has tried again from the same model for as long as it was tolerable, else from the newest.
                assert present[client] == (missed[client] if missed[client] <= tau else 0)
                sent = history[completion.iteration - present[client]]
                cache[client] = sent + 0.1 * (client + 1 - sent)
                missed[client] = 0
            assert after == pytest.approx(sum(n / 8 * w for n, w in zip(samples, cache, strict=True)), rel=1e-12)
            history.append(after)
        # 1200 tries of .4: 480, and 17 is one standard deviation.
        assert 410 < sum(len(c.merged) for c in made.diary.completions) < 550

    def test_a_job_is_tried_again_from_the_same_model(self, system):
        made = system(Safa(fraction=1.0, crash=0.9, tau=3), [(0, 1, 1.0)], pull, initial=5.0, iterations=60, **CLOUD)
        present = [bool(c.merged) for c in made.diary.completions]
        tried = [job.model for _, job in jobs(made, 0)]
        numbers = [job.number for _, job in jobs(made, 0)]
        assert numbers == list(range(len(numbers)))
        assert len(tried) in (60, 61)
        for before, (first, second) in enumerate(pairwise(tried[:60])):
            # Without an arrival nothing changes, so that the global model is the same one too.
            assert present[before] or second == first
        assert 0 < sum(present) < 20

    def test_crashes_with_a_quota_keep_the_clock_running(self, system):
        made = system(Safa(fraction=0.5, crash=0.5, tau=2, T_lim_s=2.0), THREE, pull, iterations=200, **CLOUD)
        ends = [0.0, *times(made)]
        assert all(0 < later - earlier <= 2.0 for earlier, later in pairwise(ends))
        assert all(one.staleness <= 2 for c in made.diary.completions for one in c.merged)
        assert all(len(c.merged) <= 2 for c in made.diary.completions)
        assert {one.client for c in made.diary.completions for one in c.merged} == {0, 1, 2}


class TestHierFAVG:
    # Two edges with a quarter and three quarters of the data: kappa1 = 2 steps last 1 s and .5 s.
    TWO = ((0, 1, 2.0), (0, 1, 4.0), (1, 2, 4.0), (1, 4, 8.0))
    RATES = {"uplink_bps": 4.0, "cloud_bps": 2.0, "links": [(0, 1)]}  # noqa: RUF012

    def test_two_edges_by_hand(self, system):
        made = system(Hierfavg(kappa1=2), self.TWO, push, iterations=6, **self.RATES)
        # Edge 1: .5 + .25 = .75 a round, edge 0: 1 + .25 = 1.25. The second round of edge 0 has its uploads at
        # 2.5 and its model in the cloud at 3.0, long after that of edge 1 (1.5 + .5).
        assert times(made) == [0.75, 1.25, 3.0, 3.75, 4.25, 6.0]
        assert [[t.server for t in c.triggers] for c in made.diary.completions] == [[1], [0], [0, 1]] * 2
        assert [c.staleness for c in made.diary.completions] == [[0, 0], [1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
        cloud = {0: {0: 0.25, 1: 0.75}, 1: {0: 0.25, 1: 0.75}}
        assert [c.mixing for c in made.diary.completions] == [{}, {}, cloud, {}, {}, cloud]
        # Two steps of 1 and 2, half each: 3. Of 3 and 4, a third and two thirds: 22/3. The cloud adds twice
        # .25 x 3 + .75 x 22/3 = 6.25.
        assert made.diary.after == [
            pytest.approx(pair)
            for pair in [(0, 22 / 3), (3, 22 / 3), (12.5, 12.5), (12.5, 12.5 + 22 / 3), (15.5, 12.5 + 22 / 3), (25, 25)]
        ]
        assert {job.steps for job in made.executor.jobs} == {2}
        # Nobody starts between its second round and the cloud.
        assert starts(made, 2)[:4] == [0.0, 0.75, 3.0, 3.75]
        assert starts(made, 0)[:4] == [0.0, 1.25, 3.0, 4.25]

    def test_edges_train_from_their_own_models_between_meetings(self, system):
        made = system(Hierfavg(kappa1=2, kappa2=3), self.TWO, pull, initial=9.0, iterations=10, **self.RATES)

        def edge(model, clients, shares):
            return sum(
                share * (model + 0.2 * (client + 1 - model)) for client, share in zip(clients, shares, strict=True)
            )

        model, clouds = 9.0, []
        for _ in range(2):
            a = b = model
            for _ in range(3):
                a, b = edge(a, (0, 1), (1 / 2, 1 / 2)), edge(b, (2, 3), (1 / 3, 2 / 3))
            model = 0.25 * a + 0.75 * b
            clouds.append(model)
        at_cloud = [after for c, after in zip(made.diary.completions, made.diary.after, strict=True) if c.mixing]
        assert at_cloud == [pytest.approx([x, x], rel=1e-12) for x in clouds]
        # Three rounds of the slower edge and its way to the cloud: 3 x 1.25 + .5
        assert [c.time_s for c in made.diary.completions if c.mixing] == [4.25, 8.5]

    def test_every_round_may_be_a_cloud_round(self, system):
        made = system(Hierfavg(kappa1=2, kappa2=1), self.TWO, push, iterations=3, **self.RATES)
        assert times(made) == [1.75, 3.5, 5.25]
        assert made.diary.after == [pytest.approx([x, x]) for x in (6.25, 12.5, 18.75)]

    def test_kappa1_is_local_steps_by_default(self, system):
        made = system(Hierfavg(), self.TWO, local_steps=5, iterations=1, **self.RATES)
        assert {job.steps for job in made.executor.jobs} == {5}


class TestMllSgd:
    def test_equal_speeds_by_hand(self, system):
        # Shares a quarter and three quarters on one link: P = mtil 1^T there.
        clients = [(0, 1, 2.0), (1, 1, 2.0), (1, 2, 2.0)]
        made = system(MllSgd(tau=4, q=2), clients, push, links=[(0, 1)], iterations=4, uplink_bps=4.0, exchange_bps=2.0)
        # Four slots of half a second, .25 for the upload, and .5 for the exchange every second round.
        assert times(made) == [2.25, 5.0, 7.25, 10.0]
        # Hubs: 4 x 1 = 4; a third of 4 x 2 and two thirds of 4 x 3: 32/3. Mixed: .25 x 8 + .75 x 64/3 = 18.
        assert made.diary.after == [
            pytest.approx(pair) for pair in [(4, 32 / 3), (18, 18), (22, 18 + 32 / 3), (36, 36)]
        ]
        assert [bool(c.mixing) for c in made.diary.completions] == [False, True, False, True]

    def test_slow_workers_step_with_their_own_probability(self, system):
        tau, speeds, rounds = 8, [4.0, 2.0, 1.0, 3.0], 600
        clients = [(0, 1, 4.0), (0, 3, 2.0), (1, 2, 1.0), (1, 2, 3.0)]
        made = system(MllSgd(tau=tau), clients, push, links=[(0, 1)], iterations=rounds, uplink_bps=4.0)
        # Nobody waits for the slow ones: 8 slots of 1/4 s, .25 s and .1 s.
        assert times(made) == pytest.approx([2.35 * k for k in range(1, rounds + 1)])
        steps = np.array([[count for t in c.triggers for count in t.steps] for c in made.diary.completions])
        assert steps.min() >= 0
        assert steps.max() <= tau
        assert (steps[:, 0] == tau).all()
        for client, speed in enumerate(speeds):
            p = speed / 4
            deviation = math.sqrt(tau * p * (1 - p))
            assert abs(steps[:, client].mean() - tau * p) <= 4 * deviation / math.sqrt(rounds)
            assert steps[:, client].std() == pytest.approx(deviation, rel=0.15, abs=1e-12)
        # Draws of different workers have nothing to do with each other.
        assert abs(np.corrcoef(steps[:, 1], steps[:, 2])[0, 1]) < 0.2
        assert abs(np.corrcoef(steps[1:, 1], steps[:-1, 1])[0, 1]) < 0.2

    def test_hubs_average_plainly_and_those_without_a_step_keep_the_model(self, system):
        clients = [(0, 1, 4.0), (0, 3, 1.0), (1, 2, 0.5), (1, 2, 4.0)]
        made = system(MllSgd(tau=2), clients, push, links=[(0, 1)], iterations=60, initial=1.0)
        shares = np.array([0.25, 0.75, 0.5, 0.5])
        pushes = shares * np.arange(1, 5)
        idle = 0
        model = 1.0
        for completion, after in zip(made.diary.completions, made.diary.after, strict=True):
            steps = np.array([count for t in completion.triggers for count in t.steps])
            idle += (steps == 0).sum()
            # Equal clusters on one link: both hubs end with the mean of the two.
            model += (pushes * steps).sum() / 2
            assert after == pytest.approx([model, model], rel=1e-9)
        assert idle > 20
        # A job without steps gives back the model that was sent.
        assert all(job.model == push(job) for job in made.executor.jobs if job.steps == 0)

    def test_a_hub_without_any_step_stands_still(self, system):
        made = system(
            MllSgd(tau=1, q=10**6), [(0, 1, 1.0), (1, 1, 64.0)], push, links=[(0, 1)], iterations=40, initial=3.0
        )
        for completion, before, after in zip(made.diary.completions, made.diary.before, made.diary.after, strict=True):
            slow, fast = (t.steps[0] for t in completion.triggers)
            assert fast == 1
            assert after[0] - before[0] == slow
            assert after[1] - before[1] == 2


class TestAdPsgd:
    def test_two_servers_by_hand(self, system):
        # Nine steps in .5 s and in 2.25 s, .25 s for the upload and .25 s over the link: 1 s and 2.75 s.
        made = system(
            AdPsgd(min_steps=9),
            [(0, 1, 18.0), (1, 7, 4.0)],
            lambda job: job.model + 0.5 * (10 * job.client - job.model),
            links=[(0, 1)],
            initial=4.0,
            until=4.0,
            uplink_bps=4.0,
            exchange_bps=4.0,
        )
        assert times(made) == [1.0, 2.0, 2.75, 3.0, 4.0]
        assert [t.server for c in made.diary.completions for t in c.triggers] == [0, 0, 1, 0, 0]
        # Pair average first, then the change from the model that was read: -s/2 for 0, (10 - s)/2 for 1.
        # 1.0:  (4, 4)         -> 4,       4;       0 had read 4:     (2, 4)
        # 2.0:  (2, 4)         -> 3,       3;       0 had read 2:     (2, 3)
        # 2.75: (2, 3)         -> 2.5,     2.5;     1 had read 4, +3: (2.5, 5.5)
        # 3.0:  (2.5, 5.5)     -> 4,       4;       0 had read 2:     (3, 4)
        # 4.0:  (3, 4)         -> 3.5,     3.5;     0 had read 3:     (2, 3.5)
        assert made.diary.after == [[2.0, 4.0], [2.0, 3.0], [2.5, 5.5], [3.0, 4.0], [2.0, 3.5]]
        assert [job.model for _, job in jobs(made, 0)] == [4.0, 2.0, 2.0, 3.0, 2.0]
        assert [(start, job.model) for start, job in jobs(made, 1)] == [(0.0, 4.0), (2.75, 5.5)]
        assert {job.steps for job in made.executor.jobs} == {9}

    def test_an_exchange_lasts_as_long_as_its_own_link(self, system):
        # A path 0 - 1 - 2 with a fast and a slow link; only server 1 has a choice.
        links = [(0, 1, {"rate_bps": 4.0}), (1, 2, {"rate_bps": 1.0})]
        clients = [(0, 1, 1.0), (1, 1, 1.0), (2, 1, 1.0)]
        made = system(AdPsgd(), clients, push, links=links, iterations=300, uplink_bps=2.0)
        chosen = Counter()
        for completion in made.diary.completions:
            (trigger,) = completion.triggers
            (partner,) = set(completion.mixing) - {trigger.server}
            lasts = {(0, 1): 0.25, (1, 0): 0.25, (1, 2): 1.0, (2, 1): 1.0}[trigger.server, partner]
            assert completion.time_s - trigger.started_s == pytest.approx(1.0 + 0.5 + lasts)
            chosen[trigger.server, partner] += 1
        # Server 1 tosses a coin.
        assert chosen[1, 0] + chosen[1, 2] > 80
        assert abs(chosen[1, 0] - chosen[1, 2]) < 4 * math.sqrt(chosen[1, 0] + chosen[1, 2])

    @settings(max_examples=30, deadline=None)
    @given(speeds=st.lists(st.floats(0.3, 3.0), min_size=3, max_size=6), samples=st.integers(1, 9))
    def test_the_sum_of_the_models_changes_by_training_alone(self, system, speeds, samples):
        count = len(speeds)
        links = [(a, (a + 1) % count) for a in range(count)]
        clients = [(d, samples + d, h) for d, h in enumerate(speeds)]
        made = system(AdPsgd(), clients, pull, links=links, iterations=50, initial=7.0)
        read = [7.0] * count
        diary = made.diary
        for completion, before, after in zip(diary.completions, diary.before, diary.after, strict=True):
            (trigger,) = completion.triggers
            d = trigger.server
            (partner,) = set(completion.mixing) - {d}
            assert partner in {(d - 1) % count, (d + 1) % count}
            assert completion.mixing == {d: {d: 0.5, partner: 0.5}, partner: {d: 0.5, partner: 0.5}}
            change = 0.1 * (d + 1 - read[d])
            mean = (before[d] + before[partner]) / 2
            expected = list(before)
            expected[d], expected[partner] = mean + change, mean
            assert after == pytest.approx(expected, rel=1e-12)
            assert sum(after) == pytest.approx(sum(before) + change, rel=1e-12)
            read[d] = after[d]

    def test_a_cluster_is_averaged_by_its_data(self, system):
        made = system(AdPsgd(), [(0, 1, 1.0), (0, 3, 1.0), (1, 1, 0.25)], push, links=[(0, 1)], iterations=1)
        assert made.models == [0.25 * 1 + 0.75 * 2, 0.0]

    def test_clients_as_nodes_need_no_upload_and_exchange_over_their_uplinks(self, system):
        clients = [(0, 1, 2.0), (0, 5, 1.0), (1, 1, 0.5), (1, 1, 4.0)]
        made = system(
            AdPsgd(nodes="clients"), clients, push, links=[(0, 1)], iterations=60, uplink_bps=4.0, exchange_bps=1000.0
        )
        for completion in made.diary.completions:
            (trigger,) = completion.triggers
            client = trigger.server
            assert completion.time_s - trigger.started_s == pytest.approx(1 / clients[client][2] + 0.25)
            # A cycle of four is what these tests draw.
            (partner,) = set(completion.mixing) - {client}
            assert (partner - client) % 4 in (1, 3)
        assert len(made.models) == 4
        # 0, 1, 2 and 3 push by 1 to 4 whenever they come.
        came = Counter(t.server for c in made.diary.completions for t in c.triggers)
        assert sum(made.models) == pytest.approx(sum((client + 1) * often for client, often in came.items()))


class TestDPsgd:
    def test_two_servers_by_hand(self, system):
        made = system(
            DPsgd(min_steps=2),
            [(0, 1, 2.0), (1, 1, 1.0)],
            pull,
            links=[(0, 1)],
            initial=4.0,
            iterations=3,
            uplink_bps=4.0,
        )
        # The slowest needs 2 s, then .25 s and .1 s.
        assert times(made) == pytest.approx([2.35, 4.7, 7.05])
        # Mixed with (1/2, 1/2), then the change from one's own model: .2 (i + 1 - x_i)
        a = b = 4.0
        for after in made.diary.after:
            mean = (a + b) / 2
            a, b = mean + 0.2 * (1 - a), mean + 0.2 * (2 - b)
            assert after == pytest.approx([a, b], rel=1e-12)
        assert {job.steps for job in made.executor.jobs} == {2}

    def test_a_ring_of_clients(self, system):
        clients = [(0, 2, 2.0), (0, 2, 1.0), (1, 2, 0.5), (1, 2, 4.0), (1, 2, 1.0)]
        made = system(DPsgd(nodes="clients"), clients, pull, links=[(0, 1)], initial=4.0, iterations=20, uplink_bps=4.0)
        # The slowest computes 2 s and exchanges .25 s over its uplink; there is no upload before.
        assert times(made) == pytest.approx([2.25 * k for k in range(1, 21)])
        x = np.full(5, 4.0)
        for completion, after in zip(made.diary.completions, made.diary.after, strict=True):
            mixing = np.zeros((5, 5))
            for target, column in completion.mixing.items():
                for source, weight in column.items():
                    mixing[source, target] = weight
            # Doubly stochastic, and nobody hears anyone but its neighbours.
            assert mixing.sum(axis=0) == pytest.approx(np.ones(5))
            assert mixing.sum(axis=1) == pytest.approx(np.ones(5))
            assert not any(mixing[a, b] for a in range(5) for b in range(5) if (a - b) % 5 in (2, 3))
            assert min(mixing[a, (a + 1) % 5] for a in range(5)) > 0
            x = x @ mixing + 0.1 * (np.arange(1, 6) - x)
            assert after == pytest.approx(x.tolist(), rel=1e-12)

    @settings(max_examples=20, deadline=None)
    @given(samples=st.lists(st.integers(1, 20), min_size=3, max_size=6))
    def test_the_sum_of_the_models_changes_by_training_alone(self, system, samples):
        count = len(samples)
        clients = [(d, n, 1.0) for d, n in enumerate(samples)]
        links = [(d, d + 1) for d in range(count - 1)]
        made = system(DPsgd(), clients, push, links=links, iterations=5)
        assert [sum(after) for after in made.diary.after] == pytest.approx(
            [k * count * (count + 1) / 2 for k in range(1, 6)]
        )


class TestCentral:
    def test_one_device_of_mean_speed_with_all_the_data(self, system):
        made = system(
            Central(),
            [(0, 1, 1.0), (0, 5, 2.0), (0, 2, 6.0)],
            lambda job: job.model + job.steps,
            local_steps=6,
            until=6.0,
        )
        # 6 steps at (1 + 2 + 6) / 3 = 3 flops: 2 s; nothing to transfer.
        assert times(made) == [2.0, 4.0, 6.0]
        assert models(made) == [6.0, 12.0, 18.0]
        assert {(job.client, job.steps) for job in made.executor.jobs} == {(-1, 6)}
        assert [job.number for job in made.executor.jobs] == list(range(len(made.executor.jobs)))
        assert [job.model for job in made.executor.jobs][:3] == [0.0, 6.0, 12.0]
        assert set(made.federation.traffic.total_bytes(6.0).values()) == {0.0}


class TestTraffic:
    def test_asynchronous_sd_feel_by_hand(self, system):
        # Cycles of .5 + .25 + .25 = 1 s and 2 + .25 + .25 = 2.5 s; a model is one byte.
        made = system(
            AsyncSdFeel(),
            [(0, 1, 2.0), (1, 1, 0.5)],
            links=[(0, 1)],
            until=2.625,
            model_bits=8.0,
            uplink_bps=32.0,
            exchange_bps=32.0,
        )
        assert times(made) == [1.0, 2.0, 2.5]
        # Downloads at 0, 1, 2 and at 0, 2.5; uploads at .75, 1.75 and 2.25; an exchange moves a model each way.
        assert made.federation.traffic.total_bytes(2.625) == {
            "uplink_bytes": 3.0,
            "downlink_bytes": 5.0,
            "exchange_bytes": 6.0,
            "cloud_bytes": 0.0,
        }
        # Client 0: .75 + .75 + .625 (its third upload lasts from 2.5 to 2.75). Client 1: 2.25 + .125.
        assert made.federation.traffic.idle_share(2, 2.625) == pytest.approx(1 - 4.5 / 5.25)

    def test_clients_that_have_done_their_steps_wait_for_the_deadline(self, system):
        made = system(AsyncSdFeel(), [(0, 1, 1.0), (0, 1, 1.25)], until=2.25, model_bits=8.0, uplink_bps=64.0)
        # Deadlines of 1 s: one step each, the faster one after .8 s; uploads of .125 s; no neighbour.
        assert times(made) == [1.125, 2.25]
        assert made.federation.traffic.total_bytes(2.25)["uplink_bytes"] == 4.0
        assert made.federation.traffic.total_bytes(2.25)["exchange_bytes"] == 0.0
        assert made.federation.traffic.idle_share(2, 2.25) == pytest.approx(1 - (2.25 + 2 * 0.925) / 4.5)

    def test_synchronous_sd_feel_by_hand(self, system):
        # A path of three; the slowest needs 2 s. Rounds of 2.25 s, and two exchanges of .25 s every second one.
        made = system(
            SyncSdFeel(tau2=2, alpha=2),
            [(0, 1, 2.0), (1, 1, 1.0), (2, 1, 0.5)],
            links=[(0, 1), (1, 2)],
            until=6.0,
            model_bits=8.0,
            uplink_bps=32.0,
            exchange_bps=32.0,
        )
        assert times(made) == [2.25, 5.0]
        # Third round from 5.0: client 0 has uploaded at 5.75. One exchange moves four models over two links.
        assert made.federation.traffic.total_bytes(6.0) == {
            "uplink_bytes": 7.0,
            "downlink_bytes": 9.0,
            "exchange_bytes": 8.0,
            "cloud_bytes": 0.0,
        }
        # Two rounds of .75, 1.25 and 2.25; in the third .75, 1 and 1.
        assert made.federation.traffic.idle_share(3, 6.0) == pytest.approx(1 - (2 * 4.25 + 2.75) / 18)

    def test_downloads_keep_clients_busy_where_they_take_time(self, system):
        made = system(
            Fedavg(), [(0, 1, 2.0), (0, 1, 1.0)], until=1.75, model_bits=8.0, cloud_bps=32.0, downlink_bps=16.0
        )
        # .5 s down, 1 s for the slower one, .25 s up.
        assert times(made) == [1.75]
        assert made.federation.traffic.idle_share(2, 1.75) == pytest.approx(1 - (1.25 + 1.75) / 3.5)
