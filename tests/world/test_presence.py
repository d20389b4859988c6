"""Who is there when: known answers, and that nothing depends on the order of questions."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncfeel.errors import InputError
from asyncfeel.streams import philox, uniforms
from asyncfeel.world import availability, outages
from asyncfeel.world.presence import ALWAYS, Alternating, Intervals, Opposite

DRAWS = partial(uniforms, 7)


def words(key, *counter):
    return [int(word[0]) for word in philox(key, tuple(np.array([part]) for part in counter))]


def test_the_generator_gives_the_published_answers():
    """Three vectors from the known-answer file of Random123."""
    assert words(0, 0, 0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    full = 2**32 - 1
    assert words(2**64 - 1, full, full, full, full) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]
    pi = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)
    assert words(0x299F31D0A4093822, *pi) == [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]


def test_draws_are_uniform_and_have_names():
    one, other = uniforms(3, np.arange(20_000), np.full(20_000, 5))
    for column in (one, other):
        assert column.min() >= 0
        assert column.max() < 1
        assert abs(column.mean() - 0.5) < 0.01
        assert abs(column.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    again = uniforms(3, np.array([77, 3]), np.array([5, 5]))
    assert again[0].tolist() == [one[77], one[3]]
    assert uniforms(4, np.array([77]), np.array([5]))[0][0] != one[77]


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 200)), min_size=1, max_size=30))
def test_alternating_spells_do_not_depend_on_the_order_of_questions(questions):
    made = [Alternating(DRAWS, 10, 5.0, 2.0) for _ in range(2)]
    sorted_answers = {}
    for who, now_s in sorted(questions, key=lambda question: question[1]):
        one = np.array([who])
        sorted_answers[who, now_s] = (
            made[0].there(one, one, now_s)[0],
            made[0].leaves_s(one, now_s)[0],
            made[0].back_s(one, now_s)[0],
        )
    for who, now_s in questions:
        one = np.array([who])
        there, leaves_s, back_s = sorted_answers[who, now_s]
        assert made[1].back_s(one, now_s)[0] == back_s
        assert made[1].there(one, one, now_s)[0] == there
        assert made[1].leaves_s(one, now_s)[0] == leaves_s
        assert back_s == now_s if there else back_s > now_s
        assert leaves_s > now_s


def test_alternating_spells_have_their_means():
    everyone = np.arange(4000)
    made = Alternating(DRAWS, 4000, 30.0, 10.0)
    for now_s in (0.0, 17.0, 250.0):
        assert made.there(everyone, everyone, now_s).mean() == pytest.approx(0.75, abs=0.03)
    up = made.there(everyone, everyone, 250.0)
    assert (made.leaves_s(everyone, 250.0)[up] - 250.0).mean() == pytest.approx(30.0, rel=0.08)
    assert (made.back_s(everyone, 250.0)[~up] - 250.0).mean() == pytest.approx(10.0, rel=0.12)


def test_a_chance_is_drawn_at_each_turn():
    made, everyone = availability.probability(DRAWS, away=0.3), np.arange(5000)
    first = made.there(everyone, np.zeros_like(everyone), 1.0)
    second = made.there(everyone, np.ones_like(everyone), 1.0)
    assert first.mean() == pytest.approx(0.7, abs=0.03)
    assert (first != second).mean() == pytest.approx(0.42, abs=0.03)
    assert (made.there(everyone, np.zeros_like(everyone), 99.0) == first).all()
    assert np.isinf(made.leaves_s(everyone, 1.0)).all()


# Client 0 is there in [1, 2) and [4, 6), client 1 never, client 2 in [0, 3).
GIVEN = (3, np.array([0, 0, 2]), np.array([1.0, 4.0, 0.0]), np.array([2.0, 6.0, 3.0]))


@pytest.mark.parametrize(
    ("now_s", "there", "back_s"),
    [
        (0.0, [False, False, True], [1.0, math.inf, 0.0]),
        (1.0, [True, False, True], [1.0, math.inf, 1.0]),
        (2.0, [False, False, True], [4.0, math.inf, 2.0]),
        (5.9, [True, False, False], [5.9, math.inf, math.inf]),
        (6.0, [False, False, False], [math.inf, math.inf, math.inf]),
    ],
)
def test_intervals(now_s, there, back_s):
    everyone, made = np.arange(3), Intervals(*GIVEN, None)
    assert made.there(everyone, everyone, now_s).tolist() == there
    assert made.back_s(everyone, now_s).tolist() == back_s


def test_intervals_with_a_period_begin_anew():
    everyone, made = np.arange(3), Intervals(*GIVEN, 8.0)
    assert made.there(everyone, everyone, 17.5).tolist() == [True, False, True]
    assert made.leaves_s(everyone[[0, 2]], 17.5).tolist() == [18.0, 19.0]
    assert made.back_s(everyone, 14.0).tolist() == [17.0, math.inf, 16.0]


def test_an_interval_that_goes_on_in_the_next_period_does_not_end():
    made = Intervals(2, np.array([0, 0, 1]), np.array([0.0, 7.0, 0.0]), np.array([2.0, 8.0, 8.0]), 8.0)
    both = np.arange(2)
    assert made.leaves_s(both, 7.5).tolist() == [10.0, math.inf]
    assert made.leaves_s(both, 8.5).tolist() == [10.0, math.inf]


def test_outages_are_the_opposite_of_intervals():
    everyone, made = np.arange(3), Opposite(Intervals(*GIVEN, None))
    assert made.there(everyone, everyone, 1.5).tolist() == [False, True, False]
    assert made.back_s(everyone, 1.5).tolist() == [2.0, 1.5, 3.0]
    assert made.leaves_s(everyone[:2], 3.0).tolist() == [4.0, math.inf]


def test_nothing_that_can_go_wrong_is_nothing():
    assert availability.always() is outages.none() is availability.probability(DRAWS, away=0.0) is ALWAYS


def trace(folder, text):
    path = folder / "trace.csv"
    path.write_text(text)
    return str(path)


def test_a_trace_of_clients(tmp_path):
    path = trace(tmp_path, "from_s,until_s,client\n4,6,0\n1,2,0\n0,1.5,2\n1.5,3,2\n")
    made, everyone = availability.trace(3, path=path), np.arange(3)
    for now_s in (0.0, 1.0, 2.0, 4.5, 7.0):
        expected = Intervals(*GIVEN, None).there(everyone, everyone, now_s).tolist()
        assert made.there(everyone, everyone, now_s).tolist() == expected
    assert made.leaves_s(np.array([2]), 1.0).tolist() == [3.0]


def test_a_trace_of_links_takes_their_ends_in_either_order(tmp_path):
    path = trace(tmp_path, "a,b,from_s,until_s\n2,1,0,5\n")
    made = outages.trace({(0, 1): 0, (1, 2): 1}, "link", path=path)
    assert made.there(np.arange(2), np.arange(2), 1.0).tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("client,from_s,until_s\n", "has no row"),
        ("", "has no column 'client': there are none"),
        ("client,from_s\n0,1\n", "has no column 'until_s': there are client, from_s"),
        ("client,from_s,until_s\n0,1,x\n", "line 2: until_s must be a number, not 'x'"),
        ("client,from_s,until_s\n0,1\n", "line 2: until_s must be a number, not None"),
        ("client,from_s,until_s\n0,1,inf\n", "line 2: until_s must be finite"),
        ("client,from_s,until_s\n0,0,1\n3,1,2\n", "line 3: there is no client 3: they are 0 to 2"),
        ("client,from_s,until_s\n0.5,1,2\n", "there is no client 0.5"),
        ("client,from_s,until_s\n0,2,2\n", "from_s must be at least 0 and less than until_s, not 2 and 2"),
        ("client,from_s,until_s\n0,-1,2\n", "from_s must be at least 0"),
        ("client,from_s,until_s\n0,1,3\n0,2,4\n", "overlap at 2 s"),
        ("client,from_s,until_s\n0,1,30\n", "goes on to 30 s, longer than period_s = 20"),
    ],
)
def test_a_malformed_trace_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match="trace file") as error:
        availability.trace(3, path=trace(tmp_path, text), period_s=20.0)
    assert message in str(error.value)


def test_a_trace_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        availability.trace(3, path=str(tmp_path / "nope.csv"))
    with pytest.raises(InputError, match="period_s must be above 0, not -1"):
        availability.trace(3, path=str(tmp_path / "nope.csv"), period_s=-1.0)
