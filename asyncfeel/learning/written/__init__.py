"""Networks that are chains of layers, trained on a CPU with their gradients written out, one model at a time."""

from asyncfeel.learning.written.chain import Chain, chain
from asyncfeel.learning.written.unrolled import Layers, unrolled

__all__ = ["Chain", "Layers", "chain", "unrolled"]
