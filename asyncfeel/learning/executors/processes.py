"""Training in processes of this machine, one for each worker: what threads do, without a lock between them.

Python lets only one thread of a process run at a time. Where a step is a few hundred small calls of torch, two threads
wait for each other again and again; two processes never do. The rest is as with threads: each job is in the hands of a
thread here, which sends it to a process that is free and adds up its result; threads evaluate, too.
"""

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

from asyncfeel.errors import InputError, Interrupted
from asyncfeel.jobs import Job, Update
from asyncfeel.learning.executors._helper import Helper, Lost, can_fork, owned
from asyncfeel.learning.executors.threads import T, Threads
from asyncfeel.learning.learner import Learner


class Processes(Threads):
    """An executor with a process for each worker; 0 workers means as many as the machine has cores."""

    _lasting = staticmethod(owned)

    def __init__(self, learner: Learner, workers: int, stop: threading.Event) -> None:
        if why := unavailable(learner):
            raise InputError(f"executor processes {why}: choose threads, which gives the same bits")
        self.note: str | None = None
        self._helpers: list[Helper] = []
        self._free: SimpleQueue[Helper | None] = SimpleQueue()
        super().__init__(learner, workers, stop)

    def _prepare(self) -> None:
        """Make the processes, before there are threads."""
        for _ in range(self.workers):
            self._helpers.append(Helper(self._learner))
            self._free.put(self._helpers[-1])
        # A run that fails before its first event closes nothing; this happens when the executor is forgotten.
        self._end = weakref.finalize(self, _close, self._helpers)

    def _trained(self, job: Job, use: Callable[[Update], T]) -> T:
        """What is made of the job's result, found in the first process that is free, which then waits for that."""
        helper = self._free.get()
        try:
            if self._training.is_set():
                raise Interrupted("training was interrupted")
            if helper is not None:
                return use(helper.train(job, self._training))
            return super()._trained(job, use)
        except Lost:
            helper = None
            self.note = "a worker's process was lost; its jobs were trained in a thread from then on"
            return super()._trained(job, use)
        finally:
            self._free.put(helper)

    def close(self) -> None:
        """Drop the jobs that have not begun, wait for the others, and end the processes."""
        super().close()
        self._end()


def unavailable(learner: Learner) -> str | None:
    """Why there can be no processes; nothing if there can."""
    if learner.device.type != "cpu":
        return "is for training on a CPU"
    return None if can_fork() else "needs Linux"


def _close(helpers: list[Helper]) -> None:
    for helper in helpers:
        helper.close()
