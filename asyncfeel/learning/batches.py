"""Mini-batches of a whole job in one draw, so that training itself never waits for numpy.

A batch is a subset without replacement, which is what the noise of a mini-batch gradient is
usually computed for: its variance carries the factor (n - b) / (b (n - 1)).
"""

import itertools
from collections.abc import Sequence
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


def draw_each(
    rngs: Sequence[np.random.Generator], samples: Sequence[int], steps: Sequence[int], batch: int
) -> list[Rows]:
    """What `draw` gives for each of these, all at once: the passes over the members of a batch are shared.

    >>> one, two = draw_each([np.random.default_rng(1), np.random.default_rng(2)], [30, 3], [2, 1], batch=3)
    >>> bool((one == draw(np.random.default_rng(1), 30, 2, 3)).all()), two
    (True, array([[0, 1, 2]]))
    """
    if any(count <= batch for count in samples) or not rngs:
        return [draw(*one, batch) for one in zip(rngs, samples, steps, strict=True)]
    uniforms = np.concatenate([rng.random((many, batch)) for rng, many in zip(rngs, steps, strict=True)])
    rows = _floyd(uniforms, np.repeat(samples, steps)[:, np.newaxis])
    ends = list(itertools.accumulate(steps))
    return [rows[end - many : end] for end, many in zip(ends, steps, strict=True)]


def _floyd(uniforms: npt.NDArray[Any], samples: "int | Rows") -> Rows:
    """Floyd's algorithm on all rows at once: one pass per member of the batch, no rejections.

    `samples` is one number for all rows, or a column with one for each.
    """
    batch = uniforms.shape[1]
    lasts = np.broadcast_to(samples - batch + np.arange(batch), uniforms.shape)
    rows: Rows = (uniforms * (lasts + 1)).astype(np.int64)
    for place in range(1, batch):
        repeated = (rows[:, :place] == rows[:, place, np.newaxis]).any(axis=1)
        rows[repeated, place] = lasts[repeated, place]
    return rows
