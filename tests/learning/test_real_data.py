"""The real image sets, where the environment variable ASYNCFEEL_DATA names a folder that has them."""

import os
from pathlib import Path

import numpy as np
import pytest

from asyncfeel.learning.datasets import builtin

FOLDER = Path(os.environ.get("ASYNCFEEL_DATA", "nowhere"))
SETS = {
    "mnist": ((28, 28, 1), 60_000, 5923, 33.318),
    "fashion_mnist": ((28, 28, 1), 60_000, 6000, 72.940),
    "cifar10": ((32, 32, 3), 50_000, 5000, 120.708),
}


@pytest.mark.parametrize("name", SETS)
def test_the_set_is_the_one_that_everybody_knows(name: str):
    if not (FOLDER / f"{name}.npz").is_file():
        pytest.skip(f"ASYNCFEEL_DATA has no {name}.npz")
    shape, samples, first_class, mean = SETS[name]
    data = getattr(builtin, name)(FOLDER)
    assert data.shape == shape
    assert len(data.y_train) == len(data.x_train) == samples
    assert len(data.y_test) == 10_000
    assert np.bincount(data.y_train)[0] == first_class
    assert data.x_train.mean() == pytest.approx(mean, abs=0.01)
