"""Local training: a pure function of the job, the seed and the client's data.

A trainer belongs to one worker and is never shared. Whatever it did before, a job gives the same
bits: the model is loaded whole, momentum starts at zero, and every draw comes from a stream named
by the job. One step does as little as possible in Python: the batches of many steps are drawn,
gathered and normalised together, and the update is one call for all parameters.
"""

import threading
from collections.abc import Iterator

import torch
from torch import Tensor

from asyncfeel.errors import Interrupted
from asyncfeel.jobs import Job, Update
from asyncfeel.learning import augment, batches
from asyncfeel.learning.evaluation import mean_loss
from asyncfeel.learning.flat import FlatModule
from asyncfeel.learning.losses import Loss
from asyncfeel.learning.partition import Partition
from asyncfeel.learning.samples import Samples
from asyncfeel.learning.settings import Training
from asyncfeel.streams import stream

VALUES_AT_ONCE = 500_000


class Trainer:
    """One worker's way to train any client: it owns its module."""

    def __init__(
        self,
        model: FlatModule,
        samples: Samples,
        partition: Partition,
        loss: Loss,
        training: Training,
        seed: int,
        stop: threading.Event,
    ) -> None:
        self._model = model
        self._samples = samples
        self._partition = partition
        self._loss = loss
        self._training = training
        self._seed = seed
        self._stop = stop
        self._values = [parameter.detach() for parameter in model.parameters]

    def train(self, job: Job) -> Update:
        """The client's model after the job's steps, and its loss at the model it was sent if asked for."""
        self._model.load(job.model)
        loss = self._measure(job) if job.measure_loss else None
        self._descend(job)
        return Update(self._model.read(), loss)

    def _measure(self, job: Job) -> float:
        rows = self._rows(self._partition[job.client].copy())
        return mean_loss(self._model.module, self._loss, self._samples, rows)

    def _descend(self, job: Job) -> None:
        module, loss, parameters = self._model.module.train(), self._loss, self._model.parameters
        velocity = [torch.zeros_like(value) for value in self._values] if self._training.momentum else []
        for inputs, labels in self._batches(job):
            if self._stop.is_set():
                raise Interrupted("training was interrupted")
            value = loss(module(inputs), labels)
            self._step(torch.autograd.grad(value, parameters, materialize_grads=True), velocity)

    def _step(self, gradients: tuple[Tensor, ...], velocity: list[Tensor]) -> None:
        """One update of all parameters, as torch.optim.SGD does it.

        Gradients are never changed in place: autograd may give one tensor for two parameters.
        """
        settings = self._training
        change: tuple[Tensor, ...] | list[Tensor] = gradients
        if settings.weight_decay:
            change = torch._foreach_add(gradients, self._values, alpha=settings.weight_decay)
        if settings.momentum:
            torch._foreach_mul_(velocity, settings.momentum)
            torch._foreach_add_(velocity, change)
            change = velocity
        torch._foreach_add_(self._values, change, alpha=-settings.learning_rate)

    def _batches(self, job: Job) -> Iterator[tuple[Tensor, Tensor]]:
        own = self._partition[job.client]
        rng = stream(self._seed, "batches", job.client, job.number)
        rows = self._rows(own[batches.draw(rng, len(own), job.steps, self._training.batch)])
        moves = self._moves(job, rows.shape[1]) if self._training.augment else None
        together = max(1, VALUES_AT_ONCE // (self._samples.values * rows.shape[1]))
        for first in range(0, job.steps, together):
            some = slice(first, first + together)
            yield from self._gather(rows[some], None if moves is None else moves[some])

    def _gather(self, rows: Tensor, moves: Tensor | None) -> Iterator[tuple[Tensor, Tensor]]:
        """The inputs and labels of some consecutive steps."""
        raw, labels = self._samples.take(rows.reshape(-1))
        if moves is not None:
            raw = augment.apply(raw, moves.reshape(-1, moves.shape[2]))
        size = rows.shape[1]
        return zip(torch.split(self._samples.inputs(raw), size), torch.split(labels, size), strict=True)

    def _moves(self, job: Job, batch: int) -> Tensor:
        return self._rows(augment.draw(stream(self._seed, "augment", job.client, job.number), job.steps, batch))

    def _rows(self, numbers: batches.Rows) -> Tensor:
        return torch.from_numpy(numbers).to(self._samples.device)
