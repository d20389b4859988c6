"""Mini-batches of a whole job in one draw, so that training itself never waits for numpy.

A batch is a subset without replacement, which is what the noise of a mini-batch gradient is
usually computed for: its variance carries the factor (n - b) / (b (n - 1)).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


def draw(rng: np.random.Generator, samples: int, steps: int, batch: int) -> Rows:
    """Row by row a uniformly random subset of range(samples); rows are independent.

    The first rows do not depend on how many rows are asked for: a client that takes more steps
    begins with the same batches. A client with fewer samples than a batch uses all of them.

    >>> draw(np.random.default_rng(1), samples=3, steps=2, batch=5)
    array([[0, 1, 2],
           [0, 1, 2]])
    """
    if batch >= samples:
        return np.tile(np.arange(samples), (steps, 1))
    return _floyd(rng.random((steps, batch)), samples)


def _floyd(uniforms: npt.NDArray[Any], samples: int) -> Rows:
    """Floyd's algorithm on all rows at once: one pass per member of the batch, no rejections."""
    batch = uniforms.shape[1]
    lasts = np.arange(samples - batch, samples)
    rows: Rows = (uniforms * (lasts + 1)).astype(np.int64)
    for place, last in enumerate(lasts):
        repeated = (rows[:, :place] == rows[:, place, np.newaxis]).any(axis=1)
        rows[repeated, place] = last
    return rows
