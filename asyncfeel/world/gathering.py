"""Servers that arrive at the same simulated instant and act as one."""

from collections.abc import Generator
from typing import Any, Generic, TypeVar

import simpy

from asyncfeel.world.clock import Clock

Item = TypeVar("Item")


class Gathering(Generic[Item]):
    """Collects what each arrival brings; the last to be ready acts for all, the others wait for it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expected = 0
        self._items: list[Item] = []
        self._over = simpy.Event(clock)

    def arrive(self) -> None:
        """Announce that one more will meet at this instant."""
        self._expected += 1

    def meet(self, item: Item) -> Generator[simpy.Event, Any, list[Item]]:
        """Wait for the others; the last one gets everything, everybody else an empty list."""
        self._items.append(item)
        if len(self._items) < self._expected:
            yield self._over
            return []
        return self._items

    def disperse(self) -> None:
        """Let the others go on, once the last has acted."""
        over, self._over = self._over, simpy.Event(self._clock)
        self._expected, self._items = 0, []
        over.succeed()
