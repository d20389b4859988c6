"""The layers of a user's model, made quicker where they stand; what they compute stays the same up to rounding."""

import itertools

import torch
from torch import Tensor, nn

from asyncfeel.learning.quick import columns, winograd

IMAGES = 4
HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


def quicken(module: nn.Module) -> nn.Module:
    """The module itself, with quicker convolutions and with less to rectify; for training on a CPU."""
    for part in list(module.modules()):
        if type(part) is nn.Conv2d and _ordinary(part):
            part.__class__ = Convolution
        elif type(part) is nn.Sequential and any(itertools.starmap(swaps, itertools.pairwise(part))):
            part.__class__ = Sequential
    return module


class Convolution(nn.Conv2d):
    """An ordinary convolution over images that takes whichever way is the quickest for the shapes at hand."""

    def forward(self, x: Tensor) -> Tensor:
        """What nn.Conv2d gives."""
        if self._pays_winograd(x):
            found = winograd.convolve(
                x, self.weight, self._room(winograd.PLACES * self.in_channels * self.out_channels)
            )
            return found if self.bias is None else found + self.bias[:, None, None]
        if self._pays_columns(x):
            return columns.convolve(x, self.weight, self.bias, self.stride, self.padding)  # type: ignore[arg-type]
        return super().forward(x)

    def is_quicker(self, x: Tensor) -> bool:
        """Whether another way than torch's is taken for these images."""
        return self._pays_winograd(x) or self._pays_columns(x)

    def _pays_winograd(self, x: Tensor) -> bool:
        suits = self.kernel_size == (3, 3) and self.stride == (1, 1) and self.padding == (1, 1)
        return suits and _images(x) and winograd.pays(x.shape, self.out_channels)

    def _pays_columns(self, x: Tensor) -> bool:
        if not _images(x):
            return False
        pixels = len(x) * self._pixels(x.shape[2], 0) * self._pixels(x.shape[3], 1)
        return columns.pays(pixels, self.out_channels, self.weight.numel())

    def _room(self, size: int) -> Tensor:
        """Memory for this many values that is only this layer's, to be used again in every step."""
        kept: Tensor | None = self.__dict__.get("_kept")
        if kept is None or len(kept) != size:
            kept = self.__dict__["_kept"] = torch.empty(size)
        return kept

    def _pixels(self, there: int, axis: int) -> int:
        """The pixels of the output along an axis."""
        return (there + 2 * int(self.padding[axis]) - self.kernel_size[axis]) // self.stride[axis] + 1


class Sequential(nn.Sequential):
    """Layers one after another, which pools the largest values before it rectifies instead of after it.

    Fewer values are left to rectify, and the result is the same. So are the gradients: the largest of several values
    is positive with or without the rectifier, and then it is the same one, or it is not, and then there is no gradient.
    """

    def forward(self, x: Tensor) -> Tensor:
        """What nn.Sequential gives."""
        parts = list(self)
        for place in range(len(parts) - 1):
            if swaps(parts[place], parts[place + 1]):
                parts[place], parts[place + 1] = parts[place + 1], parts[place]
        for part in parts:
            x = part(x)
        return x


def swaps(rectifier: nn.Module, pooling: nn.Module) -> bool:
    """Whether two layers that follow each other may change places: nobody looks at what lies between them."""
    return (
        type(rectifier) is nn.ReLU
        and type(pooling) is nn.MaxPool2d
        and not pooling.return_indices
        and not hooked(rectifier)
        and not hooked(pooling)
    )


def hooked(part: nn.Module) -> bool:
    """Whether somebody listens to what goes through a layer."""
    return any(getattr(part, hooks) for hooks in HOOKS)


def _images(x: Tensor) -> bool:
    """Whether it is a batch of images on a CPU."""
    return x.ndim == IMAGES and x.device.type == "cpu"


def _ordinary(part: nn.Conv2d) -> bool:
    """Whether it has one group, dense kernels, and zeros around the images by a number of pixels."""
    return (
        part.groups == 1
        and part.dilation == (1, 1)
        and part.padding_mode == "zeros"
        and isinstance(part.padding, tuple)
    )
