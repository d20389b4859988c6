"""The asynchronous mixing matrix: known answers (A1, A7, A32) and properties for any graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.theory import mixing, staleness


def dense(columns, servers):
    """P_k in full."""
    return np.array([mixing.into(columns, target, servers) for target in range(servers)]).T


@st.composite
def situations(draw, equal_shares=False):
    servers = draw(st.integers(1, 8))
    trigger = draw(st.integers(0, servers - 1))
    others = [server for server in range(servers) if server != trigger]
    neighbours = sorted(draw(st.sets(st.sampled_from(others))) if others else [])
    deltas = draw(st.lists(st.integers(0, 50), min_size=servers, max_size=servers))
    counts = [10] * servers if equal_shares else draw(st.lists(st.integers(1, 500), min_size=servers, max_size=servers))
    psi = draw(st.sampled_from([staleness.inverse(), staleness.constant(), staleness.hinge(), staleness.threshold()]))
    shares = [count / sum(counts) for count in counts]
    return servers, trigger, mixing.staleness_weights(trigger, neighbours, deltas, psi), shares


@given(situations())
def test_a1_paper_matrix_is_symmetric_doubly_stochastic_and_not_negative(situation):
    servers, trigger, weights, shares = situation
    matrix = dense(mixing.paper(trigger, weights, shares), servers)
    assert (matrix == matrix.T).all()
    assert (matrix >= 0).all()
    assert matrix.sum(axis=0) == pytest.approx(np.ones(servers))
    assert matrix.sum(axis=1) == pytest.approx(np.ones(servers))


@given(situations())
def test_a1_paper_matrix_is_identity_minus_a_sum_of_squares(situation):
    servers, trigger, weights, shares = situation
    expected = np.eye(servers)
    for server, weight in weights.items():
        difference = np.eye(servers)[trigger] - np.eye(servers)[server]
        expected -= weight * np.outer(difference, difference)
    assert dense(mixing.paper(trigger, weights, shares), servers) == pytest.approx(expected)


@given(situations())
def test_weighted_matrix_keeps_the_data_shares(situation):
    servers, trigger, weights, shares = situation
    matrix = dense(mixing.weighted(trigger, weights, shares), servers)
    assert (matrix >= 0).all()
    assert matrix.sum(axis=0) == pytest.approx(np.ones(servers))
    assert matrix @ shares == pytest.approx(np.array(shares))


@given(situations(equal_shares=True))
def test_weighted_is_the_papers_matrix_when_clusters_hold_equal_data(situation):
    _, trigger, weights, shares = situation
    assert mixing.weighted(trigger, weights, shares) == mixing.paper(trigger, weights, shares)


def test_a7_weights_on_a_ring_of_equal_speeds():
    """After the first lap of a 6-ring the trigger's own delta is 5 for ever; neighbours' are 4 and 0."""
    deltas = [5, 4, 3, 2, 1, 0]
    literal = mixing.staleness_weights(0, [1, 5], deltas, staleness.inverse())
    assert literal[0] == pytest.approx((1 / 6) / (1 / 6 + 1 / 5 + 1))
    assert round(literal[0], 3) == 0.122
    fresh = mixing.staleness_weights(0, [1, 5], [0, *deltas[1:]], staleness.inverse())
    assert round(fresh[0], 4) == 0.4545


@given(st.integers(0, 30), st.integers(0, 30), st.floats(0.01, 100))
def test_a32_only_ratios_of_psi_count(own, other, scale):
    psi = staleness.inverse()
    weights = mixing.staleness_weights(0, [1], [own, other], psi)
    scaled = mixing.staleness_weights(0, [1], [own, other], lambda delta: scale * psi(delta))
    assert scaled == pytest.approx(weights)


def test_the_triggers_own_weight_never_vanishes():
    psi = staleness.threshold(c=2.0, v=0.0)
    assert mixing.staleness_weights(0, [1, 2], [9, 0, 9], psi) == {0: 0.5, 1: 0.5, 2: 0.0}
    assert mixing.staleness_weights(0, [1], [9, 9], psi) == {0: 1.0, 1: 0.0}


def test_only_entries_that_differ_from_the_identity_are_listed():
    columns = mixing.paper(1, {0: 0.25, 1: 0.75, 2: 0.0}, [1 / 3] * 3)
    assert mixing.entries(columns) == [(0, 0, 0.75), (0, 1, 0.25), (1, 0, 0.25), (1, 1, 0.75)]


@given(situations())
def test_mixing_models_is_the_product_with_the_matrix(situation):
    servers, trigger, weights, shares = situation
    columns = mixing.weighted(trigger, weights, shares)
    models = [float(server**2 + 1) for server in range(servers)]
    mixed = [mixing.mix(models, columns).get(server, models[server]) for server in range(servers)]
    assert mixed == pytest.approx(np.array(models) @ dense(columns, servers))
