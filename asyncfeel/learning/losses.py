"""The losses that clients minimise, as mean over a batch."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from asyncfeel.learning.datasets.values import Dataset

Loss = Callable[[Tensor, Tensor], Tensor]


def of(dataset: Dataset, device: torch.device) -> Loss:
    """The loss that the data ask for."""
    if dataset.loss == "cross-entropy":
        return functional.cross_entropy
    if dataset.curvature is None:
        return half_square(torch.ones(dataset.shape, device=device))
    return half_square(torch.as_tensor(dataset.curvature, dtype=torch.float32).to(device))


def half_square(curvature: Tensor) -> Loss:
    """The mean of 1/2 sum_j a_j r_j^2 over the residuals r of a batch, for the curvatures a."""

    def loss(residuals: Tensor, _: Tensor) -> Tensor:
        return (residuals.square() @ curvature).mean() * 0.5

    return loss
