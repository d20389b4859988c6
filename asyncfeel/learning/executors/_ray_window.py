"""The calls in flight: enough to keep all workers busy, and never so many that results pile up.

Calls start in the order in which they were given. Each must wait for room, and also for the oldest
one in flight if it is far ahead of it: results are added up in their order, so that those behind a
slow one are held in memory.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import chain
from typing import Any

from asyncfeel.errors import AsyncFeelError, Interrupted

POLL_S = 0.1
AHEAD = 4
"""How many times the calls in flight a call may be ahead of the oldest one."""


@dataclass(frozen=True, slots=True)
class Call:
    """One remote call, and who gets its outcome."""

    start: Callable[[], Any]
    """Starts it and gives Ray's reference to its result."""
    take: Callable[[Any], None]
    fail: Callable[[BaseException], None]


class Window:
    """Starts calls and hands over their outcomes, in a thread of its own."""

    def __init__(self, most: int, stop: threading.Event, cancel: Callable[[list[Any]], None]) -> None:
        """At most `most` calls are in flight; when `stop` is set they are cancelled."""
        self._most = most
        self._stop = stop
        self._cancel = cancel
        self._lock = threading.Lock()
        self._waiting: deque[Iterator[Call]] = deque()
        self._running: dict[int, tuple[Call, Any]] = {}
        self._next = 0
        self._outcomes: queue.SimpleQueue[tuple[int, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._collect, name="asyncfeel-ray", daemon=True)
        self._thread.start()

    def add(self, calls: Iterable[Call]) -> None:
        """Start as many of these calls as there is room for, at once; the others follow."""
        with self._lock:
            self._waiting.append(iter(calls))
            self._fill()

    def close(self) -> None:
        """Drop the calls that have no outcome yet."""
        self._outcomes.put(None)
        self._thread.join()
        self._drop("the run has ended")

    def _fill(self) -> None:
        while len(self._running) < self._most and self._next - self._oldest() < AHEAD * self._most:
            call = self._following()
            if call is None:
                return
            self._begin(self._next, call)
            self._next += 1

    def _oldest(self) -> int:
        return next(iter(self._running), self._next)

    def _following(self) -> Call | None:
        while self._waiting:
            call = next(self._waiting[0], None)
            if call is not None:
                return call
            self._waiting.popleft()
        return None

    def _begin(self, number: int, call: Call) -> None:
        reference = None
        try:
            reference = call.start()
            outcome: Future[Any] = reference.future()
        except Exception as error:
            outcome = Future()
            outcome.set_exception(error)
        self._running[number] = (call, reference)
        outcome.add_done_callback(lambda outcome: self._outcomes.put((number, outcome)))

    def _collect(self) -> None:
        """Hand over outcomes until the window is closed."""
        while True:
            try:
                outcome = self._outcomes.get(timeout=POLL_S)
                if outcome is None:
                    return
                self._deliver(*outcome)
            except queue.Empty:
                pass
            if self._stop.is_set():
                self._drop("training was interrupted")

    def _deliver(self, number: int, outcome: "Future[Any]") -> None:
        with self._lock:
            call, _ = self._running.pop(number, (None, None))
            self._fill()
        if call is None:
            return
        try:
            call.take(outcome.result())
        except Exception as error:
            call.fail(plain(error))

    def _drop(self, reason: str) -> None:
        with self._lock:
            running, self._running = self._running, {}
            waiting, self._waiting = self._waiting, deque()
        for call in chain((call for call, _ in running.values()), *waiting):
            call.fail(Interrupted(reason))
        self._cancel([reference for _, reference in running.values() if reference is not None])


def plain(error: BaseException) -> BaseException:
    """The error that a job raised, without what Ray puts around it; Ray's own errors as one line."""
    from ray.exceptions import RayError, RayTaskError

    if isinstance(error, RayTaskError) and isinstance(error.cause, Exception):
        error.cause.__cause__ = error
        return error.cause
    if isinstance(error, RayError):
        return AsyncFeelError(f"Ray could not run a job: {type(error).__name__}: {str(error).strip().splitlines()[0]}")
    return error
