"""What a model costs: its size and its work, counted, not estimated."""

from typing import cast

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from asyncfeel.learning.losses import Loss

BITS = 32


def count_parameters(module: nn.Module) -> int:
    """The number of parameters, without buffers.

    >>> count_parameters(nn.Linear(3, 2))
    8
    """
    return sum(parameter.numel() for parameter in module.parameters())


def count_flops(module: nn.Module, shape: tuple[int, ...], batch: int, loss: Loss) -> int:
    """The floating-point operations of one step: forward and backward pass of one batch.

    torch counts matrix products and convolutions, a multiplication and an addition being two. A model
    without any (a point) is counted by the same rule of thumb that they obey: six for each
    parameter and sample.
    `shape` is the shape of one input as the module takes it, channels first.
    """
    inputs = torch.zeros(batch, *shape)
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(loss(module(inputs), torch.zeros(batch, dtype=torch.int64)))
    return cast(int, counter.get_total_flops()) or 6 * batch * count_parameters(module)
