"""Topologies: what every built-in promises, maps of one's own, and the folder as the registry."""

import json
import re
from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from asyncfeel import InputError, Scenario, run
from asyncfeel.cli import app
from asyncfeel.plugins import Plugin
from asyncfeel.world import maps
from asyncfeel.world.topology import Topology, draw

PLAIN = ("ring", "line", "star", "complete", "grid", "tree")
RANDOM = ("random", "random-regular", "small-world")
EXAMPLES = settings(deadline=None, derandomize=True, database=None, max_examples=40)
PLAN = Scenario.load(iterations=6, set={"work.flops_per_step": 1e6, "network.model_bits": 1e5})
sizes = st.integers(1, 40)


def drawn(kind: str, servers: int | None = None, seed: int = 1, **options: object) -> Topology:
    return draw(Plugin(kind, options), servers, np.random.default_rng(seed))[0]


def degrees(topology: Topology) -> list[int]:
    return [len(neighbours) for neighbours in topology.neighbours]


def assert_sound(topology: Topology, servers: int) -> None:
    assert set(topology.graph) == set(range(servers))
    assert topology.servers == servers
    assert nx.is_connected(topology.graph)
    assert all(a < b for a, b in topology.links)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@EXAMPLES
@given(kind=st.sampled_from(PLAIN), servers=sizes)
def test_the_plain_ones_exist_for_every_number_of_servers(kind, servers):
    assert_sound(drawn(kind, servers), servers)


@EXAMPLES
@given(servers=sizes)
def test_ring(servers):
    assert set(degrees(drawn("ring", servers))) == {min(2, servers - 1)}


@EXAMPLES
@given(servers=st.integers(2, 40))
def test_line(servers):
    assert Counter(degrees(drawn("line", servers))) == Counter([1, 1] + [2] * (servers - 2))


@EXAMPLES
@given(servers=st.integers(2, 40))
def test_star(servers):
    assert degrees(drawn("star", servers)) == [servers - 1] + [1] * (servers - 1)


@EXAMPLES
@given(servers=sizes)
def test_complete(servers):
    assert degrees(drawn("complete", servers)) == [servers - 1] * servers


@EXAMPLES
@given(servers=sizes, branching=st.integers(1, 5))
def test_tree(servers, branching):
    tree = drawn("tree", servers, branching=branching)
    assert_sound(tree, servers)
    assert nx.is_tree(tree.graph)
    children = Counter(parent for parent, _ in tree.links)
    assert max(children.values(), default=0) <= branching
    assert nx.eccentricity(tree.graph, 0) == max(tree_depths(servers, branching))


def tree_depths(servers: int, branching: int) -> list[int]:
    depths = [0]
    for server in range(1, servers):
        depths.append(depths[(server - 1) // branching] + 1)
    return depths


@EXAMPLES
@given(rows=st.integers(1, 6), columns=st.integers(1, 6))
def test_a_full_grid_is_the_lattice(rows, columns):
    grid = drawn("grid", rows * columns, columns=columns)
    assert nx.is_isomorphic(grid.graph, nx.grid_2d_graph(rows, columns))


@EXAMPLES
@given(rows=st.integers(3, 6), columns=st.integers(3, 6))
def test_a_full_torus_gives_every_server_four_neighbours(rows, columns):
    torus = drawn("grid", rows * columns, columns=columns, torus=True)
    assert set(degrees(torus)) == {4}
    assert nx.is_isomorphic(torus.graph, nx.grid_2d_graph(rows, columns, periodic=True))


@EXAMPLES
@given(servers=sizes, torus=st.booleans())
def test_any_grid_is_as_square_as_can_be(servers, torus):
    grid = drawn("grid", servers, torus=torus)
    assert_sound(grid, servers)
    assert max(degrees(grid)) <= 4
    side = int(np.ceil(np.sqrt(servers)))
    assert nx.diameter(grid.graph) <= 2 * side


@EXAMPLES
@given(servers=sizes, p=st.floats(0.4, 1), seed=st.integers(0, 1000))
def test_random_graphs_are_connected(servers, p, seed):
    assert_sound(drawn("random", servers, seed, p=p), servers)


@EXAMPLES
@given(servers=st.integers(3, 40), degree=st.integers(2, 6), seed=st.integers(0, 1000))
def test_random_regular_graphs_are_regular(servers, degree, seed):
    assume(degree < servers and degree * servers % 2 == 0)
    graph = drawn("random-regular", servers, seed, degree=degree)
    assert_sound(graph, servers)
    assert set(degrees(graph)) == {degree}


@EXAMPLES
@given(servers=st.integers(5, 40), half=st.integers(1, 2), rewire=st.floats(0, 0.5), seed=st.integers(0, 1000))
def test_small_worlds_have_near_links_on_average(servers, half, rewire, seed):
    world = drawn("small-world", servers, seed, near=2 * half, rewire=rewire)
    assert_sound(world, servers)
    assert len(world.links) == servers * half


def test_a_small_world_without_rewiring_is_a_ring_of_near_neighbours():
    assert drawn("small-world", 9, near=2, rewire=0.0).links == drawn("ring", 9).links


@pytest.mark.parametrize("kind", RANDOM)
def test_random_ones_depend_on_the_seed_alone(kind):
    first, again, other = (drawn(kind, 16, seed).links for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("kind", [*PLAIN, "random"])
@pytest.mark.parametrize("servers", [1, 2])
def test_one_and_two_servers(kind, servers):
    assert drawn(kind, servers).links == ((0, 1),) * (servers - 1)


def test_two_servers_are_one_regular_pair():
    assert drawn("random-regular", 2, degree=1).links == ((0, 1),)


@pytest.mark.parametrize(("kind", "servers"), [("random-regular", 1), ("small-world", 1), ("small-world", 2)])
def test_too_few_servers_is_an_error_that_asks_for_what_can_be(kind, servers):
    with pytest.raises(InputError, match="servers") as error:
        drawn(kind, servers)
    offered = re.search(r"from (\d+) to (\d+)", str(error.value))
    assert offered is None or int(offered[1]) <= int(offered[2]), error.value


@pytest.mark.parametrize("kind", [*PLAIN, *RANDOM])
def test_six_servers_are_the_default(kind):
    assert drawn(kind).servers == 6


def test_the_backbone_map():
    nsfnet = drawn("nsfnet")
    assert_sound(nsfnet, 14)
    assert len(nsfnet.links) == 21
    assert nsfnet.graph.nodes[0]["name"] == "Seattle"
    assert min(degrees(nsfnet)) >= 2


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="d0" for="node" attr.name="{node}" attr.type="{type}"/>
<key id="d1" for="edge" attr.name="rate_bps" attr.type="double"/>
<graph edgedefault="undirected">
<node id="Bern"><data key="d0">{bern}</data></node><node id="Oslo"/><node id="Rome"/>
<edge source="Oslo" target="Bern"/><edge source="Bern" target="Rome"><data key="d1">2e6</data></edge>
</graph></graphml>"""
"""Three towns; the first carries an attribute, and one link has a rate."""


def graphml(node: str = "height", type: str = "int", bern: str = "540") -> None:
    Path("towns.graphml").write_text(GRAPHML.format(node=node, type=type, bern=bern))


def node_link(spelling: str = "edges", **changes: object) -> None:
    data = {
        "directed": False,
        "multigraph": False,
        "graph": {},
        "nodes": [{"id": "Bern"}, {"id": "Oslo"}, {"id": "Rome"}],
        spelling: [{"source": "Oslo", "target": "Bern"}, {"source": "Bern", "target": "Rome", "rate_bps": 2e6}],
    }
    Path("towns.json").write_text(json.dumps(data | changes))


def test_graphml_keeps_names_and_rates(folder):
    graphml()
    towns = drawn("towns.graphml")
    assert towns.links == ((0, 1), (0, 2))
    assert [towns.graph.nodes[server]["name"] for server in range(3)] == ["Bern", "Oslo", "Rome"]
    assert (towns.rate_bps(0, 1, 5.0), towns.rate_bps(2, 0, 5.0)) == (5.0, 2e6)


@pytest.mark.parametrize("spelling", ["edges", "links"])
def test_both_spellings_of_node_link_files(folder, spelling):
    node_link(spelling)
    towns = drawn("towns.json")
    assert towns.links == ((0, 1), (0, 2))
    assert [towns.graph.nodes[server]["name"] for server in range(3)] == ["Bern", "Oslo", "Rome"]


def test_a_map_written_by_hand_needs_only_nodes_and_links(folder):
    links = [{"source": "a", "target": "b"}]
    Path("hand.json").write_text(json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], "links": links}))
    assert drawn("hand.json").links == ((0, 1),)


def test_a_name_in_the_map_is_kept(folder):
    node_link(nodes=[{"id": "Bern", "name": "Berna"}, {"id": "Oslo"}, {"id": "Rome"}])
    assert drawn("towns.json").graph.nodes[0]["name"] == "Berna"


def test_numbered_nodes_keep_their_numbers_in_any_order(folder):
    node_link(nodes=[{"id": 2}, {"id": 0}, {"id": 1}], edges=[{"source": 2, "target": 0}, {"source": 1, "target": 2}])
    assert drawn("towns.json").links == ((0, 2), (1, 2))


def test_a_link_without_a_rate_may_say_null(folder):
    node_link(
        edges=[{"source": "Oslo", "target": "Bern", "rate_bps": None}, {"source": "Bern", "target": "Rome"}],
    )
    assert drawn("towns.json").rate_bps(0, 1, 5.0) == 5.0


def test_the_rate_of_a_link_sets_the_time_of_the_exchange(folder):
    graphml()
    result = run(PLAN.replace(topology="towns.graphml", clients=3), "out", train=False)
    done = result.iterations
    exchange = done["time_s"] - done["started_s"] - done["deadline_s"] - 1e5 / 20e6
    assert exchange == pytest.approx([1e5 / (40e6 if server == 1 else 2e6) for server in done["server"]], rel=1e-6)


def test_the_recorded_topology_is_the_same_map(folder):
    graphml()
    first = run(PLAN.replace(topology="towns.graphml", clients=3), "first", train=False)
    again = run(PLAN.replace(topology="first/topology.json", clients=3), "again", train=False)
    for name in ("topology.json", "iterations.csv", "mixing.csv"):
        assert (first.folder / name).read_bytes() == (again.folder / name).read_bytes()


def test_an_attribute_called_id_does_not_renumber_the_servers(folder):
    graphml("id", "int", "7")
    result = run(PLAN.replace(topology="towns.graphml", clients=3), "out", train=False)
    recorded = json.loads((result.folder / "topology.json").read_text())
    assert [node["id"] for node in recorded["nodes"]] == [0, 1, 2]
    assert drawn("out/topology.json").links == ((0, 1), (0, 2))


def test_a_map_from_anywhere_by_its_path(folder):
    Path("maps").mkdir()
    node_link()
    Path("towns.json").rename("maps/towns.json")
    assert drawn("maps/towns.json").servers == 3


MESH = '''"""A mesh of ones own."""
import networkx as nx

def {name}(servers, *, extra: int = 0):
    graph = nx.path_graph(servers)
    graph.graph["extra"] = extra
    return graph
'''


def in_own_folder(name: str) -> None:
    Path("topologies").mkdir(exist_ok=True)
    Path(f"topologies/{name}.py").write_text(MESH.format(name=name))


def test_a_file_in_the_users_folder_is_a_topology(folder):
    in_own_folder("my_mesh")
    mesh = drawn("my-mesh", 5, extra=3)
    assert mesh.links == drawn("line", 5).links
    assert mesh.graph.graph["extra"] == 3


def test_the_users_folder_is_listed_beside_the_built_in_ones(folder):
    in_own_folder("my_mesh")
    assert maps.names()["my-mesh"] == "A mesh of ones own."
    shown = CliRunner().invoke(app, ["list", "topology"]).stdout
    assert "my-mesh" in shown
    assert "small-world" in shown


def test_the_users_folder_is_searched_first(folder):
    in_own_folder("ring")
    assert drawn("ring", 5).links == drawn("line", 5).links


def test_a_map_in_the_users_folder_goes_by_its_name(folder):
    Path("topologies").mkdir()
    node_link()
    Path("towns.json").rename("topologies/towns.json")
    assert drawn("towns").servers == drawn("towns.json").servers == 3
    assert "towns" in maps.names()


def test_a_broken_file_in_the_users_folder_does_not_hide_the_others(folder):
    in_own_folder("my_mesh")
    Path("topologies/broken.py").write_text("def broken(:\n")
    listed = CliRunner().invoke(app, ["list", "topology"])
    assert listed.exit_code == 0, listed.exception
    assert "my-mesh" in listed.stdout


def test_a_function_of_a_module(folder):
    Path("lab.py").write_text(MESH.format(name="chain"))
    assert drawn("lab:chain", 4).links == drawn("line", 4).links


@pytest.mark.parametrize("kind", [*PLAIN, *RANDOM])
def test_every_built_in_is_listed_with_a_description(kind):
    assert maps.names()[kind]
