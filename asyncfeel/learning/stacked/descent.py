"""Steps of gradient descent of stacked dense layers, with the gradients written out.

Small models are bound by calls, and Python lets one thread call at a time. So TorchScript reads the function below,
and what it makes of it does the same, to the last bit, without Python and its lock. Where torch has TorchScript no more
(its authors have declared that it will go one day) the function itself is called.
"""

import warnings
from collections.abc import Callable

import torch
from torch import Tensor


def _descend(
    inputs: Tensor,
    labels: Tensor,
    weights: list[Tensor],
    biases: list[Tensor | None],
    rectified: list[bool],
    outputs: list[Tensor],
    errors: list[Tensor],
    sums: list[Tensor],
    minus: Tensor,
    rates: Tensor | None,
    scale: float,
    keep: float,
) -> None:
    """Change weights and biases by a step for each of the inputs, (steps, models, batch, features).

    The labels are (steps, models, batch, 1). `rectified` says of each layer whether a rectifier follows it; outputs,
    errors of the inner layers and sums are buffers. Errors are multiplied by `rates`, if there are some, changes by
    `scale`, and what was there before by `keep`.
    """
    last = len(weights) - 1
    for step in range(inputs.shape[0]):
        reached = inputs[step]
        for place in range(last + 1):
            bias, turned = biases[place], weights[place].transpose(1, 2)
            if bias is None:
                torch.bmm(reached, turned, out=outputs[place])
            else:
                torch.baddbmm(bias, reached, turned, out=outputs[place])
            reached = outputs[place]
            if rectified[place]:
                reached.relu_()
        error = torch.exp(reached - torch.amax(reached, 2, True))
        error.div_(torch.sum(error, [2], True))  # torch.softmax takes twice as long where there are few classes
        error.scatter_add_(2, labels[step], minus)
        if rates is not None:
            error.mul_(rates)
        for behind in range(last + 1):
            place = last - behind
            below = error
            if place > 0:
                below = torch.bmm(error, weights[place], out=errors[place - 1])
                if rectified[place - 1]:
                    torch.ops.aten.threshold_backward(below, outputs[place - 1], 0, grad_input=below)
            reached = outputs[place - 1] if place > 0 else inputs[step]
            weights[place].baddbmm_(error.transpose(1, 2), reached, beta=keep, alpha=-scale)
            bias = biases[place]
            if bias is not None:
                torch.sum(error, [1], True, out=sums[place])
                if keep != 1.0:
                    bias.mul_(keep)
                bias.sub_(sums[place], alpha=scale)
            error = below


def _scripted(function: Callable[..., None]) -> Callable[..., None]:
    """The function without Python, if this torch can have it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is deprecated is no news for users
        try:
            found: Callable[..., None] = torch.jit.script(function)
        except (AttributeError, RuntimeError, NotImplementedError, OSError):
            return function
    return found


descend = _scripted(_descend)
