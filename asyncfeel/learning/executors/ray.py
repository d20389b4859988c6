"""Training in processes that Ray runs, on this machine or on a cluster of them.

Jobs are tasks rather than actors: a task is a pure function of what it is sent, so Ray may run it
anywhere, again if a worker or a machine is lost, and on machines that join later. What is expensive,
the learner, is unpacked once per process and kept there. A model that is broadcast is stored once,
and every job of the broadcast reads it there. Results come back one by one and are added up here in
the order of the clients, so that a sum has the same bits as with every other executor.
"""

import math
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from asyncfeel.errors import InputError
from asyncfeel.folding import Folding
from asyncfeel.jobs import Broadcast, Gathered, Job, Update
from asyncfeel.learning.executors import _ray_worker
from asyncfeel.learning.executors._pending import Pending
from asyncfeel.learning.executors._ray_parcel import Parcel, pack, user_code_included
from asyncfeel.learning.executors._ray_session import Session, module
from asyncfeel.learning.executors._ray_window import Call, Window
from asyncfeel.learning.executors.threads import usable
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.metrics import Metrics

T = TypeVar("T")
RETRIES = 10
"""How often a task is run again whose worker was lost."""
ROUNDS = 4
"""How many tasks of a broadcast each worker gets: more balance better, fewer cost less."""
CHUNK_JOBS = 64
CHUNK_BYTES = 1 << 25
"""A task has at most so many jobs, and its results so many bytes."""
STORE_BYTES = 1 << 28
"""What a local Ray may hold beside the learner and the results in flight: models."""


class Ray:
    """An executor whose workers are Ray's; 0 workers means as many as this machine, or the cluster, has cores."""

    def __init__(self, learner: Learner, workers: int, stop: threading.Event, ray_address: str | None = None) -> None:
        if workers < 0:
            raise InputError(f"workers must be at least 0 (0 for as many as there are cores), not {workers}")
        module()
        with user_code_included():
            parcel = pack(learner)
        gpu, here = learner.device.type == "cuda", workers or usable(learner.device)
        with ExitStack() as stack:
            store_bytes = STORE_BYTES + parcel.size + 2 * here * CHUNK_BYTES
            session = Session(ray_address, None if gpu else here, gpu, store_bytes)
            stack.callback(session.close)
            self.workers = workers or (session.gpus * here if gpu else session.cpus)
            options = {"num_cpus": 1, "num_gpus": session.share(self.workers) if gpu else 0, "max_retries": RETRIES}
            self._train, self._evaluate = map(session.ray.remote(**options), (_ray_worker.train, _ray_worker.evaluate))
            self._put = session.ray.put
            self._learner = [self._put(parcel)]
            self._window = Window(session.at_once(self.workers), stop, session.cancel)
            stack.callback(self._window.close)
            # A run that fails before its first event closes nothing; this happens when the executor is forgotten.
            self._end = weakref.finalize(self, stack.pop_all().close)
        self._models = WeakTensorKeyDictionary()
        self._there = torch.cuda.device(learner.device) if gpu else nullcontext()

    def submit(self, job: Job) -> Pending[Update]:
        """The job's result, later; it is sent to Ray at once, unless enough others wait there."""
        future = _begun(Future[Update]())
        model = self._stored(job.model)
        self._window.add([self._call([job], model, lambda updates: future.set_result(*updates), future)])
        return Pending(future)

    def broadcast(self, work: Broadcast) -> Pending[Gathered]:
        """What the jobs add up to, later; a few of them make a task."""
        future = _begun(Future[Gathered]())
        folding = Folding(work)
        if not len(work):
            future.set_result(folding.gathered())
        self._window.add(self._calls(work, self._stored(work.model), folding, future))
        return Pending(future)

    def evaluate(self, flat: Tensor) -> Pending[Metrics]:
        """How good a model is, later."""
        future = _begun(Future[Metrics]())
        start = partial(self._evaluate.remote, self._learner, self._stored(flat))
        self._window.add([Call(start, future.set_result, partial(_fail, future))])
        return Pending(future)

    def close(self) -> None:
        """Drop what is not finished and leave Ray; a local one ends."""
        self._models.clear()
        self._end()

    def _calls(self, work: Broadcast, model: Any, folding: Folding, future: "Future[Gathered]") -> Iterator[Call]:
        """The tasks of a broadcast, each made when there is room for it; none after one has failed."""
        jobs, done = work.jobs(), 0

        def take(first: int, updates: list[Update]) -> None:
            nonlocal done
            for place, update in enumerate(updates, start=first):
                folding.take(place, update)
            done += len(updates)
            if done == len(work) and not future.done():
                future.set_result(folding.gathered())

        size = self._chunk(len(work), work.model)
        for first in range(0, len(work), size):
            if future.done():
                return
            yield self._call(list(islice(jobs, size)), model, partial(take, first), future)

    def _chunk(self, jobs: int, model: Tensor) -> int:
        """How many jobs of a broadcast make a task."""
        room = CHUNK_BYTES // (model.numel() * model.element_size())
        return max(1, min(math.ceil(jobs / (ROUNDS * self.workers)), CHUNK_JOBS, room))

    def _call(self, jobs: list[Job], model: Any, take: Callable[[list[Update]], None], future: "Future[T]") -> Call:
        bare = [replace(job, model=None) for job in jobs]
        start = partial(self._train.remote, self._learner, model, bare)
        return Call(start, lambda parcel: take(self._arrived(parcel)), partial(_fail, future))

    def _stored(self, model: Tensor) -> Any:
        """Ray's reference to a model; jobs that start from the same tensor share it."""
        if model not in self._models:
            self._models[model] = self._put(pack(model))
        return self._models[model]

    def _arrived(self, parcel: Parcel) -> list[Update]:
        with self._there:
            updates: list[Update] = parcel.copied()
            return updates


def _begun(future: "Future[T]") -> "Future[T]":
    """The future as one that cannot be cancelled any more."""
    future.set_running_or_notify_cancel()
    return future


def _fail(future: "Future[T]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
