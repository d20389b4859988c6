"""What the figures are computed from: contributions, steps, bytes, eigenvalues, layouts and thinning."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from asyncfeel.errors import InputError
from asyncfeel.recording import tables
from asyncfeel.report import counting, eigenvalues, layout, mixing, schedule, staleness, thinning, topology, traffic
from asyncfeel.report.reading import read
from asyncfeel.theory import aggregation


def forwards(found):
    """Each client's weight by following every update forwards through all later matrices."""
    servers, clients = len(found.topology), found.clients
    held = np.zeros((servers, len(clients["client"])))
    matrices = mixing.entries(found)
    for row, taken in enumerate(counting.row_steps(found)):
        server, k = int(found.iterations["server"][row]), int(found.iterations["iteration"][row])
        members = np.flatnonzero(clients["server"] == server)
        samples = clients["samples"][members].tolist()
        factors = np.array(aggregation.coefficients(samples, taken.astype(int).tolist()))
        held[server, members] += factors * taken
        if row + 1 == len(found.iterations["server"]) or found.iterations["iteration"][row + 1] != k:
            held = eigenvalues.dense(matrices[k], servers).T @ held
    total = found.shares @ held
    return total / total.sum()


@pytest.mark.parametrize("flags", [{}, {"mixing": "weighted"}, {"algorithm": "sync-sd-feel"}], ids=str)
def test_contributions_backwards_equal_those_forwards(planned, flags):
    found = read(planned(**flags))
    assert np.allclose(counting.contributions(found), forwards(found), rtol=1e-12)


def test_steps_add_up_to_the_total_of_the_manifest(planned):
    found = read(planned())
    assert counting.steps(found).sum() == found.manifest["steps"]


def test_steps_that_contradict_the_record_are_not_guessed(planned):
    found = read(planned())
    speeds = found.clients["flops"] * 1.3
    changed = SimpleNamespace(
        **{name: getattr(found, name) for name in ("manifest", "topology", "iterations", "by_client")}
    )
    changed.clients = dict(found.clients) | {"flops": speeds}
    with pytest.raises(InputError, match="cannot be derived"):
        counting.row_steps(changed)


def test_bytes_are_those_of_the_manifest_but_for_what_is_under_way(planned):
    found = read(planned())
    total, model = traffic.cumulated(found)[-1], 1e6 / 8
    moved = found.manifest["traffic"]
    exchanged = sum(2 * found.topology.degree(int(server)) for server in found.iterations["server"]) * model
    assert exchanged == moved["exchange_bytes"]
    under_way = sum(moved.values()) - total
    assert 0 <= under_way <= 2 * 30 * model


def test_bytes_are_left_out_where_the_record_does_not_tell(planned):
    assert traffic.cumulated(read(planned(algorithm="safa"))) is None


def test_the_second_eigenvalue_of_a_ring():
    ring = [(d, d, 0.6) for d in range(6)] + [(d, (d + by) % 6, 0.2) for d in range(6) for by in (1, 5)]
    assert eigenvalues.second(ring, 6) == pytest.approx(0.8)


def test_eigenvalues_of_mixings_in_a_row_are_those_of_the_dense_product(planned):
    found = read(planned())
    matrices = mixing.entries(found)
    single, sweeps = eigenvalues.chart(matrices, 6)[0].lines
    dense = [eigenvalues.dense(some, 6) for some in matrices]
    assert np.allclose(single.y, [np.sort(np.abs(np.linalg.eigvals(matrix)))[-2] for matrix in dense])
    products = [np.linalg.multi_dot(dense[last - 5 : last + 1]) for last in range(5, found.count)]
    assert np.allclose(sweeps.y, [np.sort(np.abs(np.linalg.eigvals(product)))[-2] for product in products])
    assert sweeps.x == list(range(5, found.count))


def test_links_carry_what_their_ends_exchange(planned):
    folder = planned()
    (chart,) = topology.view(read(folder)).charts
    done = np.bincount(tables.read(folder, "iterations")["server"], minlength=6)
    assert {(one.source, one.target): one.times for one in chart.links} == {
        link: done[list(link)].sum() for link in [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]
    }


@pytest.mark.parametrize("graph", [nx.grid_2d_graph(3, 3), nx.star_graph(6), nx.complete_graph(5), nx.path_graph(2)])
def test_layouts_are_repeatable_and_keep_nodes_apart(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    places = layout.places(graph)
    assert (places == layout.places(graph)).all()
    gaps = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(graph))
    assert gaps.min() > 0.1
    assert places.min() >= 0
    assert places.max() <= 1


def test_a_grid_is_drawn_without_crossings():
    graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    places = layout.places(graph)
    lengths = [np.linalg.norm(places[a] - places[b]) for a, b in graph.edges]
    assert max(lengths) < 1.3 * min(lengths)


def test_labels_point_away_from_links():
    graph = nx.star_graph(4)
    places = layout.places(graph)
    for node, away in enumerate(layout.free(graph, places)):
        for other in graph[node]:
            towards = (places[other] - places[node]) / np.linalg.norm(places[other] - places[node])
            assert np.dot(away, towards) < 0.8


def test_many_servers_are_one_line_with_a_band(planned):
    folder = planned(servers=15, clients=30)
    chart, heat = staleness.over_time(read(folder)).charts
    (line,) = chart.lines
    table = tables.read(folder, "staleness")
    per_iteration = table["staleness"].reshape(-1, 15)
    assert np.allclose(line.y, per_iteration.mean(axis=1))
    assert line.high == per_iteration.max(axis=1).tolist()
    assert heat.values == per_iteration.T.tolist()


def test_one_server_mixes_with_nobody_and_nothing_is_stale(planned):
    found = read(planned(servers=1, clients=3))
    for view in (mixing.view(found), staleness.over_time(found)):
        assert view.charts == ()
    assert "one server" in topology.view(found).sentence


def test_thinning_keeps_every_extreme_and_says_so():
    x, y = np.arange(100_000.0), np.sin(np.arange(100_000.0))
    y[54_321] = 9
    line = thinning.line("a", x, y)
    assert len(line.x) <= 4 * thinning.COLUMNS
    assert max(line.y) == 9
    assert "thinned" in thinning.notes(len(x), [line])[0]
    assert thinning.notes(3, [thinning.line("a", x[:3], y[:3])]) == []


def test_the_timeline_shows_the_replayed_phases(planned):
    def replay(folder, until_s):
        phase = SimpleNamespace(who="client", number=2, kind="compute", start_s=0.0, end_s=0.1)
        flow = SimpleNamespace(source=("server", 0), target=("server", 1), sent_s=0.1, arrived_s=0.2, kind="exchange")
        return SimpleNamespace(phases=[phase], flows=[flow], end_s=until_s)

    (chart,) = schedule.view(read(planned()), replay).charts
    assert chart.tracks[chart.slices[0].track] == "client 2"
    assert (chart.tracks[chart.arrows[0].source], chart.tracks[chart.arrows[0].target]) == ("server 0", "server 1")


def test_a_run_that_cannot_be_replayed_says_why(planned):
    def replay(folder, until_s):
        raise InputError("this run cannot be replayed")

    assert schedule.view(read(planned()), replay).sentence == "There is no timeline: this run cannot be replayed."
