"""Convolutions with kernels of 3x3 by Winograd's method F(4x4, 3x3): a quarter of the multiplications.

The output is cut into tiles of 4x4 pixels, each of which depends on a window of 6x6 pixels of the input. Both, and
the kernels, are transformed so that the 36 places of a window do not mix any more: there the convolution is one
matrix product over the channels for each place. The gradients are the transposes of all this. Results differ from
direct sums by rounding, about ten times as much as these from the truth.

Tensors here have their channels last, (images, height, width, channels), and what lasts no longer than a call is in
buffers of the thread. Images are handled a few at a time, so that the buffers stay small.
"""

import math
import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from asyncfeel.learning.quick import processor, sides

TILE = 4
"""Pixels of the output along the side of a tile."""
WINDOW = 6
"""Pixels of the input along the side of what a tile depends on."""
PLACES = WINDOW**2
VALUES_AT_ONCE = 1_000_000
"""Transformed values of the images that are handled at once: 4 MB."""
KERNEL = torch.kron(sides.KERNEL, sides.KERNEL).float()
"""What turns the 9 values of a kernel into those of the 36 places."""

Shape = Sequence[int]


class Buffers(threading.local):
    """Memory that each thread uses again and again."""

    def __init__(self) -> None:
        self._kept: dict[str, Tensor] = {}

    def __call__(self, name: str, *shape: int) -> Tensor:
        """A tensor of any content, until the same name is asked for again."""
        size = math.prod(shape)
        kept = self._kept.get(name)
        if kept is None or kept.numel() < size:
            kept = self._kept[name] = torch.empty(size)
        return kept[:size].view(shape)


buffers = Buffers()


def pays(images: Shape, out: int) -> bool:
    """Whether this is quicker than a direct sum, for images of (number, channels, height, width).

    Transforms cost time for each pixel and channel, so there must be many kernels for each; and for each kernel, so
    there must be many pixels. The numbers fit times measured on one core, with a margin.
    """
    number, into, height, width = images
    if height % TILE or width % TILE or processor.favours_direct():
        return False
    return 46 / into + 46 / out + 240 / max(1, number * height * width) < 1


def convolve(x: Tensor, weight: Tensor, room: Tensor) -> Tensor:
    """The convolution of images, framed by one pixel of zeros, with kernels of 3x3.

    `room` is for 36 values per kernel, and must stay as it is until the gradients are there.
    """
    found: Tensor = _Convolution.apply(x, weight, room)  # type: ignore[no-untyped-call]
    return found


class _Convolution(torch.autograd.Function):
    """The convolution and its gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, room: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.kernels = room.view(len(weight), PLACES, -1)
        torch.matmul(KERNEL, _last(weight).view(len(weight), 9, -1), out=ctx.kernels)
        x, kernels = _last(x), ctx.kernels.permute(1, 2, 0)
        result = x.new_empty(*x.shape[:3], len(weight))
        for some, made in _together(x, result):
            places = _windows(some)
            _tiles(torch.bmm(places, kernels, out=buffers("tiles", *places.shape[:2], len(weight))), made)
        return _first(result)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        x, _ = ctx.saved_tensors
        x, gradient, kernels = _last(x), _last(gradient), ctx.kernels.transpose(0, 1)
        inputs, total = torch.empty_like(x), buffers("kernels", *ctx.kernels.shape).zero_()
        for some, theirs, made in _together(x, gradient, inputs):
            tiles = _tiles_transposed(theirs)
            _correlate(tiles, _windows(some), total)
            places = torch.bmm(tiles, kernels, out=buffers("windows", *tiles.shape[:2], x.shape[3]))
            _windows_transposed(places, made)
        weights = torch.matmul(KERNEL.t(), total)
        return _first(inputs), _first(weights.view(len(weights), 3, 3, -1)), None


def _together(*tensors: Tensor) -> Sequence[tuple[Tensor, ...]]:
    """Several tensors over the same images, a few images at a time."""
    most = max(math.prod(tensor.shape[1:]) for tensor in tensors)
    at_once = max(1, VALUES_AT_ONCE * TILE**2 // (PLACES * most))
    return list(zip(*(torch.split(tensor, at_once) for tensor in tensors), strict=True))


def _correlate(tiles: Tensor, windows: Tensor, total: Tensor) -> None:
    """Add what these images make of the gradient of the kernels, at each place."""
    for mine, theirs, place in zip(tiles, windows, total.unbind(1), strict=True):
        place.addmm_(mine.t(), theirs)


def _windows(x: Tensor) -> Tensor:
    """The places of each window, (36, tiles, channels)."""
    images, height, width, channels = x.shape
    framed = buffers("framed", images, height + 2, width + 2, channels)
    framed[:, 0] = framed[:, -1] = framed[:, :, 0] = framed[:, :, -1] = 0
    framed[:, 1:-1, 1:-1] = x
    rows = buffers("rows", WINDOW, images, height // TILE, width + 2, channels)
    sides.window(_pixels(framed, 1), rows, _pair(rows))
    out = buffers("windows", WINDOW, WINDOW, images, height // TILE, width // TILE, channels).transpose(0, 1)
    sides.window(_pixels(rows, 3), out, _pair(out))
    return out.transpose(0, 1).view(PLACES, -1, channels)


def _windows_transposed(places: Tensor, result: Tensor) -> None:
    """What the pixels of the input get back from the places of all windows that they are in."""
    images, height, width, channels = result.shape
    places = _spread(places, result).transpose(0, 1)
    rows = buffers("rows", WINDOW, images, height // TILE, width + 2, channels)
    rows[:, :, :, -2:] = 0
    sides.window_transposed(places, _pixels(rows, 3), _pair(places))
    framed = buffers("framed", images, height + 2, width + 2, channels)
    framed[:, -2:] = 0
    sides.window_transposed(rows, _pixels(framed, 1), _pair(rows))
    result.copy_(framed[:, 1:-1, 1:-1])


def _tiles(places: Tensor, result: Tensor) -> None:
    """The pixels of the output from the places of their tiles."""
    places = _spread(places, result).transpose(0, 1)
    rows = buffers("rows", WINDOW, TILE, *places.shape[2:])
    sides.tile(places, rows.transpose(0, 1), _pair(places))
    sides.tile(rows, _cut(result).permute(2, 4, 0, 1, 3, 5), _pair(rows))


def _tiles_transposed(gradient: Tensor) -> Tensor:
    """What the places get back from the pixels of their tiles, (36, tiles, channels)."""
    tiles = _cut(gradient).permute(2, 0, 1, 3, 4, 5)
    rows = buffers("rows", WINDOW, *tiles.shape[1:])
    sides.tile_transposed(tiles, rows, _pair(rows))
    columns = rows.permute(4, 0, 1, 2, 3, 5)
    out = buffers("tiles", WINDOW, *columns.shape[1:]).transpose(0, 1)
    sides.tile_transposed(columns, out, _pair(out))
    return out.transpose(0, 1).view(PLACES, -1, gradient.shape[3])


def _pixels(images: Tensor, axis: int) -> list[Tensor]:
    """The first pixels of all windows along an axis, the second ones, and so on."""
    last = images.shape[axis] - WINDOW + 1
    before = (slice(None),) * axis
    return [images[(*before, slice(i, i + last, TILE))] for i in range(WINDOW)]


def _spread(places: Tensor, images: Tensor) -> Tensor:
    """Places as (6, 6, images, tiles down, tiles across, channels)."""
    number, height, width, channels = images.shape
    return places.view(WINDOW, WINDOW, number, height // TILE, width // TILE, channels)


def _cut(images: Tensor) -> Tensor:
    """Images as (images, tiles down, 4, tiles across, 4, channels)."""
    number, height, width, channels = images.shape
    return images.view(number, height // TILE, TILE, width // TILE, TILE, channels)


def _pair(tensors: Tensor) -> Tensor:
    """Room for two tensors like each of these."""
    return buffers("pair", 2, *tensors.shape[1:])


def _last(images: Tensor) -> Tensor:
    """Images or kernels with their channels last, without gaps."""
    return images.permute(0, 2, 3, 1).contiguous()


def _first(images: Tensor) -> Tensor:
    """The same with their channels first, as torch names the axes."""
    return images.permute(0, 3, 1, 2)
