"""How clients train, as one checked value; it needs no torch, so that a plan can read it too."""

import math
from dataclasses import dataclass

from asyncfeel.errors import InputError


@dataclass(frozen=True)
class Training:
    """The settings of mini-batch SGD that all clients share."""

    batch: int
    learning_rate: float
    momentum: float = 0.0
    """Of the heavy ball; its memory starts empty in every job."""
    weight_decay: float = 0.0
    """Added to the gradient, as in torch.optim.SGD."""
    augment: bool = False
    """Whether colour images are flipped and shifted at random."""

    def __post_init__(self) -> None:
        self._require(self.batch >= 1, "batch", "a whole number of at least 1")
        self._require(0 < self.learning_rate < math.inf, "learning_rate", "a number above 0")
        self._require(0 <= self.momentum < 1, "momentum", "from 0 to less than 1")
        self._require(0 <= self.weight_decay < math.inf, "weight_decay", "a number of at least 0")

    def _require(self, good: bool, name: str, allowed: str) -> None:
        if not good:
            raise InputError(f"{name} must be {allowed}, not {getattr(self, name)}")
