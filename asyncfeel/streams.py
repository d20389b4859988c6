"""Random generators by name, so that no draw depends on the order of calls.

A stream belongs to a purpose and its owner, for example ``(seed, "batches", client, job)``.
Two runs that agree on the names agree on the numbers, whatever else they draw in between.
"""

import hashlib

import numpy as np


def key(seed: int, *names: str | int) -> int:
    """The 128-bit key of a stream, from its seed and its names.

    >>> key(1, "batches", 3, 0) == key(1, "batches", 3, 0) != key(1, "batches", 30)
    True
    """
    text = "\x1f".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")


def stream(seed: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for these names.

    >>> float(stream(1, "speeds").random()) == float(stream(1, "speeds").random())
    True
    """
    return np.random.Generator(np.random.Philox(key=key(seed, *names)))
