"""The objective that is really minimised: six quadratics on a ring, and the options that restore it."""

import pytest

from asyncfeel.algorithms.async_sd_feel import AsyncSdFeel

CENTRES = (0.0, 1.0, 4.0, -2.0, 7.0, 3.0)
SAMPLES = (5, 10, 30, 25, 20, 10)
LENGTHS = (1.0, 1.37, 2.11, 0.83, 3.3, 1.71)
STEPS = (5, 9, 4, 7, 12, 3)
ETA = 3e-4
ITERATIONS = 30_000


def descend(job):
    centre = CENTRES[job.client]
    return centre + (1 - ETA) ** job.steps * (job.model - centre)


def fixed_point(world, ring, lengths=LENGTHS, steps=STEPS, **options):
    """Where the servers' data-weighted mean ends: each cluster has its own period and its own steps."""
    deadline_s, exchange_s = 0.5, 0.01
    made = world(
        ring(6),
        [(d, SAMPLES[d], steps[d] / deadline_s * 1.0001) for d in range(6)],
        train=descend,
        iterations=ITERATIONS,
        model_bits=1.0,
        uplink_bps=1.0,
        exchange_bps=1 / exchange_s,
        fading=lambda client, start_s: 1 / (lengths[client] - deadline_s - exchange_s),
    )
    algorithm = AsyncSdFeel(deadline="fixed", deadline_s=deadline_s, **options)
    made.run(algorithm)
    tail = [sum(made.federation.shares[d] * models[d] for d in range(6)) for models in made.diary.after[-3000:]]
    weights = algorithm.objective(made.federation)
    return sum(tail) / len(tail), sum(weight * centre for weight, centre in zip(weights, CENTRES, strict=True))


def test_as_printed_the_data_shares_drop_out(world, ring):
    found, predicted = fixed_point(world, ring)
    assert predicted == pytest.approx(1.026, abs=0.001)
    assert found == pytest.approx(1.0235, abs=0.01)


def test_weighted_mixing_alone(world, ring):
    found, _ = fixed_point(world, ring, mixing="weighted")
    assert found == pytest.approx(0.963, abs=0.01)


def test_both_options_restore_the_stated_objective(world, ring):
    found, predicted = fixed_point(world, ring, mixing="weighted", rate_correction=True)
    assert predicted == pytest.approx(2.5)
    assert found == pytest.approx(2.5, abs=0.01)


@pytest.mark.parametrize(("mixing", "expected"), [("paper", 2.165), ("weighted", 2.498)])
def test_equal_times_and_steps(world, ring, mixing, expected):
    found, _ = fixed_point(world, ring, lengths=(1.0,) * 6, steps=(6,) * 6, mixing=mixing)
    assert found == pytest.approx(expected, abs=0.01)
