"""Layers of n models at once: weights have a leading axis of models, activations keep their shape.

The batches of the models lie one after another along the first axis of the activations, (n b, ...).
So everything that treats samples one by one (rectifiers, pooling, flattening, sums of branches)
works as it is, and only layers with weights of their own have to be written anew.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from asyncfeel.learning.models import Point

_CONVOLUTIONS: dict[int, Callable[..., Tensor]] = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}


class Layer(nn.Module):
    """One layer of all models; its tensors, (n, ...), are set from outside under the names of the original."""

    weight: Tensor
    bias: Tensor | None

    def __init__(self, original: nn.Module) -> None:
        super().__init__()
        self.names = [
            *(name for name, _ in original.named_parameters(recurse=False)),
            *(name for name, buffer in original.named_buffers(recurse=False) if buffer.is_floating_point()),
        ]
        for name in ("weight", "bias"):
            self.__dict__[name] = None

    def place(self, name: str, tensor: Tensor) -> None:
        """Use this tensor for the models that are trained now."""
        self.__dict__[name] = tensor

    @property
    def models(self) -> int:
        """How many models are trained now."""
        return len(self.weight)


class Linear(Layer):
    """Dense layers: one batched matrix product."""

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of all models."""
        inner, turned = x.reshape(self.models, -1, x.shape[-1]), self.weight.transpose(1, 2)
        out = torch.bmm(inner, turned) if self.bias is None else torch.baddbmm(self.bias.unsqueeze(1), inner, turned)
        return out.view(*x.shape[:-1], out.shape[-1])


class Convolution(Layer):
    """Convolutions of any dimension: one convolution in as many groups as there are models."""

    def __init__(self, original: nn.Conv1d | nn.Conv2d | nn.Conv3d) -> None:
        super().__init__(original)
        self._convolve = _CONVOLUTIONS[len(original.kernel_size)]
        self._groups = original.groups
        self._window = (original.stride, original.padding, original.dilation)

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of all models."""
        models = self.models
        bias = None if self.bias is None else self.bias.reshape(-1)
        channels = beside(x, models)
        out = self._convolve(channels, self.weight.flatten(0, 1), bias, *self._window, models * self._groups)
        return behind(out, models)


class BatchNorm(Layer):
    """Batch normalisation: each model's channels have statistics of their own."""

    running_mean: Tensor | None
    running_var: Tensor | None

    def __init__(self, original: nn.modules.batchnorm._BatchNorm) -> None:
        super().__init__(original)
        self._momentum, self._eps = float(original.momentum or 0.0), original.eps
        self._width = original.num_features
        for name in ("running_mean", "running_var"):
            self.__dict__[name] = None

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of all models; their running statistics move along."""
        tensors = (self.running_mean, self.running_var, self.weight, self.bias)
        models = next((len(tensor) for tensor in tensors if tensor is not None), 0)
        mean, variance, weight, bias = [None if tensor is None else tensor.view(-1) for tensor in tensors]
        channels = beside(x, models)
        out = functional.batch_norm(channels, mean, variance, weight, bias, True, self._momentum, self._eps)
        return behind(out, models)


class GroupNorm(Layer):
    """Group normalisation: per sample, so only scale and shift differ between models."""

    def __init__(self, original: nn.GroupNorm) -> None:
        super().__init__(original)
        self._groups, self._eps = original.num_groups, original.eps

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of all models."""
        plain = functional.group_norm(x, self._groups, eps=self._eps)
        shape = (self.models, 1, -1, *[1] * (x.dim() - 2))
        return _affine(
            plain, self.models, self.weight.view(shape), None if self.bias is None else self.bias.view(shape)
        )


class LayerNorm(Layer):
    """Layer normalisation: per sample, so only scale and shift differ between models."""

    def __init__(self, original: nn.LayerNorm) -> None:
        super().__init__(original)
        self._shape, self._eps = original.normalized_shape, original.eps

    def forward(self, x: Tensor) -> Tensor:
        """The outputs of all models."""
        plain = functional.layer_norm(x, self._shape, eps=self._eps)
        shape = (self.models, *[1] * (x.dim() - len(self._shape)), *self._shape)
        return _affine(
            plain, self.models, self.weight.view(shape), None if self.bias is None else self.bias.view(shape)
        )


class Embedding(Layer):
    """Embeddings: one table with the tables of all models under one another."""

    def __init__(self, original: nn.Embedding) -> None:
        super().__init__(original)
        self._padding, self._size = original.padding_idx, original.num_embeddings

    def forward(self, x: Tensor) -> Tensor:
        """The vectors of all models."""
        models = self.models
        starts = torch.arange(0, models * self._size, self._size, device=x.device)
        own = x.view(models, -1) + starts[:, None]
        out = functional.embedding(own.view(x.shape), self.weight.flatten(0, 1))
        if self._padding is None:
            return out
        return torch.where((x == self._padding).unsqueeze(-1), out.detach(), out)


class Points(Layer):
    """Points in space: the residuals of each model's samples."""

    w: Tensor

    def forward(self, x: Tensor) -> Tensor:
        """The residuals of all models."""
        models = len(self.w)
        return (self.w.unsqueeze(1) - x.view(models, -1, x.shape[-1])).view(x.shape)


def beside(x: Tensor, models: int) -> Tensor:
    """From the models' samples one after another, (n b, c, ...), to their channels side by side, (b, n c, ...)."""
    return x.reshape(models, -1, *x.shape[1:]).transpose(0, 1).flatten(1, 2)


def behind(x: Tensor, models: int) -> Tensor:
    """The way back: from (b, n c, ...) to (n b, c, ...)."""
    return x.reshape(len(x), models, -1, *x.shape[2:]).transpose(0, 1).flatten(0, 1)


def _affine(plain: Tensor, models: int, scale: Tensor, shift: Tensor | None) -> Tensor:
    apart = plain.view(models, -1, *plain.shape[1:]) * scale
    return (apart if shift is None else apart + shift).view(plain.shape)


STACKED: dict[type[nn.Module], Callable[..., Layer]] = {
    nn.Linear: Linear,
    nn.Conv1d: Convolution,
    nn.Conv2d: Convolution,
    nn.Conv3d: Convolution,
    nn.BatchNorm1d: BatchNorm,
    nn.BatchNorm2d: BatchNorm,
    nn.BatchNorm3d: BatchNorm,
    nn.GroupNorm: GroupNorm,
    nn.LayerNorm: LayerNorm,
    nn.Embedding: Embedding,
    Point: Points,
}


def obstacle(part: nn.Module) -> str | None:
    """Why a part with tensors of its own cannot be stacked; nothing if it can."""
    kind = type(part).__name__
    if type(part) not in STACKED:
        return f"a {kind} has no stacked form"
    if isinstance(part, nn.modules.conv._ConvNd) and part.padding_mode != "zeros":
        return f"a {kind} with padding_mode = {part.padding_mode!r} has no stacked form"
    if isinstance(part, nn.modules.batchnorm._BatchNorm) and part.momentum is None:
        return f"a {kind} without momentum averages over all batches so far"
    if isinstance(part, nn.modules.batchnorm._BatchNorm) and not part.affine and not part.track_running_stats:
        return f"a {kind} without tensors of its own cannot tell the models apart"
    if isinstance(part, nn.Embedding) and (part.max_norm is not None or part.scale_grad_by_freq or part.sparse):
        return f"a {kind} with max_norm, scale_grad_by_freq or sparse has no stacked form"
    return None
