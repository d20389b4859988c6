"""The synthetic(alpha, beta) classification task of the FedProx paper (Li et al., 2020).

Client k draws u_k ~ N(0, alpha) and B_k ~ N(0, beta). Its labels are argmax softmax(W_k x + b_k)
with entries of W_k and b_k from N(u_k, 1), its samples are x ~ N(v_k, Sigma) with v_k ~ N(B_k, 1)
and Sigma diagonal, Sigma_jj = j^-1.2. As in the authors' program, alpha and beta are standard
deviations.
"""

import numpy as np

from asyncfeel.learning.datasets.values import Array, Dataset

FEATURES = 60
CLASSES = 10
TEST_SHARE = 0.2


def sizes(clients: int, max_samples: int, rng: np.random.Generator) -> Array:
    """The number of samples of each client: 50 and a log-normal(4, 2) number, at most max_samples."""
    return np.minimum(rng.lognormal(4, 2, clients).astype(np.int64) + 50, max_samples)


def generate(clients: int, rng: np.random.Generator, alpha: float, beta: float, iid: bool, max_samples: int) -> Dataset:
    """The samples of all clients, a fifth of each client's own in the common test set."""
    counts = sizes(clients, max_samples, rng)
    model_means = np.zeros(clients) if iid else rng.normal(0, alpha, clients)
    sample_means = np.zeros((clients, FEATURES)) if iid else _sample_means(clients, beta, rng)
    shared = _labeller(0.0, rng)
    x = np.empty((counts.sum(), FEATURES), dtype=np.float32)
    y = np.empty(counts.sum(), dtype=np.int64)
    ends = np.cumsum(counts)
    for client, (count, end) in enumerate(zip(counts, ends, strict=True)):
        weights, bias = shared if iid else _labeller(model_means[client], rng)
        own = rng.normal(sample_means[client], _deviations(), (count, FEATURES))
        x[end - count : end], y[end - count : end] = own, np.argmax(own @ weights + bias, axis=1)
    return _halves(x, y, counts)


def _sample_means(clients: int, beta: float, rng: np.random.Generator) -> Array:
    return rng.normal(rng.normal(0, beta, (clients, 1)), 1, (clients, FEATURES))


def _labeller(mean: float, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.normal(mean, 1, (FEATURES, CLASSES)), rng.normal(mean, 1, CLASSES)


def _deviations() -> Array:
    return np.arange(1, FEATURES + 1) ** -0.6


def _halves(x: Array, y: Array, counts: Array) -> Dataset:
    """The data set whose test part is the last fifth of each client's (independent) samples."""
    owners = np.repeat(np.arange(len(counts)), counts)
    starts = np.repeat(np.cumsum(counts) - counts, counts)
    kept = counts - np.maximum(1, (counts * TEST_SHARE).astype(np.int64))
    train = np.arange(len(y)) - starts < np.repeat(kept, counts)
    arrays = {"x_train": x[train], "y_train": y[train], "x_test": x[~train], "y_test": y[~train]}
    return Dataset(arrays, owners[train], known_classes=CLASSES, source="synthetic")
