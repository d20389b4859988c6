"""The losses that clients minimise, as mean over a batch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from asyncfeel.learning.datasets.values import Dataset


@dataclass(frozen=True)
class Loss:
    """A loss as the mean over a batch, and as the sum over its samples."""

    sum: Callable[[Tensor, Tensor], Tensor]
    mean: Callable[[Tensor, Tensor], Tensor]

    def __call__(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """The mean over the batch."""
        return self.mean(outputs, labels)


CROSS_ENTROPY = Loss(partial(functional.cross_entropy, reduction="sum"), functional.cross_entropy)


def of(dataset: Dataset, device: torch.device) -> Loss:
    """The loss that the data ask for."""
    if dataset.loss == "cross-entropy":
        return CROSS_ENTROPY
    if dataset.curvature is None:
        return half_square(torch.ones(dataset.shape, device=device))
    return half_square(torch.as_tensor(dataset.curvature, dtype=torch.float32).to(device))


def half_square(curvature: Tensor) -> Loss:
    """Of 1/2 sum_j a_j r_j^2 over the residuals r of a batch, for the curvatures a."""

    def each(residuals: Tensor) -> Tensor:
        return residuals.square() @ curvature

    return Loss(lambda r, _: each(r).sum() * 0.5, lambda r, _: each(r).mean() * 0.5)
