"""A model as one vector, which is the truth; a module is only a view of it.

Servers add and multiply models, and workers must not share modules. Both become simple when a
model is one float32 vector: the trainable parameters first, then those that are not trained, then
the floating buffers. Buffers take part because a model averaged without the running statistics of
its batch normalisation evaluates as noise.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from asyncfeel.errors import InputError

IMAGES = 4


class FlatModule:
    """A module whose parameters and floating buffers are views into one vector of its own."""

    def __init__(self, module: nn.Module, device: torch.device | None = None, plain: bool = False) -> None:
        """With `plain`, the weights of convolutions lie as torch lays them, else with their channels last."""
        self._plain = plain
        self.module = module.to(device=device or torch.device("cpu"), dtype=torch.float32)
        _refuse_randomness(module)
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        frozen = [p for p in module.parameters() if not p.requires_grad]
        moving = [b for b in module.buffers() if b.is_floating_point()]
        self.entries: list[Tensor] = [*self.parameters, *frozen, *moving]
        self._counters = [(b, b.clone()) for b in module.buffers() if not b.is_floating_point()]
        self.trainable = sum(p.numel() for p in self.parameters)
        self.vector = torch.empty(sum(entry.numel() for entry in self.entries), device=device)
        for entry, view in zip(self.entries, self.views(self.vector), strict=True):
            entry.data = view.copy_(entry.detach())

    def load(self, vector: Tensor) -> None:
        """Make the module the model that the vector describes, whatever the module did before."""
        self.vector.copy_(vector)
        for counter, start in self._counters:
            counter.copy_(start)

    def read(self, room: Tensor | None = None) -> Tensor:
        """The model as a new vector, or in the room that is given for it."""
        return self.vector.clone() if room is None else room.copy_(self.vector)

    def named(self, vector: Tensor) -> dict[str, Tensor]:
        """The vector's pieces under the names of the module's state_dict, as tensors of their own."""
        pieces = dict(zip(map(id, self.entries), self.views(vector), strict=True))
        state = self.module.state_dict(keep_vars=True)
        return {
            name: pieces.get(id(tensor), tensor).detach().clone(memory_format=torch.contiguous_format)
            for name, tensor in state.items()
        }

    def views(self, vector: Tensor) -> list[Tensor]:
        """The vector's pieces in the shapes of the parameters and buffers, as views of it."""
        sizes = [math.prod(entry.shape) for entry in self.entries]
        return [
            piece.view(entry.shape) if self._plain else _shaped(piece, entry.shape)
            for piece, entry in zip(torch.split(vector, sizes), self.entries, strict=True)
        ]

    def joined(self, pieces: Iterable[Tensor]) -> Tensor:
        """The vector of these parameters and buffers, a new one: the reverse of `views`."""
        return torch.cat([piece.reshape(-1) if self._plain else _line(piece) for piece in pieces])


def _shaped(piece: Tensor, shape: torch.Size) -> Tensor:
    """A piece of a vector in a shape; weights of convolutions over images lie channels last.

    Then whatever follows a convolution is channels last too, where convolutions and pooling are
    faster, also for images of one channel, whose own layout says nothing.
    """
    if len(shape) != IMAGES:
        return piece.view(shape)
    out, into, height, width = shape
    return piece.view(out, height, width, into).permute(0, 3, 1, 2)


def _line(piece: Tensor) -> Tensor:
    """The piece of a vector that has this shape."""
    return (piece if piece.ndim != IMAGES else piece.permute(0, 2, 3, 1)).reshape(-1)


def _refuse_randomness(module: nn.Module) -> None:
    """An error for dropout: its draws would depend on which worker runs the job."""
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0:
            raise InputError(
                f"the model's part {name!r} is a dropout layer, whose draws would make results depend on the workers: "
                "leave it out, or use weight decay instead"
            )
