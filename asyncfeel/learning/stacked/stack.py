"""A stack: n models of one kind that are trained together, a step of all of them at a time.

Every tensor of the model is kept for all places of the stack in one buffer with a leading axis.
The models that are trained now are always the first ones, so the end of a job only makes the view
shorter: no masks, no Python per model and step.

A model learns the same to the last bit whatever shares its stack. Libraries choose another way to
convolve when there are few models, and normalise the last few channels in another way if their number
is odd: so stacks with such layers are filled up with idle models.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from asyncfeel.learning.flat import FlatModule
from asyncfeel.learning.losses import CROSS_ENTROPY, Loss
from asyncfeel.learning.settings import Training
from asyncfeel.learning.stacked.chain import chain
from asyncfeel.learning.stacked.layers import STACKED, BatchNorm, Convolution, Layer, obstacle

Tensors = tuple[Tensor, ...] | list[Tensor]
LEAST = 8
"""From so many models on, convolutions of a stack are computed in one and the same way."""
ALIGNED = 8
"""Multiples of so many models have no last few channels that a vector of numbers does not hold."""


class Stack:
    """Places for models of one kind; the first `active` of them are trained by `descend`."""

    def __init__(
        self, template: nn.Module, loss: Loss, training: Training, device: torch.device, plain: bool = False
    ) -> None:
        """The template must have no `reason` against it; `plain` says how its weights lie in a vector."""
        original = FlatModule(copy.deepcopy(template), device, plain)
        self._shapes = [entry.shape for entry in original.entries]
        self._views, self._joined = original.views, original.joined
        self._trained = len(original.parameters)
        self.module, self._slots = stacked(original)
        self.module.train()
        self._loss, self._training, self._device = loss, training, device
        everything = self._trained == len(self._shapes)
        self._chain = chain(self.module) if loss is CROSS_ENTROPY and everything and not training.momentum else None
        kinds = {type(part) for part in self.module.modules()}
        self._least = LEAST if Convolution in kinds else 1
        self._grain = ALIGNED if BatchNorm in kinds else 1
        self.places = 0
        self.active = 0
        self._width = 0
        self._values: list[Tensor] = []
        self._velocity: list[Tensor] = []
        self._sent: list[Tensor] = []
        self._rates: list[float] = []
        self._pulls: list[float] = []

    def reserve(self, places: int) -> None:
        """Have at least so many places; what is in those that there are stays."""
        places = self._filled(places)
        if places <= self.places:
            return
        self._values = self._grown(self._values, places, self._shapes)
        trained = self._shapes[: self._trained]
        if self._training.momentum:
            self._velocity = self._grown(self._velocity, places, trained)
        if self._sent:
            self._sent = self._grown(self._sent, places, trained)
        more = places - self.places
        self._rates += [1.0] * more
        self._pulls += [0.0] * more
        self.places = places
        self.focus(self.active)

    def _grown(self, buffers: list[Tensor], places: int, shapes: Sequence[torch.Size]) -> list[Tensor]:
        grown = [torch.zeros(places, *shape, device=self._device) for shape in shapes]
        for new, old in zip(grown, buffers, strict=False):
            new[: len(old)].copy_(old)
        return grown

    def load(self, first: int, count: int, vector: Tensor, rates: Sequence[float], pulls: Sequence[float]) -> None:
        """Put a model into so many places, each with a factor of its learning rate and a pull to the start."""
        places = slice(first, first + count)
        for value, piece in zip(self._values, self._views(vector), strict=True):
            value[places].copy_(piece)
        for velocity in self._velocity:
            velocity[places].zero_()
        self._rates[places], self._pulls[places] = rates, pulls
        if any(pulls):
            self._sent = self._sent or self._grown([], self.places, self._shapes[: self._trained])
            for sent, value in zip(self._sent, self._values, strict=False):
                sent[places].copy_(value[places])

    def read(self, place: int) -> Tensor:
        """The model in a place, as a new vector."""
        return self._joined([value[place] for value in self._values])

    def swap(self, one: int, other: int) -> None:
        """Exchange the models of two places."""
        if one == other:
            return
        for buffer in (*self._values, *self._velocity, *self._sent):
            kept = buffer[one].clone()
            buffer[one].copy_(buffer[other])
            buffer[other].copy_(kept)
        for numbers in (self._rates, self._pulls):
            numbers[one], numbers[other] = numbers[other], numbers[one]

    def focus(self, active: int) -> None:
        """Train the first so many places from now on; what is in the others need not last."""
        self.active, self._width = active, self._filled(active) if active else 0
        self._now = [value[: self._width] for value in self._values]
        self._parameters = [value.detach().requires_grad_() for value in self._now[: self._trained]]
        for index, slots in enumerate(self._slots):
            tensor = self._parameters[index] if index < self._trained else self._now[index]
            for layer, name in slots:
                layer.place(name, tensor)
        rate, alike = self._training.learning_rate, all(factor == 1.0 for factor in self._rates[:active])
        self._rate = rate if alike else self._columns([factor * rate for factor in self._rates])
        alike = len(set(self._pulls[:active])) <= 1
        self._pull = (self._pulls[0] if active else 0.0) if alike else self._columns(self._pulls)
        self._direct = self._chain if self._writes_out() else None
        if self._direct and active:
            decay = self._training.weight_decay
            own = self._rate if isinstance(self._rate, float) else self._rate[0].view(-1, 1, 1)
            self._direct.focus(own, own * decay if isinstance(own, float) else 0.0)

    def _filled(self, models: int) -> int:
        """How many models are computed for so many that are wanted."""
        return -(-max(models, self._least) // self._grain) * self._grain

    def _writes_out(self) -> bool:
        """Whether the active models can be trained with the gradient written out."""
        return not self._pull and (isinstance(self._rate, float) or not self._training.weight_decay)

    def _columns(self, numbers: Sequence[float]) -> list[Tensor]:
        """A number for each model, for each trained tensor in a form that fits its shape."""
        column = torch.tensor(numbers[: self._width], device=self._device)
        return [column.view(-1, *[1] * len(shape)) for shape in self._shapes[: self._trained]]

    def descend(self, inputs: Tensor, labels: Tensor, steps: int = 1) -> None:
        """So many mini-batch steps of every active model, whose batches follow one another in each step."""
        if self._direct:
            return self._direct.descend(inputs, labels, steps)
        for some, theirs in zip(inputs.chunk(steps), labels.chunk(steps), strict=True):
            self._step(some, theirs)
        return None

    def _step(self, inputs: Tensor, labels: Tensor) -> None:
        if idle := self._width - self.active:
            inputs, labels = (_filled_up(some, self.active, idle) for some in (inputs, labels))
        self._differentiate(inputs, labels)

    def _differentiate(self, inputs: Tensor, labels: Tensor) -> None:
        value = self._loss.sum(self.module(inputs), labels) * (self._width / len(labels))
        change: Tensors = torch.autograd.grad(value, self._parameters, materialize_grads=True)
        now, settings = self._now[: self._trained], self._training
        if self._pull:
            drift = torch._foreach_sub(now, [sent[: self._width] for sent in self._sent])
            change = _plus(change, drift, self._pull)
        if settings.weight_decay:
            change = torch._foreach_add(change, now, alpha=settings.weight_decay)
        if settings.momentum:
            velocity = [one[: self._width] for one in self._velocity]
            torch._foreach_mul_(velocity, settings.momentum)
            torch._foreach_add_(velocity, change)
            change = velocity
        if isinstance(self._rate, float):
            torch._foreach_add_(now, change, alpha=-self._rate)
        else:
            torch._foreach_sub_(now, torch._foreach_mul(change, self._rate))


def _filled_up(samples: Tensor, models: int, idle: int) -> Tensor:
    """The samples of some models, and zeros for idle ones."""
    zeros = samples.new_zeros(len(samples) // models * idle, *samples.shape[1:])
    return torch.cat([samples, zeros])


def _plus(change: Tensors, other: Tensors, factor: float | list[Tensor]) -> Tensors:
    if isinstance(factor, float):
        return torch._foreach_add(change, other, alpha=factor)
    return torch._foreach_add(change, torch._foreach_mul(other, factor))


def reason(template: nn.Module) -> str | None:
    """Why models of this kind cannot be stacked; nothing if their layers allow it."""
    for name, part in template.named_modules():
        where = f"its part {name!r}" if name else "it"
        if part._forward_hooks or part._forward_pre_hooks or part._backward_hooks:
            return f"{where} has hooks"
        tensors = [*part.parameters(recurse=False), *part.buffers(recurse=False)]
        why = obstacle(part) if tensors or isinstance(part, nn.modules.batchnorm._BatchNorm) else None
        if why:
            return f"{where}: {why}"
    return None


def stacked(original: FlatModule) -> tuple[nn.Module, list[list[tuple[Layer, str]]]]:
    """The module with stacked layers in place of its own, and for each tensor the layers that use it."""
    slots: dict[int, list[tuple[Layer, str]]] = {id(entry): [] for entry in original.entries}
    made: dict[int, Layer] = {}
    for part in list(original.module.modules()):
        if type(part) in STACKED and part.state_dict():
            layer = made[id(part)] = STACKED[type(part)](part)
            for name in layer.names:
                slots[id(getattr(part, name))].append((layer, name))
    for part in list(original.module.modules()):
        for name, child in part._modules.items():
            if id(child) in made:
                part._modules[name] = made[id(child)]
    root = made.get(id(original.module), original.module)
    return root, [slots[id(entry)] for entry in original.entries]
