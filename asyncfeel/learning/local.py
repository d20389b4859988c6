"""Local training: a pure function of the job, the seed and the client's data.

A trainer belongs to one worker and is never shared. Whatever it did before, a job gives the same
bits: the model is loaded whole, momentum starts at zero, and every draw comes from a stream named
by the job. One step does as little as possible in Python: the batches of many steps are drawn,
gathered and normalised together, and the update is one call for all parameters.
"""

import threading
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from asyncfeel.errors import Interrupted
from asyncfeel.jobs import Job, Probe, Update
from asyncfeel.learning.evaluation import mean_loss
from asyncfeel.learning.feed import Feed
from asyncfeel.learning.flat import FlatModule
from asyncfeel.learning.losses import Loss
from asyncfeel.learning.samples import Room
from asyncfeel.learning.written import Chain

Tensors = tuple[Tensor, ...] | list[Tensor]
PROBED_AT_ONCE = 100_000
"""Values of the inputs of one piece of a probe: fewer, for its activations are kept until the gradient is there."""


class Trainer:
    """One worker's way to train any client: it owns its module."""

    def __init__(
        self,
        model: FlatModule,
        feed: Feed,
        loss: Loss,
        stop: threading.Event,
        compiled: bool = False,
        written: Chain | None = None,
    ) -> None:
        """`written` gives the gradients of the same model, where they are not to be found automatically."""
        self._model = model
        self._feed = feed
        self._samples = feed.samples
        self._loss = loss
        self._training = feed.training
        self._stop = stop
        self._room = Room()
        self._forward: Callable[[Tensor], Tensor] = torch.compile(model.module) if compiled else model.module
        self._written = written
        self._values = [parameter.detach() for parameter in model.parameters]

    def train(self, job: Job, room: Tensor | None = None) -> Update:
        """The client's model after the job's steps, in the room given for it, and what else the job asks for."""
        loss = self.measure(job) if job.measure_loss else None
        self._model.load(job.model)
        if not job.probe:
            self._descend(job)
            return Update(self._model.read(room), loss)
        loss_sent, gradient_sent = self._explore(job)
        self._descend(job)
        model = self._model.read(room)
        loss_done, gradient_done = self._explore(job)
        return Update(model, loss, Probe(loss_sent, loss_done, gradient_sent, gradient_done))

    def measure(self, job: Job) -> float:
        """The client's loss over its own data at the model that it was sent."""
        self._model.load(job.model)
        return mean_loss(self._model.module, self._loss, self._samples, self._feed.own(job))

    def _explore(self, job: Job) -> tuple[float, Tensor]:
        """The client's plain loss F_i and its gradient over all its data, at the present model, which stays as it is.

        The module is in training mode, as it is in every step: batch normalisation uses the statistics of
        each piece, so that F_i depends on nothing but the trained entries. With the running statistics, which
        move during the job and have no gradient, F_i would be one function before the job and another one after.
        The gradient has the length of the model; entries that are not trained are zero.
        """
        module, trainable = self._model.module.train(), self._model.trainable
        start, gradient, total = self._model.read(), torch.zeros_like(self._model.vector), 0.0
        rows = self._feed.own(job)
        for piece in self._pieces(rows):
            self._heed_stop()
            raw, labels = self._samples.take(piece)
            value, share = self._loss(module(self._samples.inputs(raw)), labels), len(piece) / len(rows)
            found = torch.autograd.grad(value, self._model.parameters, materialize_grads=True)
            gradient[:trainable].add_(torch.cat([part.reshape(-1) for part in found]), alpha=share)
            total += value.item() * share
        self._model.load(start)
        return total, gradient

    def _pieces(self, rows: Tensor) -> tuple[Tensor, ...]:
        """The rows in pieces of nearly equal size, none smaller than a batch unless there is only one.

        A short last piece would make poor statistics for batch normalisation, and one sample none at all.
        """
        size = max(self._training.batch, PROBED_AT_ONCE // self._samples.values)
        return torch.tensor_split(rows, max(1, len(rows) // size))

    def _descend(self, job: Job) -> None:
        self._model.module.train()
        velocity = [torch.zeros_like(value) for value in self._values] if self._training.momentum else []
        sent = [value.clone() for value in self._values] if job.proximal else []
        rate = self._training.learning_rate * job.rate
        plain = self._written if not (velocity or sent or self._training.weight_decay) else None
        for inputs, labels in self._batches(job):
            self._heed_stop()
            if plain:
                plain.descend(inputs, labels, rate)
                continue
            gradients = self._gradients(inputs, labels)
            if sent:
                gradients = torch._foreach_add(gradients, torch._foreach_sub(self._values, sent), alpha=job.proximal)
            self._step(gradients, velocity, rate)

    def _gradients(self, inputs: Tensor, labels: Tensor) -> Tensors:
        """The gradients of the mean loss of a batch, written out or by automatic differentiation."""
        if self._written:
            return self._written.gradients(inputs, labels)
        value = self._loss(self._forward(inputs), labels)
        found: Tensors = torch.autograd.grad(value, self._model.parameters, materialize_grads=True)
        return found

    def _heed_stop(self) -> None:
        if self._stop.is_set():
            raise Interrupted("training was interrupted")

    def _step(self, gradients: Tensors, velocity: list[Tensor], rate: float) -> None:
        """One update of all parameters, as torch.optim.SGD does it.

        Gradients are never changed in place: autograd may give one tensor for two parameters.
        """
        settings = self._training
        change = gradients
        if settings.weight_decay:
            change = torch._foreach_add(gradients, self._values, alpha=settings.weight_decay)
        if settings.momentum:
            torch._foreach_mul_(velocity, settings.momentum)
            torch._foreach_add_(velocity, change)
            change = velocity
        torch._foreach_add_(self._values, change, alpha=-rate)

    def _batches(self, job: Job) -> Iterator[tuple[Tensor, Tensor]]:
        rows, moves = self._feed.rows(job), self._feed.moves(job)
        size = rows.shape[1]
        together = self._feed.at_once(size)
        for first in range(0, job.steps, together):
            some = slice(first, first + together)
            inputs, labels = self._feed.gather(rows[some], None if moves is None else moves[some], self._room)
            yield from zip(torch.split(inputs, size), torch.split(labels, size), strict=True)
