"""The layers of a chain: what each gives, and what its inputs and its weights get back from it.

They do what automatic differentiation does, with a few calls of torch in the place of many small steps, and into
memory that is used again in every step: large new tensors are pages that the system has to clear, and they push the
weights out of the cache. A part belongs to one place in one chain, and remembers what it was given last.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from asyncfeel.learning.quick.modules import Convolution as QuickConvolution

aten = torch.ops.aten
IMAGES = 4
Found = tuple[Tensor | None, Sequence[Tensor]]
"""The gradient of the input, where it is wanted, and those of the parameters."""


class Part(Protocol):
    """A layer at one place of a chain."""

    parameters: list[nn.Parameter]

    def forward(self, x: Tensor) -> Tensor:
        """What the layer gives; it lasts until the next step."""

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """The gradients for the last input, given that of the output."""


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
        self._weight = layer.weight.detach()
        self._turned = self._weight.t()
        self._bias = None if layer.bias is None else layer.bias.detach()
        self._found = [torch.empty_like(parameter) for parameter in self.parameters]
        self._outputs, self._errors = Kept(), Kept()

    def forward(self, x: Tensor) -> Tensor:
        """One row of outputs for each row."""
        self._shape, self._rows = x.shape, x.reshape(-1, x.shape[-1])
        outputs = self._outputs.sized(len(self._rows), len(self._weight))
        if self._bias is None:
            torch.mm(self._rows, self._turned, out=outputs)
        else:
            torch.addmm(self._bias, self._rows, self._turned, out=outputs)
        return outputs.view(*x.shape[:-1], -1)

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """Outer products of errors and inputs."""
        errors = gradient.reshape(-1, gradient.shape[-1])
        torch.mm(errors.t(), self._rows, out=self._found[0])
        if self._bias is not None:
            torch.sum(errors, 0, out=self._found[1])
        if not wanted:
            return None, self._found
        inputs = torch.mm(errors, self._weight, out=self._errors.sized(*self._rows.shape))
        return inputs.view(self._shape), self._found


class Convolution:
    """A convolution over images; where a quicker way than torch's is taken, its gradients are found automatically."""

    def __init__(self, layer: nn.Conv2d) -> None:
        self.parameters = list(layer.parameters())
        self._given = layer.weight.detach()
        self._weight = _channels_last(self._given)
        self._bias = None if layer.bias is None else layer.bias.detach()
        self._apart: Automatic | None = None
        self._layer = layer
        self._geometry = (layer.stride, layer.padding, layer.dilation, False, (0, 0), layer.groups)

    def forward(self, x: Tensor) -> Tensor:
        """Images of as many channels as there are kernels."""
        if isinstance(self._layer, QuickConvolution) and self._layer.is_quicker(x):
            self._apart = Automatic(self._layer)
            return self._apart.forward(x)
        self._apart, self._x = None, x
        if self._weight is not self._given:
            self._weight.copy_(self._given)
        stride, padding, dilation, *_, groups = self._geometry
        return torch.conv2d(x, self._weight, self._bias, stride, padding, dilation, groups)

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """Correlations of errors with kernels, and of errors with inputs."""
        if self._apart is not None:
            return self._apart.backward(gradient, wanted)
        asked = (wanted, True, False)
        inputs, weight, _ = aten.convolution_backward(gradient, self._x, self._weight, None, *self._geometry, asked)
        return inputs, [weight] if self._bias is None else [weight, gradient.sum((0, 2, 3))]


def _channels_last(weight: Tensor) -> Tensor:
    """The same weights, or a copy whose strides say that channels lie last, also if there is only one."""
    out, into, height, width = weight.shape
    copy = weight.new_empty(out, height, width, into).permute(0, 3, 1, 2).copy_(weight)
    return weight if weight.stride() == copy.stride() else copy


class Rectifier:
    """The positive part of every value."""

    def __init__(self, in_place: bool) -> None:
        """`in_place` if nobody else needs what it is given."""
        self.parameters: list[nn.Parameter] = []
        self._in_place = in_place
        self._outputs, self._errors = Kept(), Kept()

    def forward(self, x: Tensor) -> Tensor:
        """The values with zeros for the negative ones."""
        self._y = x.relu_() if self._in_place else aten.relu.out(x, out=self._outputs.like(x))
        return self._y

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """The errors of the positive values."""
        errors = self._errors.like(self._y)
        return aten.threshold_backward.grad_input(gradient, self._y, 0, grad_input=errors), ()


class Pooling:
    """The largest value of every window."""

    def __init__(self, layer: nn.MaxPool2d) -> None:
        self.parameters: list[nn.Parameter] = []
        sizes = (layer.kernel_size, layer.stride, layer.padding, layer.dilation)
        self._geometry = (*((size, size) if isinstance(size, int) else tuple(size) for size in sizes), layer.ceil_mode)
        self._outputs, self._places, self._errors = Kept(), Kept(), Kept()
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

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """The errors where the largest values were."""
        there = (self._x, *self._geometry, self._kept[1])
        errors = self._errors.like(self._x)
        return aten.max_pool2d_with_indices_backward.grad_input(gradient, *there, grad_input=errors), ()


class Flattening:
    """All values of a sample in one row, in the order of channels, height and width whatever the layout."""

    def __init__(self) -> None:
        self.parameters: list[nn.Parameter] = []
        self._rows, self._errors = Kept(), Kept()

    def forward(self, x: Tensor) -> Tensor:
        """One row for each sample."""
        self._x = x
        if x.is_contiguous():
            return x.view(len(x), -1)
        rows = self._rows.sized(*x.shape)
        rows.copy_(x)
        return rows.view(len(x), -1)

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """The errors in the shape and the layout of the samples."""
        errors = gradient.view(self._x.shape)
        return errors if self._x.is_contiguous() else self._errors.like(self._x).copy_(errors), ()


class Automatic:
    """Any other layer, differentiated automatically."""

    def __init__(self, layer: nn.Module) -> None:
        self._y = torch.empty(0)
        self.parameters = [parameter for parameter in layer.parameters() if parameter.requires_grad]
        self._layer = layer

    def forward(self, x: Tensor) -> Tensor:
        """What the layer itself gives."""
        with torch.enable_grad():
            self._x = x.detach().requires_grad_(x.is_floating_point())
            self._y = self._layer(self._x)
        result: Tensor = self._y.detach()
        return result

    def backward(self, gradient: Tensor, wanted: bool) -> Found:
        """What automatic differentiation finds."""
        sources = [self._x, *self.parameters] if wanted else self.parameters
        if not sources:
            return None, ()
        found = torch.autograd.grad(self._y, sources, gradient, materialize_grads=True)
        return (found[0], found[1:]) if wanted else (None, found)


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
        return Pooling(layer)
    if type(layer) is nn.Flatten and (layer.start_dim, layer.end_dim) == (1, -1):
        return Flattening()
    return Automatic(layer)


def _over_zeros(layer: nn.Conv2d) -> bool:
    """Whether there are zeros around the images, by a number of pixels."""
    return layer.padding_mode == "zeros" and not isinstance(layer.padding, str)
