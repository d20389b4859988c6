"""The consensus phase (A19)."""

import numpy as np
import pytest

from asyncfeel.theory import synchronous
from asyncfeel.world import consensus


def scattered(world, ring):
    made = world(ring(6), [(d, 3 + 4 * d, 1.0) for d in range(6)], exchange_bps=2.0)
    for server in made.federation.servers:
        server.model = np.array([float(server.number**2), -float(server.number)])
    return made.federation


@pytest.mark.parametrize("rounds", [1, 2, 5, 12])
def test_a19_the_error_shrinks_by_zeta_each_round_and_the_output_stays(world, ring, rounds):
    federation = scattered(world, ring)
    output = federation.average()
    zeta = synchronous.zeta(synchronous.optimal(federation.topology.links, federation.shares))
    found = consensus.agree(federation, rounds, 0.5, np.linalg.norm)
    assert found.rounds == rounds
    assert found.duration_s == rounds * 0.5
    assert found.spread_after <= zeta**rounds * found.spread_before * (1 + 1e-9)
    assert federation.average() == pytest.approx(output)


def test_a19_auto_goes_on_until_the_tolerance_and_no_further(world, ring):
    federation = scattered(world, ring)
    found = consensus.agree(federation, "auto", 0.01, np.linalg.norm)
    assert found.spread_after <= 0.01 * found.spread_before
    again = scattered(world, ring)
    assert consensus.agree(again, found.rounds - 1, 0.01, np.linalg.norm).spread_after > 0.01 * found.spread_before


def test_without_models_the_rounds_are_those_that_always_suffice(world, ring):
    planned = consensus.agree(scattered(world, ring), "auto", 0.01, None)
    assert planned.rounds >= consensus.agree(scattered(world, ring), "auto", 0.01, np.linalg.norm).rounds
    assert planned.spread_after is None


def test_one_server_has_nothing_to_agree_on(world):
    made = world([], [(0, 1, 1.0)], initial=np.ones(2))
    assert consensus.agree(made.federation, "auto", 0.01, np.linalg.norm).rounds == 0
