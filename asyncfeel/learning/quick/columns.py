"""Convolutions with many channels for few pixels, as at the end of a deep network, as products of matrices.

There the weights are what is large, and torch lays them anew for every convolution and makes their gradient in
another layout, which takes as long as the sums themselves. Products of the weights with what each pixel of the output
sees of the input take them as they lie.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from asyncfeel.learning.quick.products import product

Pair = tuple[int, int]


WEIGHTS = 2**17
"""With fewer weights calls are what costs."""


def pays(pixels: int, out: int, weights: int) -> bool:
    """Whether the weights are many, and more than the windows of the batch, so that their layout is what costs."""
    return out > pixels and weights >= WEIGHTS


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair) -> Tensor:
    """What torch's convolution gives, in this way."""
    found: Tensor = _Convolution.apply(x, weight, bias, stride, padding)  # type: ignore[no-untyped-call]
    return found


class _Convolution(torch.autograd.Function):
    """The convolution and its gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair) -> Tensor:
        ctx.shape, ctx.stride, ctx.padding = x.shape, stride, padding
        pixels = [
            (there + 2 * frame - kernel) // step + 1
            for there, frame, kernel, step in zip(x.shape[2:], padding, weight.shape[2:], stride, strict=True)
        ]
        windows = _windows(x, weight.shape[2:], pixels, stride, padding)
        ctx.save_for_backward(weight, windows)
        flat = product(windows, _flat(weight).t())
        result = torch.empty(len(x), len(weight), *pixels, dtype=x.dtype, memory_format=torch.channels_last)
        result.permute(0, 2, 3, 1).copy_((flat if bias is None else flat.add_(bias)).view(len(x), *pixels, -1))
        return result  # no view of something else, which a layer that works in place could not change

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weight, windows = ctx.saved_tensors
        inputs, weights, bias, *_ = ctx.needs_input_grad
        rows = gradient.permute(0, 2, 3, 1).reshape(-1, len(weight))
        return (
            _inputs(ctx, product(rows, _flat(weight)), weight.shape[2:], gradient.shape[2:]) if inputs else None,
            _shaped(product(rows.t(), windows), weight) if weights else None,
            rows.sum(0) if bias else None,
            None,
            None,
        )


def _flat(weight: Tensor) -> Tensor:
    """Kernels as rows, with their channels last."""
    return weight.permute(0, 2, 3, 1).reshape(len(weight), -1)


def _shaped(flat: Tensor, weight: Tensor) -> Tensor:
    """Rows as kernels, with their channels last in memory."""
    out, into, height, width = weight.shape
    return flat.view(out, height, width, into).permute(0, 3, 1, 2)


def _windows(x: Tensor, kernel: Sequence[int], pixels: Sequence[int], stride: Pair, padding: Pair) -> Tensor:
    """What each pixel of the output sees of the input, one row for each."""
    images, channels, height, width = x.shape
    top, left = padding
    framed = x.new_zeros(images, height + 2 * top, width + 2 * left, channels)
    framed[:, top : top + height, left : left + width] = x.permute(0, 2, 3, 1)
    return _seen(framed, kernel, pixels, stride).reshape(images * pixels[0] * pixels[1], -1)


def _inputs(ctx: Any, windows: Tensor, kernel: Sequence[int], pixels: Sequence[int]) -> Tensor:
    """What each pixel of the input has in all windows together: the transpose of `_windows`."""
    images, channels, height, width = ctx.shape
    top, left = ctx.padding
    framed = windows.new_zeros(images, height + 2 * top, width + 2 * left, channels)
    there, parts = _seen(framed, kernel, pixels, ctx.stride), windows.view(images, *pixels, *kernel, channels)
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            there[:, :, :, row, column] += parts[:, :, :, row, column]
    return framed[:, top : top + height, left : left + width].permute(0, 3, 1, 2)


def _seen(framed: Tensor, kernel: Sequence[int], pixels: Sequence[int], stride: Pair) -> Tensor:
    """The windows as a view of the framed images: (images, down, across, kernel's height, width, channels)."""
    image, row, column, channel = framed.stride()
    shape = (len(framed), *pixels, *kernel, framed.shape[3])
    return framed.as_strided(shape, (image, row * stride[0], column * stride[1], row, column, channel))
