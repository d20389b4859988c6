"""The synchronous matrix P = I - 2/(lambda_1 + lambda_{D-1}) L Omega^-1, and Metropolis weights."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.theory import synchronous


@st.composite
def graphs(draw):
    servers = draw(st.integers(2, 9))
    seed = draw(st.integers(0, 1000))
    tree = nx.random_labeled_tree(servers, seed=seed)
    extra = draw(st.lists(st.tuples(st.integers(0, servers - 1), st.integers(0, servers - 1)), max_size=6))
    tree.add_edges_from((a, b) for a, b in extra if a != b)
    counts = draw(st.lists(st.integers(1, 100), min_size=servers, max_size=servers))
    return [tuple(edge) for edge in tree.edges], [count / sum(counts) for count in counts]


@given(graphs(), st.sampled_from([synchronous.optimal, synchronous.metropolis]))
def test_columns_sum_to_one_and_the_shares_are_kept(graph, rule):
    links, shares = graph
    matrix = rule(links, shares)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(len(shares)))
    assert matrix @ shares == pytest.approx(np.array(shares))
    assert synchronous.zeta(matrix) < 1


@given(graphs())
def test_metropolis_is_never_negative(graph):
    assert (synchronous.metropolis(*graph) >= -1e-15).all()


@given(graphs())
def test_only_linked_servers_mix(graph):
    links, shares = graph
    matrix = synchronous.optimal(links, shares)
    linked = nx.to_numpy_array(nx.Graph(links), nodelist=range(len(shares))) + np.eye(len(shares))
    assert (matrix[linked == 0] == 0).all()


@pytest.mark.parametrize(
    ("graph", "zeta"),
    [
        (nx.cycle_graph(6), 0.600),
        (nx.star_graph(5), 0.714),
        (nx.complete_graph(6), 0.0),
        (nx.cycle_graph(10), 0.826),
    ],
)
def test_known_contractions_of_equal_clusters(graph, zeta):
    servers = len(graph)
    assert round(synchronous.zeta(synchronous.optimal(list(graph.edges), [1 / servers] * servers)), 3) == zeta


def test_negative_entries_are_kept():
    assert synchronous.optimal(list(nx.star_graph(5).edges), [1 / 6] * 6).min() < 0


def test_the_optimal_step_beats_others():
    links, shares = list(nx.path_graph(5).edges), [0.1, 0.3, 0.2, 0.15, 0.25]
    best = synchronous.zeta(synchronous.optimal(links, shares))
    flow = synchronous.laplacian(5, links) / np.array(shares)
    low, high = synchronous.nonzero_extremes(links, shares)
    for factor in (0.8, 0.95, 1.05, 1.2):
        assert synchronous.zeta(np.eye(5) - factor * 2 / (low + high) * flow) > best


def test_parts_that_are_not_linked_keep_their_means():
    matrix = synchronous.optimal([(0, 1)], [0.25, 0.25, 0.5])
    assert matrix[:, 2].tolist() == [0, 0, 1]
    assert matrix @ [0.25, 0.25, 0.5] == pytest.approx(np.array([0.25, 0.25, 0.5]))


def test_several_rounds_are_a_power():
    links, shares = [(0, 1), (1, 2)], [0.2, 0.3, 0.5]
    matrix = synchronous.optimal(links, shares)
    columns = synchronous.synchronous("optimal", links, shares, rounds=3)
    assert [columns[0].get(source, 0.0) for source in range(3)] == pytest.approx((matrix @ matrix @ matrix)[:, 0])


@given(st.floats(0.001, 0.5), st.floats(0.01, 0.99))
def test_rounds_to_reach_a_tolerance(tolerance, zeta):
    rounds = synchronous.rounds_to(tolerance, zeta)
    assert zeta**rounds <= tolerance * (1 + 1e-6)
    assert rounds == 1 or zeta ** (rounds - 1) > tolerance * (1 - 1e-6)
