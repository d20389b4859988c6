"""How long things take, and how much work fits into a deadline (A11, A12, A13, A16).

The functions `..._each` are the same for many clients at once, in the same order of operations, so
that every element has the very bits that the plain function gives.
"""

import math

import numpy as np
from numpy.typing import NDArray

from asyncfeel.errors import InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

WORK_READINGS = {"paper": 556_700_000.0, "literal": 55_670_000_000.0, "physical": 33_400_000_000.0}
"""FLOPs of one mini-batch step of the paper's ResNet-18, by the three readings of its N_MAC (A12)."""

PAPER_MODEL_BITS = 32 * 11_173_962.0
"""The bits of the paper's ResNet-18 (A16)."""

MOST_STEPS = 2**53
"""Up to here every whole number of steps is a float."""


def transfer_s(bits: float, rate_bps: float) -> float:
    """The seconds that a transfer takes.

    >>> transfer_s(357_566_784, 5e6)
    71.5133568
    """
    return bits / rate_bps


def compute_s(steps: int, flops_per_step: float, flops: float) -> float:
    """The seconds that `steps` mini-batch steps take, as one product.

    >>> compute_s(100, 556_700_000, 1e9)
    55.67
    """
    return steps * flops_per_step / flops


def steps_within(deadline_s: float, flops_per_step: float, flops: float) -> int:
    """The whole mini-batch steps that fit into the deadline, at least one (A11).

    The floor is guarded: 0.3 * 10 / 1 is 3 steps, although its float may lie just below 3.

    >>> steps_within(0.3, 0.1, 1.0)
    3
    """
    return max(1, math.floor(deadline_s * flops / flops_per_step + 1e-9))


def transfer_each_s(bits: float, rates_bps: Floats) -> Floats:
    """The seconds that each transfer takes.

    >>> transfer_each_s(6.0, np.array([2.0, 4.0])).tolist()
    [3.0, 1.5]
    """
    return bits / rates_bps


def compute_each_s(steps: Counts, flops_per_step: float, flops: Floats) -> Floats:
    """The seconds that each client's mini-batch steps take.

    >>> compute_each_s(np.array([3, 4]), 2.0, np.array([1.0, 4.0])).tolist()
    [6.0, 2.0]
    """
    seconds: Floats = steps * flops_per_step / flops
    return seconds


def steps_each_within(deadline_s: float, flops_per_step: float, flops: Floats) -> Counts:
    """The whole mini-batch steps that each client fits into the deadline, at least one (A11).

    >>> steps_each_within(0.3, 0.1, np.array([0.1, 1.0])).tolist()
    [1, 3]
    """
    steps = np.maximum(1.0, np.floor(deadline_s * flops / flops_per_step + 1e-9))
    if steps.max() >= MOST_STEPS:
        raise InputError(
            f"a deadline of {deadline_s} s is too long: the fastest client would take {steps.max():g} steps"
        )
    return steps.astype(np.int64)
