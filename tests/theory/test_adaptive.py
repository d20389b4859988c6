"""Adaptive steps: drift h, surrogate G, the best number of steps, and the estimates that feed them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.errors import InputError
from asyncfeel.jobs import Probe
from asyncfeel.theory import adaptive

WORLD = {"budget_s": 1000.0, "step_s": 0.5, "aggregation_s": 12.0, "eta": 0.01}
LOSSES = {"rho": 1.2, "beta": 3.0, "delta": 0.7}
sizes = st.floats(1e-3, 1e3)


@given(st.floats(1e-6, 10), st.floats(0, 1e6), st.floats(0, 1e6))
def test_one_step_does_not_drift(eta, beta, delta):
    assert adaptive.drift(1, eta, beta, delta) == 0


@given(st.floats(1e-4, 1), st.floats(1e-3, 10), st.floats(1e-3, 10))
def test_the_drift_of_few_steps_by_hand(eta, beta, delta):
    two = eta**2 * beta * delta
    assert adaptive.drift(2, eta, beta, delta) == pytest.approx(two)
    assert adaptive.drift(3, eta, beta, delta) == pytest.approx(two * (3 + eta * beta))
    assert adaptive.drift(4, eta, beta, delta) == pytest.approx(two * (6 + 4 * eta * beta + (eta * beta) ** 2))


@given(st.integers(1, 60), st.fractions(Fraction(1, 9**4), 1), st.fractions(Fraction(1, 9**4), 50), st.integers(1, 50))
def test_the_drift_is_the_closed_form_in_exact_numbers(steps, eta, beta, delta):
    exact = delta / beta * ((eta * beta + 1) ** steps - 1) - eta * delta * steps
    assert adaptive.drift(steps, float(eta), float(beta), delta) == pytest.approx(float(exact), rel=1e-11)


@given(st.integers(1, 100), st.floats(1e-4, 1), st.floats(0, 100))
def test_without_curvature_or_difference_nothing_drifts_and_the_limit_is_smooth(steps, eta, delta):
    assert adaptive.drift(steps, eta, 0.0, delta) == 0
    assert adaptive.drift(steps, eta, 5.0, 0.0) == 0
    beta = 1e-12
    expected = eta**2 * beta * delta * steps * (steps - 1) / 2
    assert adaptive.drift(steps, eta, beta, delta) == pytest.approx(expected, rel=1e-8)


def test_a_drift_beyond_all_floats_is_infinite():
    assert adaptive.drift(100, 1.0, 1e10, 1.0) == math.inf
    assert adaptive.drift(100, 1e200, 1e200, 1.0) == math.inf
    assert adaptive.drift(100, 1e200, 1e200, 0.0) == 0
    assert adaptive.surrogate(100, 1000, 1, 1, 1.0, 1.0, 1e10, 1.0) == math.inf
    assert math.isfinite(adaptive.surrogate(100, 1000, 1, 1, 1.0, 0.0, 1e10, 1.0))
    assert adaptive.best_steps(10, 1000, 1, 1, 1.0, 1.0, 1e300, 1.0) == 1


@given(st.integers(1, 99), st.floats(1e-3, 0.5), st.floats(0.01, 20), st.floats(0.01, 20))
def test_the_drift_grows_with_everything(steps, eta, beta, delta):
    here = adaptive.drift(steps, eta, beta, delta)
    assert adaptive.drift(steps + 1, eta, beta, delta) > here
    if steps > 1:
        assert adaptive.drift(steps, eta * 1.1, beta, delta) > here
        assert adaptive.drift(steps, eta, beta * 1.1, delta) > here
        assert adaptive.drift(steps, eta, beta, delta * 2) == pytest.approx(2 * here)


@given(
    st.integers(1, 100), st.floats(30, 1e5), st.floats(0.1, 10), st.floats(0, 10), st.floats(1e-4, 0.1), sizes, sizes
)
def test_the_surrogate_as_it_is_printed(steps, budget_s, step_s, aggregation_s, eta, rho, delta):
    beta, phi = 2.0, 0.03
    fitting = (budget_s - step_s - aggregation_s) * steps / (step_s * steps + aggregation_s)
    h = adaptive.drift(steps, eta, beta, delta)
    root = math.sqrt(1 + 4 * fitting**2 * phi * rho * eta * h / steps)
    expected = (1 + root) / (2 * fitting * eta * phi) + rho * h
    found = adaptive.surrogate(steps, budget_s, step_s, aggregation_s, eta, rho, beta, delta, phi)
    assert found == pytest.approx(expected, rel=1e-9)


def test_the_surrogate_of_one_step_by_hand():
    """h(1) = 0, so G = 1/(T' eta phi) with T' = (13 - 1 - 2) / (1 + 2)."""
    assert adaptive.surrogate(1, 13, 1, 2, 0.1, 5.0, 7.0, 9.0) == pytest.approx(1 / (10 / 3 * 0.1 * 0.025))


@given(st.integers(1, 100), st.floats(1, 1000))
def test_a_longer_budget_is_never_worse(steps, more_s):
    def left(budget_s: float) -> float:
        return adaptive.surrogate(steps, budget_s, 0.5, 12.0, 0.01, **LOSSES)

    assert left(20 + more_s) < left(20)
    assert left(math.inf) < left(20 + more_s)


def test_without_a_limit_there_is_time_for_the_fewest_steps():
    assert adaptive.surrogate(1, math.inf, 1, 5, 0.1, 1.0, 1.0, 1.0) == 0
    assert adaptive.best_steps(10, math.inf, 1, 5, 0.1, 1.0, 1.0, 1.0) == 1


@pytest.mark.parametrize("budget_s", [12.5, 3.0, 0.0, -7.0])
def test_a_budget_without_room_for_a_step_leaves_everything_and_gives_one_step(budget_s: float):
    assert adaptive.surrogate(7, budget_s, 0.5, 12.0, 0.01, **LOSSES) == math.inf
    assert adaptive.best_steps(7, budget_s, 0.5, 12.0, 0.01, **LOSSES) == 1


@pytest.mark.parametrize("flat", ["rho", "beta", "delta"])
def test_where_nothing_drifts_more_steps_are_always_better(flat: str):
    assert adaptive.best_steps(3, **WORLD, **(LOSSES | {flat: 0.0})) == 30
    assert adaptive.best_steps(10, **WORLD, **(LOSSES | {flat: 0.0})) == 100
    assert adaptive.best_steps(5000, **WORLD, **(LOSSES | {flat: 0.0})) == 100


def test_of_equal_choices_the_smallest_is_taken():
    """Without aggregation time and drift G is the same for every tau."""
    assert adaptive.best_steps(4, 101.0, 1.0, 0.0, 0.1, 0.0, 1.0, 1.0) == 1


@given(st.integers(1, 12), st.floats(0, 60), sizes, sizes, sizes)
def test_the_best_steps_are_the_least_of_all_choices(previous, aggregation_s, rho, beta, delta):
    world = WORLD | {"aggregation_s": aggregation_s, "rho": rho, "beta": beta, "delta": delta}
    left = [adaptive.surrogate(tau, **world) for tau in range(1, min(10 * previous, 100) + 1)]
    assert adaptive.best_steps(previous, **world) == 1 + left.index(min(left))


def test_the_best_steps_fall_as_clients_differ_more():
    found = [adaptive.best_steps(10, **WORLD, **(LOSSES | {"delta": 4.0**power})) for power in range(-6, 7)]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 5


def test_the_best_steps_grow_as_aggregation_takes_longer():
    found = [adaptive.best_steps(10, **(WORLD | {"aggregation_s": 2.0**power}), **LOSSES) for power in range(-4, 9)]
    assert found == sorted(found)
    assert len(set(found)) > 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"beta": math.nan}, "beta must be .* not nan: if training has diverged, use a smaller learning rate"),
        ({"delta": math.inf}, "delta must be a finite number of at least 0"),
        ({"rho": -1.0}, "rho must be"),
        ({"eta": 0.0}, "eta must be a finite number above 0"),
        ({"phi": 0.0}, "phi must be"),
        ({"step_s": 0.0}, "a step must last longer than 0 s"),
        ({"aggregation_s": -1.0}, "an aggregation at least 0 s"),
        ({"budget_s": math.nan}, "the budget must be a number"),
        ({"previous": 0}, "the previous steps must be at least 1, not 0"),
    ],
)
def test_impossible_numbers_are_named(change, message: str):
    with pytest.raises(InputError, match=message):
        adaptive.best_steps(**({"previous": 3} | WORLD | LOSSES | change))


def quadratic_probe(a: float, c: float, w: float, done: float) -> Probe:
    """What a client with F(w) = a (w - c)^2 / 2 reports."""
    return Probe(a / 2 * (w - c) ** 2, a / 2 * (done - c) ** 2, a * (w - c), a * (done - c))


@given(st.lists(st.tuples(st.integers(1, 99), st.integers(1, 9), st.integers(-5, 5)), min_size=1, max_size=6))
def test_the_estimates_of_quadratics_are_known(clients):
    """For F_i = a_i (w - c_i)^2 / 2, beta_i is a_i, and rho_i the slope half way."""
    w, done = 1.0, 1.5
    counts = [count for count, _, _ in clients]
    probes = [quadratic_probe(a, c, w, done) for _, a, c in clients]
    rho, beta, delta = adaptive.estimates(counts, w, [done] * len(clients), probes, abs)
    slopes = np.array([a * (w - c) for _, a, c in clients])
    mean = np.average(slopes, weights=counts)
    assert rho == pytest.approx(np.average([abs(a * (1.25 - c)) for _, a, c in clients], weights=counts))
    assert beta == pytest.approx(np.average([a for _, a, _ in clients], weights=counts))
    assert delta == pytest.approx(np.average(abs(slopes - mean), weights=counts), abs=1e-12)


def test_models_may_be_vectors_and_clients_that_did_not_move_count_as_zero():
    sent = np.array([1.0, 2.0])
    still = Probe(3.0, 3.0, np.array([2.0, 0.0]), np.array([2.0, 0.0]))
    moved = Probe(3.0, 1.0, np.array([0.0, 4.0]), np.array([6.0, 12.0]))
    found = adaptive.estimates([30, 10], sent, [sent, sent + np.array([0.0, 0.5])], [still, moved], np.linalg.norm)
    mean = np.array([1.5, 1.0])
    apart = 0.75 * np.linalg.norm([0.5, -1.0]) + 0.25 * np.linalg.norm(np.array([0.0, 4.0]) - mean)
    assert found == pytest.approx((0.25 * 2.0 / 0.5, 0.25 * 10.0 / 0.5, apart))
    assert sent.tolist() == [1.0, 2.0]
    assert moved.gradient_sent.tolist() == [0.0, 4.0]


def test_clients_that_agree_do_not_differ():
    probe = Probe(1.0, 0.5, np.array([1.0, 2.0]), np.array([0.5, 1.0]))
    found = adaptive.estimates([1, 1], np.zeros(2), [np.ones(2)] * 2, [probe] * 2, np.linalg.norm)
    assert found.delta == 0
    assert adaptive.best_steps(2, **WORLD, **found._asdict()) == 20


def test_every_client_must_have_a_probe():
    with pytest.raises(ValueError, match="zip"):
        adaptive.estimates([1, 2], 0.0, [1.0, 1.0], [Probe(1.0, 0.5, 1.0, 0.5)], abs)
