"""Products of matrices by whichever of torch's two libraries computes with the wider vectors.

torch multiplies by MKL, which keeps to vectors of 256 bits on AMD's processors, and convolves by oneDNN, which
does not. On processors where that is half the speed, oneDNN multiplies here, too.
"""

import functools

import torch
from torch import Tensor

from asyncfeel.learning.quick import processor

ROWS = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
WEIGHTS = 2**18
"""Dense layers with fewer gain nothing: there the call itself is what costs."""


def product(left: Tensor, right: Tensor) -> Tensor:
    """The matrix product; both may lie in memory either way."""
    return onednn(left, right) if is_wider() else torch.mm(left, right)


def is_wider() -> bool:
    """Whether oneDNN multiplies with wider vectors than MKL does here."""
    return processor.favours_direct() and _there()


def onednn(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
    """The same by oneDNN, with something added to every row."""
    found: Tensor = torch.ops.mkldnn._linear_pointwise(left, right.t(), bias, "none", [], "")
    return found


@functools.cache
def _there() -> bool:
    """Whether this build of torch has that product: it is one of those that torch.compile uses, and not documented."""
    try:
        return torch.equal(onednn(ROWS.t(), ROWS), ROWS.t() @ ROWS)
    except (AttributeError, RuntimeError):
        return False
