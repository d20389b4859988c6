"""The data sets that come with asyncfeel; every public function here is one kind.

A function's keywords are the user's options, except `clients`, `rng` and `data_dir`, which the
run supplies to those that name them.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from asyncfeel.errors import InputError
from asyncfeel.learning.datasets import downloads, fedprox, quadratics
from asyncfeel.learning.datasets.values import Dataset

MOST_VALUES = 500_000_000
"""Numbers of a data set that is made up: 2 GB, and for a moment three times as much."""


def digits() -> Dataset:
    """1,797 real handwritten digits of 8x8 pixels, part of asyncfeel; every fifth image is a test image.

    The test set of the "Optical Recognition of Handwritten Digits" data by E. Alpaydin and
    C. Kaynak (UCI Machine Learning Repository, 1998, CC BY 4.0), as scikit-learn distributes it.
    """
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as archive:
        x, y = archive["x"], archive["y"]
    test = np.arange(len(y)) % 5 == 4
    arrays = {"x_train": x[~test], "y_train": y[~test], "x_test": x[test], "y_test": y[test]}
    return Dataset(arrays, source="digits")


def synthetic(
    clients: int,
    rng: np.random.Generator,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    iid: bool = False,
    max_samples: int = 10_000,
) -> Dataset:
    """Made-up classification with 60 features and 10 classes, different for each client (FedProx).

    `alpha` is the standard deviation between the clients' labelling models and `beta` between the
    clients' samples, as in the authors' program; with `iid` all clients are alike. No client has
    more than `max_samples` samples. A fifth of each client's samples goes to the test set.
    """
    least = {"clients": (clients, 1), "alpha": (alpha, 0), "beta": (beta, 0), "max_samples": (max_samples, 50)}
    _at_least("synthetic", least)
    return fedprox.generate(clients, rng, alpha, beta, iid, max_samples)


def quadratic(
    clients: int,
    rng: np.random.Generator,
    *,
    dimension: int = 10,
    samples: int = 50,
    spread: float = 1.0,
    noise: float = 1.0,
    condition: float = 1.0,
) -> Dataset:
    """A task with a known answer: each client pulls a point towards its own samples (model point).

    Clients' centres differ by `spread`, samples by `noise`; curvatures reach from 1/`condition` to
    1, so the smoothness is L = 1 and the optimum is the mean of all training samples.
    """
    least = {"clients": (clients, 1), "dimension": (dimension, 1), "samples": (samples, 1)}
    _at_least("quadratic", least | {"spread": (spread, 0), "noise": (noise, 0), "condition": (condition, 1)})
    if clients * samples * dimension > MOST_VALUES:
        raise InputError(
            f"dataset 'quadratic': {clients:,} clients with {samples:,} samples of dimension {dimension:,} are more "
            f"than {MOST_VALUES:,} numbers: use less of one of them"
        )
    return quadratics.generate(clients, rng, dimension, samples, spread, noise, condition)


def mnist(data_dir: Path) -> Dataset:
    """Handwritten digits of 28x28 grey pixels: 60,000 for training and 10,000 for the test."""
    return downloads.fetch("mnist", "MNIST", data_dir)


def fashion_mnist(data_dir: Path) -> Dataset:
    """Pieces of clothing in 28x28 grey pixels: 60,000 for training and 10,000 for the test."""
    return downloads.fetch("fashion_mnist", "FashionMNIST", data_dir)


def cifar10(data_dir: Path) -> Dataset:
    """Photographs of ten kinds of things in 32x32 colour pixels: 50,000 and 10,000."""
    return downloads.fetch("cifar10", "CIFAR10", data_dir)


def _at_least(what: str, values: Mapping[str, tuple[float, float]]) -> None:
    for name, (value, least) in values.items():
        if not least <= value < float("inf"):
            raise InputError(f"data set {what!r}: {name} must be a number of at least {least}, not {value}")
