"""Samples on the device, kept as small as they came and made into inputs a few batches at a time.

Pixels stay bytes, a quarter of the memory of numbers, and images stay channels last: then a batch
is a gather of whole rows, and the permuted view that the network sees already has the memory
layout in which convolutions and pooling are fast.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from asyncfeel.learning.datasets.values import Array, Dataset

IMAGES = 4
VALUES_AT_ONCE = 500_000


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples with their labels and how they are normalised."""

    raw: Tensor
    """As in the data set: (samples, height, width, channels) or (samples, features)."""
    labels: Tensor
    centre: Tensor | None
    """What is subtracted from each channel; nothing if the numbers are used as they are."""
    scale: Tensor | None
    """By what each channel is multiplied then."""
    plain: bool = False
    """Whether the pixels of a channel of the inputs lie side by side, instead of the channels of a pixel."""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def values(self) -> int:
        """The number of values of one sample."""
        return int(self.raw.shape[1:].numel())

    @property
    def device(self) -> torch.device:
        """Where the samples are."""
        return self.raw.device

    def take(self, rows: Tensor, room: "Room | None" = None) -> tuple[Tensor, Tensor]:
        """The raw samples and the labels of some rows; the samples in a room, if there is one."""
        out = None if room is None else room.raw(self.raw, len(rows))
        return torch.index_select(self.raw, 0, rows, out=out), self.labels.index_select(0, rows)

    def to(self, device: torch.device) -> "Samples":
        """The same samples on a device."""
        centre, scale = (None if one is None else one.to(device) for one in (self.centre, self.scale))
        return replace(self, raw=self.raw.to(device), labels=self.labels.to(device), centre=centre, scale=scale)

    def inputs(self, raw: Tensor, room: "Room | None" = None) -> Tensor:
        """Raw samples as a model takes them: normalised, channels first; in a room, if there is one."""
        numbers = raw
        if self.centre is not None and self.scale is not None:
            out = torch.empty(raw.shape, device=raw.device) if room is None else room.numbers(raw)
            numbers = out.copy_(raw).sub_(self.centre).mul_(self.scale)  # bytes become numbers faster by themselves
        if raw.dim() != IMAGES:
            return numbers
        images = numbers.permute(0, 3, 1, 2)
        return images.clone(memory_format=torch.contiguous_format) if self.plain else images


class Room:
    """Memory for the samples that one worker trains on next, used again and again.

    Large new tensors are pages that the system has to clear: that takes longer than to fill them.
    """

    def __init__(self) -> None:
        self._raw: Tensor | None = None
        self._numbers: Tensor | None = None

    def raw(self, like: Tensor, rows: int) -> Tensor:
        """Room for so many raw samples."""
        if self._raw is None or len(self._raw) < rows:
            self._raw = torch.empty(rows, *like.shape[1:], dtype=like.dtype, device=like.device)
        return self._raw[:rows]

    def numbers(self, raw: Tensor) -> Tensor:
        """Room for these samples as numbers."""
        if self._numbers is None or len(self._numbers) < len(raw):
            self._numbers = torch.empty(raw.shape, dtype=torch.float32, device=raw.device)
        return self._numbers[: len(raw)]


def of(dataset: Dataset, device: torch.device, plain: bool = False) -> tuple[Samples, Samples]:
    """The training and the test samples, both normalised by the training samples.

    Images and bytes are brought to mean 0 and deviation 1 per channel; features that are numbers
    are used as they are.
    """
    pixels = dataset.is_image or dataset.x_train.dtype == np.uint8
    centre, scale = _moments(dataset.x_train, dataset.is_image, device) if pixels else (None, None)
    train = Samples(_tensor(dataset.x_train, device), _tensor(dataset.y_train, device), centre, scale, plain)
    return train, replace(train, raw=_tensor(dataset.x_test, device), labels=_tensor(dataset.y_test, device))


def _tensor(array: Array, device: torch.device) -> Tensor:
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def _moments(x: Array, image: bool, device: torch.device) -> tuple[Tensor, Tensor]:
    """The mean and the reciprocal deviation of each channel; a constant channel is only centred."""
    rows = x.reshape(len(x), -1)
    sums, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for piece in np.array_split(rows, max(1, rows.size // VALUES_AT_ONCE)):
        numbers = piece.astype(np.float64)
        sums += numbers.sum(axis=0)
        squares += np.einsum("ij,ij->j", numbers, numbers)
    channels = x.shape[-1] if image else 1
    mean, square = (total.reshape(-1, channels).sum(axis=0) * channels / x.size for total in (sums, squares))
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    scale = 1 / np.where(deviation > 0, deviation, 1)
    return _tensor(mean.astype(np.float32), device), _tensor(scale.astype(np.float32), device)
