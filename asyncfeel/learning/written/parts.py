"""The layers of a chain: what each gives, and what its inputs and its weights get back from it.

They do what automatic differentiation does, with a few calls of torch in the place of many small steps, and into
memory that is used again in every step: large new tensors are pages that the system has to clear, and they push the
weights out of the cache. A part belongs to one place in one chain, and remembers what it was given last.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from asyncfeel.learning.quick import products
from asyncfeel.learning.quick.modules import Convolution as QuickConvolution

aten = torch.ops.aten
IMAGES = 4


class Part(Protocol):
    """A layer at one place of a chain."""

    @property
    def parameters(self) -> Sequence[nn.Parameter]:
        """What is trained."""

    def forward(self, x: Tensor) -> Tensor:
        """What the layer gives; it lasts until the next step."""

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """The gradient of the input, where it is wanted, given that of the output."""

    def gradients(self) -> list[Tensor]:
        """The gradients of the parameters."""

    def descend(self, rate: float) -> None:
        """Change the parameters against their gradients."""


class Bare:
    """A part without parameters."""

    parameters: Sequence[nn.Parameter] = ()

    def gradients(self) -> list[Tensor]:
        """None."""
        return []

    def descend(self, rate: float) -> None:
        """Nothing changes."""


class Kept:
    """Memory for one tensor that is used again as long as the same kind is asked for."""

    def __init__(self) -> None:
        self._tensor: Tensor | None = None

    def sized(self, *shape: int) -> Tensor:
        """A tensor of any content of this shape."""
        if self._tensor is None or self._tensor.shape != shape:
            self._tensor = torch.empty(shape)
        return self._tensor

    def like(self, other: Tensor) -> Tensor:
        """A tensor of any content of the shape and layout of another."""
        kept = self._tensor
        if kept is None or kept.shape != other.shape or kept.stride() != other.stride():
            kept = self._tensor = torch.empty_like(other)
        return kept


class Dense:
    """A dense layer along the last axis."""

    def __init__(self, layer: nn.Linear) -> None:
        self.parameters = list(layer.parameters())
        self._weight, *self._bias = [parameter.detach() for parameter in self.parameters]
        self._turned = self._weight.t()
        self._outputs, self._inputs = Kept(), Kept()
        self._large = self._weight.numel() >= products.WEIGHTS and products.is_wider()

    def forward(self, x: Tensor) -> Tensor:
        """One row of outputs for each row."""
        self._shape, self._rows = x.shape, x.reshape(-1, x.shape[-1])
        if self._large:
            return products.onednn(self._rows, self._turned, *self._bias).view(*x.shape[:-1], -1)
        outputs = self._outputs.sized(len(self._rows), len(self._weight))
        if self._bias:
            torch.addmm(self._bias[0], self._rows, self._turned, out=outputs)
        else:
            torch.mm(self._rows, self._turned, out=outputs)
        return outputs.view(*x.shape[:-1], -1)

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """The errors times the weights."""
        self._errors = error.reshape(-1, error.shape[-1])
        if not wanted:
            return None
        if self._large:
            return products.onednn(self._errors, self._weight).view(self._shape)
        return torch.mm(self._errors, self._weight, out=self._inputs.sized(*self._rows.shape)).view(self._shape)

    def gradients(self) -> list[Tensor]:
        """The outer products of errors and inputs, and the sum of the errors."""
        return [self._errors.t() @ self._rows, *(self._errors.sum(0) for _ in self._bias)]

    def descend(self, rate: float) -> None:
        """The same, without room for the outer products."""
        self._weight.addmm_(self._errors.t(), self._rows, alpha=-rate)
        for bias in self._bias:
            bias.sub_(self._errors.sum(0), alpha=rate)


class Convolution:
    """A convolution over images; where a quicker way than torch's is taken, its gradients are found automatically."""

    def __init__(self, layer: nn.Conv2d) -> None:
        self.parameters = list(layer.parameters())
        self._given, *self._bias = [parameter.detach() for parameter in self.parameters]
        self._weight = _channels_last(self._given)
        self._layer = layer
        self._geometry: Any = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)
        self._shape = torch.Size()
        self._apart: Automatic | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Images of as many channels as there are kernels."""
        if x.shape != self._shape:
            self._shape = x.shape
            quicker = isinstance(self._layer, QuickConvolution) and self._layer.is_quicker(x)
            self._apart = Automatic(self._layer) if quicker else None
        if self._apart is not None:
            return self._apart.forward(x)
        self._x = x
        if self._weight is not self._given:
            self._weight.copy_(self._given)
        return torch.convolution(x, self._weight, self._bias[0] if self._bias else None, *self._geometry)

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """The correlation of the errors with the kernels."""
        if self._apart is not None:
            return self._apart.backward(error, wanted)
        self._error = error
        return self._correlated(0) if wanted else None

    def gradients(self) -> list[Tensor]:
        """The correlation of the errors with the inputs, and the sum of the errors."""
        if self._apart is not None:
            return self._apart.gradients()
        return [self._correlated(1), *(self._error.sum((0, 2, 3)) for _ in self._bias)]

    def descend(self, rate: float) -> None:
        """Change the parameters against their gradients."""
        torch._foreach_add_([self._given, *self._bias], self.gradients(), alpha=-rate)

    def _correlated(self, which: int) -> Tensor:
        """The gradient of the input (0) or of the weights (1)."""
        asked = (which == 0, which == 1, False)
        found: tuple[Tensor, ...] = aten.convolution_backward(
            self._error, self._x, self._weight, None, *self._geometry, asked
        )
        return found[which]


def _channels_last(weight: Tensor) -> Tensor:
    """The same weights, or a copy whose strides say that channels lie last, also if there is only one."""
    out, into, height, width = weight.shape
    copy = weight.new_empty(out, height, width, into).permute(0, 3, 1, 2).copy_(weight)
    return weight if weight.stride() == copy.stride() else copy


class Rectifier(Bare):
    """The positive part of every value."""

    def __init__(self, in_place: bool) -> None:
        """`in_place` if nobody else needs what it is given."""
        self._in_place = in_place
        self._outputs, self._inputs = Kept(), Kept()

    def forward(self, x: Tensor) -> Tensor:
        """The values with zeros for the negative ones."""
        self._y = x.relu_() if self._in_place else aten.relu.out(x, out=self._outputs.like(x))
        return self._y

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """The errors of the positive values."""
        found: Tensor = aten.threshold_backward.grad_input(error, self._y, 0, grad_input=self._inputs.like(self._y))
        return found


class Pooling(Bare):
    """The largest value of every window."""

    def __init__(self, layer: nn.MaxPool2d, in_place: bool) -> None:
        """`in_place` if nobody else needs what it is given."""
        sizes = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
        self._geometry = (*((size, size) if isinstance(size, int) else tuple(size) for size in sizes), layer.ceil_mode)
        self._in_place = in_place
        self._inputs = Kept()
        self._seen: tuple[object, ...] = ()

    def forward(self, x: Tensor) -> Tensor:
        """Smaller images."""
        self._x = x
        if (x.shape, x.stride()) != self._seen:
            self._seen = (x.shape, x.stride())
            self._kept = aten.max_pool2d_with_indices(x, *self._geometry)
        else:
            aten.max_pool2d_with_indices.out(x, *self._geometry, out=self._kept[0], indices=self._kept[1])
        largest: Tensor = self._kept[0]
        return largest

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """The errors where the largest values were, which take the place of the inputs: only their shape is needed."""
        there = self._x if self._in_place else self._inputs.like(self._x)
        found: Tensor = aten.max_pool2d_with_indices_backward.grad_input(
            error, self._x, *self._geometry, self._kept[1], grad_input=there
        )
        return found


class Flattening(Bare):
    """All values of a sample in one row, in the order of channels, height and width whatever the layout."""

    def __init__(self) -> None:
        self._rows, self._inputs = Kept(), Kept()

    def forward(self, x: Tensor) -> Tensor:
        """One row for each sample."""
        self._x = x
        return (x if x.is_contiguous() else self._rows.sized(*x.shape).copy_(x)).view(len(x), -1)

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """The errors in the shape and the layout of the samples."""
        errors = error.reshape(self._x.shape)
        return errors if self._x.is_contiguous() else self._inputs.like(self._x).copy_(errors)


class Automatic:
    """Any other layer, differentiated automatically."""

    def __init__(self, layer: nn.Module) -> None:
        self.parameters = [parameter for parameter in layer.parameters() if parameter.requires_grad]
        self._layer = layer
        self._changes = bool(getattr(layer, "inplace", False))
        self._y = torch.empty(0)
        self._found: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        """What the layer itself gives."""
        with torch.enable_grad():
            self._x = x.detach().requires_grad_(x.is_floating_point())
            self._y = self._layer(self._x.clone() if self._changes else self._x)
        result: Tensor = self._y.detach()
        return result

    def backward(self, error: Tensor, wanted: bool) -> Tensor | None:
        """What automatic differentiation finds."""
        sources = [self._x, *self.parameters] if wanted else self.parameters
        found = torch.autograd.grad(self._y, sources, error, materialize_grads=True)
        self._y, self._found = torch.empty(0), list(found[int(wanted) :])
        return found[0] if wanted else None

    def gradients(self) -> list[Tensor]:
        """What automatic differentiation has found."""
        return self._found

    def descend(self, rate: float) -> None:
        """Change the parameters against their gradients."""
        if self.parameters:
            torch._foreach_add_([parameter.detach() for parameter in self.parameters], self._found, alpha=-rate)


OWNERS = (Convolution, Dense, Pooling)
"""Parts whose outputs nobody else needs than the next part."""


def part_of(layer: nn.Module, before: Part | None) -> Part:
    """The layer as a part of a chain, after another part."""
    if not all(parameter.requires_grad for parameter in layer.parameters()):
        return Automatic(layer)
    if type(layer) is nn.Linear:
        return Dense(layer)
    if type(layer) in (nn.Conv2d, QuickConvolution) and isinstance(layer, nn.Conv2d) and _over_zeros(layer):
        return Convolution(layer)
    if type(layer) is nn.ReLU:
        return Rectifier(isinstance(before, OWNERS))
    if type(layer) is nn.MaxPool2d and not layer.return_indices:
        return Pooling(layer, isinstance(before, Convolution))
    if type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1):
        return Flattening()
    return Automatic(layer)


def _over_zeros(layer: nn.Conv2d) -> bool:
    """Whether there are zeros around the images, by a number of pixels."""
    return layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
