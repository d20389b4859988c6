"""A task whose answer is known: every client pulls a point towards its own samples.

Client i has the loss F_i(w) = mean over its samples x of 1/2 sum_j a_j (w_j - x_j)^2. So the
optimum of the whole federation is the mean of all training samples whatever the curvatures a, the
smoothness is L = max a = 1, and theory can be compared with a run to many digits.
"""

import numpy as np

from asyncfeel.learning.datasets.values import Array, Dataset


def generate(
    clients: int, rng: np.random.Generator, dimension: int, samples: int, spread: float, noise: float, condition: float
) -> Dataset:
    """The samples of all clients, each client's scattered around a centre of its own."""
    centres = rng.normal(0, spread, (clients, 1, dimension))
    train = _around(centres, samples, noise, rng)
    test = _around(centres, max(1, samples // 5), noise, rng)
    labels = {"y_train": np.zeros(len(train), dtype=np.int64), "y_test": np.zeros(len(test), dtype=np.int64)}
    return Dataset(
        {"x_train": train, "x_test": test} | labels,
        owners=np.repeat(np.arange(clients), samples),
        loss="half-square",
        curvature=curvatures(dimension, condition),
        source="quadratic",
    )


def curvatures(dimension: int, condition: float) -> Array:
    """The curvatures a_1 <= ... <= a_dimension, in equal ratios from 1/condition to exactly 1."""
    steps = np.arange(dimension - 1, -1, -1) / max(1, dimension - 1)
    return (condition**-steps).astype(np.float32)


def optimum(dataset: Dataset) -> Array:
    """The minimiser of the global training loss: the mean of all training samples."""
    return np.asarray(dataset.x_train.mean(axis=0, dtype=np.float64))


def _around(centres: Array, samples: int, noise: float, rng: np.random.Generator) -> Array:
    clients, _, dimension = centres.shape
    points = centres + noise * rng.standard_normal((clients, samples, dimension))
    return points.reshape(-1, dimension).astype(np.float32)
