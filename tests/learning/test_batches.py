"""Mini-batches: subsets, all equally likely, and the same whatever follows."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncfeel.learning.batches import draw


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32), samples=st.integers(1, 60), steps=st.integers(0, 20), batch=st.integers(1, 80))
def test_a_batch_is_a_subset_without_replacement(seed, samples, steps, batch):
    rows = draw(np.random.default_rng(seed), samples, steps, batch)
    assert rows.shape == (steps, min(batch, samples))
    assert rows.dtype == np.int64
    for row in rows:
        assert len(set(row.tolist())) == len(row)
        assert set(row.tolist()) <= set(range(samples))


def test_all_subsets_are_equally_likely():
    steps = 60_000
    rows = np.sort(draw(np.random.default_rng(1), 6, steps, 3), axis=1)
    subsets = list(itertools.combinations(range(6), 3))
    codes, counts = np.unique(rows @ [36, 6, 1], return_counts=True)
    assert len(codes) == len(subsets)
    expected = steps / len(subsets)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 43.8  # one in a thousand for 19 degrees of freedom


def test_consecutive_batches_are_independent():
    rows = draw(np.random.default_rng(2), 10, 40_000, 1)[:, 0]
    assert abs(np.corrcoef(rows[:-1], rows[1:])[0, 1]) < 0.02


def test_more_steps_begin_with_the_same_batches():
    short, long = (draw(np.random.default_rng(3), 50, steps, 8) for steps in (5, 500))
    assert np.array_equal(short, long[:5])
