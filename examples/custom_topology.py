"""A topology of one's own: two rings joined by a bridge whose link is slower than the others.

From the command line, in this folder: asyncfeel plan --topology custom_topology:two_rings --servers 8
"""

import tempfile

import networkx as nx

from asyncfeel import Scenario, run


def two_rings(servers: int, *, bridge_bps: float = 1e6) -> nx.Graph:
    """Two rings of equal size; servers 0 and servers/2 are linked by a slow bridge."""
    half = servers // 2
    graph = nx.disjoint_union(nx.cycle_graph(half), nx.cycle_graph(servers - half))
    graph.add_edge(0, half, rate_bps=bridge_bps)
    return graph


if __name__ == "__main__":
    world = {"topology.bridge_bps": "500 kbps", "network.model_bits": 1e6, "work.flops_per_step": 1e7}
    scenario = Scenario.load(
        topology=f"{__file__}:two_rings", servers=8, clients=16, heterogeneity=1, until=60, set=world
    )
    result = run(scenario, tempfile.mkdtemp(), train=False)
    counts = [int((result.iterations["server"] == server).sum()) for server in range(8)]
    print("iterations per server:", counts)
    print("the two servers at the bridge wait for it:", counts[0] == counts[4] < counts[1])
