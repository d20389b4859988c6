"""How long things take, and how much work fits into a deadline (A11, A12, A13, A16)."""

import math

WORK_READINGS = {"paper": 556_700_000.0, "literal": 55_670_000_000.0, "physical": 33_400_000_000.0}
"""FLOPs of one mini-batch step of the paper's ResNet-18, by the three readings of its N_MAC (A12)."""

PAPER_MODEL_BITS = 32 * 11_173_962.0
"""The bits of the paper's ResNet-18 (A16)."""


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
