"""Training in processes of this machine, one for each worker: what threads do, without a lock between them.

Python lets only one thread of a process run at a time. Where a step is a few hundred small calls of torch, two threads
wait for each other again and again; two processes never do. The rest is as with threads: each process belongs to one
thread here, which sends it jobs, adds up its results, and evaluates.
"""

import threading
import weakref

from asyncfeel.errors import InputError
from asyncfeel.jobs import Job, Update
from asyncfeel.learning.executors._helper import Helper, Lost, can_fork
from asyncfeel.learning.executors.threads import Threads
from asyncfeel.learning.learner import Learner


class Processes(Threads):
    """An executor with a process for each worker; 0 workers means as many as the machine has cores."""

    def __init__(self, learner: Learner, workers: int, stop: threading.Event) -> None:
        if why := unavailable(learner):
            raise InputError(f"executor processes {why}: choose threads, which gives the same bits")
        self.note: str | None = None
        self._helpers: list[Helper | None] = []
        super().__init__(learner, workers, stop)

    def _prepare(self) -> None:
        """Make the processes, before there are threads."""
        self._helpers += [Helper(self._learner) for _ in range(self.workers)]
        # A run that fails before its first event closes nothing; this happens when the executor is forgotten.
        self._end = weakref.finalize(self, _close, self._helpers)

    def _trained(self, job: Job) -> Update:
        number = self._number()
        helper = self._helpers[number]
        if helper is None:
            return super()._trained(job)
        try:
            return helper.train(job, self._training)
        except Lost:
            helper.close()
            self._helpers[number] = None
            self.note = "a worker's process was lost; its jobs were trained in a thread from then on"
            return super()._trained(job)

    def close(self) -> None:
        """Drop the jobs that have not begun, wait for the others, and end the processes."""
        super().close()
        self._end()


def unavailable(learner: Learner) -> str | None:
    """Why there can be no processes; nothing if there can."""
    if learner.device.type != "cpu":
        return "is for training on a CPU"
    return None if can_fork() else "needs Linux"


def _close(helpers: list[Helper | None]) -> None:
    for helper in helpers:
        if helper is not None:
            helper.close()
