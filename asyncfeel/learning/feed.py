"""Which samples a job trains on, and how they become inputs: the same for every way to train.

All draws come from streams named by the client and the number of its job, so that a job sees the
same batches in the same order whoever trains it, and whatever is trained beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from asyncfeel.errors import InputError
from asyncfeel.jobs import Job
from asyncfeel.learning import augment, batches
from asyncfeel.learning.partition import Partition
from asyncfeel.learning.samples import Room, Samples
from asyncfeel.learning.settings import Training
from asyncfeel.streams import stream

DRAWN_AT_ONCE = 100_000_000
"""Samples that one job may draw, in all its steps: their numbers take 800 MB."""
VALUES_AT_ONCE = 500_000
"""Values of the inputs that are gathered at once: enough to pay for the calls, few enough for the cache."""


@dataclass(frozen=True, eq=False)
class Feed:
    """The batches of all jobs of a run, on one device."""

    samples: Samples
    partition: Partition
    training: Training
    seed: int

    def batch(self, job: Job) -> int:
        """How many samples a batch of this job has: a client with few uses all of them."""
        return min(self.training.batch, len(self.partition.rows(job.client)))

    def rows(self, job: Job) -> Tensor:
        """The rows of the job's batches, (steps, batch), on the CPU."""
        return self.rows_each([job])[0]

    def rows_each(self, jobs: Sequence[Job]) -> list[Tensor]:
        """The rows of the batches of each job."""
        if (longest := max((job.steps for job in jobs), default=0)) * self.training.batch > DRAWN_AT_ONCE:
            raise InputError(
                f"a job of {longest:,} steps with batches of {self.training.batch:,} samples is too long to draw: "
                f"{DRAWN_AT_ONCE:,} samples are the limit; use fewer steps, shorter deadlines or slower clients"
            )
        own = [self.partition.rows(job.client) for job in jobs]
        rngs = [stream(self.seed, "batches", job.client, job.number) for job in jobs]
        drawn = batches.draw_each(rngs, list(map(len, own)), [job.steps for job in jobs], self.training.batch)
        if len({places.shape[1] for places in drawn}) != 1:
            return [torch.from_numpy(mine[places]) for mine, places in zip(own, drawn, strict=True)]
        firsts = np.concatenate(
            [places + self.partition.first(job.client) for job, places in zip(jobs, drawn, strict=True)]
        )
        return list(torch.split(torch.from_numpy(self.partition.order[firsts]), [job.steps for job in jobs]))

    def moves(self, job: Job) -> Tensor | None:
        """The flips and shifts of the job's images, (steps, batch, 3), on the CPU; nothing without augmentation."""
        if not self.training.augment:
            return None
        rng = stream(self.seed, "augment", job.client, job.number)
        return torch.from_numpy(augment.draw(rng, job.steps, self.batch(job)))

    def gather(self, rows: Tensor, moves: Tensor | None, room: Room | None = None) -> tuple[Tensor, Tensor]:
        """Inputs and labels of these rows, one after another; all have moves, or none has.

        With a room the inputs are there, and last until it is used again.
        """
        raw, labels = self.samples.take(self._there(rows.reshape(-1)), room)
        if moves is not None:
            raw = augment.apply(raw, self._there(moves.reshape(-1, moves.shape[-1])))
        return self.samples.inputs(raw, room), labels

    def own(self, job: Job) -> Tensor:
        """All rows of the job's client, or of everyone, on the device."""
        return self._there(torch.from_numpy(self.partition.rows(job.client).copy()))

    def at_once(self, batch: int) -> int:
        """How many batches of that size are gathered at once."""
        return max(1, VALUES_AT_ONCE // (self.samples.values * batch))

    def _there(self, numbers: Tensor) -> Tensor:
        return numbers.to(self.samples.device, non_blocking=True)
