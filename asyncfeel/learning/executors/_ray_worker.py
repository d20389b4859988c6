"""What a worker process of Ray does: it unpacks the learner once and then trains whatever it is sent."""

import functools
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from asyncfeel.jobs import Job
from asyncfeel.learning.executors._ray_parcel import Parcel, pack
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.local import Trainer
from asyncfeel.learning.metrics import Metrics

Boxed = list[Any]
"""A list with one reference to a learner: Ray does not look up what is inside, so that a task costs nothing."""


def train(learner: Boxed, model: Parcel, jobs: Sequence[Job]) -> Parcel:
    """The results of jobs that all start from one model, which they come without."""
    _, trainer = _desk(learner[0])
    sent = model.open()
    return pack([trainer.train(replace(job, model=sent)) for job in jobs])


def evaluate(learner: Boxed, model: Parcel) -> Metrics:
    """How good a model is."""
    return _desk(learner[0])[0].evaluate(model.open())


@functools.lru_cache(maxsize=1)
def _desk(reference: Any) -> tuple[Learner, Trainer]:
    """The learner and this process's own trainer, made when they are first needed."""
    import ray

    torch.set_num_threads(1)
    learner: Learner = ray.get(reference).open()
    return learner, learner.trainer(Cancelled())


class Cancelled(threading.Event):
    """Set once the present task is cancelled: Ray also interrupts it, but that may be lost while it begins."""

    def is_set(self) -> bool:
        """Whether Ray was asked to end the task."""
        import ray

        return bool(ray.get_runtime_context().is_canceled())
