"""Products of matrices by whichever of torch's two libraries computes with the wider vectors.

torch multiplies by MKL, which keeps to vectors of 256 bits on AMD's processors, and convolves by oneDNN, which
does not. On processors where that is half the speed, oneDNN multiplies here, too.
"""

import functools

import torch
from torch import Tensor

from asyncfeel.learning.quick import processor

ROWS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def product(left: Tensor, right: Tensor) -> Tensor:
    """The matrix product; both may lie in memory either way."""
    return onednn(left, right) if processor.favours_direct() and _there() else torch.mm(left, right)


def onednn(left: Tensor, right: Tensor) -> Tensor:
    """The same by oneDNN."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.t(), None, "none", [], "")
    return found


@functools.cache
def _there() -> bool:
    """Whether this build of torch has that product: it is one of those that torch.compile uses, and not documented."""
    try:
        return torch.equal(onednn(ROWS.t(), ROWS), ROWS.t() @ ROWS)
    except (AttributeError, RuntimeError):
        return False
