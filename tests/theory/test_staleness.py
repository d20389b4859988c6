"""Closed forms of every psi, and what they have in common."""

import inspect
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.errors import InputError
from asyncfeel.theory import staleness

PSI = {
    name: function for name, function in inspect.getmembers(staleness, inspect.isfunction) if not name.startswith("_")
}

CLOSED_FORMS = [
    ("constant", {}, lambda d: 1),
    ("inverse", {}, lambda d: 1 / (2 * (d + 1))),
    ("polynomial", {}, lambda d: 1 / math.sqrt(1 + d)),
    ("polynomial", {"a": 2.0}, lambda d: 1 / (1 + d) ** 2),
    ("hinge", {}, lambda d: 1 if d <= 4 else 1 / (10 * (d - 4) + 1)),
    ("hinge", {"a": 3.0, "b": 2.0}, lambda d: 1 if d <= 2 else 1 / (3 * (d - 2) + 1)),
    ("exponential", {"a": 0.3}, lambda d: math.e ** (-0.3 * d)),
    ("harmonic", {"b": 0.25}, lambda d: 4 / (4 + d)),
    ("threshold", {"c": 3.0, "v": 0.1}, lambda d: 1 if d <= 3 else 0.1),
    ("threshold", {"c": 3.0}, lambda d: 1 if d <= 3 else 0),
    ("bound", {}, lambda d: 10 / (10 + d)),
    ("logarithmic", {}, lambda d: 1 / (1 + math.log(1 + d))),
    ("sigmoid", {"a": 4.0, "c": 0.7}, lambda d: 0.25 + 0.75 * math.exp(-0.7 * d)),
]


@pytest.mark.parametrize(("kind", "options", "form"), CLOSED_FORMS)
def test_closed_form(kind, options, form):
    psi = PSI[kind](**options)
    assert [psi(d) for d in range(40)] == pytest.approx([form(d) for d in range(40)], rel=1e-12, abs=1e-300)


def test_every_psi_has_a_closed_form_test():
    assert {kind for kind, _, _ in CLOSED_FORMS} == set(PSI)


@given(st.sampled_from(sorted(PSI)), st.integers(0, 10_000))
def test_never_grows_and_stays_finite(kind, delta):
    psi = PSI[kind]()
    assert math.isfinite(psi(0))
    assert psi(0) > 0
    assert 0 <= psi(delta + 1) <= psi(delta)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("polynomial", {"a": -1.0}),
        ("hinge", {"b": -1.0}),
        ("threshold", {"v": 1.5}),
        ("bound", {"b": 0.0}),
        ("sigmoid", {"a": 0.5}),
        ("exponential", {"a": math.inf}),
    ],
)
def test_parameters_that_would_make_it_grow_are_refused(kind, options):
    with pytest.raises(InputError, match="must be"):
        PSI[kind](**options)
