"""A model as one vector, which is the truth; a module is only a view of it.

Servers add and multiply models, and workers must not share modules. Both become simple when a
model is one float32 vector: the trainable parameters first, then those that are not trained, then
the floating buffers. Buffers take part because a model averaged without the running statistics of
its batch normalisation evaluates as noise.
"""

import math

import torch
from torch import Tensor, nn

from asyncfeel.errors import InputError


class FlatModule:
    """A module whose parameters and floating buffers are views into one vector of its own."""

    def __init__(self, module: nn.Module, device: torch.device | None = None) -> None:
        self.module = module.to(device=device or torch.device("cpu"), dtype=torch.float32)
        _refuse_randomness(module)
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        frozen = [p for p in module.parameters() if not p.requires_grad]
        moving = [b for b in module.buffers() if b.is_floating_point()]
        self.entries: list[Tensor] = [*self.parameters, *frozen, *moving]
        self._counters = [(b, b.clone()) for b in module.buffers() if not b.is_floating_point()]
        self.trainable = sum(p.numel() for p in self.parameters)
        self.vector = torch.cat([entry.detach().reshape(-1) for entry in self.entries])
        for entry, view in zip(self.entries, self._views(self.vector), strict=True):
            entry.data = view

    def load(self, vector: Tensor) -> None:
        """Make the module the model that the vector describes, whatever the module did before."""
        self.vector.copy_(vector)
        for counter, start in self._counters:
            counter.copy_(start)

    def read(self) -> Tensor:
        """The model as a new vector."""
        return self.vector.clone()

    def named(self, vector: Tensor) -> dict[str, Tensor]:
        """The vector's pieces under the names of the module's state_dict, as tensors of their own."""
        pieces = dict(zip(map(id, self.entries), self._views(vector), strict=True))
        state = self.module.state_dict(keep_vars=True)
        return {name: pieces.get(id(tensor), tensor).detach().clone() for name, tensor in state.items()}

    def _views(self, vector: Tensor) -> list[Tensor]:
        sizes = [math.prod(entry.shape) for entry in self.entries]
        return [piece.view(entry.shape) for piece, entry in zip(torch.split(vector, sizes), self.entries, strict=True)]


def _refuse_randomness(module: nn.Module) -> None:
    """An error for dropout: its draws would depend on which worker runs the job."""
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0:
            raise InputError(
                f"the model's part {name!r} is a dropout layer, whose draws would make results depend on the workers: "
                "leave it out, or use weight decay instead"
            )
