"""Balanced deadlines: equal paces f_d taubar_d, as nearly as whole steps allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.theory import balance, latency, objective
from asyncfeel.theory.balance import Cluster, balanced_deadlines, spread

WORK = latency.WORK_READINGS["paper"]
OVERHEAD_S = 71.5133568 + 35.7566784


class Setting:
    """Clusters with their min-steps deadlines (A13), as the function takes them and as values."""

    def __init__(self, flops, samples, overheads_s, min_steps: int, work: float = WORK) -> None:
        self.minimum = [latency.compute_s(min_steps, work, min(own)) for own in flops]
        self.arguments = (flops, samples, work, overheads_s, self.minimum)
        parts = zip(flops, samples, overheads_s, strict=True)
        self.clusters = [Cluster(own, counts, work, overhead_s) for own, counts, overhead_s in parts]

    def balanced(self) -> list[float]:
        return balanced_deadlines(*self.arguments)


@st.composite
def any_settings(draw):
    sizes = draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    flops = [draw(st.lists(st.floats(1e8, 3e10), min_size=size, max_size=size)) for size in sizes]
    samples = [draw(st.lists(st.integers(1, 5000), min_size=size, max_size=size)) for size in sizes]
    overheads_s = draw(st.lists(st.floats(0, 500), min_size=len(sizes), max_size=len(sizes)))
    return Setting(flops, samples, overheads_s, draw(st.integers(1, 200)))


def random_setting(seed: int, servers: int, clients: int, heterogeneity: float, overhead_s: float) -> Setting:
    """Speeds of the paper's kind (A15), data as unequal as from a Dirichlet split, at least 100 steps."""
    rng = np.random.default_rng(seed)
    low = 2e9 / (1 + heterogeneity)
    flops = rng.uniform(low, heterogeneity * low, (servers, clients))
    flops[0, 0], flops[-1, -1] = low, heterogeneity * low
    samples = np.maximum(10, rng.dirichlet(np.ones(servers * clients)) * 50_000).astype(int)
    shape = (servers, clients)
    return Setting(flops.tolist(), samples.reshape(shape).tolist(), [overhead_s] * servers, 100)


realistic = st.builds(
    random_setting,
    st.integers(0, 10**6),
    st.integers(2, 8),
    st.just(5),
    st.floats(1, 30),
    st.floats(0.5 * OVERHEAD_S, 3 * OVERHEAD_S),
)


@settings(deadline=None, max_examples=300)
@given(any_settings())
def test_paces_are_never_less_equal_than_by_the_min_steps_rule(setting):
    found = setting.balanced()
    assert spread(setting.clusters, found) <= spread(setting.clusters, setting.minimum)
    assert found == setting.balanced()
    assert all(deadline_s >= c.shortest_s for deadline_s, c in zip(found, setting.clusters, strict=True))


@settings(deadline=None, max_examples=200)
@given(realistic)
def test_realistic_worlds_are_balanced_to_a_few_per_cent(setting):
    assert spread(setting.clusters, setting.balanced()) < 1.05


def test_the_papers_world_is_very_unequal_before_and_equal_after():
    setting = random_setting(1, 6, 5, 10.0, OVERHEAD_S)
    assert spread(setting.clusters, setting.minimum) > 1.5
    assert spread(setting.clusters, setting.balanced()) < 1.01


def test_then_weighted_mixing_alone_minimises_the_stated_objective():
    setting = random_setting(3, 6, 5, 10.0, OVERHEAD_S)
    counts = np.array([sum(cluster.samples) for cluster in setting.clusters])
    shares = (counts / counts.sum()).tolist()

    def weights(deadlines_s: list[float]) -> list[float]:
        lengths = [deadline_s + OVERHEAD_S for deadline_s in deadlines_s]
        paces = [cluster.pace(deadline_s) for cluster, deadline_s in zip(setting.clusters, deadlines_s, strict=True)]
        steps = [pace * length for pace, length in zip(paces, lengths, strict=True)]
        return objective.implied_weights(lengths, steps, shares)

    assert weights(setting.balanced()) == pytest.approx(shares, rel=0.01)
    assert weights(setting.minimum) != pytest.approx(shares, rel=0.2)


@settings(deadline=None)
@given(any_settings(), st.integers(2, 5))
def test_equal_clusters_keep_their_minimum(setting, copies):
    flops, samples, work, overheads_s, minimum = setting.arguments
    found = balanced_deadlines(
        [flops[0]] * copies, [samples[0]] * copies, work, overheads_s[:1] * copies, minimum[:1] * copies
    )
    assert found == minimum[:1] * copies


def all_jumps(cluster: Cluster, start_s: float, end_s: float) -> list[float]:
    """Every time from the start to the end at which a client completes a step, one by one."""
    times = {start_s, end_s}
    for flops in cluster.flops:
        for step in range(1, latency.steps_within(end_s, cluster.flops_per_step, flops) + 1):
            times.add(latency.compute_s(step, cluster.flops_per_step, flops))
    return sorted(moment for moment in times if start_s <= moment <= end_s)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.floats(1e9, 2e10), st.integers(1, 500)), min_size=1, max_size=4),
    st.floats(0.1, 30),
    st.integers(1, 60),
    st.floats(0.05, 0.9),
)
def test_each_takes_the_shortest_deadline_that_reaches_the_common_pace(clients, overhead_s, min_steps, part):
    cluster = Cluster([speed for speed, _ in clients], [count for _, count in clients], WORK, overhead_s)
    minimum_s = latency.compute_s(min_steps, WORK, min(cluster.flops))
    pace = part * cluster.supremum
    found = balance._deadline(cluster, minimum_s, pace)
    start_s = minimum_s if cluster.pace(minimum_s) < pace else cluster.shortest_s
    earlier = [moment for moment in all_jumps(cluster, start_s, found) if moment < found - 1e-6]
    assert cluster.pace(found) >= pace * (1 - 1e-9)
    assert all(cluster.pace(moment) < pace for moment in earlier)


@settings(deadline=None)
@given(any_settings())
def test_deadlines_are_shorter_than_the_minimum_only_where_the_pace_was_too_high(setting):
    common = balance.common_pace(setting.clusters, setting.minimum)
    for cluster, least_s, found in zip(setting.clusters, setting.minimum, setting.balanced(), strict=True):
        assert found >= least_s or cluster.pace(least_s) > common


@settings(deadline=None)
@given(any_settings())
def test_the_common_pace_is_within_reach_of_all(setting):
    common = balance.common_pace(setting.clusters, setting.minimum)
    paces = [cluster.pace(least_s) for cluster, least_s in zip(setting.clusters, setting.minimum, strict=True)]
    assert min(paces) <= common <= max(paces)
    for cluster, pace in zip(setting.clusters, paces, strict=True):
        assert common <= max(pace, 0.9 * cluster.supremum)


def test_the_pace_jumps_at_whole_steps_falls_between_them_and_tends_to_its_supremum():
    cluster = Cluster([1.0, 2.0], [30, 10], 1.0, overhead_s=3.0)
    assert cluster.supremum == 1.25
    assert cluster.shortest_s == 1.0
    assert cluster.pace(2.0) == (0.75 * 2 + 0.25 * 4) / 5
    assert cluster.pace(2.4) == (0.75 * 2 + 0.25 * 4) / 5.4
    assert cluster.pace(2.5) > cluster.pace(2.49)
    assert cluster.pace(1e6) == pytest.approx(1.25, rel=1e-5)


def test_deadlines_by_hand():
    """The first cluster is at 300/160 steps per second; 4 T / (T + 60) gets there at T = 52.94, so after 212 steps."""
    found = balanced_deadlines([[1.0, 5.0], [4.0, 4.0]], [[5, 5], [5, 5]], 1.0, [60.0, 60.0], [100.0, 25.0])
    assert found == [100.0, 53.0]


def test_a_pace_beyond_the_reach_of_a_slow_cluster_is_lowered_for_all():
    """Suprema 1 and 10: nobody is asked for more than 0.9, which the fast cluster has after 10 steps in one second."""
    found = balanced_deadlines([[1.0], [10.0]], [[5], [5]], 1.0, [10.0, 10.0], [10.0, 100.0])
    assert found[0] == pytest.approx(90)
    assert found[1] == pytest.approx(1.0)


def test_a_minimum_below_one_step_of_the_slowest_is_raised_to_it():
    assert balanced_deadlines([[1.0, 4.0]] * 2, [[5, 5]] * 2, 1.0, [1.0, 1.0], [0.25, 0.25]) == [1.0, 1.0]


def test_without_any_overhead_deadlines_can_do_nothing():
    """Every deadline gives the supremum, so the minimum deadlines stay."""
    assert balanced_deadlines([[1.0], [3.0]], [[5], [5]], 1.0, [0.0, 0.0], [100.0, 50.0]) == [100.0, 50.0]


def test_a_search_among_too_many_jumps_ends_where_the_pace_is_known(monkeypatch):
    setting = random_setting(5, 6, 5, 10.0, OVERHEAD_S)
    common = balance.common_pace(setting.clusters, setting.minimum)
    monkeypatch.setattr(balance, "MOST_JUMPS", 1)
    for cluster, least_s in zip(setting.clusters, setting.minimum, strict=True):
        assert cluster.pace(balance._deadline(cluster, least_s, common)) >= common * (1 - 1e-9)


def test_a_huge_gap_between_devices_is_no_burden():
    flops = [[1.0, 1e9], [1.0, 0.9e9], [5e8, 5e8]]
    found = balanced_deadlines(flops, [[5, 5]] * 3, 1.0, [0.0, 1e-9, 1e-9], [100.0, 100.0, 100.0])
    assert all(0 < deadline_s < 1e6 for deadline_s in found)
