"""Chains of dense layers with the gradient written out: the fastest way to train stacks of small models.

Automatic differentiation makes a tensor for every gradient, writes it, reads it again to change the
weights, and takes ten times as many calls. Here the outer product of a layer's gradient is added to
its weights in the call that computes it, and all activations live in buffers made once.
"""

import itertools

import torch
from torch import Tensor, nn

from asyncfeel.learning.stacked.descent import descend
from asyncfeel.learning.stacked.layers import Linear


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
        self._biases = [None if layer.bias is None else layer.bias.detach().unsqueeze(1) for layer in self._layers]
        self._batch = 0

    def descend(self, inputs: Tensor, labels: Tensor, steps: int) -> None:
        """So many steps of plain gradient descent of every model, whose batches follow one another in each step."""
        batch = len(labels) // (steps * self._models)
        if batch != self._batch:
            self._allot(batch, inputs.device)
        descend(
            inputs.reshape(steps, self._models, batch, -1),
            labels.view(steps, self._models, batch, 1),
            self._weights,
            self._biases,
            self._rectified,
            self._outputs,
            self._errors,
            self._sums,
            self._minus,
            self._rates,
            self._scale,
            self._keep,
        )

    def _allot(self, batch: int, device: torch.device) -> None:
        """Make the buffers of all activations and their gradients."""
        self._batch = batch
        widths = [weight.shape[1] for weight in self._weights]
        self._outputs = [torch.empty(self._models, batch, width, device=device) for width in widths]
        self._errors = [torch.empty_like(output) for output in self._outputs[:-1]]
        self._sums = [torch.empty(self._models, 1, width, device=device) for width in widths]
        self._minus = torch.full((self._models, batch, 1), -1.0, device=device)
        alike = isinstance(self._rate, float)
        self._rates = None if alike else self._rate / batch
        self._scale = self._rate / batch if alike else 1.0


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
