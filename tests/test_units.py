"""Quantities with units, as users write them in files and on the command line."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel import InputError, Scenario
from asyncfeel.units import duration, has_unit, quantity

examples = settings(deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("until_s", "90", 90.0),
        ("until_s", "90s", 90.0),
        ("until_s", " 30 m ", 1800.0),
        ("until_s", "30min", 1800.0),
        ("until_s", "2h", 7200.0),
        ("until_s", "1.5 h", 5400.0),
        ("until_s", "1d", 86400.0),
        ("until_s", "1e3s", 1000.0),
        ("uplink_bps", "5 Mbps", 5e6),
        ("uplink_bps", "5Mbit/s", 5e6),
        ("uplink_bps", "5 Mb/s", 5e6),
        ("uplink_bps", "64 kbps", 64e3),
        ("uplink_bps", "5M", 5e6),
        ("model_bits", "1.5 Gbit", 1.5e9),
        ("model_bits", "8 bits", 8.0),
        ("mean_flops", "2 GFLOPS", 2e9),
        ("mean_flops", "1T", 1e12),
        ("flops_per_step", "33.4 GFLOP", 33.4e9),
        ("flops_per_step", "33.4 GFLOPs", 33.4e9),
    ],
)
def test_a_text_means_a_number_in_the_unit_of_its_key(key, text, value):
    assert quantity(key, text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("until_s", ""),
        ("until_s", "h"),
        ("until_s", "."),
        ("until_s", "1.2.3"),
        ("until_s", "2 hours ago"),
        ("until_s", "5 Mbps"),
        ("until_s", "1,000"),
        ("until_s", "nan"),
        ("until_s", "inf"),
        ("until_s", "1e999"),
        ("uplink_bps", "5 s"),
        ("uplink_bps", "5 MBps"),
        ("uplink_bps", "5 MB/s"),
        ("uplink_bps", "5 mbps"),
        ("model_bits", "5 MB"),
        ("model_bits", "5 Mbps"),
        ("mean_flops", "5 Mbps"),
        ("flops_per_step", "33.4 GFLOPS"),
    ],
)
def test_a_wrong_unit_is_an_error_that_shows_a_right_one(key, text):
    with pytest.raises(InputError, match=f"{key}.*is not a quantity.*such as '"):
        quantity(key, text)


@examples
@given(st.floats(min_value=0, allow_infinity=False, allow_nan=False))
def test_a_plain_number_is_itself(number):
    assert quantity("until_s", repr(abs(number))) == abs(number)


def test_a_product_beyond_all_floats_is_no_quantity():
    with pytest.raises(InputError):
        Scenario.load(until="1e308d")


@pytest.mark.parametrize("key", ["until_s", "every_s", "uplink_bps", "model_bits", "mean_flops", "flops_per_step"])
def test_keys_that_carry_a_unit(key):
    assert has_unit(key)


@pytest.mark.parametrize("key", ["clients", "seed", "batch", "tolerance", "steps", "rounds", "kind"])
def test_keys_that_carry_none(key):
    assert not has_unit(key)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (75, "75.0 s"),
        (600, "10 min"),
        (7200, "2 h 00 min"),
        (7500, "2 h 05 min"),
        (3.6e6, "1,000 h 00 min"),
    ],
)
def test_durations_for_people(seconds, text):
    assert duration(seconds) == text


@examples
@given(st.floats(min_value=0, max_value=1e12))
def test_an_hour_never_shows_sixty_minutes(seconds):
    minutes = re.search(r"h (\d+) min", duration(seconds))
    assert minutes is None or int(minutes[1]) < 60
