"""Servers that meet, at one instant or at a barrier, and act as one."""

from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

import simpy

from asyncfeel.world.clock import Clock

Item = TypeVar("Item")


class Gathering(Generic[Item]):
    """Collects what each arrival brings; the last to be ready acts for all."""

    def __init__(self, clock: Clock, parties: int = 0) -> None:
        """With `parties` it is a barrier: it always waits for that many."""
        self._clock = clock
        self._parties = parties
        self._expected = parties
        self._items: list[Item] = []
        self._over = simpy.Event(clock)

    def arrive(self) -> None:
        """Announce that one more will meet at this instant."""
        self._expected += 1

    def meet(self, item: Item, act: Callable[[list[Item]], None]) -> Generator[simpy.Event, Any, None]:
        """Wait for the others; the last one acts on what all have brought, then all go on in their order."""
        self._items.append(item)
        over = self._over
        if len(self._items) == self._expected:
            act(self._items)
            self._expected, self._items, self._over = self._parties, [], simpy.Event(self._clock)
            over.succeed()
        yield over
