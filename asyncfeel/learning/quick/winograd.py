"""Convolutions with kernels of 3x3 by Winograd's method F(4x4, 3x3): a quarter of the multiplications.

The output is cut into tiles of 4x4 pixels, each of which depends on a window of 6x6 pixels of the input. Both, and
the kernels, are transformed so that the 36 places of a window do not mix any more: there the convolution is one
matrix product over the channels for each place. The gradients are the transposes of all this. Results differ from
direct sums by rounding, about ten times as much as these from the truth.

A transform is a product with a matrix over the places. Sums along each side of a window, as in Lavin and Gray, "Fast
Algorithms for Convolutional Neural Networks" (CVPR 2016), whose matrices these are, would need fewer multiplications,
but many more passes through memory, which is what transforms cost.

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

from asyncfeel.learning.quick import processor

TILE = 4
"""Pixels of the output along the side of a tile."""
WINDOW = 6
"""Pixels of the input along the side of what a tile depends on."""
PLACES = WINDOW**2
TILES_AT_ONCE = 128
"""Tiles that are handled at once, or a little more: enough rows for the products, few enough for the cache."""
KEPT = 4_000_000
"""Transformed values of the images that are kept until the gradients are asked for: 16 MB; else they are made again."""


def _both_sides(rows: Sequence[Sequence[float]]) -> Tensor:
    """The matrix of a transform along one side, made one of both sides."""
    side = torch.tensor(rows, dtype=torch.float64)
    return torch.kron(side, side).float()


INPUT = _both_sides(
    [
        [4, 0, -5, 0, 1, 0],
        [0, -4, -4, 1, 1, 0],
        [0, 4, -4, -1, 1, 0],
        [0, -2, -1, 2, 1, 0],
        [0, 2, -1, -2, 1, 0],
        [0, 4, 0, -5, 0, 1],
    ]
)
"""From the 36 pixels of a window to its places."""
KERNEL = _both_sides(
    [
        [1 / 4, 0, 0],
        [-1 / 6, -1 / 6, -1 / 6],
        [-1 / 6, 1 / 6, -1 / 6],
        [1 / 24, 1 / 12, 1 / 6],
        [1 / 24, -1 / 12, 1 / 6],
        [0, 0, 1],
    ]
)
"""From the 9 values of a kernel to the places."""
OUTPUT = _both_sides([[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]])
"""From the places to the 16 pixels of a tile."""

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
    return 38 / into + 38 / out + 240 / max(1, number * height * width) < 1


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
        x, out, into = _last(x), *weight.shape[:2]
        flat = torch.mm(
            KERNEL, _last(weight).view(out, 9, into).transpose(0, 1).reshape(9, -1), out=room.view(PLACES, -1)
        )
        ctx.kernels = flat.view(PLACES, out, into)
        ctx.windows = [] if PLACES * x.numel() <= KEPT * TILE**2 else None
        number, height, width = x.shape[:3]
        result = torch.empty(number, out, height, width, dtype=x.dtype, memory_format=torch.channels_last)
        for some, made in _together(x, result.permute(0, 2, 3, 1)):
            windows = _windows(some)
            _tiles(torch.bmm(windows, ctx.kernels.mT, out=buffers("tiles", *windows.shape[:2], out)), made)
            if ctx.windows is not None:
                ctx.windows.append(windows)
        return result  # no view of something else, which a layer that works in place could not change

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        x, gradient = _last(ctx.saved_tensors[0]), _last(gradient)
        wants_inputs, wants_weights, _ = ctx.needs_input_grad
        inputs, total = torch.empty_like(x), buffers("kernels", *ctx.kernels.shape)
        for number, (some, theirs, made) in enumerate(_together(x, gradient, inputs)):
            tiles = _tiles_transposed(theirs)
            if wants_weights:
                windows = ctx.windows[number] if ctx.windows is not None else _windows(some)
                torch.baddbmm(total, tiles.mT, windows, beta=min(number, 1), out=total)
            if wants_inputs:
                windows = torch.bmm(tiles, ctx.kernels, out=buffers("windows", *tiles.shape[:2], x.shape[3]))
                _windows_transposed(windows, made)
        ctx.windows = None
        return _first(inputs) if wants_inputs else None, _kernels(total) if wants_weights else None, None


def _together(x: Tensor, *others: Tensor) -> Sequence[tuple[Tensor, ...]]:
    """Several tensors over the same images, a few images at a time."""
    tiles = x.shape[1] * x.shape[2] // TILE**2
    at_once = -(-TILES_AT_ONCE // tiles)
    return list(zip(*(torch.split(tensor, at_once) for tensor in (x, *others)), strict=True))


def _windows(x: Tensor) -> Tensor:
    """The places of each window, (36, tiles, channels)."""
    images, height, width, channels = x.shape
    framed = buffers("framed", images, height + 2, width + 2, channels)
    framed[:, 0] = framed[:, -1] = framed[:, :, 0] = framed[:, :, -1] = 0
    framed[:, 1:-1, 1:-1] = x
    image, row, column, channel = framed.stride()
    shape = (WINDOW, WINDOW, images, height // TILE, width // TILE, channels)
    seen = framed.as_strided(shape, (row, column, image, TILE * row, TILE * column, channel))
    return torch.mm(INPUT, buffers("windows", *shape).copy_(seen).view(PLACES, -1)).view(PLACES, -1, channels)


def _windows_transposed(places: Tensor, result: Tensor) -> None:
    """What the pixels of the input get back from the places of all windows that they are in."""
    images, height, width, channels = result.shape
    down, across = height // TILE, width // TILE
    pixels = torch.mm(INPUT.t(), places.view(PLACES, -1), out=buffers("pixels", PLACES, places[0].numel()))
    seen = pixels.view(WINDOW, WINDOW, images, down, across, channels)
    framed = buffers("framed", images, TILE * (down + 1), TILE * (across + 1), channels)
    framed[:, -TILE:] = 0
    framed[:, :, -TILE:] = 0
    there = _cut(framed)
    there[:, :, :, :-1, :-1] = seen[:TILE, :TILE]
    there[:2, :, :, 1:, :-1] += seen[TILE:, :TILE]
    there[:, :2, :, :-1, 1:] += seen[:TILE, TILE:]
    there[:2, :2, :, 1:, 1:] += seen[TILE:, TILE:]
    result.copy_(framed[:, 1 : height + 1, 1 : width + 1])


def _tiles(places: Tensor, result: Tensor) -> None:
    """The pixels of the output from the places of their tiles."""
    there = _cut(result)
    there.copy_(
        torch.mm(OUTPUT, places.view(PLACES, -1), out=buffers("pixels", TILE**2, places[0].numel())).view(there.shape)
    )


def _tiles_transposed(gradient: Tensor) -> Tensor:
    """What the places get back from the pixels of their tiles, (36, tiles, channels)."""
    there = _cut(gradient)
    pixels = buffers("pixels", *there.shape).copy_(there).view(TILE**2, -1)
    return torch.mm(OUTPUT.t(), pixels, out=buffers("tiles", PLACES, pixels.shape[1])).view(PLACES, -1, there.shape[-1])


def _kernels(places: Tensor) -> Tensor:
    """The gradient of the kernels from that of their places."""
    _, out, into = places.shape
    flat = torch.mm(KERNEL.t(), places.view(PLACES, -1)).view(3, 3, out, into)
    return flat.permute(2, 0, 1, 3).contiguous().permute(0, 3, 1, 2)


def _cut(images: Tensor) -> Tensor:
    """Images as (4, 4, images, tiles down, tiles across, channels)."""
    number, height, width, channels = images.shape
    tiles = images.view(number, height // TILE, TILE, width // TILE, TILE, channels)
    return tiles.permute(2, 4, 0, 1, 3, 5)


def _last(images: Tensor) -> Tensor:
    """Images or kernels with their channels last, without gaps."""
    return images.permute(0, 2, 3, 1).contiguous()


def _first(images: Tensor) -> Tensor:
    """The same with their channels first, as torch names the axes."""
    return images.permute(0, 3, 1, 2)
