"""Random flips and shifts of colour images, the usual augmentation for small photographs.

The draws come from a stream of the job's own, so that switching augmentation on changes no batch.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

MARGIN = 4


def draw(rng: np.random.Generator, steps: int, batch: int) -> npt.NDArray[np.int64]:
    """For each image of each batch: whether it is flipped (0 or 1), and its shifts down and right (0 to 8)."""
    return (rng.random((steps, batch, 3)) * (2, 2 * MARGIN + 1, 2 * MARGIN + 1)).astype(np.int64)


def apply(images: Tensor, moves: Tensor) -> Tensor:
    """The images (samples, height, width, channels), each cut out of its black frame and perhaps flipped.

    `moves` has a row (flip, down, right) for each image; down = right = 4 leaves it in its place.
    """
    count, height, width, _ = images.shape
    framed = functional.pad(images, (0, 0, MARGIN, MARGIN, MARGIN, MARGIN))
    flip, down, right = moves.unsqueeze(2).unbind(1)
    columns = torch.arange(width, device=images.device)
    rows = torch.arange(height, device=images.device) + down
    columns = torch.where(flip == 1, width - 1 - columns, columns) + right
    return framed[torch.arange(count, device=images.device)[:, None, None], rows[:, :, None], columns[:, None, :]]
