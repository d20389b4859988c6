"""clients.csv and topology.json: the world of a run, set against the one that config.toml draws."""

import json
from pathlib import Path

from asyncfeel.recording import rows
from asyncfeel.recording.tables import COLUMNS
from asyncfeel.scenario import Scenario
from asyncfeel.verify import files
from asyncfeel.verify.against import Against
from asyncfeel.verify.findings import Check
from asyncfeel.verify.opening import Opened
from asyncfeel.world.profiles import Profiles
from asyncfeel.world.topology import Topology

MOST_LINKS = 20_000_000
DERIVED = "drawn again from config.toml"


def disagreement(folder: Path, scenario: Scenario) -> Check | None:
    """A check that failed if config.toml has another number of clients than clients.csv has.

    It comes before the world is built: a number from a file that nobody vouches for must not decide
    how much memory that takes.
    """
    check, path, clients = Check("clients.csv"), folder / "clients.csv", scenario.federation.clients
    if not files.there(path):
        check.differ("clients.csv", "there is no such file")
        return check
    for line in files.lines(path):
        check.rows += line.endswith(b"\n")
        if check.rows > clients + 1:
            break
    check.rows -= 1
    if check.rows == clients and (scenario.federation.servers or 1) <= clients:
        return None
    check.differ("clients.csv", f"its number of rows is not the {clients} of federation.clients in config.toml")
    return check


def too_many_links(scenario: Scenario) -> str | None:
    """Why the graph of a scenario is not drawn: a few words of config.toml can ask for more links than fit anywhere."""
    topology, nodes = scenario.topology, scenario.federation.servers or 1
    if scenario.algorithm.options.get("nodes") == "clients":
        nodes = scenario.federation.clients
    each = topology.options.get("degree", topology.options.get("near", 0))
    pairs = nodes * nodes / 2 if topology.kind in ("complete", "random") else nodes * float(each) / 2
    if pairs <= MOST_LINKS:
        return None
    return f"a graph {topology.kind!r} of {nodes} nodes has too many pairs to be drawn again, more than {MOST_LINKS}"


def compare(opened: Opened, topology: Topology, profiles: Profiles) -> list[Check]:
    """Both files against what is drawn."""
    rounding = bool(opened.elsewhere)
    graph = Against(Check("topology.json", "lines", note=DERIVED), opened.path / "topology.json")
    graph.take(json.dumps(topology.node_link(), indent=1) + "\n")
    clients = Against(
        Check("clients.csv", note=DERIVED), opened.path / "clients.csv", COLUMNS["clients"], True, rounding
    )
    for some in rows.clients(profiles):
        clients.take(some)
    for one in (graph, clients):
        one.close()
    return [graph.check, clients.check]
