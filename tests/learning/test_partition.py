"""Partitions: nothing lost, nothing twice, and each kind's own promise."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.errors import InputError
from asyncfeel.jobs import EVERYONE
from asyncfeel.learning import partition

SEEDS = st.integers(0, 2**32)


def labels_of(seed: int, samples: int, classes: int):
    return np.random.default_rng(seed).integers(0, classes, samples)


def check_complete(parts: partition.Partition, samples: int, clients: int) -> None:
    assert len(parts) == clients
    assert parts.sizes.sum() == samples
    assert np.array_equal(np.sort(np.concatenate([parts[client] for client in range(clients)])), np.arange(samples))
    assert [len(parts[client]) for client in range(clients)] == parts.sizes.tolist()


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, samples=st.integers(200, 600), classes=st.integers(1, 12), clients=st.integers(1, 20))
def test_dirichlet_gives_every_sample_to_one_client_and_enough_to_each(seed, samples, classes, clients):
    labels = labels_of(seed, samples, classes)
    parts = partition.dirichlet(labels, clients, np.random.default_rng(seed), alpha=2.0, min_samples=2)
    check_complete(parts, samples, clients)
    assert parts.sizes.min() >= 2


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, samples=st.integers(1, 300), data=st.data())
def test_iid_sizes_differ_by_at_most_one(seed, samples, data):
    clients = data.draw(st.integers(1, samples))
    parts = partition.iid(np.zeros(samples, dtype=int), clients, np.random.default_rng(seed))
    check_complete(parts, samples, clients)
    assert parts.sizes.max() - parts.sizes.min() <= 1


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, samples=st.integers(40, 300), clients=st.integers(1, 10), per_client=st.integers(1, 4))
def test_shards_use_every_sample(seed, samples, clients, per_client):
    labels = labels_of(seed, samples, 5)
    parts = partition.shards(labels, clients, np.random.default_rng(seed), per_client=per_client)
    check_complete(parts, samples, clients)
    assert parts.sizes.max() - parts.sizes.min() <= per_client


def test_two_shards_hold_two_classes_when_shards_fit_classes():
    labels = np.repeat(np.arange(10), 20)
    parts = partition.shards(labels, 10, np.random.default_rng(1))
    assert max(len(set(labels[parts[client]])) for client in range(10)) <= 2


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, clients=st.integers(1, 8))
def test_natural_keeps_owners(seed, clients):
    owners = np.random.default_rng(seed).permutation(np.repeat(np.arange(clients), 5))
    parts = partition.natural(owners, clients)
    check_complete(parts, 5 * clients, clients)
    assert all((owners[parts[client]] == client).all() for client in range(clients))


@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, everything=st.integers(1, 300), clients=st.integers(1, 400), samples=st.integers(1, 60))
def test_bootstrap_gives_every_client_its_own_draw_of_equally_many(seed, everything, clients, samples):
    labels = np.zeros(everything, dtype=int)
    parts = partition.bootstrap(labels, clients, np.random.default_rng(seed), samples=samples)
    assert len(parts) == clients
    assert set(parts.sizes.tolist()) == {samples}
    assert parts.order.shape == parts.rows(EVERYONE).shape == (clients * samples,)
    assert 0 <= parts.order.min() <= parts.order.max() < everything
    assert np.array_equal(np.concatenate([parts[client] for client in range(clients)]), parts.order)


def test_bootstrap_draws_all_samples_alike_and_with_replacement():
    parts = partition.bootstrap(np.zeros(100, dtype=int), 4000, np.random.default_rng(1), samples=50)
    counts = np.bincount(parts.order, minlength=100)
    assert counts == pytest.approx([2000] * 100, rel=0.12)
    assert any(len(set(parts[client].tolist())) < 50 for client in range(10))
    assert not np.array_equal(parts[0], parts[1])


def test_bootstrap_draws_when_it_is_asked_and_always_the_same(monkeypatch):
    drawn = []
    real = partition._resampled
    monkeypatch.setattr(partition, "_resampled", lambda *given: drawn.append(given) or real(*given))
    parts = partition.bootstrap(np.zeros(9, dtype=int), 5, np.random.default_rng(1))
    assert (len(parts), parts.sizes.sum(), drawn) == (5, 250, [])
    first = parts.rows(0).tolist()
    assert parts.rows(0).tolist() == first
    assert len(drawn) == 1
    assert real(*drawn[0]).tolist() == parts.order.tolist()


def test_bootstrap_draws_the_same_in_another_process():
    parts = partition.bootstrap(np.zeros(9, dtype=int), 5, np.random.default_rng(1))
    sent = pickle.dumps(parts)
    assert pickle.loads(sent).order.tolist() == parts.order.tolist()


def test_small_alpha_makes_clients_unlike_and_large_alpha_alike():
    labels = np.repeat(np.arange(10), 500)

    def largest_share(alpha: float) -> float:
        parts = partition.dirichlet(labels, 10, np.random.default_rng(1), alpha=alpha)
        return float(np.mean([np.bincount(labels[parts[c]], minlength=10).max() / len(parts[c]) for c in range(10)]))

    assert largest_share(0.1) > 0.5
    assert largest_share(1000.0) < 0.13


def test_the_shares_of_a_class_follow_the_dirichlet_law():
    shares = []
    for seed in range(300):
        parts = partition.dirichlet(np.zeros(1000, dtype=int), 4, np.random.default_rng(seed), alpha=2.0, min_samples=0)
        shares.append(parts.sizes / 1000)
    assert np.mean(shares, axis=0) == pytest.approx([0.25] * 4, abs=0.03)
    assert np.var(shares, axis=0) == pytest.approx([0.25 * 0.75 / 9] * 4, rel=0.25)


def test_a_hundred_thousand_clients_take_seconds_at_most():
    labels = labels_of(1, 1_000_000, 10)
    parts = partition.dirichlet(labels, 100_000, np.random.default_rng(1), alpha=50.0)
    check = np.zeros(len(labels), dtype=int)
    check[parts.order] += 1
    assert (check == 1).all()
    assert parts.sizes.min() >= 1


def test_the_same_generator_gives_the_same_partition():
    labels = labels_of(1, 500, 10)
    one, two = (partition.dirichlet(labels, 7, np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one.order, two.order)
    assert np.array_equal(one.offsets, two.offsets)


def test_a_partition_cannot_be_changed_and_has_no_clients_beyond_its_own():
    parts = partition.iid(np.zeros(4, dtype=int), 2, np.random.default_rng(1))
    with pytest.raises(ValueError, match="read-only"):
        parts.order[0] = 3
    with pytest.raises(IndexError):
        parts[2]


LABELS = np.repeat(np.arange(2), 10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda rng: partition.dirichlet(LABELS, 10, rng, min_samples=3), "use at most 6 clients"),
        (
            lambda rng: partition.dirichlet(LABELS, 9, rng, alpha=0.01, min_samples=2),
            "larger alpha, fewer clients or a sm",
        ),
        (lambda rng: partition.dirichlet(LABELS, 2, rng, alpha=0.0), "alpha must be a number above 0"),
        (lambda rng: partition.dirichlet(None, 2, rng), "'dirichlet' needs classes"),
        (lambda rng: partition.dirichlet(LABELS, 0, rng), "at least 1 client"),
        (lambda rng: partition.shards(None, 2, rng), "'shards' needs classes"),
        (lambda rng: partition.shards(LABELS, 5, rng, per_client=5), "per_client must be from 1 to 4"),
        (lambda rng: partition.shards(LABELS, 6, rng, per_client=1, min_samples=4), "use at most 5 clients"),
        (lambda rng: partition.iid(LABELS, 21, rng), "20 training samples cannot give 1 to each of 21 clients"),
        (lambda rng: partition.iid(None, 2, rng), "needs the labels or the owners"),
        (lambda rng: partition.iid(LABELS, 21, rng), "or the split 'bootstrap'"),
        (lambda rng: partition.bootstrap(LABELS, 2, rng, samples=0), "samples must be from 1 to 1000000, not 0"),
        (lambda rng: partition.bootstrap(LABELS, 0, rng), "at least 1 client"),
        (lambda rng: partition.bootstrap(None, 2, rng), "'bootstrap' needs the labels or the owners"),
        (lambda rng: partition.natural(None, 2), "choose dirichlet, iid or shards"),
        (lambda rng: partition.natural(LABELS, 3), "set the clients to 2"),
        (lambda rng: partition.natural(np.array([0, 0, 2]), 3), "gives client 1 only 0 samples"),
    ],
)
def test_what_cannot_be_says_what_to_change(make, message: str):
    with pytest.raises(InputError, match=message):
        make(np.random.default_rng(1))


def test_data_without_classes_can_be_spread_evenly():
    parts = partition.iid(None, 2, np.random.default_rng(1), owners=np.array([0, 0, 0, 1]))
    check_complete(parts, 4, 2)
