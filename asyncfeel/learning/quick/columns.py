"""Convolutions with more channels than pixels: the gradient of their weights as one matrix product.

Where a batch has few pixels and a layer many channels, as at the end of a deep network, torch makes this gradient
in another layout and copies it, which takes as long as the sum itself. The product of the outputs' gradient and
the windows of the input lies in the right layout at once.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Pair = tuple[int, int]


def pays(pixels: int, out: int) -> bool:
    """Whether the weights are more than the windows of the batch, so that their layout is what costs."""
    return out > pixels


def convolve(x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair) -> Tensor:
    """What torch's convolution gives, with this way to the gradient of the weights."""
    found: Tensor = _Convolution.apply(x, weight, bias, stride, padding)  # type: ignore[no-untyped-call]
    return found


class _Convolution(torch.autograd.Function):
    """The convolution and its gradients."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, stride: Pair, padding: Pair) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.stride, ctx.padding = stride, padding
        return torch.conv2d(x, weight, bias, stride, padding)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        inputs, weights, bias, *_ = ctx.needs_input_grad
        return (
            _inputs(x, gradient, weight, ctx.stride, ctx.padding) if inputs else None,
            _correlation(x, gradient, weight, ctx.stride, ctx.padding) if weights else None,
            gradient.sum((0, 2, 3)) if bias else None,
            None,
            None,
        )


def _inputs(x: Tensor, gradient: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
    """The gradient of the input, torch's own."""
    geometry = (stride, padding, (1, 1), False, (0, 0), 1)
    found: Tensor = torch.ops.aten.convolution_backward(gradient, x, weight, None, *geometry, (True, False, False))[0]
    return found


def _correlation(x: Tensor, gradient: Tensor, weight: Tensor, stride: Pair, padding: Pair) -> Tensor:
    """The gradient of the weights, with their channels last in memory."""
    out, into, height, width = weight.shape
    outputs = gradient.permute(0, 2, 3, 1).reshape(-1, out)
    flat = torch.mm(outputs.t(), _windows(x, (height, width), gradient.shape[2:], stride, padding))
    return flat.view(out, height, width, into).permute(0, 3, 1, 2)


def _windows(x: Tensor, kernel: Pair, pixels: torch.Size, stride: Pair, padding: Pair) -> Tensor:
    """What each pixel of the output sees of the input, one row for each."""
    images, channels, height, width = x.shape
    (down, across), (top, left) = stride, padding
    framed = x.new_zeros(images, height + 2 * top, width + 2 * left, channels)
    framed[:, top : top + height, left : left + width] = x.permute(0, 2, 3, 1)
    image, row, column, channel = framed.stride()
    windows = framed.as_strided(
        (images, *pixels, *kernel, channels), (image, row * down, column * across, row, column, channel)
    )
    return windows.reshape(images * pixels.numel(), -1)
