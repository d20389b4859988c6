"""Synchronous SD-FEEL: its clock, its matrix and its periods."""

import numpy as np
import pytest

from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel
from asyncfeel.errors import InputError
from asyncfeel.theory import synchronous


def towards_client(job):
    return job.model + job.client


def test_a_round_lasts_the_slowest_client_the_upload_and_the_exchange(world, ring):
    made = world(
        ring(3), [(0, 1, 4.0), (1, 1, 2.0), (2, 1, 1.0)], iterations=2, local_steps=4, uplink_bps=2.0, exchange_bps=4.0
    )
    made.run(SyncSdFeel())
    assert [c.time_s for c in made.diary.completions] == [4.75, 9.5]
    assert {t.deadline_s for c in made.diary.completions for t in c.triggers} == {4.0}


def test_exchange_only_every_tau2_rounds_and_alpha_times(world, ring):
    made = world(ring(3), [(d, 1, 1.0) for d in range(3)], iterations=4, uplink_bps=2.0, exchange_bps=4.0)
    made.run(SyncSdFeel(tau2=2, alpha=3))
    assert [c.time_s for c in made.diary.completions] == [1.5, 3.75, 5.25, 7.5]
    assert [bool(c.mixing) for c in made.diary.completions] == [False, True, False, True]


def test_models_by_hand(world):
    links, shares = [(0, 1), (1, 2)], [0.25, 0.25, 0.5]
    made = world(links, [(0, 1, 1.0), (1, 1, 1.0), (2, 1, 1.0), (2, 1, 2.0)], train=towards_client, iterations=1)
    made.run(SyncSdFeel(alpha=2))
    matrix = synchronous.optimal(links, shares)
    assert made.models == pytest.approx(np.array([0.0, 1.0, 2.5]) @ matrix @ matrix)


def test_metropolis_is_an_alternative(world):
    links = [(0, 1), (1, 2)]
    made = world(links, [(d, 1, 1.0) for d in range(3)], train=towards_client, iterations=1).run(
        SyncSdFeel(mixing="metropolis")
    )
    assert made.models == pytest.approx(np.array([0.0, 1.0, 2.0]) @ synchronous.metropolis(links, [1 / 3] * 3))


def test_the_data_weighted_mean_moves_by_training_alone(world, ring):
    made = world(ring(4), [(d, 1 + 3 * d, 1.0) for d in range(4)], train=towards_client, iterations=10).run(
        SyncSdFeel()
    )
    shares = np.array(made.federation.shares)
    means = [shares @ np.array(models) for models in [*made.diary.before, made.models]]
    assert np.diff(means) == pytest.approx([shares @ np.arange(4)] * 10)


@pytest.mark.parametrize("option", ["tau1", "tau2", "alpha"])
def test_counts_must_be_positive(world, option):
    with pytest.raises(InputError, match=f"{option} must be at least 1"):
        world([], [(0, 1, 1.0)]).run(SyncSdFeel(**{option: 0}))
