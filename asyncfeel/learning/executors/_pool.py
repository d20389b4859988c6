"""Worker threads that do first what somebody waits for, and then what will be asked for next.

Jobs of all clusters are in flight together, and those of a slow cluster may have come first although
a fast one is awaited. What nobody waits for yet fills the gaps, the first due first: so nothing is
trained early that the end of the run makes useless, as long as there is something else to do.
"""

import heapq
import math
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Task:
    """A piece of work with the future of its result."""

    __slots__ = ("future", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.future: Future[Any] = Future()

    def run(self) -> None:
        """Do the work, unless it was cancelled."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.work())
        except BaseException as error:
            self.future.set_exception(error)


class Pool:
    """Threads with two queues: what is awaited, in the order in which it was asked for, and what is not yet."""

    def __init__(self, workers: int, name: str) -> None:
        self._changed = threading.Condition()
        self._urgent: dict[Task, None] = {}
        self._others: dict[Task, tuple[float, int]] = {}
        self._by_due: list[tuple[float, int, Task]] = []
        """The others as a heap, together with some that have been hurried since."""
        self._submitted = 0
        self._closed = False
        self._threads = [threading.Thread(target=self._work, name=f"{name}_{i}", daemon=True) for i in range(workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, work: Callable[[], Any], due_s: float = -math.inf) -> Task:
        """Queue a piece of work; among equally due ones the first to come is the first to be done."""
        task = Task(work)
        with self._changed:
            self._submitted += 1
            self._others[task] = (due_s, self._submitted)
            heapq.heappush(self._by_due, (due_s, self._submitted, task))
            self._changed.notify()
        return task

    def hurry(self, task: Task) -> None:
        """Do this before what nobody waits for."""
        with self._changed:
            if task in self._others:
                del self._others[task]
                self._urgent[task] = None
                self._forget_hurried()

    def _forget_hurried(self) -> None:
        """Keep the heap at most twice as long as it need be: what lies in it keeps models alive."""
        if len(self._by_due) > 2 * len(self._others):
            self._by_due = [(*due, task) for task, due in self._others.items()]
            heapq.heapify(self._by_due)

    def close(self) -> None:
        """Cancel what has not begun, and wait for the rest."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            for task in (*self._urgent, *self._others):
                task.future.cancel()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while (task := self._next()) is not None:
            task.run()
            del task

    def _next(self) -> Task | None:
        with self._changed:
            while not self._closed:
                for task in self._urgent:
                    del self._urgent[task]
                    return task
                while self._by_due:
                    *_, task = heapq.heappop(self._by_due)
                    if self._others.pop(task, None):
                        return task
                self._changed.wait()
            return None
