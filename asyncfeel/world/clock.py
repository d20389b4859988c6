"""The simulated clock, and the one door through which real results enter it.

SimPy owns simulated time and asyncio owns real time; they meet in `Clock.join` alone. A client
launches its training at the simulated instant at which it receives a model, and the server joins
the results when the simulated deadline and the upload have passed. While a join is open the clock
may finish the present instant but may not move on, and results enter in the order in which the
joins were made. So the schedule cannot depend on how long anything really takes.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import simpy

from asyncfeel.errors import Stalled


class Join(simpy.Event):
    """Happens, at the simulated time at which it was asked for, once its awaitables have results."""

    def __init__(self, clock: "Clock", awaitables: Sequence[Awaitable[Any]]) -> None:
        super().__init__(clock)
        self.awaitables = awaitables


class Clock(simpy.Environment):
    """A SimPy environment whose time stands still while real work is awaited."""

    def __init__(self) -> None:
        super().__init__(initial_time=0.0)
        self._joins: list[Join] = []
        self.stopped = False
        self.ticks = 0
        """Events and joins so far: with the scenario they tell where a run stands."""

    def join(self, awaitables: Sequence[Awaitable[Any]]) -> Join:
        """An event whose value is the list of the results, in the order of the awaitables."""
        join = Join(self, awaitables)
        self._joins.append(join)
        return join

    def stop(self) -> None:
        """End `advance` before the next event."""
        self.stopped = True

    async def advance(self, until: float, poll: Callable[[], None] = lambda: None) -> None:
        """Step through every event up to and including `until`, or to `stop`.

        `poll` is called before each step, with real results awaited in between; it may raise. An error,
        also one of a result, leaves the clock as it was before that step.
        """
        while not self.stopped:
            poll()
            upcoming = self.peek()
            if self._joins and upcoming > self.now:
                await self._settle()
            elif upcoming == math.inf:
                raise Stalled(
                    f"nothing is left to happen after {self.now} simulated seconds: the processes wait for each other"
                )
            elif upcoming > until:
                return
            else:
                self.step()
            self.ticks += 1

    async def _settle(self) -> None:
        found = [[await awaitable for awaitable in join.awaitables] for join in self._joins]
        joins, self._joins = self._joins, []
        for join, results in zip(joins, found, strict=True):
            join.succeed(results)
