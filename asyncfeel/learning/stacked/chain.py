"""Chains of dense layers with the gradient written out: the fastest way to train stacks of small models.

Automatic differentiation makes a tensor for every gradient, writes it, reads it again to change the
weights, and takes ten times as many calls. Here the outer product of a layer's gradient is added to
its weights in the call that computes it, and all activations live in buffers made once.
"""

import itertools

import torch
from torch import Tensor, nn

from asyncfeel.learning.stacked.layers import Linear

aten = torch.ops.aten


class Chain:
    """Dense layers with rectifiers between them, under the cross-entropy of their outputs."""

    def __init__(self, layers: list[Linear], rectified: list[bool]) -> None:
        """`rectified` says of each layer whether a rectifier follows it."""
        self._layers = layers
        self._rectified = rectified
        self._batch = 0
        self._outputs: list[Tensor] = []
        self._errors: list[Tensor] = []

    def focus(self, rate: float | Tensor, shrink: float) -> None:
        """Prepare for the weights that the layers have now, a learning rate and a weight decay times it."""
        self._models = self._layers[0].models
        self._rate, self._keep = rate, 1.0 - shrink
        self._weights = [layer.weight.detach() for layer in self._layers]
        self._turned = [weight.transpose(1, 2) for weight in self._weights]
        self._biases = [None if layer.bias is None else layer.bias.detach().unsqueeze(1) for layer in self._layers]
        self._batch = 0

    def step(self, inputs: Tensor, labels: Tensor) -> None:
        """One step of plain gradient descent of every model."""
        batch = len(labels) // self._models
        if batch != self._batch:
            self._allot(batch, inputs.device)
        reached = self._forward(inputs.reshape(self._models, batch, -1))
        self._backward(reached, self._error(reached[-1], labels))

    def _allot(self, batch: int, device: torch.device) -> None:
        """Make the buffers of all activations and their gradients."""
        self._batch = batch
        widths = [weight.shape[1] for weight in self._weights]
        self._outputs = [torch.empty(self._models, batch, width, device=device) for width in widths]
        self._errors = [torch.empty_like(output) for output in self._outputs[:-1]]
        self._sums = [torch.empty(self._models, 1, width, device=device) for width in widths]
        self._minus = torch.full((self._models, batch, 1), -1.0, device=device)
        self._scale = self._rate / batch if isinstance(self._rate, float) else 1.0

    def _forward(self, x: Tensor) -> list[Tensor]:
        """The inputs and the outputs of every layer."""
        reached = [x]
        for turned, bias, rectified, out in zip(
            self._turned, self._biases, self._rectified, self._outputs, strict=True
        ):
            if bias is None:
                torch.bmm(reached[-1], turned, out=out)
            else:
                torch.baddbmm(bias, reached[-1], turned, out=out)
            reached.append(out.relu_() if rectified else out)
        return reached

    def _error(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The gradient of the summed loss by the outputs; times the rate and the mean, where models differ in them."""
        error = torch.softmax(logits, dim=2)
        error.scatter_add_(2, labels.view(self._models, self._batch, 1), self._minus)
        return error if isinstance(self._rate, float) else error.mul_(self._rate / self._batch)

    def _backward(self, reached: list[Tensor], error: Tensor) -> None:
        """From the last layer to the first: hand the error down, then change the weights."""
        for place in range(len(self._layers) - 1, -1, -1):
            below = None
            if place:
                below = torch.bmm(error, self._weights[place], out=self._errors[place - 1])
                if self._rectified[place - 1]:
                    aten.threshold_backward.grad_input(below, reached[place], 0, grad_input=below)
            self._weights[place].baddbmm_(error.transpose(1, 2), reached[place], beta=self._keep, alpha=-self._scale)
            bias = self._biases[place]
            if bias is not None:
                sums = torch.sum(error, 1, keepdim=True, out=self._sums[place])
                (bias if self._keep == 1.0 else bias.mul_(self._keep)).sub_(sums, alpha=self._scale)
            if below is not None:
                error = below


def chain(module: nn.Module) -> Chain | None:
    """The module as a chain, if it is one: flattened inputs, dense layers, rectifiers."""
    if type(module) is Linear:
        return Chain([module], [False])
    if type(module) is not nn.Sequential:
        return None
    parts = [part for part in module if not isinstance(part, nn.Identity)]
    if parts and type(parts[0]) is nn.Flatten and (parts[0].start_dim, parts[0].end_dim) == (1, -1):
        parts = parts[1:]
    layers = [part for part in parts if type(part) is Linear]
    fits = all(type(part) in (Linear, nn.ReLU) for part in parts) and parts and type(parts[-1]) is Linear
    doubled = any(type(one) is type(two) is nn.ReLU for one, two in itertools.pairwise(parts))
    if not fits or doubled or type(parts[0]) is not Linear or len(set(map(id, layers))) < len(layers):
        return None
    followed = [type(two) is nn.ReLU for one, two in itertools.pairwise(parts) if type(one) is Linear]
    return Chain(layers, [*followed, False])
