"""Aggregation (A38), latency (A11, A12, A13, A16) and the objective's weights."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.theory import aggregation, latency, objective

counts = st.lists(st.integers(1, 5000), min_size=1, max_size=20)


@given(st.data(), counts)
def test_a38_factors_are_the_nearest_floats_to_the_exact_ones(data, samples):
    steps = data.draw(st.lists(st.integers(1, 3000), min_size=len(samples), max_size=len(samples)))
    total = sum(samples)
    mean = sum(Fraction(n, total) * tau for n, tau in zip(samples, steps, strict=True))
    exact = [Fraction(n, total) * mean / tau for n, tau in zip(samples, steps, strict=True)]
    assert aggregation.coefficients(samples, steps) == [float(factor) for factor in exact]
    assert aggregation.mean_steps(samples, steps) == pytest.approx(float(mean))


@given(counts, st.integers(1, 1000))
def test_a38_equal_steps_give_exactly_the_data_shares_of_fedavg(samples, tau):
    shares = [count / sum(samples) for count in samples]
    assert aggregation.coefficients(samples, [tau] * len(samples)) == shares


def test_change_is_measured_from_the_model_that_was_sent():
    sent, results = np.array([1.0, 2.0]), [np.array([2.0, 2.0]), np.array([1.0, 6.0])]
    assert aggregation.change(sent, results, [0.5, 0.25]).tolist() == [0.5, 1.0]
    assert sent.tolist() == [1.0, 2.0]
    assert results[0].tolist() == [2.0, 2.0]


def test_a16_transfer_times_of_the_papers_model():
    assert latency.PAPER_MODEL_BITS == 357_566_784
    assert latency.transfer_s(latency.PAPER_MODEL_BITS, 5e6) == 71.5133568
    assert latency.transfer_s(latency.PAPER_MODEL_BITS, 10e6) == 35.7566784


def test_a12_readings_of_the_work_per_step():
    assert latency.WORK_READINGS == {"paper": 556.7e6, "literal": 55.67e9, "physical": 33.4e9}


@given(st.floats(1e-3, 1e6), st.floats(1e6, 1e12), st.floats(1e6, 1e11))
def test_a11_the_steps_fit_and_one_more_would_not(deadline_s, work, flops):
    steps = latency.steps_within(deadline_s, work, flops)
    slack = 1e-9 * work / flops + 1e-12 * deadline_s
    assert steps == 1 or latency.compute_s(steps, work, flops) <= deadline_s + slack
    assert latency.compute_s(steps + 1, work, flops) > deadline_s - slack


@given(st.integers(1, 5000), st.floats(1e6, 1e12), st.floats(1e6, 1e11))
def test_a13_the_slowest_client_does_exactly_the_minimum(min_steps, work, flops):
    deadline_s = latency.compute_s(min_steps, work, flops)
    assert latency.steps_within(deadline_s, work, flops) == min_steps


def test_rate_corrections_make_clusters_pull_by_their_data_alone():
    lengths, steps, shares = [1.0, 1.37, 2.11], [5.0, 9.0, 4.0], [0.2, 0.5, 0.3]
    corrections = objective.rate_corrections(lengths, steps, shares)
    assert sum(share * factor for share, factor in zip(shares, corrections, strict=True)) == pytest.approx(1)
    corrected = [tau * factor for tau, factor in zip(steps, corrections, strict=True)]
    assert objective.implied_weights(lengths, corrected, shares) == pytest.approx(shares)
