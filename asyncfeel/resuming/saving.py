"""When a run writes a checkpoint, and what goes into it."""

import gc
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from asyncfeel.scenario.sections import Checkpointing

if TYPE_CHECKING:
    from asyncfeel.resuming.files import State
    from asyncfeel.resuming.held import Shelf
    from asyncfeel.resuming.journal import Journal

SHARE = 0.01
"""Unless the scenario says how often, checkpoints take at most this share of the time."""
SHORTEST_S = 30.0
"""And at least so many real seconds lie between two of them."""
CALLS_S, BYTES_PER_S = 0.1, 2e8
"""To guess what the first checkpoint takes: so many seconds, and as many more as its bytes need."""


class Saving:
    """Writes checkpoints of one run: at the intervals of the scenario, and when it is told to."""

    def __init__(
        self,
        settings: Checkpointing,
        folder: Path,
        shelf: "Shelf",
        journal: "Journal",
        state: Callable[[], "State"],
    ) -> None:
        """`state` tells where the run stands."""
        self._settings = settings
        self._folder = folder
        self._shelf = shelf
        self._journal = journal
        self._state = state
        self._mark = (0, 0)
        self.count = 0
        """Checkpoints that were written."""
        self.seconds = 0.0
        """Real seconds that they took."""
        self._took_s: float | None = None
        self._started_s = self._looked_s = time.monotonic()
        self.begin(0.0, 0)

    def begin(self, time_s: float, iteration: int) -> None:
        """Count the intervals from here."""
        self._time_s, self._iteration, self._real_s = time_s, iteration, time.monotonic()

    def mark(self) -> None:
        """Note which models and numbers there are, before anything else happens: a checkpoint has just these."""
        self._mark = (self._shelf.count, len(self._journal))

    def due(self, time_s: float, iteration: int) -> bool:
        """Whether it is time for a checkpoint."""
        settings = self._settings
        if not settings.enabled:
            return False
        if settings.every_s is not None and time_s - self._time_s >= settings.every_s:
            return True
        if settings.every_iterations is not None and iteration - self._iteration >= settings.every_iterations:
            return True
        if settings.every_minutes is not None:
            return time.monotonic() - self._real_s >= 60 * settings.every_minutes
        given = settings.every_s is not None or settings.every_iterations is not None
        now = time.monotonic()
        if given or now - max(self._real_s, self._looked_s) < SHORTEST_S:
            return False
        return self.affordable()

    def affordable(self) -> bool:
        """Whether one more checkpoint leaves their share of the time as small as it should be."""
        self._looked_s = time.monotonic()
        needed_s = self._guess_s() if self._took_s is None else self._took_s
        return self.seconds + needed_s <= SHARE * (self._looked_s - self._started_s)

    def _guess_s(self) -> float:
        models = self._shelf.live(self._shelf.count).values()
        size = sum(int(held.value.nbytes) for held in models if held.known)
        return CALLS_S + size / BYTES_PER_S

    def at_the_end(self) -> None:
        """Write a checkpoint of the end, if the scenario asks for some, or if it costs next to nothing."""
        chosen = (self._settings.every_minutes, self._settings.every_s, self._settings.every_iterations)
        if any(value is not None for value in chosen) or self.affordable():
            self.save()

    def save(self) -> None:
        """Write a checkpoint of the run as it stood at the last mark."""
        if not self._settings.enabled:
            return
        from asyncfeel.resuming import files

        began = time.monotonic()
        gc.collect()
        models, numbers = self._mark
        live = {number: held.value for number, held in self._shelf.live(models).items() if held.known}
        state = self._state()
        files.write(self._folder, files.Checkpoint(state, self._journal.numbers(numbers), live))
        took_s = time.monotonic() - began
        self.count += 1
        self.seconds += took_s
        self._took_s = took_s
        self.begin(state.time_s, state.iteration)
