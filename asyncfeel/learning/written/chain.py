"""A network as a chain of layers, with the gradient of its mean cross-entropy written out layer by layer."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from asyncfeel.learning.quick.modules import swaps
from asyncfeel.learning.written.parts import Part, part_of
from asyncfeel.learning.written.unrolled import Layers, applied


class Chain:
    """Layers one after another, whose gradients are found in one pass up and one pass down."""

    def __init__(self, parts: list[Part], parameters: list[nn.Parameter]) -> None:
        """`parameters` says in which order gradients are given."""
        self._parts = parts
        self._first = next(place for place, part in enumerate(parts) if part.parameters)
        places = {id(parameter): place for place, parameter in enumerate(parameters)}
        self._places = [[places[id(parameter)] for parameter in part.parameters] for part in parts]
        self._count = len(parameters)
        self._right = torch.empty(0, 0)

    def gradients(self, inputs: Tensor, labels: Tensor) -> list[Tensor]:
        """The gradients of the mean loss by all parameters."""
        found = [torch.empty(0)] * self._count
        for place in self._differentiated(inputs, labels):
            for where, gradient in zip(self._places[place], self._parts[place].gradients(), strict=True):
                found[where] = gradient
        return found

    def descend(self, inputs: Tensor, labels: Tensor, rate: float) -> None:
        """One step of plain gradient descent."""
        for place in self._differentiated(inputs, labels):
            self._parts[place].descend(rate)

    def _differentiated(self, inputs: Tensor, labels: Tensor) -> Iterator[int]:
        """The places of the parts from the last one to the first with parameters, as soon as each knows its errors."""
        x = inputs
        for part in self._parts:
            x = part.forward(x)
        error = self._error(x, labels)
        for place in range(len(self._parts) - 1, self._first - 1, -1):
            below = self._parts[place].backward(error, place > self._first)
            yield place
            error = error if below is None else below

    def _error(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The gradient of the mean loss by the outputs."""
        if len(self._right) != logits.shape[1]:
            self._right = torch.eye(logits.shape[1])
        return torch.softmax(logits, dim=1).sub_(self._right.index_select(0, labels)).div_(len(labels))


def chain(module: nn.Module, layers: Layers) -> Chain | None:
    """A network that applies these layers as a chain; nothing if not all its weights are theirs, once each."""
    parts = _parts([layer for layer in applied(module, layers) if type(layer) is not nn.Identity])
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    used = sorted(id(parameter) for part in parts for parameter in part.parameters)
    if not used or used != sorted(map(id, parameters)):
        return None
    return Chain(parts, parameters)


def _parts(layers: list[nn.Module]) -> list[Part]:
    """The layers as parts; the largest values are pooled before they are rectified, which gives the same."""
    order = list(layers)
    for place in range(len(order) - 1):
        if swaps(order[place], order[place + 1]):
            order[place], order[place + 1] = order[place + 1], order[place]
    parts: list[Part] = []
    for layer in order:
        parts.append(part_of(layer, parts[-1] if parts else None))
    return parts
