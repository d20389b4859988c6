"""How long an executor has had work in hand: what a run takes beyond that is overhead."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Busy:
    """Adds up the real seconds in which at least one worker works."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._working = 0
        self._since = 0.0
        self._total_s = 0.0

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        with self._lock:
            return self._total_s + (time.perf_counter() - self._since if self._working else 0.0)

    @contextmanager
    def work(self) -> Iterator[None]:
        """Count what happens inside as work."""
        with self._lock:
            if not self._working:
                self._since = time.perf_counter()
            self._working += 1
        try:
            yield
        finally:
            with self._lock:
                self._working -= 1
                if not self._working:
                    self._total_s += time.perf_counter() - self._since
