"""Random generators by name, so that no draw depends on the order of calls.

A stream belongs to a purpose and its owner, for example ``(seed, "batches", client, job)``.
Two runs that agree on the names agree on the numbers, whatever else they draw in between.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


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


def uniforms(key: int, owners: Counts, numbers: Counts) -> tuple[Floats, Floats]:
    """Two numbers from [0, 1) for each owner and number, by their names and the key alone.

    A generator for each of a million owners would take longer than the simulation. This is one block
    of Philox4x32-10 (Salmon et al. 2011) each, with owner and number as its counter: columns in,
    columns out, and nobody's numbers depend on who else was asked for.

    >>> some, all = uniforms(7, np.array([2]), np.array([0])), uniforms(7, np.arange(3), np.zeros(3, dtype=int))
    >>> bool(some[0][0] == all[0][2])
    True
    """
    a, b, c, d = philox(key, (owners & _LOW, owners >> 32, numbers & _LOW, numbers >> 32))
    return _unit(a, b), _unit(c, d)


_LOW = 0xFFFFFFFF
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85


def philox(key: int, counter: tuple[Counts, ...]) -> tuple[NDArray[np.uint64], ...]:
    """The four words of 32 bits that Philox4x32-10 makes of each counter with the low 64 bits of the key."""
    low, half = np.uint64(_LOW), np.uint64(32)
    x0, x1, x2, x3 = (np.asarray(word).astype(np.uint64) & low for word in counter)
    for turn in range(10):
        key0, key1 = (
            np.uint64((word + turn * step) & _LOW)
            for word, step in zip((key & _LOW, key >> 32 & _LOW), _STEPS, strict=True)
        )
        first, second = _FACTORS[0] * x0, _FACTORS[1] * x2
        x0, x1, x2, x3 = (second >> half) ^ x1 ^ key0, second & low, (first >> half) ^ x3 ^ key1, first & low
    return x0, x1, x2, x3


def _unit(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> Floats:
    """Two words as a float from [0, 1) with 53 random bits."""
    bits = (high >> np.uint64(5) << np.uint64(26)) | (low >> np.uint64(6))
    unit: Floats = bits.astype(np.float64) * 2.0**-53
    return unit
