"""Limits in which one system becomes another."""

import numpy as np
import pytest

from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel
from asyncfeel.algorithms.sync_sd_feel import SyncSdFeel

CLIENTS = [(d, 3 + 5 * d + 7 * i, 1.0) for d in range(6) for i in range(3)]


def step(job):
    """A pull towards the client's own point, in several dimensions."""
    rng = np.random.default_rng(job.client)
    return job.model + 0.01 * job.steps * (rng.standard_normal(4) - job.model)


def test_a14_equal_speeds_together_are_bit_equal_to_synchronous(world, ring):
    """H = 1 and together: tau1 = 100, tau2 = 1, alpha = 1 (Remark 2)."""
    settings = {"train": step, "iterations": 12, "local_steps": 100, "initial": np.zeros(4)}
    together = world(ring(6), CLIENTS, **settings).run(AsyncSdFeel(simultaneous="together"))
    synchronous = world(ring(6), CLIENTS, **settings).run(SyncSdFeel())
    assert [c.time_s for c in together.diary.completions] == [c.time_s for c in synchronous.diary.completions]
    assert together.diary.completions == synchronous.diary.completions
    assert all((a == b).all() for a, b in zip(together.models, synchronous.models, strict=True))


def test_one_server_is_fednova(world):
    """D = 1: x <- x - tau_eff sum_i p_i (x - x_i) / tau_i with tau_eff = sum_i p_i tau_i."""
    samples, flops = np.array([10, 30, 60]), np.array([1.0, 2.0, 5.0])
    made = world(
        [], [(0, int(n), h) for n, h in zip(samples, flops, strict=True)], train=step, iterations=5, local_steps=3
    )
    for server in made.federation.servers:
        server.model = np.ones(4)
    made.run(AsyncSdFeel())
    shares, steps = samples / 100, np.floor(3 * flops)
    model = np.ones(4)
    for _ in range(5):
        points = [np.random.default_rng(client).standard_normal(4) for client in range(3)]
        locals_ = [model + 0.01 * tau * (point - model) for tau, point in zip(steps, points, strict=True)]
        drift = sum(share * (model - x) / tau for share, x, tau in zip(shares, locals_, steps, strict=True))
        model = model - (shares @ steps) * drift
    assert made.models[0] == pytest.approx(model, rel=1e-12)


def test_equal_steps_are_fedavg_inside_a_cluster(world):
    samples = np.array([10, 30, 60])
    made = world([], [(0, int(n), 1.0) for n in samples], train=step, iterations=1, initial=np.ones(4)).run(
        AsyncSdFeel()
    )
    points = [np.random.default_rng(client).standard_normal(4) for client in range(3)]
    average = sum(n / 100 * (1 + 0.01 * (point - 1)) for n, point in zip(samples, points, strict=True))
    assert made.models[0] == pytest.approx(average, rel=1e-12)


def test_complete_graph_with_equal_clusters_is_one_global_average(world):
    """The synchronous P of a complete graph with equal clusters averages everything, as a cloud would."""
    links = [(a, b) for a in range(4) for b in range(a)]
    made = world(links, [(d, 10, 1.0) for d in range(4)], train=step, iterations=3, initial=np.zeros(4)).run(
        SyncSdFeel()
    )
    assert all(model == pytest.approx(made.models[0], abs=1e-12) for model in made.models)
