"""Training one job after another in the main thread: the plainest executor, and the reference."""

import threading

from torch import Tensor

from asyncfeel.folding import Folding
from asyncfeel.jobs import Broadcast, Gathered, Job, Ready, Update
from asyncfeel.learning.executors._busy import Busy
from asyncfeel.learning.executors._pending import Pending, finished
from asyncfeel.learning.learner import Learner
from asyncfeel.learning.metrics import Metrics


class Serial:
    """An executor that trains inside `submit`."""

    def __init__(self, learner: Learner, workers: int, stop: threading.Event) -> None:
        """`workers` is there because all executors are made alike; there is always one."""
        self.workers = 1
        self._learner = learner
        self._stop = stop
        self._trainer = learner.trainer(stop)
        self.busy = Busy()

    def submit(self, job: Job) -> Ready[Update]:
        """The job's result, once it has been trained."""
        with self.busy.work():
            return Ready(self._trainer.train(job))

    def broadcast(self, work: Broadcast) -> Ready[Gathered]:
        """What the jobs add up to, once they have been trained."""
        folding = Folding(work)
        for place, job in enumerate(work.jobs()):
            with self.busy.work():
                folding.take(place, self._trainer.train(job))
        return Ready(folding.gathered())

    def evaluate(self, flat: Tensor) -> Pending[Metrics]:
        """How good a model is, once that has been found out."""
        with self.busy.work():
            return finished(self._learner.evaluate(flat, self._stop))

    def close(self) -> None:
        """Nothing is held."""
